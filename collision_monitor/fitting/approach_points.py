# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Points of other links that come near a link: leaves should stand off least towards them.

A watcher of a link is the nearest point on another link in a sampled configuration, in the frame of
the watched link, in metres. Distances are measured between points sampled on both surfaces. This is
accurate enough to find where the other links come near, and much faster than distances of meshes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np

from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.fitting.body import surface_points
from collision_monitor.fitting.bounding_shapes import farthest, spread_directions
from collision_monitor.fitting.coverage import closest_points
from collision_monitor.geometry.fixed_order import product
from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import surface_mesh

# Increase when the same input gives another result.
_VERSION = 4
_SAMPLES = 200  # random points on a link
_DIRECTIONS = 100  # plus the farthest points along this many directions
_MAX_DISTANCE = 0.3  # metres; pairs farther apart are ignored
# A pair counts if its distance exceeds that of the nearest pair by less, in metres.
_WINDOW = 0.03
# Pairs closer than this distance (metres) in this share of the configurations are near by
# construction. Other pairs are compared with the nearest of these others.
_NEAR, _NEAR_SHARE = 0.1, 0.5
# Pairs closer than this distance (metres) in this share of the configurations are ignored: they
# nearly always touch, so tighter leaves gain nothing.
_TOUCHING, _TOUCHING_SHARE = 0.015, 0.9
_GRID = 0.005  # metres; watchers in one cell are merged
_MAX_WATCHERS = 400

Pair = tuple[str, str]


def _sample_points(shapes: Sequence[Shape]) -> np.ndarray:
    """Sample points (n, 4) on the shapes of a link: x, y, z in its frame, index of the shape."""
    soups, owners = [], []
    for k, shape in enumerate(shapes):
        mesh = surface_mesh(shape)
        corners = product(np.asarray(mesh.vertices), shape.pose[:3, :3].T) + shape.pose[:3, 3]
        soups.append(corners[mesh.faces])
        owners.append(np.full(len(mesh.faces), float(k)))
    triangles, owner = np.concatenate(soups), np.concatenate(owners)
    vertices, of_vertices = triangles.reshape(-1, 3), np.repeat(owner, 3)
    out = farthest(vertices, spread_directions(_DIRECTIONS))
    samples, chosen = surface_points(triangles, _SAMPLES, np.random.default_rng(0))
    return np.column_stack(
        [np.vstack([vertices[out], samples]), np.r_[of_vertices[out], owner[chosen]]]
    )


