# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Convex hulls of meshes: what MuJoCo lets meshes touch by."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull, QhullError

_LEAST = 1e-4  # thickness of a hull, m: a flat mesh has none, and MuJoCo wants a volume


def convex_hull(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and outward triangles (m, 3) of the convex hull of ``points`` (k, 3).

    Points in one plane, on one line or all in one place get a thickness of 0.1 mm.
    """
    points = np.unique(np.asarray(points, dtype=float), axis=0)
    center = points.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((points - center).T) if len(points) > 1 else np.eye(3))
    local = (points - center) @ axes
    for axis in np.flatnonzero(np.ptp(local, axis=0) < _LEAST):
        shift = np.zeros(3)
        shift[axis] = _LEAST / 2
        local = np.vstack([local - shift, local + shift])
    points = local @ axes.T + center
    try:
        hull = ConvexHull(points)
    except QhullError:
        hull = ConvexHull(points, qhull_options="QJ")
    keep, renumbered = np.unique(hull.simplices, return_inverse=True)
    triangles = renumbered.reshape(-1, 3)
    vertices = points[keep]
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return vertices, triangles
