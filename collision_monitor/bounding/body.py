# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A mesh as points to be covered and points to be left free."""

from __future__ import annotations

import numpy as np
import trimesh
from scipy.spatial import cKDTree

from collision_monitor.bounding.obb import OrientedBox
from collision_monitor.kernels.coverage import winding_numbers

_SURFACE_POINTS = 2000
_DENSE_SURFACE_POINTS = 20_000
_GRID_POINTS = 8000
_NEAR_PRICE, _FAR = 0.4, 0.07
# Triangles up to which winding numbers are taken on the mesh as it is.
_FEW_TRIANGLES = 4000


def surface_points(triangles: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """``count`` points (count, 3), uniform on a surface of ``triangles`` (m, 3, 3)."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    total = np.cumsum(areas)
    chosen = np.searchsorted(total, rng.random(count) * total[-1])
    chosen = np.minimum(chosen, len(triangles) - 1)
    u, v = rng.random((2, count, 1))
    u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
    return a[chosen] + u * (b[chosen] - a[chosen]) + v * (c[chosen] - a[chosen])


def coarsened(triangles: np.ndarray, size: float) -> np.ndarray:
    """The surface with its vertices moved to a grid of ``size``; what collapses is dropped.

    A closed surface stays closed, so winding numbers stay whole.
    """
    moved = np.round(triangles / size)
    a, b, c = moved[:, 0], moved[:, 1], moved[:, 2]
    whole = (a != b).any(axis=1) & (b != c).any(axis=1) & (c != a).any(axis=1)
    return moved[whole] * size


class Body:
    """One mesh in the frame of its oriented box, scaled to a size of about 1.

    ``size`` is that scale in metres. ``surface`` (n, 3) are points on the mesh and the
    vertices of its hull, ``dense_surface`` many more, ``inside`` and ``outside`` a jittered
    grid over the box and a border, ``prices`` what covering a point outside costs.
    Inside is where the winding number is above one half, so holes in a mesh do no harm.
    """

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray, box: OrientedBox) -> None:
        """``vertices`` (n, 3), metres; ``triangles`` (m, 3); ``box``: around them."""
        rng = np.random.default_rng(0)
        self.box = box
        floor = 0.05 * box.extents[2]
        self.size = float(np.cbrt(np.prod(np.maximum(box.extents, floor))))
        local = (vertices - box.center) @ box.axes / self.size
        self.triangles = np.ascontiguousarray(local[triangles])
        hull = trimesh.convex.convex_hull(local)
        self.hull_points = np.asarray(hull.vertices)
        self.hull_area = float(hull.area)
        self.hull_volume = float(hull.volume)
        samples = surface_points(self.triangles, _SURFACE_POINTS, rng)
        self.dense_surface = surface_points(self.triangles, _DENSE_SURFACE_POINTS, rng)
        self.surface = np.vstack([samples, self.hull_points])

        extents = box.extents / self.size
        half = 0.5 * extents + 0.35 * min(extents[1], 1.0)
        step = float(np.cbrt(np.prod(2.0 * half) / _GRID_POINTS))
        self.cell = step**3
        ticks = [np.arange(0.5 * step - h, h, step) for h in half]
        grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 3)
        grid += rng.uniform(-0.5, 0.5, grid.shape) * step
        within = np.zeros(len(grid), dtype=bool)
        boxed = np.flatnonzero((np.abs(grid) <= 0.5 * extents).all(axis=1))
        surface = self.triangles
        if len(surface) > _FEW_TRIANGLES:
            surface = coarsened(surface, 0.02)
        within[boxed] = np.abs(winding_numbers(grid[boxed], surface)) > 0.5
        self.inside, self.outside = grid[within], grid[~within]
        # A point far from the surface costs more: far is where leaves stick out.
        far = cKDTree(self.dense_surface).query(self.outside)[0]
        self.prices = _NEAR_PRICE + far / _FAR

    def scaled(self, leaves: np.ndarray) -> np.ndarray:
        """Capsules (k, 7) of the mesh's own frame, in the frame of this body."""
        ends = (leaves[:, :6].reshape(-1, 3) - self.box.center) @ self.box.axes / self.size
        return np.column_stack([ends.reshape(-1, 6), leaves[:, 6] / self.size])

    def unscaled(self, capsules: np.ndarray) -> np.ndarray:
        """Capsules (k, 7) of this body's frame, in the mesh's own frame, metres."""
        ends = capsules[:, :6].reshape(-1, 3) * self.size @ self.box.axes.T + self.box.center
        return np.column_stack([ends.reshape(-1, 6), capsules[:, 6] * self.size])
