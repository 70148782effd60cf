# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Hierarchies over the triangles of one mesh, in the frame of its link.

Built once: when the link moves, only the transform between two links changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.errors import FitError
from collision_monitor.mesh_distance.bvh.mesh_tree import KINDS, STACK, MeshTree, pack
from collision_monitor.mesh_distance.bvh.triangle_halves import halved
from collision_monitor.mesh_distance.bvh.triangle_octree import IN_A_LEAF, octree


@dataclass(frozen=True, eq=False)
class TriangleTree:
    """A packed hierarchy: what the kernels of `mesh_distance/mesh_pair_distance.py` ask for.

    ``numbers`` and ``index`` are as `mesh_distance.bvh.mesh_tree.pack` makes them.
    """

    kind: str
    numbers: np.ndarray
    index: np.ndarray


def build_triangle_tree(
    vertices: np.ndarray, triangles: np.ndarray, kind: str = "obb", in_a_leaf: int | None = None
) -> TriangleTree:
    """Build a hierarchy over all triangles of a mesh.

    Args:
        vertices: (n, 3), metres, in the link's frame.
        triangles: (m, 3) indices of vertices.
        kind: the volumes: ``aabb`` boxes along the link's axes, ``obb`` boxes along the principal
            axes of their vertices, ``rss`` rectangles swept by a sphere (both after Liu et al.),
            ``octree`` cells of an octree in the link's frame, shrunk to what they hold (after
            Chen and Xie). The first three are binary trees.
        in_a_leaf: triangles that a leaf may hold; 1 by default, 8 in an octree.

    Raises:
        FitError: an unknown kind, no triangles, indices out of range or vertices that are not
            finite.
    """
    if kind not in KINDS:
        raise FitError(f"unknown kind of hierarchy {kind!r}: choose from {', '.join(KINDS)}")
    corners = corners_of(vertices, triangles)
    if kind == "octree":
        found = octree(corners, in_a_leaf or IN_A_LEAF)
    else:
        found = halved(corners, kind, in_a_leaf or 1)
    rows = found.rows
    tree = MeshTree(
        nodes=found.nodes,
        slots=found.slots[:, None],
        names=rows[:, None],
        volumes=found.volumes,
        corners=corners[rows].reshape(-1, 9),
        reaches=np.zeros((len(found.nodes), 2)),
        kind=KINDS[kind],
    )
    if found.waiting > STACK // 2:
        raise FitError(
            f"a hierarchy of kind {kind!r} over {len(corners)} triangles is too deep: "
            f"{found.waiting} nodes can wait on a descent, {STACK // 2} have room"
        )
    return TriangleTree(kind, *pack(tree))


def corners_of(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Corners (m, 3, 3) of the triangles (m, 3) over ``vertices`` (n, 3).

    Raises:
        FitError: no triangles, indices out of range or vertices that are not finite.
    """
    vertices = np.asarray(vertices, dtype=float).reshape(-1, 3)
    triangles = np.asarray(triangles).reshape(-1, 3)
    if len(triangles) == 0:
        raise FitError("cannot build a hierarchy over no triangles: one at least is needed")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise FitError(
            f"triangles name vertices {triangles.min()} to {triangles.max()}, "
            f"but the mesh has vertices 0 to {len(vertices) - 1}"
        )
    corners = vertices[triangles]
    bad = np.flatnonzero(~np.isfinite(corners).all(axis=(1, 2)))
    if len(bad):
        raise FitError(f"triangle {bad[0]} has a corner that is not finite: {corners[bad[0]]}")
    return corners
