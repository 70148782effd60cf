# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A mesh as points to be covered and points to be left free."""

from __future__ import annotations

import numpy as np

from collision_monitor.fitting.bounding_shapes import OrientedBox
from collision_monitor.fitting.coverage import winding_numbers

MANY = 4000  # so many vertices of a hull are as good as all
_BLOCK = 65_536  # points looked at in one go: memory, not time


def spread_directions(count: int) -> np.ndarray:
    """Unit vectors (count, 3), evenly spread: a spiral from pole to pole."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    rim = np.sqrt(1.0 - z**2)
    return np.column_stack([rim * np.cos(turn), rim * np.sin(turn), z])


def farthest(points: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Indices, ascending, of those ``points`` (n, 3) that are farthest along a direction (d, 3)."""
    block = max(1, _BLOCK * 100 // len(directions))
    best = np.full(len(directions), -np.inf)
    index = np.zeros(len(directions), dtype=np.int64)
    for start in range(0, len(points), block):
        heights = points[start : start + block] @ directions.T
        highest = heights.argmax(axis=0)
        height = heights[highest, np.arange(len(directions))]
        higher = height > best
        best[higher], index[higher] = height[higher], start + highest[higher]
    return np.unique(index)


def outermost(points: np.ndarray) -> np.ndarray:
    """``points`` (n, 3) as they are, or of more than `MANY` those that are farthest out.

    In directions that are even where the set is as long as it is wide: it may be a rod.
    """
    if len(points) <= MANY:
        return points
    centred = points - points.mean(axis=0)
    squares, axes = np.linalg.eigh(centred.T @ centred / len(points))
    widths = np.sqrt(np.maximum(squares, 1e-12 * squares[-1]))
    return points[farthest(centred @ (axes / widths), spread_directions(MANY))]


_SURFACE_POINTS = 2000
_DENSE_SURFACE_POINTS = 20_000
_EDGE_POINTS = 6000
_GRID_POINTS = 8000
_NEAR_PRICE, _FAR = 0.8, 0.15
# Watchers nearer to the surface than this, in sizes of the body, touch it.
_TOUCHING = 0.01
# Triangles up to which winding numbers are taken on the mesh as it is.
_FEW_TRIANGLES = 4000


def surface_points(
    triangles: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """``count`` points (count, 3), uniform on ``triangles`` (m, 3, 3), and which each lies on."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    total = np.cumsum(areas)
    chosen = np.searchsorted(total, rng.random(count) * total[-1])
    chosen = np.minimum(chosen, len(triangles) - 1)
    u, v = rng.random((2, count, 1))
    u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
    return a[chosen] + u * (b[chosen] - a[chosen]) + v * (c[chosen] - a[chosen]), chosen


def edge_points(triangles: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """``count`` points (count, 3), uniform on the edges of ``triangles`` (m, 3, 3).

    There, between two leaves, a body sticks out farthest; points on its surface miss it.
    """
    ends = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2, 3)
    total = np.cumsum(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))
    chosen = np.searchsorted(total, rng.random(count) * total[-1])
    chosen = np.minimum(chosen, len(ends) - 1)
    return ends[chosen, 0] + rng.random((count, 1)) * (ends[chosen, 1] - ends[chosen, 0])


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
    ``watchers`` (w, 3) are points of other links, ``watcher_weights`` sum up to one, and
    ``watcher_distances`` are those to the mesh, of points on it; inside there are none.
    Inside is where the winding number is above one half, so holes in a mesh do no harm.
    """

    def __init__(
        self,
        vertices: np.ndarray,
        triangles: np.ndarray,
        box: OrientedBox,
        watchers: np.ndarray | None = None,
        outer: np.ndarray | None = None,
    ) -> None:
        """``vertices`` (n, 3), metres; ``triangles`` (m, 3); ``box``: around them.

        ``watchers`` (w, 4): points in the frame of the vertices, and their weights.
        ``outer`` (k, 3): those whose hull stands in for the vertices' own.
        """
        import trimesh
        from scipy.spatial import cKDTree

        rng = np.random.default_rng(0)
        self.box = box
        floor = 0.05 * box.extents[2]
        self.size = float(np.cbrt(np.prod(np.maximum(box.extents, floor))))
        local = (vertices - box.center) @ box.axes / self.size
        self.triangles = np.ascontiguousarray(local[triangles])
        hull = trimesh.convex.convex_hull(
            local if outer is None else (outer - box.center) @ box.axes / self.size
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
        if len(surface) > _FEW_TRIANGLES:
            surface = coarsened(surface, 0.02)
        within[boxed] = np.abs(winding_numbers(grid[boxed], surface)) > 0.5
        self.inside, self.outside = grid[within], grid[~within]
        # A point far from the surface costs more: far is where leaves stick out.
        nearest = cKDTree(self.dense_surface)
        far = nearest.query(self.outside)[0]
        self.prices = _NEAR_PRICE + far / _FAR

        rows = np.empty((0, 4)) if watchers is None else watchers
        points = (rows[:, :3] - box.center) @ box.axes / self.size
        distances = nearest.query(points)[0] if len(points) else np.empty(0)
        beyond = distances > _TOUCHING
        beyond[beyond] = np.abs(winding_numbers(points[beyond], surface)) < 0.5
        self.watchers = np.asfortranarray(points[beyond])
        self.watcher_distances = distances[beyond]
        weights = rows[beyond, 3]
        self.watcher_weights = weights / max(weights.sum(), 1e-300)

    def scaled(self, leaves: np.ndarray) -> np.ndarray:
        """Capsules (k, 7) of the mesh's own frame, in the frame of this body."""
        ends = (leaves[:, :6].reshape(-1, 3) - self.box.center) @ self.box.axes / self.size
        return np.column_stack([ends.reshape(-1, 6), leaves[:, 6] / self.size])

    def unscaled(self, capsules: np.ndarray) -> np.ndarray:
        """Capsules (k, 7) of this body's frame, in the mesh's own frame, metres."""
        ends = capsules[:, :6].reshape(-1, 3) * self.size @ self.box.axes.T + self.box.center
        return np.column_stack([ends.reshape(-1, 6), capsules[:, 6] * self.size])
