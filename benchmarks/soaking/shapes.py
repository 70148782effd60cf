# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of shapes by coal, for the observer of the soak test."""

from __future__ import annotations

import math
from collections.abc import Set

import coal
import numpy as np


class Shapes:
    """Shapes on the bodies of a robot, and pairs whose distances are measured."""

    def __init__(self, parts: list[tuple], first: np.ndarray, second: np.ndarray) -> None:
        """Prepare the distances.

        Args:
            parts: shape of coal, pose (4, 4) in its body, and the body, of each part.
            first: (k,) index of the first part of each pair.
            second: (k,) index of the second part.
        """
        self._shapes = [shape for shape, _, _ in parts]
        for shape in self._shapes:
            shape.computeLocalAABB()
        self._local = np.array([pose for _, pose, _ in parts]).reshape(-1, 4, 4)
        self._bodies = np.array([body for _, _, body in parts], dtype=int)
        centres = [[*shape.aabb_center, 1.0] for shape in self._shapes]
        self._centres = np.array(centres).reshape(-1, 4)
        self._radii = np.array([shape.aabb_radius for shape in self._shapes])
        self.first, self.second = first, second
        self._request = coal.DistanceRequest()
        self._request.enable_signed_distance = False  # penetration depths of leaves differ

    def nearest(self, bodies: np.ndarray, without: Set[int] = frozenset()) -> tuple[float, int]:
        """(metres, index of the pair); at most 0 in contact; ``bodies`` (n, 4, 4).

        ``without``: indices of pairs that do not count.
        """
        poses = bodies[self._bodies] @ self._local
        centres = np.einsum("nij,nj->ni", poses, self._centres)[:, :3]
        apart = np.linalg.norm(centres[self.first] - centres[self.second], axis=1)
        least = apart - self._radii[self.first] - self._radii[self.second]
        best, place, result = math.inf, -1, coal.DistanceResult()
        for pair in np.argsort(least):
            if least[pair] >= best or best <= 0.0:
                break
            if int(pair) in without:
                continue
            i, j = self.first[pair], self.second[pair]
            result.clear()
            distance = coal.distance(
                self._shapes[i], _transform(poses[i]), self._shapes[j], _transform(poses[j]),
                self._request, result,
            )  # fmt: skip
            if distance < best:
                best, place = distance, int(pair)
        return best, place


def _transform(pose: np.ndarray) -> coal.Transform3s:
    return coal.Transform3s(pose[:3, :3], pose[:3, 3])
