# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of links as the parts that exact queries measure.

All meshes of a link are one part, with a hierarchy over their triangles in the link's frame. Every
box, cylinder, sphere and capsule is a part of its own: a convex solid, exactly as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collision_monitor.geometry.closed_surfaces import closed_surfaces
from collision_monitor.geometry.convex import SOLID_COLUMNS
from collision_monitor.mesh_distance.bvh.mesh_tree import (
    KINDS,
    MeshTree,
    TriangleTree,
    build_triangle_tree,
    columns_of,
    pack,
    windows,
)
from collision_monitor.mesh_distance.bvh.triangle_halves import volume_rows
from collision_monitor.mesh_distance.packed_parts import MESH, SOLID
from collision_monitor.robot.description import Shape

_EVERYTHING_GROWS = 1.0 + 1e-12


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a link, in the link's frame.

    Attributes:
        kind: MESH or SOLID.
        tree: (numbers, index) as of `mesh_distance.bvh.mesh_tree`; of a solid, its volume alone.
        ball: (4,) centre and radius of a ball around it.
        place: (4, 4) pose of a solid.
        solid: (5,) as in `geometry.convex`; zeros for a mesh.
        closed: (rows,) whether each row of the tree belongs to a closed surface.
        box: (6,) least and largest coordinates of the closed surfaces.
        probes: (k, 3) a point of every connected piece.
    """

    kind: int
    tree: tuple[np.ndarray, np.ndarray]
    ball: np.ndarray
    place: np.ndarray
    solid: np.ndarray
    closed: np.ndarray
    box: np.ndarray
    probes: np.ndarray

    @property
    def nodes(self) -> int:
        """Nodes of the tree."""
        return int(self.tree[1][1])


def parts_of(shapes: Sequence[Shape], kind: str) -> list[Part]:
    """The parts of a link, its meshes first; ``kind`` is that of the hierarchy."""
    meshes = [shape for shape in shapes if shape.kind == "mesh"]
    parts = [_mesh_part(*merged(meshes), kind)] if meshes else []
    return parts + [_solid_part(shape, kind) for shape in shapes if shape.kind != "mesh"]


def merged(meshes: Sequence[Shape]) -> tuple[np.ndarray, np.ndarray]:
    """(vertices, triangles) of all meshes of a link, in its frame, one after another."""
    vertices = [m.vertices @ m.pose[:3, :3].T + m.pose[:3, 3] for m in meshes]
    starts = np.cumsum([0, *map(len, vertices)])
    triangles = [m.triangles + start for m, start in zip(meshes, starts, strict=False)]
    return np.concatenate(vertices), np.concatenate(triangles)


def _mesh_part(vertices: np.ndarray, triangles: np.ndarray, kind: str) -> Part:
    triangles, pieces, closed = closed_surfaces(vertices, triangles)
    tree: TriangleTree = build_triangle_tree(vertices, triangles, kind)
    _, first = np.unique(pieces, return_index=True)
    names = windows(tree.numbers, tree.index).names[:, 0]
    inside = vertices[triangles[closed]].reshape(-1, 3)
    used = vertices[np.unique(triangles)]
    return Part(
        kind=MESH,
        tree=(tree.numbers, tree.index),
        ball=_ball(used),
        place=np.eye(4),
        solid=np.zeros(SOLID_COLUMNS),
        closed=closed[names].astype(np.int64),
        box=np.r_[inside.min(axis=0, initial=np.inf), inside.max(axis=0, initial=-np.inf)],
        probes=vertices[triangles[first, 0]],
    )


def _ball(points: np.ndarray) -> np.ndarray:
    """Centre and radius of a ball around points (n, 3)."""
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = np.linalg.norm(points - center, axis=1).max()
    return np.r_[center, radius * _EVERYTHING_GROWS]


def solid_row(shape: Shape) -> np.ndarray:
    """A box, cylinder, sphere or capsule as a row of `geometry.convex`."""
    if shape.kind == "box":
        return np.array([*(0.5 * side for side in shape.size), 0.0, 0.0])
    radius, length = (*shape.size, 0.0)[:2]
    if shape.kind == "cylinder":
        return np.array([radius, radius, 0.5 * length, 1.0, 0.0])
    return np.array([0.0, 0.0, 0.5 * length, 0.0, radius])


def volumes_of_solids(kind: str, solids: np.ndarray) -> np.ndarray:
    """Volume of each of some solids (k, 5), in its own frame; ``kind`` is that of the hierarchy."""
    half = solids[:, :3]
    axes = np.tile(np.eye(3), (len(half), 1, 1))
    return volume_rows(kind, -half, half, axes, float(half.max()))


def balls_of_solids(solids: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """(k, 4) centre and radius of a ball around each of ``solids`` (k, 5) at ``centers`` (k, 3)."""
    half = solids[:, :3]
    reach = np.where(
        solids[:, 3] > 0.0, np.hypot(half[:, 0], half[:, 2]), np.linalg.norm(half, axis=1)
    )
    return np.column_stack([centers, (reach + solids[:, 4]) * _EVERYTHING_GROWS])


def _solid_part(shape: Shape, kind: str) -> Part:
    solid = solid_row(shape)
    volumes = volumes_of_solids(kind, solid[None])
    assert volumes.shape[1] == columns_of(KINDS[kind])
    tree = MeshTree(
        nodes=np.zeros((1, 2), dtype=np.int64),
        slots=np.empty((0, 1), dtype=np.int64),
        names=np.empty((0, 1), dtype=np.int64),
        volumes=volumes,
        corners=np.empty((0, 9)),
        reaches=np.zeros((1, 2)),
        kind=KINDS[kind],
    )
    return Part(
        kind=SOLID,
        tree=pack(tree),
        ball=balls_of_solids(solid[None], shape.pose[None, :3, 3])[0],
        place=shape.pose,
        solid=solid,
        closed=np.empty(0, dtype=np.int64),
        box=np.r_[np.full(3, np.inf), np.full(3, -np.inf)],
        probes=shape.pose[None, :3, 3],
    )
