# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which points lie inside the closed meshes of a link."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from collision_monitor.geometry.closed_surfaces import closed_surfaces
from collision_monitor.robot.description import Shape

# -- winding number of a closed surface about a point, by ray casting --


def ray_winding_number(point: np.ndarray, triangles: np.ndarray) -> int:
    """Times that a ray from a point (3,) upwards along z leaves a surface, less those it enters.

    ``triangles`` (m, 3, 3), turning anticlockwise seen from outside. Of a closed surface it is
    the winding number; a ray through an edge or a corner may miscount.
    """
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = (triangles - point).transpose(1, 2, 0)
    # The ray passes a triangle on the same side of all three edges.
    ab, bc, ca = ax * by - ay * bx, bx * cy - by * cx, cx * ay - cy * ax
    leaves = (ab > 0.0) & (bc > 0.0) & (ca > 0.0)
    enters = (ab < 0.0) & (bc < 0.0) & (ca < 0.0)
    # Height of the plane over the point, times an area of the sign of the others.
    height = bc * az + ca * bz + ab * cz
    return int((leaves & (height > 0.0)).sum() - (enters & (height < 0.0)).sum())


# Axes of a frame with z along the ray: turned by 99 degrees about (1, 1, 1), which is no typical
# direction of machine parts, so that the ray practically never hits an edge.
_FRAME = Rotation.from_rotvec(np.ones(3)).as_matrix()


class Inside:
    """The closed parts of the meshes of a link, and a probe point of each of its parts.

    A part that does not cross a closed surface is either inside or outside of it, so one probe
    point for each connected part is enough. Everything is in the frame of the link.
    """

    def __init__(self, shapes: Sequence[Shape]) -> None:
        probes, closed = [], []
        for shape in shapes:
            rotation, translation = shape.pose[:3, :3], shape.pose[:3, 3]
            if shape.kind != "mesh":
                probes.append(translation)
                continue
            vertices = shape.vertices @ rotation.T + translation
            found = closed_surfaces(vertices, shape.triangles)
            _, first = np.unique(found.pieces, return_index=True)
            probes.extend(vertices[shape.triangles[first, 0]])
            closed.append(vertices[found.triangles[found.closed]])
        self.probes = np.array(probes).reshape(-1, 3)
        triangles = np.concatenate([np.zeros((0, 3, 3)), *closed])
        corners = triangles.reshape(-1, 3)
        self._low = corners.min(axis=0, initial=np.inf)
        self._high = corners.max(axis=0, initial=-np.inf)
        self._triangles = triangles @ _FRAME.T  # seen along the ray
        across = self._triangles[:, :, :2]
        # (2, triangles): rows of their own are compared several times as fast.
        self._lowest = np.ascontiguousarray(across.min(axis=1).T)
        self._highest = np.ascontiguousarray(across.max(axis=1).T)

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner (3,) of the closed parts; not finite without any."""
        return self._low, self._high

    def near(self, points: np.ndarray) -> np.ndarray:
        """Whether points (..., 3) are in the box around the closed parts."""
        return ((points > self._low) & (points < self._high)).all(axis=-1)

    def holds_any(self, points: np.ndarray) -> bool:
        """Whether one of the points (n, 3) is inside.

        The winding number of the surface about a point is the number of times that
        a ray from it leaves the surface, less the number of times it enters.
        """
        (low_x, low_y), (high_x, high_y) = self._lowest, self._highest
        for point in points[self.near(points)] @ _FRAME.T:
            x, y, _ = point
            rows = np.flatnonzero((low_x <= x) & (x <= high_x))
            rows = rows[(low_y[rows] <= y) & (y <= high_y[rows])]
            if ray_winding_number(point, self._triangles[rows]) != 0:
                return True
        return False