class _Clouds:
    """Point samples and poses of all links."""

    def __init__(self, links: Mapping[str, Sequence[Shape]], poses: Mapping[str, np.ndarray]):
        self.clouds = {name: _sample_points(shapes) for name, shapes in links.items()}
        self.poses = poses
        self._placed: dict[str, tuple[int, np.ndarray]] = {}
        self.centers, self.radii = {}, {}
        for name, cloud in self.clouds.items():
            points = cloud[:, :3]
            middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
            pose = poses[name]
            self.centers[name] = product(pose[:, :3, :3], middle) + pose[:, :3, 3]
            self.radii[name] = float(np.linalg.norm(points - middle, axis=1).max())

    def placed(self, name: str, n: int) -> np.ndarray:
        """Return the points (m, 3) of a link at configuration ``n``, base frame, Fortran order."""
        at, points = self._placed.get(name, (-1, None))
        if at != n:
            pose = self.poses[name][n]
            points = np.asfortranarray(
                product(self.clouds[name][:, :3], pose[:3, :3].T) + pose[:3, 3]
            )
            self._placed[name] = n, points
        return points

    def bounds(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Return lower bounds (n, pairs) of the distances in metres, from bounding spheres."""
        return np.column_stack(
            [
                np.linalg.norm(self.centers[a] - self.centers[b], axis=1)
                - self.radii[a] - self.radii[b]
                for a, b in pairs
            ]
        )  # fmt: skip


def watchers_of(
    links: Mapping[str, Sequence[Shape]], poses: Mapping[str, np.ndarray], pairs: Sequence[Pair]
) -> dict[str, list[np.ndarray]]:
    """Return watchers of each shape of each link, rows (w, 4): point in the shape's frame, weight.

    Args:
        links: shapes by link.
        poses: (n, 4, 4) of each link in n sampled configurations, base frame.
        pairs: links that are checked against each other.
    """
    if not pairs:
        return {name: [np.empty((0, 4))] * len(shapes) for name, shapes in links.items()}
    content = [
        (name, [(s.kind, s.pose, s.size, s.vertices, s.triangles) for s in shapes], poses[name])
        for name, shapes in links.items()
    ]
    key = content_key("watchers", _VERSION, content, list(pairs))

    def look() -> dict[str, list[list]]:
        found = _look(links, poses, pairs)
        return {name: [rows.tolist() for rows in of_link] for name, of_link in found.items()}

    stored = Store("watchers").kept(key, look)
    return {
        name: [np.array(rows).reshape(-1, 4) for rows in per_shape]
        for name, per_shape in stored.items()
    }


def _look(
    links: Mapping[str, Sequence[Shape]], poses: Mapping[str, np.ndarray], pairs: Sequence[Pair]
) -> dict[str, list[np.ndarray]]:
    samples_of = _Clouds(links, poses)
    bounds = samples_of.bounds(pairs)
    touches = _often_within(samples_of, pairs, bounds, _TOUCHING, _TOUCHING_SHARE)
    pairs, bounds = list(compress(pairs, ~touches)), bounds[:, ~touches]
    is_rarely_near = ~_often_within(samples_of, pairs, bounds, _NEAR, _NEAR_SHARE)
    seen: dict[tuple[str, int], list[np.ndarray]] = {}
    for n in range(len(bounds)):
        order = np.argsort(bounds[n], kind="stable")
        nearest = {True: _MAX_DISTANCE, False: _MAX_DISTANCE}  # by whether a pair is rarely near
        near_pairs = []
        for pair in order:
            is_rare = bool(is_rarely_near[pair])
            if bounds[n, pair] > max(nearest.values()) + _WINDOW:
                break
            if bounds[n, pair] > nearest[is_rare] + _WINDOW:
                continue
            a, b = pairs[pair]
            distance, i, j = closest_points(samples_of.placed(a, n), samples_of.placed(b, n))
            nearest[is_rare] = min(nearest[is_rare], distance)
            near_pairs.append((distance, is_rare, a, i, b, j))
        for distance, is_rare, a, i, b, j in near_pairs:
            weight = 1.0 - (distance - nearest[is_rare]) / _WINDOW
            if weight > 0.0 and distance < _MAX_DISTANCE:
                _note(samples_of, seen, n, (a, i), (b, j), weight)
                _note(samples_of, seen, n, (b, j), (a, i), weight)
    return {
        name: [merged(seen.get((name, k), []), shape.pose) for k, shape in enumerate(shapes)]
        for name, shapes in links.items()
    }


def _often_within(
    samples_of: _Clouds, pairs: Sequence[Pair], bounds: np.ndarray, distance: float, share: float
) -> np.ndarray:
    """Return whether (pairs,) links are within ``distance`` metres in ``share`` of the samples.

    ``bounds``: (n, pairs) lower bounds of their distances, metres.
    """
    stride = max(1, len(bounds) // 20)
    often = np.mean(bounds[::stride] < distance, axis=0) >= share
    for pair in np.flatnonzero(often).tolist():
        a, b = pairs[pair]
        near_share = np.mean([
            closest_points(samples_of.placed(a, n), samples_of.placed(b, n))[0] < distance
            for n in range(0, len(bounds), stride)
        ])  # fmt: skip
        often[pair] = near_share >= share
    return often


def _note(
    samples_of: _Clouds,
    seen: dict,
    n: int,
    watched: tuple[str, int],
    by: tuple[str, int],
    weight: float,
) -> None:
    """Add a point of link ``by`` to ``seen``, in the frame of the link ``watched``."""
    name, i = watched
    pose, other = samples_of.poses[name][n], samples_of.poses[by[0]][n]
    point = product(other[:3, :3], samples_of.clouds[by[0]][by[1], :3]) + other[:3, 3]
    local = product(point - pose[:3, 3], pose[:3, :3])
    shape = int(samples_of.clouds[name][i, 3])
    seen.setdefault((name, shape), []).append(np.r_[local, weight])


def merged(watchers: Sequence[np.ndarray], pose: np.ndarray | None = None) -> np.ndarray:
    """Return watchers (w, 4), transformed into a frame at ``pose`` and merged where they are close.

    Positions are rounded to a grid, so that rounding errors do not change the fit.
    """
    if not len(watchers):
        return np.empty((0, 4))
    watchers = np.array(watchers)
    if pose is not None:
        watchers[:, :3] = product(watchers[:, :3] - pose[:3, 3], pose[:3, :3])
    grid = _GRID
    while True:
        cells, owner = np.unique(np.round(watchers[:, :3] / grid), axis=0, return_inverse=True)
        if len(cells) <= _MAX_WATCHERS:
            break
        grid *= 1.25
    weights = np.bincount(owner.ravel(), watchers[:, 3])
    return np.column_stack([cells * grid + 0.0, np.round(weights, 6)])
