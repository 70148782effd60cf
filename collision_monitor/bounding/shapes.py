# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""From a collision shape to the leaf that encloses it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import trimesh
from scipy.spatial import QhullError

from collision_monitor.bounding.capsule import fit_capsule
from collision_monitor.bounding.leaf import Leaf
from collision_monitor.bounding.obb import fit_box, hull_points
from collision_monitor.bounding.sphere import fit_sphere
from collision_monitor.robot.description import Shape

# Corners of a box of side 2.
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


@dataclass(frozen=True, eq=False)
class Fit:
    """A leaf around a shape, in the link's frame, and the volumes to judge it by (m^3).

    ``shape_volume`` is that of the convex hull where a mesh is not closed.
    """

    leaf: Leaf
    shape_volume: float
    hull_volume: float
    obb_volume: float


def smaller(a: Leaf, b: Leaf) -> Leaf:
    """The leaf of less volume, the first if they are equal."""
    return a if a.volume <= b.volume else b


def _fit_points(points: np.ndarray, tolerance: float) -> tuple[Leaf, float]:
    """The capsule or sphere of less volume, and the volume of the oriented box."""
    box = fit_box(points)
    return smaller(fit_capsule(points, box, tolerance), fit_sphere(points, box)), box.volume


def _on_z_axis(radius: float, length: float) -> Leaf:
    half = np.array([0.0, 0.0, 0.5 * length])
    return Leaf("", -half, half, radius)


def _fit_cylinder(radius: float, length: float) -> Fit:
    """The capsule that shares a cylinder's axis, or the sphere through its rims."""
    center = np.zeros(3)
    sphere = Leaf("", center, center, math.hypot(radius, 0.5 * length))
    volume = math.pi * radius**2 * length
    leaf = smaller(_on_z_axis(radius, length), sphere)
    return Fit(leaf, volume, volume, 4.0 * radius**2 * length)


def _fit_in_own_frame(shape: Shape, tolerance: float) -> Fit:
    if shape.kind == "sphere":
        (radius,) = shape.size
        leaf = Leaf("", np.zeros(3), np.zeros(3), radius)
        return Fit(leaf, leaf.volume, leaf.volume, 8.0 * radius**3)
    if shape.kind == "cylinder":
        return _fit_cylinder(*shape.size)
    if shape.kind == "capsule":
        radius, length = shape.size
        leaf = _on_z_axis(radius, length)
        return Fit(leaf, leaf.volume, leaf.volume, 4.0 * radius**2 * (length + 2.0 * radius))
    if shape.kind == "box":
        leaf, obb_volume = _fit_points(0.5 * np.asarray(shape.size) * _CORNERS, tolerance)
        return Fit(leaf, obb_volume, obb_volume, obb_volume)
    points = hull_points(shape.vertices)
    leaf, obb_volume = _fit_points(points, tolerance)
    hull_volume, mesh_volume = _mesh_volumes(shape) if obb_volume > 0.0 else (0.0, 0.0)
    return Fit(leaf, mesh_volume, hull_volume, obb_volume)


def _mesh_volumes(shape: Shape) -> tuple[float, float]:
    """Volumes of a mesh's convex hull and of the mesh itself (of the hull if it is open)."""
    mesh = trimesh.Trimesh(shape.vertices, shape.triangles, process=True)
    try:
        hull_volume = float(mesh.convex_hull.volume)
    except (QhullError, ValueError):  # nearly in one plane
        return 0.0, 0.0
    return hull_volume, float(abs(mesh.volume)) if mesh.is_watertight else hull_volume


class ShapeFitter:
    """Fits leaves to shapes; equal shapes, as of two equal arms, are fitted once."""

    def __init__(self, tolerance: float = 1e-6) -> None:
        """``tolerance``: of the capsule's bisection, metres."""
        self._tolerance = tolerance
        self._done: dict[tuple, Fit] = {}

    def fit(self, shape: Shape, link: str) -> Fit:
        """The capsule or sphere of less volume around ``shape``, in the frame of ``link``."""
        vertices = None if shape.vertices is None else shape.vertices.tobytes()
        triangles = None if shape.triangles is None else shape.triangles.tobytes()
        key = (shape.kind, shape.size, vertices, triangles)
        if key not in self._done:
            self._done[key] = _fit_in_own_frame(shape, self._tolerance)
        fit = self._done[key]
        return replace(fit, leaf=fit.leaf.moved(shape.pose, link))


def fit_shape(shape: Shape, link: str, tolerance: float = 1e-6) -> Fit:
    """As `ShapeFitter.fit`, for a single shape."""
    return ShapeFitter(tolerance).fit(shape, link)
