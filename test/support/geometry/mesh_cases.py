# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes and poses for tests of hierarchies over triangles."""

from functools import cache

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from collision_monitor.geometry.meshes import read_stl
from collision_monitor.mesh_distance.mesh_tree import KINDS
from support.paths import ROOT

KIND_NAMES = tuple(KINDS)
_OWN = ROOT / "urdf/meshes"


def _dented(ball: trimesh.Trimesh) -> trimesh.Trimesh:
    """A ball of many triangles with dents and bumps."""
    waves = np.sin(30.0 * ball.vertices[:, 0]) * np.cos(20.0 * ball.vertices[:, 1])
    ball.vertices *= 1.0 + 0.2 * waves[:, None]
    return ball


@cache
def mesh(name: str) -> tuple[np.ndarray, np.ndarray]:
    """(vertices, triangles) of a primitive or of one of the package's own files."""
    if name.endswith(".stl"):
        return read_stl((_OWN / name).read_bytes())
    made = {
        "ball": lambda: trimesh.creation.icosphere(2, 0.2),
        "ring": lambda: trimesh.creation.torus(0.3, 0.07, major_sections=24, minor_sections=12),
        "rod": lambda: trimesh.creation.cylinder(0.05, 0.8, sections=24),
        "box": lambda: trimesh.creation.box((0.3, 0.2, 0.5)),
        "dented": lambda: _dented(trimesh.creation.icosphere(4, 0.2)),
        "cone": lambda: trimesh.creation.cone(0.2, 0.5, sections=16),
    }[name]()
    return np.asarray(made.vertices, dtype=float), np.asarray(made.faces, dtype=np.int64)


def soup(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Triangles without any order: large and tiny ones, slivers, some without an area."""
    scale = 10.0 ** rng.uniform(-4, 0, (count, 1, 1))
    corners = rng.normal(size=(count, 1, 3)) + scale * rng.normal(size=(count, 3, 3))
    flat = rng.uniform(size=count) < 0.1
    corners[flat, 2] = corners[flat, 1]
    points = rng.uniform(size=count) < 0.05
    corners[points] = corners[points, :1]
    return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def random_pose(rng: np.random.Generator, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """(rotation, translation); one in four is turned by right angles only, as built things are."""
    if rng.uniform() < 0.25:
        rotation = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)
        rotation[:, 0] *= np.sign(np.linalg.det(rotation))
    else:
        rotation = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    return np.ascontiguousarray(rotation), rng.normal(size=3) * reach
