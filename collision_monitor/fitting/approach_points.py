# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""From where other links look at a link: what leaves stand off towards there is clearance lost.

A watcher of a link is a point on another one, nearest to it in a sampled configuration,
in the frame of the link watched. Distances are those of points sampled on both surfaces:
good enough to tell where the others come near, and far cheaper than those of meshes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.fitting.body import farthest, spread_directions, surface_points
from collision_monitor.fitting.coverage import closest_points
from collision_monitor.robot.description import Shape

if TYPE_CHECKING:
    import trimesh

# To be changed whenever the same input gives another answer.
_VERSION = 1
_SAMPLES = 200  # points on a link, at random
_DIRECTIONS = 100  # and those farthest out in so many directions
_FARTHEST = 0.3  # metres; links farther away are ignored
# A pair watches as long as it is no more than this farther apart than the nearest, metres.
_WINDOW = 0.03
# Pairs nearer than this nearly always touch, or are as good as joined: nothing to be gained.
_TOUCHING, _NEARLY_ALWAYS = 0.015, 0.9
_GRID = 0.005  # metres: watchers in one cell are one
_MOST = 400

Pair = tuple[str, str]


def shape_mesh(shape: Shape) -> trimesh.Trimesh:
    """The surface of a shape in its own frame; round shapes as polyhedra."""
    import trimesh

    if shape.kind == "mesh":
        return trimesh.Trimesh(shape.vertices, shape.triangles, process=False)
    if shape.kind == "box":
        return trimesh.creation.box(shape.size)
    if shape.kind == "sphere":
        return trimesh.creation.icosphere(2, shape.size[0])
    radius, length = shape.size
    if shape.kind == "cylinder":
        mesh = trimesh.creation.cylinder(radius, length, sections=32)
    else:
        mesh = trimesh.creation.capsule(length, radius, count=[16, 16])
    if not len(mesh.faces):  # a grain whose triangles the library takes for nothing
        height = length + (2.0 * radius if shape.kind == "capsule" else 0.0)
        mesh = trimesh.creation.box((2.0 * radius, 2.0 * radius, height))
    return mesh


def _cloud(shapes: Sequence[Shape]) -> np.ndarray:
    """Points (n, 4) on the shapes of a link, in its frame, each with the number of its shape."""
    soups, owners = [], []
    for k, shape in enumerate(shapes):
        mesh = shape_mesh(shape)
        corners = np.asarray(mesh.vertices) @ shape.pose[:3, :3].T + shape.pose[:3, 3]
        soups.append(corners[mesh.faces])
        owners.append(np.full(len(mesh.faces), float(k)))
    triangles, owner = np.concatenate(soups), np.concatenate(owners)
    vertices, of_vertices = triangles.reshape(-1, 3), np.repeat(owner, 3)
    out = farthest(vertices, spread_directions(_DIRECTIONS))
    samples, chosen = surface_points(triangles, _SAMPLES, np.random.default_rng(0))
    return np.column_stack(
        [np.vstack([vertices[out], samples]), np.r_[of_vertices[out], owner[chosen]]]
    )


