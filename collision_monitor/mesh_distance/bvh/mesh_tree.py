# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A hierarchy over the triangles of a mesh as two arrays, one of floats and one of integers.

``index`` begins with a header: kind, nodes, slots, triangles. Then come, one after another,

=========  =================  ==================================================================
nodes      (nodes, 2)         (first child, children), or (first slot, -slots) at a leaf
slots      (slots, 1)         which row of ``corners``; an octree stores a triangle in many leaves
names      (triangles, 1)     number of the triangle in the mesh
=========  =================  ==================================================================

and in ``numbers``

=========  =================  ==================================================================
volumes    (nodes, columns)   see below
corners    (triangles, 9)     x y z of the three corners, in the order of the leaves
reaches    (nodes, 2)         work space, see `mesh_distance/mesh_pair_distance.py`
=========  =================  ==================================================================

A box along the link's axes (kinds ``aabb`` and ``octree``) has 8 columns: centre, half sides,
half diagonal, 0. The others have 16: centre, three unit axes, half sides, size. For a box the half
sides belong to the axes; for a rectangle swept by a sphere they are the half sides of the
rectangle, along the first two axes, and the radius.

The arrays contain work space, so two threads must not query the same arrays at the same time.

A hierarchy is built once, in the frame of the mesh's link: when links move, only the transform
between them changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel
from collision_monitor.errors import FitError
from collision_monitor.mesh_distance.bvh.triangle_halves import halved
from collision_monitor.mesh_distance.bvh.triangle_octree import IN_A_LEAF, octree

KINDS = {"aabb": 0, "obb": 1, "rss": 2, "octree": 3}
AABB, OBB, RSS, OCTREE = range(4)

# Pairs of nodes that can wait at once in a descent through two trees; each may take half.
STACK = 512

HEADER = 4


class MeshTree(NamedTuple):
    """Windows into the packed arrays; see the module's tables."""

    nodes: np.ndarray
    slots: np.ndarray
    names: np.ndarray
    volumes: np.ndarray
    corners: np.ndarray
    reaches: np.ndarray
    kind: int


def columns_of(kind: int) -> int:
    """Columns of ``volumes``."""
    return 8 if kind in (AABB, OCTREE) else 16


def pack(tree: MeshTree) -> tuple[np.ndarray, np.ndarray]:
    """(numbers, index): the windows of ``tree`` one after another in two arrays."""
    header = [tree.kind, len(tree.nodes), len(tree.slots), len(tree.corners)]
    integers = (np.asarray(w, dtype=np.int64).ravel() for w in tree[:3])
    floats = (np.asarray(w, dtype=np.float64).ravel() for w in tree[3:6])
    return np.concatenate(list(floats)), np.concatenate([np.array(header), *integers])


def windows(numbers: np.ndarray, index: np.ndarray) -> MeshTree:
    """The MeshTree of two packed arrays for numpy: windows, not copies."""
    kind, nodes, slots, triangles = index[:HEADER].tolist()
    at_slots = HEADER + 2 * nodes
    at_corners = nodes * columns_of(kind)
    return MeshTree(
        index[HEADER:at_slots].reshape(nodes, 2),
        index[at_slots : at_slots + slots].reshape(slots, 1),
        index[at_slots + slots : at_slots + slots + triangles].reshape(triangles, 1),
        numbers[:at_corners].reshape(nodes, -1),
        numbers[at_corners : at_corners + 9 * triangles].reshape(triangles, 9),
        numbers[at_corners + 9 * triangles :][: 2 * nodes].reshape(nodes, 2),
        kind,
    )


@kernel
def unpack_tree(numbers, index, first_number, first_index):
    """The MeshTree that begins at these places of two packed arrays; valid as long as they live."""
    kind, nodes = index[first_index], index[first_index + 1]
    slots, triangles = index[first_index + 2], index[first_index + 3]
    columns = 16 if kind == OBB or kind == RSS else 8
    at_slots = first_index + HEADER + 2 * nodes
    return MeshTree(
        borrow(index, first_index + HEADER, nodes, 2),
        borrow(index, at_slots, slots, 1),
        borrow(index, at_slots + slots, triangles, 1),
        borrow(numbers, first_number, nodes, columns),
        borrow(numbers, first_number + nodes * columns, triangles, 9),
        borrow(numbers, first_number + nodes * columns + 9 * triangles, nodes, 2),
        kind,
    )


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
