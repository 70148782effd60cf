# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Result of a distance query: minimum distance, the two links, nearest points and normal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Clearance:
    """The minimum signed distance of a configuration, with the nearest pair and points.

    Attributes:
        distance: metres; at most 0 in contact, where the links are at most so deep in each other.
        links: names of the two nearest links or obstacles.
        leaves: indices of the two leaves in ``model.leaves``, -1 for that of an object that is no
            part of the model; (-1, -1) for an exact distance.
        exact: whether the shapes were measured instead of the leaves. If they touch and ``leaves``
            are given, depth and points are those of the leaves.
        triangles: indices of the nearest triangles in the meshes of the two links, counted through
            all meshes of a link; -1 for leaves and for shapes that are not meshes.
    """

    __slots__ = ("_normal", "_points", "distance", "exact", "leaves", "links", "triangles")

    def __init__(
        self,
        distance: float,
        links: tuple[str, str],
        points: Sequence,
        normal: Sequence[float],
        leaves: tuple[int, int] = (-1, -1),
        exact: bool = False,
        triangles: tuple[int, int] = (-1, -1),
    ) -> None:
        """``points``: six coordinates, in any nesting; ``normal``: three. Created by queries."""
        self.distance = distance
        self.links = links
        self.leaves = leaves
        self.exact = exact
        self.triangles = triangles
        self._points = points
        self._normal = normal

    @property
    def points(self) -> np.ndarray:
        """Nearest points (2, 3) on the surfaces of the two leaves or shapes, base frame, metres."""
        return np.array(self._points, dtype=float).reshape(2, 3)

    @property
    def normal(self) -> np.ndarray:
        """Unit vector (3,) from ``links[0]`` to ``links[1]``, base frame.

        Also defined in contact and penetration: ``points[1] - points[0] == distance * normal``.
        """
        return np.array(self._normal, dtype=float)

    def __repr__(self) -> str:
        a, b = self.links
        return f"Clearance({self.distance:.6f} m between {a!r} and {b!r})"
