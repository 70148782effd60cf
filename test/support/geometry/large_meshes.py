# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes of 200,000 triangles, of kinds that are hard in different ways."""

from collections.abc import Callable

import numpy as np
import trimesh

Mesh = tuple[np.ndarray, np.ndarray]


def _faces_of_grid(index: np.ndarray) -> np.ndarray:
    """Triangles over vertex numbers (n, m), row by row."""
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    return np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)


def bumpy_torus() -> Mesh:
    """Curved inwards and outwards; 0.5 m across."""
    n, m = 500, 200
    u, v = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(m) * 2 * np.pi / m, indexing="ij")
    r = 0.05 + 0.006 * np.sin(9 * u) * np.cos(7 * v)
    x = 0.2 + r * np.cos(v)
    points = np.stack([x * np.cos(u), x * np.sin(u), r * np.sin(v)], axis=-1)
    index = np.arange(n * m).reshape(n, m)
    index = np.pad(index, ((0, 1), (0, 1)), mode="wrap")
    return points.reshape(-1, 3), _faces_of_grid(index)


def _sphere_grid(radii: np.ndarray, size: np.ndarray) -> Mesh:
    n, m = radii.shape
    u, v = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(m) * np.pi / (m - 1), indexing="ij")
    unit = np.stack([np.sin(v) * np.cos(u), np.sin(v) * np.sin(u), np.cos(v)], axis=-1)
    index = np.pad(np.arange(n * m).reshape(n, m), ((0, 1), (0, 0)), mode="wrap")
    return (radii[:, :, None] * unit * size).reshape(-1, 3), _faces_of_grid(index)


def noisy_sphere() -> Mesh:
    """As a scanner sees one: each vertex is off by some 2 %."""
    radii = 0.2 * (1.0 + 0.02 * np.random.default_rng(1).normal(size=(500, 201)))
    radii[:, 0], radii[:, -1] = radii[0, 0], radii[0, -1]
    return _sphere_grid(radii, np.ones(3))


def ellipsoid() -> Mesh:
    """Smooth and convex: all its vertices are on its hull."""
    return _sphere_grid(np.ones((500, 201)), np.array([0.1, 0.15, 0.2]))


def components() -> Mesh:
    """2,500 little balls in a box."""
    rng = np.random.default_rng(1)
    ball = trimesh.creation.icosphere(1, 0.01)
    centers = rng.uniform(-0.2, 0.2, (2500, 1, 3))
    points = centers + rng.uniform(0.3, 1.5, (2500, 1, 1)) * np.asarray(ball.vertices)
    first = len(ball.vertices) * np.arange(2500)[:, None, None]
    return points.reshape(-1, 3), (np.asarray(ball.faces) + first).reshape(-1, 3)


def triangle_soup() -> Mesh:
    """No surface at all: triangles across each other."""
    rng = np.random.default_rng(1)
    centers = 0.05 * rng.normal(size=(200_000, 1, 3))
    corners = centers + 0.02 * rng.normal(size=(200_000, 3, 3))
    return corners.reshape(-1, 3), np.arange(600_000).reshape(-1, 3)


LARGE: dict[str, Callable[[], Mesh]] = {
    "torus": bumpy_torus,
    "noisy": noisy_sphere,
    "ellipsoid": ellipsoid,
    "components": components,
    "soup": triangle_soup,
}
