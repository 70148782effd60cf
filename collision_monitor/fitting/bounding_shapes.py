# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One bounding shape of a point set: oriented box, capsule or sphere.

Capsules and spheres are fitted by the method of Zhang et al.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from collision_monitor.errors import FitError
from collision_monitor.geometry.fixed_order import norm, principal_axes, product
from collision_monitor.geometry.leaf import Leaf, enclosing
from collision_monitor.geometry.segments import ROUNDING


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
    """Return the box of ``points`` (n, 3) with sides along the columns of ``axes`` (3, 3)."""
    local = product(points, axes)
    low, high = local.min(axis=0), local.max(axis=0)
    order = np.argsort(high - low, kind="stable")
    return OrientedBox(product(axes, 0.5 * (low + high)), axes[:, order], (high - low)[order])


def hull_points(points: np.ndarray) -> np.ndarray:
    """Return the vertices (k, 3) of the convex hull; of coplanar points all distinct ones."""
    import trimesh
    from scipy.spatial import QhullError

    try:
        return np.asarray(trimesh.convex.hull_points(points))
    except (QhullError, ValueError):
        return np.unique(points, axis=0)


_NORMAL_STEP = 0.1  # normals of faces that are nearer to each other than about this are one


def _boxes_on_faces(points: np.ndarray, volume: float) -> Iterator[OrientedBox]:
    """Yield boxes with a side on a face of the hull of ``points`` (n, 3), each below ``volume``.

    Every box is smaller than the one before. A smallest rectangle around a polygon has a side on
    one of its edges (Freeman and Shapira 1975). Nothing is yielded for points that are flat within
    the tolerance of qhull.
    """
    from scipy.spatial import ConvexHull, QhullError

    with contextlib.suppress(QhullError, ValueError):
        hull = ConvexHull(points)
        corners = points[hull.vertices]
        a, b, c = points[hull.simplices].transpose(1, 0, 2)
        doubled = np.cross(b - a, c - a)
        upwards = np.where(hull.equations[:, 2:3] < 0.0, -1.0, 1.0) * hull.equations[:, :3]
        _, first = np.unique(np.round(upwards / _NORMAL_STEP), axis=0, return_index=True)
        normals = upwards[np.sort(first)]  # a box on a face and one on its opposite are the same
        # A box has at least the volume of its height times the projection of the hull, whose area
        # is half of that of all projected faces (Cauchy).
        heights = np.ptp(product(corners, normals.T), axis=0)
        least = heights * 0.25 * np.abs(product(normals, doubled.T)).sum(1)
        for k in np.argsort(least, kind="stable"):
            if least[k] >= volume:
                break
            frame = _frame(normals[k])
            flat = product(corners, frame[:2].T)
            ring = flat[ConvexHull(flat).vertices]
            edges = np.roll(ring, -1, axis=0) - ring
            lengths = np.linalg.norm(edges, axis=1)
            edges = edges[lengths > ROUNDING] / lengths[lengths > ROUNDING, None]
            along, across = (
                np.ptp(product(sides, ring.T), axis=1)
                for sides in (edges, edges[:, ::-1] * [-1.0, 1.0])
            )
            u, v = edges[(along * across).argmin()]
            sides = np.array([u * frame[0] + v * frame[1], u * frame[1] - v * frame[0], frame[2]])
            box = box_along(points, sides.T)
            if box.volume < volume:
                volume = box.volume
                yield box


def fit_box(points: np.ndarray) -> OrientedBox:
    """Return a tight oriented box around ``points`` (n, 3).

    The smallest of these candidates: boxes with one side on a face of the convex hull, the box of
    the principal axes, and the axis-aligned box. Coplanar or collinear points have no hull; only
    the last two are tried.

    Raises:
        FitError: there are no points, or they are not finite.
    """
    points = np.asarray(points, dtype=float).reshape(-1, 3)
    if len(points) == 0 or not np.isfinite(points).all():
        raise FitError(
            f"cannot fit a box to {len(points)} points"
            f"{'' if len(points) == 0 else ', some of which are not finite'}: "
            "at least one finite point is needed"
        )
    squares, axes = principal_axes(points)
    boxes = [box_along(points, np.eye(3)), box_along(points, axes)]
    if len(points) > 3 and squares[0] > 1e-14 * squares[-1]:
        boxes.extend(_boxes_on_faces(points, min(box.volume for box in boxes)))
    return min(boxes, key=lambda box: (box.volume, float(np.prod(box.extents[1:]))))


# -- capsules by the method of Zhang et al. --

_SHORT_AXIS = 2e-6  # metres; a capsule that is no longer becomes a sphere


def innermost_center(x: np.ndarray, rho: np.ndarray, radius: float) -> float:
    """Return the innermost centre of the hemisphere that closes the end at min(x).

    All points (n,) with x at most the centre stay within ``radius`` of it. This is the limit of the
    bisection of the paper.
    """
    return float((x + np.sqrt(np.maximum(radius**2 - rho**2, 0.0))).min())


def capsule_along(points: np.ndarray, origin: np.ndarray, axis: np.ndarray) -> Leaf:
    """Return the capsule about the line through ``origin`` along the unit vector ``axis``.

    The radius is the largest distance of a point from the line. Both hemisphere centres are moved
    inwards as far as possible. If they meet or pass each other, the result is a sphere about their
    mean.
    """
    offsets = points - origin
    x = product(offsets, axis)
    rho = np.linalg.norm(offsets - x[:, None] * axis, axis=1)
    radius = float(rho.max())
    start, end = innermost_center(x, rho, radius), -innermost_center(-x, rho, radius)
    if end - start <= _SHORT_AXIS:
        start = end = 0.5 * (start + end)
    p0 = origin + start * axis
    p1 = p0 if start == end else origin + end * axis
    return enclosing(p0, p1, radius, points)


def fit_capsule(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """Return the capsule along the longest side of the points' oriented box.

    Args:
        points: (n, 3), metres; the result encloses their convex hull.
        box: their oriented box, if known.
    """
    box = fit_box(points) if box is None else box
    return capsule_along(np.asarray(points, float), box.center, box.long_axis)


_AXES = np.eye(3).tolist()


def _cross(a: list[float], b: list[float]) -> list[float]:
    """Cross product of two vectors; `numpy.cross` is ten times slower for single vectors."""
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def _frame(direction: np.ndarray) -> np.ndarray:
    """Return three orthonormal rows (3, 3), the last along ``direction``."""
    z = direction / norm(direction)
    x = np.array(_cross(_AXES[np.abs(z).argmin()], z.tolist()))
    x /= norm(x)
    return np.array([x, _cross(z.tolist(), x.tolist()), z])


def fit_sphere(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """Return the sphere about the centre of the points' oriented box; points (n, 3), metres."""
    center = (fit_box(points) if box is None else box).center
    return enclosing(center, center, 0.0, np.asarray(points, float))


def fit_leaf(points: np.ndarray, box: OrientedBox) -> Leaf:
    """Return the smaller of the capsule and the sphere around ``points`` (n, 3) with this box."""
    capsule, sphere = fit_capsule(points, box), fit_sphere(points, box)
    return capsule if capsule.volume <= sphere.volume else sphere
