# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The answer to "how close, which two, and where?"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Clearance:
    """The smallest signed distance of a configuration, and where it is.

    Attributes:
        distance: metres; negative is the depth of penetration: of the leaves, or, of an exact
            one, as in docs/exact.md.
        links: the two links (or obstacles) that are nearest.
        leaves: indices of the two leaves in ``model.leaves``; (-1, -1) of an exact one.
        exact: whether it was measured on the shapes themselves instead of the leaves.
        triangles: numbers of the nearest triangles in the meshes of their links, those of several
            meshes counted one after another; -1 at leaf level, and where the nearest shape is a
            box, a cylinder, a sphere or a capsule.

    Made at every joint state, so points and normal become arrays only when somebody
    asks for them.
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
        """``points``: six coordinates in any nesting; ``normal``: three."""
        self.distance = distance
        self.links = links
        self.leaves = leaves
        self.exact = exact
        self.triangles = triangles
        self._points = points
        self._normal = normal

    @property
    def points(self) -> np.ndarray:
        """(2, 3) nearest points on the surfaces of the two leaves or shapes, base frame, metres."""
        return np.array(self._points, dtype=float).reshape(2, 3)

    @property
    def normal(self) -> np.ndarray:
        """(3,) unit vector from links[0] to links[1], base frame.

        Defined in contact and in penetration too:
        points[1] - points[0] == distance * normal.
        """
        return np.array(self._normal, dtype=float)

    def __repr__(self) -> str:
        a, b = self.links
        return f"Clearance({self.distance:.6f} m between {a!r} and {b!r})"
