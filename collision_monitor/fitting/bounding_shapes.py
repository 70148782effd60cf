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
from collision_monitor.fitting.coverage import farthest_along
from collision_monitor.geometry.fixed_order import principal_axes, product
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.geometry.segments import RELATIVE_ROUNDING, ROUNDING


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


# Larger hulls are reduced to this many vertices, and meshes of more triangles are coarsened before
# their winding numbers are computed.
MANY = 4000


def spread_directions(count: int) -> np.ndarray:
    """Return unit vectors (count, 3), evenly spread along a spiral from pole to pole."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    rim = np.sqrt(1.0 - z**2)
    return np.column_stack([rim * np.cos(turn), rim * np.sin(turn), z])


def farthest(points: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return sorted indices of the ``points`` (n, 3) that are farthest along a direction (d, 3)."""
    return np.unique(farthest_along(np.ascontiguousarray(points), directions))


def outermost(points: np.ndarray) -> np.ndarray:
    """Return ``points`` (n, 3), reduced to the outermost if they are more than `MANY`.

    The directions are evenly spread after scaling the set to equal widths, so that long thin sets
    keep enough points.
    """
    if len(points) <= MANY:
        return points
    centred = points - points.mean(axis=0)
    squares, axes = principal_axes(points)
    widths = np.sqrt(np.maximum(squares, 1e-12 * squares[-1]))
    return points[farthest(product(centred, axes / widths), spread_directions(MANY))]


_NORMAL_STEP = 0.1  # normals of faces that are nearer to each other than about this are one


def _frames(normals: np.ndarray) -> np.ndarray:
    """Return orthonormal rows (k, 3, 3), the last of each three along one of ``normals`` (k, 3)."""
    x = np.cross(np.eye(3)[np.abs(normals).argmin(axis=1)], normals)
    x /= np.linalg.norm(x, axis=1)[:, None]
    return np.stack([x, np.cross(normals, x), normals], axis=1)


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
        frames = _frames(normals)
        for k in np.argsort(least, kind="stable"):
            if least[k] >= volume:
                break
            frame = frames[k]
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
    the last two are tried. Of many points the `outermost` decide.

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
    few = outermost(points)
    squares, axes = principal_axes(few)
    boxes = [box_along(few, np.eye(3)), box_along(few, axes)]
    if len(few) > 3 and squares[0] > 1e-14 * squares[-1]:
        boxes.extend(_boxes_on_faces(few, min(box.volume for box in boxes)))
    best = min(boxes, key=lambda box: (box.volume, float(np.prod(box.extents[1:]))))
    return box_along(points, best.axes)


# -- capsules and spheres by the method of Zhang et al. --


def volumes(rows: np.ndarray) -> np.ndarray:
    """Return the volumes (k,) of capsules, rows (k, 7) of two end points and the radius."""
    lengths = np.linalg.norm(rows[:, 3:6] - rows[:, :3], axis=1)
    return np.pi * rows[:, 6] ** 2 * (lengths + 4.0 / 3.0 * rows[:, 6])


def fit_parts(
    points: np.ndarray, starts: np.ndarray, axes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smaller of a capsule and a sphere around each part of ``points`` (n, 3).

    The capsule is along the longest side of the box of the part. Its radius is the largest distance
    of a point from the line through the middle of the box, and both hemisphere centres are moved
    inwards as far as possible, to the limit of the paper's bisection. At the point that is farthest
    from the line they would meet, so they never pass each other. The sphere is about the centre of
    the box. They also enclose the hulls of their points.

    Args:
        points: one part after another, metres.
        starts: (k,) first point of each part.
        axes: (k, 3, 3) columns along the sides of the boxes.

    Returns:
        Rows (k, 7), and where each point is along the longest side, from the centre (n,).
    """
    part = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(points)))
    local = np.einsum("ni,nij->nj", points, axes[part])
    low, high = np.minimum.reduceat(local, starts), np.maximum.reduceat(local, starts)
    middle, by_length = 0.5 * (low + high), np.argsort(high - low, axis=1, kind="stable")
    local = np.take_along_axis(local - middle[part], by_length[part], axis=1)
    x, rho = local[:, 2], np.sqrt(local[:, 0] ** 2 + local[:, 1] ** 2)
    reach = np.sqrt(np.maximum.reduceat(rho, starts)[part] ** 2 - rho**2)
    centers = np.einsum("kij,kj->ki", axes, middle)
    long_axes = np.take_along_axis(axes, by_length[:, None, 2:], axis=2)[:, :, 0]
    scale = float(np.abs(points).max())

    def between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Rows of the capsules between these places (k,) on the lines."""
        beyond = x - np.clip(x, low[part], high[part])
        radii = np.maximum.reduceat(np.sqrt(rho**2 + beyond**2), starts)
        radii += RELATIVE_ROUNDING * (scale + radii)
        ends = [centers + at[:, None] * long_axes for at in (low, high)]
        return np.column_stack([*ends, radii])

    nowhere = np.zeros(len(starts))
    capsules = between(
        np.minimum.reduceat(x + reach, starts), np.maximum.reduceat(x - reach, starts)
    )
    spheres = between(nowhere, nowhere)
    is_sphere = volumes(spheres) < volumes(capsules)
    return np.where(is_sphere[:, None], spheres, capsules), x


def fit_leaf(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """Return the smaller of the capsule and the sphere around ``points``, as `fit_parts`.

    Args:
        points: (n, 3), metres.
        box: their oriented box, if known.
    """
    box = fit_box(points) if box is None else box
    rows, _ = fit_parts(np.asarray(points, float), np.zeros(1, dtype=np.int64), box.axes[None])
    return Leaf("", rows[0, :3], rows[0, 3:6], float(rows[0, 6]))
