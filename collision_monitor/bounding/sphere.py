# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Spheres around a point set: as Zhang et al. fit it, and the smallest."""

from __future__ import annotations

import contextlib

import numpy as np
import trimesh
from scipy.spatial import QhullError

from collision_monitor.bounding.leaf import Leaf, enclosing
from collision_monitor.bounding.obb import OrientedBox, fit_box


def fit_sphere(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """The sphere about the centre of the points' oriented box; points (n, 3), metres."""
    center = (fit_box(points) if box is None else box).center
    return enclosing(center, center, 0.0, np.asarray(points, float))


def fit_least_sphere(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """The smallest sphere around ``points`` (n, 3), metres; never larger than the published.

    Exact, by trimesh: its centre is a vertex of the farthest-point Voronoi diagram.
    """
    points = np.asarray(points, dtype=float)
    best = fit_sphere(points, box)
    with contextlib.suppress(QhullError, ValueError, IndexError):  # points in one plane
        center, _ = trimesh.nsphere.minimum_nsphere(points)
        leaf = enclosing(center, center, 0.0, points)
        best = leaf if leaf.volume < best.volume else best
    return best
