# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The capsule around a point set, as Zhang et al. fit it to a part of a manipulator."""

from __future__ import annotations

import numpy as np

from collision_monitor.geometry.leaf import Leaf, enclosing
from collision_monitor.geometry.obb import OrientedBox, fit_box


def _axial_and_radial(
    points: np.ndarray, origin: np.ndarray, axis: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates along the axis and distances from it."""
    offsets = points - origin
    x = offsets @ axis
    return x, np.linalg.norm(offsets - x[:, None] * axis, axis=1)


def innermost_center(x: np.ndarray, rho: np.ndarray, radius: float, tolerance: float) -> float:
    """How far a hemisphere's centre can move inwards from the end at min(x), by bisection.

    The centre c starts at min(x) and may go up to min(x) + radius; it goes as far as
    all points beyond it (x <= c) stay within ``radius``, to within ``tolerance`` in c.
    (The farthest point is then within ``tolerance`` of the radius as well, unless one
    at the full radius stops the centre short.) The result is on the enclosing side.
    """

    def reach(center: float) -> float:
        beyond = x <= center
        return float(np.sqrt((x[beyond] - center) ** 2 + rho[beyond] ** 2).max())

    inside, outside = float(x.min()), float(x.min()) + radius
    if reach(outside) <= radius:
        return outside
    while outside - inside > tolerance:
        middle = 0.5 * (inside + outside)
        if reach(middle) <= radius:
            inside = middle
        else:
            outside = middle
    return inside


def innermost_center_exact(x: np.ndarray, rho: np.ndarray, radius: float) -> float:
    """What `innermost_center` converges to: min over the points of x + sqrt(r^2 - rho^2)."""
    return float((x + np.sqrt(np.maximum(radius**2 - rho**2, 0.0))).min())


def capsule_along(
    points: np.ndarray, origin: np.ndarray, axis: np.ndarray, tolerance: float
) -> Leaf:
    """The capsule about the line through ``origin`` along the unit vector ``axis``.

    Radius: the largest distance of any point to the line. Then both hemisphere centres
    move inwards as far as they can. If they meet (or, within the tolerance, pass each
    other), the body is a sphere about their mean.
    """
    x, rho = _axial_and_radial(points, origin, axis)
    radius = float(rho.max())
    start = innermost_center(x, rho, radius, tolerance)
    end = -innermost_center(-x, rho, radius, tolerance)
    if end - start <= 2.0 * tolerance:
        start = end = 0.5 * (start + end)
    p0 = origin + start * axis
    p1 = p0 if start == end else origin + end * axis
    return enclosing(p0, p1, radius, points)


def fit_capsule(
    points: np.ndarray, box: OrientedBox | None = None, tolerance: float = 1e-6
) -> Leaf:
    """The capsule along the longest side of the points' oriented box.

    Args:
        points: (n, 3), metres; the result encloses their convex hull.
        box: their oriented box, if known.
        tolerance: the bisection's SD, metres: smaller is tighter.
    """
    box = fit_box(points) if box is None else box
    return capsule_along(np.asarray(points, float), box.center, box.long_axis, tolerance)
