# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One bounding shape of a point set: oriented box, capsule or sphere.

Capsules and spheres are fitted by the method of Zhang et al. (`fit_capsule`, `fit_sphere`), or with
the least volume (`fit_least_capsule`, `fit_least_sphere`).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from collision_monitor.errors import FitError
from collision_monitor.geometry.fixed_order import norm, principal_axes, product
from collision_monitor.geometry.leaf import Leaf, enclosing
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


_STEPS = 400
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


def _volume(points: np.ndarray) -> float:
    """Volume of the capsule about the z axis around ``points`` (n, 3)."""
    rho = np.sqrt(points[:, 0] ** 2 + points[:, 1] ** 2)
    radius = float(rho.max())
    start = innermost_center(points[:, 2], rho, radius)
    end = -innermost_center(-points[:, 2], rho, radius)
    # If the ends pass each other, the points fit into one sphere of this radius.
    return math.pi * radius**2 * (max(end - start, 0.0) + 4.0 / 3.0 * radius)


def _refined(points: np.ndarray, center: np.ndarray, axis: np.ndarray, size: float) -> np.ndarray:
    """Return (origin, direction) (2, 3) of a local least volume near a line (Nelder-Mead)."""
    from scipy.optimize import minimize

    frame = _frame(axis)
    local = product(points - center, frame.T) / size

    def line(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([x[2], x[3], 0.0]), np.array([x[0], x[1], 1.0])

    def volume(x: np.ndarray) -> float:
        origin, direction = line(x)
        return _volume(product(local - origin, _frame(direction).T))

    step = np.vstack([np.zeros(4), 0.15 * np.eye(4)])
    options = {"maxiter": _STEPS, "initial_simplex": step, "xatol": 1e-5, "fatol": 1e-7}
    origin, direction = line(minimize(volume, np.zeros(4), method="Nelder-Mead", options=options).x)
    return np.array([center + size * product(origin, frame), product(direction, frame)])


def fit_least_capsule(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """Return the smallest capsule of several starts; never larger than that of `fit_capsule`.

    Starts: the three axes of the oriented box and the longest principal axis. The least-volume box
    of a link is often skewed against its tube, so that its longest side is a poor axis.

    Args:
        points: (n, 3), metres; the vertices of the hull are enough.
        box: their oriented box, if known.
    """
    points = np.asarray(points, dtype=float)
    box = fit_box(points) if box is None else box
    best = fit_capsule(points, box)
    size = float(box.extents[2])
    if size == 0.0:
        return best
    principal = principal_axes(points)[1][:, 2]
    for axis in (*box.axes.T, principal):
        origin, direction = _refined(points, box.center, axis, size)
        unit = direction / norm(direction)
        leaf = capsule_along(points, origin, unit)
        if leaf.volume < best.volume:
            best = leaf
    return best


_MAX_STEPS = 1000  # each step makes the sphere larger; about ten are usual


def fit_sphere(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """Return the sphere about the centre of the points' oriented box; points (n, 3), metres."""
    center = (fit_box(points) if box is None else box).center
    return enclosing(center, center, 0.0, np.asarray(points, float))


_FLAT = 1e-20  # squared, relative: a point that is so near to the space of the others adds none


def _circumsphere(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return centre and radius of the smallest sphere through up to four ``points`` (k, 3).

    The centre moves orthogonally to all points so far until the next one is on the sphere, too
    (Gaertner, Fast and robust smallest enclosing balls, 1999). The radius is infinite if there is
    no such sphere.
    """
    center, basis = points[0].copy(), []
    for point in points[1:]:
        offset = point - points[0]
        across = offset.copy()
        for unit in basis:
            across -= float((across * unit).sum()) * unit
        height = norm(across)
        if height * height <= _FLAT * float((offset * offset).sum()):
            return center, math.inf
        to_point, radius = point - center, norm(points[0] - center)
        excess = float((to_point * to_point).sum()) - radius * radius
        unit = across / height
        center = center + 0.5 * excess / float((offset * unit).sum()) * unit
        basis.append(unit)
    return center, norm(points[0] - center)


def _support_of_sphere(points: np.ndarray, slack: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (support points, centre, radius) of the smallest sphere around up to five points."""
    best, center, least = points, points.mean(axis=0), np.inf
    for count in range(1, min(len(points), 4) + 1):
        for chosen in combinations(range(len(points)), count):
            middle, radius = _circumsphere(points[list(chosen)])
            outermost = np.linalg.norm(points - middle, axis=1).max()
            if radius < least and outermost <= radius + slack:
                best, center, least = points[list(chosen)], middle, radius
    return best, center, least


def _least_center(points: np.ndarray) -> np.ndarray:
    """Return the centre of the smallest sphere around ``points`` (n, 3).

    At most four points support it. The farthest point outside is added to these until no point is
    outside (basis exchange of LP-type problems: Matousek, Sharir, Welzl 1996).
    """
    origin = points.mean(axis=0)
    local = points - origin
    slack = RELATIVE_ROUNDING * float(np.abs(local).max())
    support, center, radius = local[:1], local[0], 0.0
    for _ in range(_MAX_STEPS):
        distances = np.linalg.norm(local - center, axis=1)
        farthest = int(distances.argmax())
        if distances[farthest] <= radius + slack:
            break
        support, center, radius = _support_of_sphere(np.vstack([support, local[farthest]]), slack)
        if not np.isfinite(radius):  # due to rounding; the caller also tries the other sphere
            break
    return center + origin


def fit_least_sphere(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """Return the smallest sphere around ``points`` (n, 3), metres; at most that of `fit_sphere`."""
    points = np.asarray(points, dtype=float)
    published = fit_sphere(points, box)
    center = _least_center(hull_points(points) if len(points) > 4 else points)
    least = enclosing(center, center, 0.0, points)
    return least if least.volume < published.volume else published