class _Watch:
    """Clouds of all links, and what each has been looked at from so far."""

    def __init__(self, links: Mapping[str, Sequence[Shape]], poses: Mapping[str, np.ndarray]):
        self.clouds = {name: _cloud(shapes) for name, shapes in links.items()}
        self.poses = poses
        self._placed: dict[str, tuple[int, np.ndarray]] = {}
        self.centers, self.radii = {}, {}
        for name, cloud in self.clouds.items():
            points = cloud[:, :3]
            middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
            pose = poses[name]
            self.centers[name] = pose[:, :3, :3] @ middle + pose[:, :3, 3]
            self.radii[name] = float(np.linalg.norm(points - middle, axis=1).max())

    def placed(self, name: str, n: int) -> np.ndarray:
        """The cloud of a link at configuration ``n``, in Fortran's order."""
        at, points = self._placed.get(name, (-1, None))
        if at != n:
            pose = self.poses[name][n]
            points = np.asfortranarray(self.clouds[name][:, :3] @ pose[:3, :3].T + pose[:3, 3])
            self._placed[name] = n, points
        return points

    def bounds(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Lower bounds (n, pairs) of all distances: those of balls around the links."""
        return np.column_stack(
            [
                np.linalg.norm(self.centers[a] - self.centers[b], axis=1)
                - self.radii[a] - self.radii[b]
                for a, b in pairs
            ]
        )  # fmt: skip


def watchers_of(
    links: Mapping[str, Sequence[Shape]],
    poses: Mapping[str, np.ndarray],
    pairs: Sequence[Pair],
    store: Store | None = None,
) -> dict[str, list[np.ndarray]]:
    """Watchers of every shape of every link, each (w, 4): a point in the shape's frame, a weight.

    Args:
        links: shapes by link.
        poses: (n, 4, 4), of each link in n sampled configurations.
        pairs: of links that are checked against each other.
        store: where answers are kept; the user's cache by default.
    """
    if not pairs:
        return {name: [np.empty((0, 4))] * len(shapes) for name, shapes in links.items()}
    content = [
        (name, [(s.kind, s.pose, s.size, s.vertices, s.triangles) for s in shapes], poses[name])
        for name, shapes in links.items()
    ]
    key = content_key("watchers", _VERSION, content, list(pairs))
    with Store("watchers") if store is None else store as kept:
        found = kept.get(key)
        if found is None:
            found = {
                name: [rows.tolist() for rows in per_shape]
                for name, per_shape in _look(links, poses, pairs).items()
            }
            kept.set(key, found)
    return {
        name: [np.array(rows).reshape(-1, 4) for rows in per_shape]
        for name, per_shape in found.items()
    }


def _look(
    links: Mapping[str, Sequence[Shape]], poses: Mapping[str, np.ndarray], pairs: Sequence[Pair]
) -> dict[str, list[np.ndarray]]:
    watch = _Watch(links, poses)
    pairs = _apart(watch, pairs)
    seen: dict[tuple[str, int], list[np.ndarray]] = {}
    bounds = watch.bounds(pairs) if pairs else np.empty((0, 0))
    for n in range(len(bounds)):
        order = np.argsort(bounds[n], kind="stable")
        nearest, met = _FARTHEST, []
        for k in order:
            if bounds[n, k] > nearest + _WINDOW:
                break
            a, b = pairs[k]
            distance, i, j = closest_points(watch.placed(a, n), watch.placed(b, n))
            nearest = min(nearest, distance)
            met.append((distance, a, i, b, j))
        for distance, a, i, b, j in met:
            weight = 1.0 - (distance - nearest) / _WINDOW
            if weight > 0.0 and distance < _FARTHEST:
                _note(watch, seen, n, (a, i), (b, j), weight)
                _note(watch, seen, n, (b, j), (a, i), weight)
    return {
        name: [merged(seen.get((name, k), []), shape.pose) for k, shape in enumerate(shapes)]
        for name, shapes in links.items()
    }


def _apart(watch: _Watch, pairs: Sequence[Pair]) -> list[Pair]:
    """Those pairs that are not (nearly) always as good as touching."""
    every = max(1, len(next(iter(watch.poses.values()))) // 20)
    apart = []
    for k, near in enumerate((watch.bounds(pairs)[::every] < _TOUCHING).T):
        touching = 0
        if near.mean() >= _NEARLY_ALWAYS:
            a, b = pairs[k]
            touching = np.mean([
                closest_points(watch.placed(a, n), watch.placed(b, n))[0] < _TOUCHING
                for n in every * np.arange(len(near))
            ])  # fmt: skip
        if touching < _NEARLY_ALWAYS:
            apart.append(pairs[k])
    return apart


def _note(
    watch: _Watch, seen: dict, n: int, watched: tuple[str, int], by: tuple[str, int], weight: float
) -> None:
    """Remember where a point of link ``by`` is in the frame of the link ``watched``."""
    name, i = watched
    pose, other = watch.poses[name][n], watch.poses[by[0]][n]
    point = other[:3, :3] @ watch.clouds[by[0]][by[1], :3] + other[:3, 3]
    local = (point - pose[:3, 3]) @ pose[:3, :3]
    shape = int(watch.clouds[name][i, 3])
    seen.setdefault((name, shape), []).append(np.r_[local, weight])


def merged(rows: Sequence[np.ndarray], pose: np.ndarray | None = None) -> np.ndarray:
    """Watchers (w, 4), seen from a frame at ``pose``; those close together are one.

    Rounded to a grid, so that noise of the last digit makes no other fit.
    """
    if not len(rows):
        return np.empty((0, 4))
    rows = np.array(rows)
    if pose is not None:
        rows[:, :3] = (rows[:, :3] - pose[:3, 3]) @ pose[:3, :3]
    grid = _GRID
    while True:
        cells, owner = np.unique(np.round(rows[:, :3] / grid), axis=0, return_inverse=True)
        if len(cells) <= _MOST:
            break
        grid *= 1.25
    weights = np.bincount(owner.ravel(), rows[:, 3])
    return np.column_stack([cells * grid + 0.0, np.round(weights, 6)])
