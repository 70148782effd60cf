# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far the surface of a link's leaves stands off the shapes inside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collision_monitor.fitting.body import surface_points
from collision_monitor.fitting.coverage import gaps_to_union
from collision_monitor.fitting.shapes import leaf_rows
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Shape

_POINTS = 2000  # on the surfaces of all leaves of a link
_SAMPLES = 10_000  # on the triangles of a mesh
_NEAREST = 6  # samples whose triangles are measured for each point
_ON_SURFACE = 1e-9  # metres


def stand_off(
    shapes: Sequence[Shape], leaves: Sequence[Leaf], hidden: Sequence[Leaf] = ()
) -> tuple[float, float]:
    """Mean and largest distance in metres from the surface of the leaves to the nearest shape.

    At random points, the same in every call, that are uniform on the outer surface of the union of
    the leaves. (0, 0) if all of it is hidden.

    Args:
        shapes: of a link.
        leaves: that enclose them, link frame.
        hidden: other leaves in the link frame; the surface inside them does not count.
    """
    rng = np.random.default_rng(0)
    points = _outer_points(leaf_rows(leaves), rng)
    if len(hidden) and len(points):
        points = points[gaps_to_union(points, leaf_rows(hidden)) > 0.0]
    if not len(points):
        return 0.0, 0.0
    distances = np.min([_distances(shape, points, rng) for shape in shapes], axis=0)
    return float(distances.mean()), float(distances.max())


def _outer_points(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points (n, 3) on the surface of the union of capsules (k, 7)."""
    start, axis, radii = rows[:, :3], rows[:, 3:6] - rows[:, :3], rows[:, 6]
    lengths = np.linalg.norm(axis, axis=1)
    areas = 2.0 * np.pi * radii * (lengths + 2.0 * radii)
    own = rng.choice(len(rows), _POINTS, p=areas / areas.sum())
    unit = axis[own] / np.where(lengths > 0.0, lengths, 1.0)[own, None]
    normals = rng.normal(size=(_POINTS, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    along = (normals * unit).sum(axis=1)
    place = (along > 0.0).astype(float)  # of the axis: the end whose half of the sphere it is on
    on_side = rng.random(_POINTS) * (lengths + 2.0 * radii)[own] < lengths[own]
    normals[on_side] -= (along[:, None] * unit)[on_side]
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    place[on_side] = rng.random(int(on_side.sum()))
    points = start[own] + place[:, None] * axis[own] + radii[own, None] * normals
    return points[gaps_to_union(points, rows) > -_ON_SURFACE]


def _distances(shape: Shape, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Distances (n,) of ``points`` (n, 3) in the link frame to a shape; 0 inside a primitive."""
    local = (points - shape.pose[:3, 3]) @ shape.pose[:3, :3]
    if shape.kind == "mesh":
        return _mesh_distances(np.asarray(shape.vertices)[shape.triangles], local, rng)
    if shape.kind == "box":
        beyond = np.maximum(np.abs(local) - 0.5 * np.array(shape.size), 0.0)
        return np.linalg.norm(beyond, axis=1)
    radius = shape.size[0]
    half = 0.0 if shape.kind == "sphere" else 0.5 * shape.size[1]
    beyond = np.maximum(np.abs(local[:, 2]) - half, 0.0)
    across = np.linalg.norm(local[:, :2], axis=1)
    if shape.kind == "cylinder":
        return np.hypot(np.maximum(across - radius, 0.0), beyond)
    return np.maximum(np.hypot(across, beyond) - radius, 0.0)


def _mesh_distances(
    triangles: np.ndarray, points: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Distances (n,) to the triangles (m, 3, 3) of the nearest samples: hardly ever too large."""
    from scipy.spatial import cKDTree
    from trimesh.triangles import closest_point

    samples, owners = surface_points(triangles, _SAMPLES, rng)
    nearest = owners[cKDTree(samples).query(points, _NEAREST)[1]].ravel()
    feet = closest_point(triangles[nearest], np.repeat(points, _NEAREST, axis=0))
    gaps = np.linalg.norm(feet.reshape(-1, _NEAREST, 3) - points[:, None], axis=2)
    return gaps.min(axis=1)
