# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves of the hierarchy: capsules, and spheres as capsules of length zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collision_monitor.geometry.fixed_order import norm, product


@dataclass(frozen=True, eq=False)
class Leaf:
    """A capsule: all points within ``radius`` of the segment from ``p0`` to ``p1``.

    A sphere has ``p0 == p1``.

    Attributes:
        link: name of the link or obstacle.
        p0: (3,) first end point, metres; in a model in the frame of ``link``.
        p1: (3,) second end point, likewise.
        radius: metres.
    """

    link: str
    p0: np.ndarray
    p1: np.ndarray
    radius: float

    @property
    def length(self) -> float:
        """Distance between the end points, metres."""
        return norm(self.p1 - self.p0)

    @property
    def kind(self) -> str:
        """``"sphere"`` or ``"capsule"``."""
        return "sphere" if self.length == 0.0 else "capsule"

    @property
    def volume(self) -> float:
        """Volume in cubic metres."""
        return math.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    def distances_to(self, points: np.ndarray) -> np.ndarray:
        """Signed distances (n,) of ``points`` (n, 3) to the surface; negative inside."""
        return distances_to_segment(points, self.p0, self.p1) - self.radius

    def moved(self, pose: np.ndarray, link: str) -> Leaf:
        """The leaf transformed by ``pose`` (4, 4) into another frame, as a leaf of ``link``."""
        return moved([self], pose, link)[0]


def moved(leaves: Sequence[Leaf], pose: np.ndarray, link: str) -> tuple[Leaf, ...]:
    """Leaves of one link seen from a frame in which their own has ``pose`` (4, 4)."""
    rotation, translation = pose[:3, :3], pose[:3, 3]
    ends = np.array([(leaf.p0, leaf.p1) for leaf in leaves], dtype=float)
    is_ball = (ends[:, 0] == ends[:, 1]).all(axis=1).tolist()
    ends = product(ends, rotation.T) + translation
    return tuple(
        Leaf(link, p0, p0 if ball else p1, leaf.radius)
        for leaf, (p0, p1), ball in zip(leaves, ends, is_ball, strict=True)
    )


def distances_to_segment(points: np.ndarray, p0: np.ndarray, p1: np.ndarray) -> np.ndarray:
    """Distances (n,) of ``points`` (n, 3) to the segment from p0 to p1."""
    axis = p1 - p0
    squared = float((axis * axis).sum())
    offsets = points - p0
    if squared == 0.0:
        return np.linalg.norm(offsets, axis=1)
    t = np.clip(product(offsets, axis) / squared, 0.0, 1.0)
    return np.linalg.norm(offsets - t[:, None] * axis, axis=1)
