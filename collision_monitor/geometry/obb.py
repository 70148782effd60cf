# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The oriented bounding box of a point set."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np

from collision_monitor.errors import FitError


@dataclass(frozen=True, eq=False)
class OrientedBox:
    """A box: centre (3,), axes as the columns of a rotation, extents (3,) ascending."""

    center: np.ndarray
    axes: np.ndarray
    extents: np.ndarray

    @property
    def volume(self) -> float:
        """Volume in cubic metres."""
        return float(np.prod(self.extents))

    @property
    def long_axis(self) -> np.ndarray:
        """Unit vector along the longest side."""
        return self.axes[:, 2]


def box_along(points: np.ndarray, axes: np.ndarray) -> OrientedBox:
    """The box of ``points`` whose sides are parallel to the columns of ``axes``."""
    local = points @ axes
    low, high = local.min(axis=0), local.max(axis=0)
    order = np.argsort(high - low, kind="stable")
    return OrientedBox(axes @ (0.5 * (low + high)), axes[:, order], (high - low)[order])


def hull_points(points: np.ndarray) -> np.ndarray:
    """Vertices of the convex hull; all distinct points where they lie in one plane."""
    import trimesh
    from scipy.spatial import QhullError

    try:
        return np.asarray(trimesh.convex.hull_points(points))
    except (QhullError, ValueError):
        return np.unique(points, axis=0)


def fit_box(points: np.ndarray) -> OrientedBox:
    """A tight oriented box around ``points`` (n, 3).

    The least volume of: the boxes with one side on a face of the convex hull
    (searched by trimesh), the box of the principal axes, the axis-aligned box.
    Points in one plane or on one line have no hull, and leave the other two.

    Raises:
        FitError: without points, or with points that are not finite.
    """
    import trimesh
    from scipy.spatial import QhullError

    points = np.asarray(points, dtype=float).reshape(-1, 3)
    if len(points) == 0 or not np.isfinite(points).all():
        raise FitError(
            f"cannot fit a box to {len(points)} points"
            f"{'' if len(points) == 0 else ', some of which are not finite'}: "
            "one finite point at least is needed"
        )
    centred = points - points.mean(axis=0)
    squares, axes = np.linalg.eigh(centred.T @ centred)
    boxes = [box_along(points, np.eye(3)), box_along(points, axes)]
    if len(points) > 3 and squares[0] > 1e-14 * squares[-1]:
        with contextlib.suppress(QhullError, ValueError):  # flat within qhull's tolerance
            to_origin, _ = trimesh.bounds.oriented_bounds(points)
            boxes.append(box_along(points, to_origin[:3, :3].T))
    return min(boxes, key=lambda box: (box.volume, float(np.prod(box.extents[1:]))))
