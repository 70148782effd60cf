# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A mesh as sample points to be covered and sample points to be left free."""

from __future__ import annotations

import numpy as np

from collision_monitor.fitting.bounding_shapes import MANY, OrientedBox
from collision_monitor.fitting.coverage import ball_radii, winding_numbers
from collision_monitor.geometry.fixed_order import product

_SURFACE_POINTS = 2000
_DENSE_SURFACE_POINTS = 20_000
_EDGE_POINTS = 6000
_GRID_POINTS = 8000
_BASE_PRICE, _PRICE_DISTANCE = 0.8, 0.15
# Watchers nearer to the surface than this part of the size of the body touch it.
_TOUCHING = 0.01
# Balls that touch the mesh: their number; every fourth point of the surface limits them; their
# largest radius, and how far beside the surface a point is tested, in sizes of the body.
_BALLS, _POINT_STEP, _LARGEST_BALL, _BESIDE = 800, 4, 0.15, 0.02


def surface_points(
    triangles: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Sample points (count, 3) uniformly on ``triangles`` (m, 3, 3), with triangle indices."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    total = np.cumsum(areas)
    chosen = np.searchsorted(total, rng.random(count) * total[-1])
    chosen = np.minimum(chosen, len(triangles) - 1)
    u, v = rng.random((2, count, 1))
    u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
    return a[chosen] + u * (b[chosen] - a[chosen]) + v * (c[chosen] - a[chosen]), chosen


def edge_points(triangles: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Sample ``count`` points (count, 3) uniformly on the edges of ``triangles`` (m, 3, 3).

    Between two leaves a body sticks out farthest at an edge; points on the faces miss it.
    """
    ends = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2, 3)
    total = np.cumsum(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))
    chosen = np.searchsorted(total, rng.random(count) * total[-1])
    chosen = np.minimum(chosen, len(ends) - 1)
    return ends[chosen, 0] + rng.random((count, 1)) * (ends[chosen, 1] - ends[chosen, 0])


def coarsened(triangles: np.ndarray, size: float) -> np.ndarray:
    """Return ``triangles`` (m, 3, 3) with vertices rounded to a grid; degenerate ones are dropped.

    A closed surface stays closed, so winding numbers stay integers.
    """
    moved = np.round(triangles / size)
    a, b, c = moved[:, 0], moved[:, 1], moved[:, 2]
    whole = (a != b).any(axis=1) & (b != c).any(axis=1) & (c != a).any(axis=1)
    return moved[whole] * size


class Body:
    """One mesh in the frame of its oriented box, scaled to a size of about 1.

    A point is inside where the winding number is above one half, so small holes in a mesh do no
    harm.

    Attributes:
        size: scale in metres.
        surface: (n, 3) points on the mesh and vertices of its hull.
        dense_surface: (m, 3) many more points on the mesh.
        inside, outside: (i, 3) and (o, 3) points of a jittered grid over the box and a border.
        prices: (o,) cost of covering each point outside.
        watchers: (w, 3) points of other links, outside the mesh.
        watcher_weights: (w,) with sum 1.
        watcher_distances: (w,) distances to points on the mesh.
    """

    def __init__(
        self,
        vertices: np.ndarray,
        triangles: np.ndarray,
        box: OrientedBox,
        watchers: np.ndarray | None = None,
        outer: np.ndarray | None = None,
    ) -> None:
        """Sample the mesh of ``vertices`` (n, 3), metres, and ``triangles`` (m, 3) within ``box``.

        ``watchers`` (w, 4): points in the frame of the vertices, and their weights. ``outer``
        (k, 3): points whose hull replaces the hull of the vertices.
        """
        import trimesh
        from scipy.spatial import cKDTree

        rng = np.random.default_rng(0)
        self.box = box
        floor = 0.05 * box.extents[2]
        self.size = float(np.cbrt(np.prod(np.maximum(box.extents, floor))))
        local = product(vertices - box.center, box.axes) / self.size
        self.triangles = np.ascontiguousarray(local[triangles])
        hull = trimesh.convex.convex_hull(
            local if outer is None else product(outer - box.center, box.axes) / self.size
        )
        self.hull_points = np.asarray(hull.vertices)
        self.hull_area = float(hull.area)
        self.hull_volume = float(hull.volume)
        samples, _ = surface_points(self.triangles, _SURFACE_POINTS, rng)
        self.dense_surface = np.vstack(
            [
                surface_points(self.triangles, _DENSE_SURFACE_POINTS, rng)[0],
                edge_points(self.triangles, _EDGE_POINTS, rng),
            ]
        )
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
        if len(surface) > MANY:
            surface = coarsened(surface, 0.02)
        self._coarse, self._balls = surface, None
        within[boxed] = np.abs(winding_numbers(grid[boxed], surface)) > 0.5
        self.inside, self.outside = grid[within], grid[~within]
        # Points far from the surface cost more, so that leaves do not stick out far.
        nearest = cKDTree(self.dense_surface)
        far = nearest.query(self.outside)[0]
        self.prices = _BASE_PRICE + far / _PRICE_DISTANCE

        weighted_points = np.empty((0, 4)) if watchers is None else watchers
        points = product(weighted_points[:, :3] - box.center, box.axes) / self.size
        distances = nearest.query(points)[0] if len(points) else np.empty(0)
        beyond = distances > _TOUCHING
        beyond[beyond] = np.abs(winding_numbers(points[beyond], surface)) < 0.5
        self.watchers = np.asfortranarray(points[beyond])
        self.watcher_distances = distances[beyond]
        weights = weighted_points[beyond, 3]
        self.watcher_weights = weights / max(weights.sum(), 1e-300)

    @property
    def balls(self) -> np.ndarray:
        """(b, 4) balls that touch the mesh from inside: centres and radii, as of `ball_radii`.

        Where a point is not inside on either side, as at thin walls, balls have the radius 0.
        """
        if self._balls is None:  # a cached property would have one lock for all bodies
            self._balls = self._find_balls()
        return self._balls

    def _find_balls(self) -> np.ndarray:
        points, chosen = surface_points(self.triangles, _BALLS, np.random.default_rng(1))
        a, b, c = self.triangles[chosen].transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        surface = np.vstack([self.dense_surface[::_POINT_STEP], self.hull_points])
        rest, balls = np.arange(len(points)), np.column_stack([points, np.zeros(len(points))])
        for side in (-1.0, 1.0):  # most normals point outwards
            beside = points[rest] + side * _BESIDE * normals[rest]
            is_inside = np.abs(winding_numbers(beside, self._coarse)) > 0.5
            found, rest = rest[is_inside], rest[~is_inside]
            inwards = side * normals[found]
            radii = ball_radii(points[found], inwards, surface, _LARGEST_BALL)
            balls[found, :3] += radii[:, None] * inwards
            balls[found, 3] = radii
        return balls

    def scaled(self, leaves: np.ndarray) -> np.ndarray:
        """Transform capsules (k, 7) from the mesh's frame, metres, into the frame of this body."""
        ends = product(leaves[:, :6].reshape(-1, 3) - self.box.center, self.box.axes) / self.size
        return np.column_stack([ends.reshape(-1, 6), leaves[:, 6] / self.size])

    def unscaled(self, capsules: np.ndarray) -> np.ndarray:
        """Transform capsules (k, 7) from the frame of this body into the mesh's frame, metres."""
        ends = product(capsules[:, :6].reshape(-1, 3) * self.size, self.box.axes.T)
        ends += self.box.center
        return np.column_stack([ends.reshape(-1, 6), capsules[:, 6] * self.size])
