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

As there is work space in them, two threads must not query one pair of arrays at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel

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
