# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Spheres around a point set: as Zhang et al. fit it, and the smallest."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from collision_monitor.geometry.leaf import Leaf, enclosing
from collision_monitor.geometry.obb import OrientedBox, fit_box, hull_points

# Of the size: a point no farther outside than this is inside.
_SLACK = 1e-12
_MOST_STEPS = 1000  # each makes the sphere larger; about ten do


def fit_sphere(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """The sphere about the centre of the points' oriented box; points (n, 3), metres."""
    center = (fit_box(points) if box is None else box).center
    return enclosing(center, center, 0.0, np.asarray(points, float))


def _through(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre and radius of the smallest sphere through up to four ``points`` (k, 3)."""
    edges = points[1:] - points[0]
    # The centre lies in the points' own plane: the solution of least norm.
    offset = np.linalg.lstsq(edges, 0.5 * (edges**2).sum(axis=1), rcond=None)[0]
    return points[0] + offset, float(np.linalg.norm(offset))


def _around(points: np.ndarray, slack: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Those of up to five points that the smallest sphere around all rests on; the sphere."""
    best, center, least = points, points.mean(axis=0), np.inf
    for count in range(1, min(len(points), 4) + 1):
        for chosen in combinations(range(len(points)), count):
            middle, radius = _through(points[list(chosen)])
            outermost = np.linalg.norm(points - middle, axis=1).max()
            if radius < least and outermost <= radius + slack:
                best, center, least = points[list(chosen)], middle, radius
    return best, center, least


def _least_center(points: np.ndarray) -> np.ndarray:
    """Centre of the smallest sphere around ``points`` (n, 3).

    It rests on at most four of them: the farthest point outside joins those, until there is none
    (the basis exchange of LP-type problems: Matousek, Sharir, Welzl 1996).
    """
    origin = points.mean(axis=0)
    local = points - origin
    slack = _SLACK * float(np.abs(local).max())
    support, center, radius = local[:1], local[0], 0.0
    for _ in range(_MOST_STEPS):
        distances = np.linalg.norm(local - center, axis=1)
        farthest = int(distances.argmax())
        if distances[farthest] <= radius + slack:
            break
        support, center, radius = _around(np.vstack([support, local[farthest]]), slack)
        if not np.isfinite(radius):  # rounding; the published sphere is left as a rival
            break
    return center + origin


def fit_least_sphere(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """The smallest sphere around ``points`` (n, 3), metres; never larger than the published."""
    points = np.asarray(points, dtype=float)
    published = fit_sphere(points, box)
    center = _least_center(hull_points(points) if len(points) > 4 else points)
    least = enclosing(center, center, 0.0, points)
    return least if least.volume < published.volume else published
