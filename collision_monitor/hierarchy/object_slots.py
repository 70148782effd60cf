# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Writes an object into reserved leaves and nodes of a packed model."""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import kernel
from collision_monitor.hierarchy.aabb_tree import STACK, refit
from collision_monitor.hierarchy.packed import unpack


@kernel
def _build_balanced_tree(nodes, node, leaf, count, bit):
    """Build a balanced tree over ``count`` consecutive leaves; its root is ``node``.

    A parent precedes its children, and its left half follows directly: n leaves need 2 n - 1 nodes.
    """
    tops, firsts = np.empty(STACK, np.int64), np.empty(STACK, np.int64)
    counts = np.empty(STACK, np.int64)
    tops[0], firsts[0], counts[0] = node, leaf, count
    waiting = 1
    while waiting > 0:
        waiting -= 1
        top, first, many = tops[waiting], firsts[waiting], counts[waiting]
        nodes[top, 2] = bit
        if many == 1:
            nodes[top, 0], nodes[top, 1] = -1, first
            continue
        half = (many + 1) // 2
        nodes[top, 0], nodes[top, 1] = top + 1, top + 2 * half
        tops[waiting], firsts[waiting], counts[waiting] = top + 1, first, half
        tops[waiting + 1], firsts[waiting + 1] = top + 2 * half, first + half
        counts[waiting + 1] = many - half
        waiting += 2


@kernel
def put(numbers, index, leaf_links, leaves, pose, body, link, first, node, bit):
    """Write the ``leaves`` (k, 7) of an object at ``pose`` (12,) in the frame of its body.

    ``leaves``: end points and radius in the object's frame, metres. ``pose``: rotation row by row,
    then translation. The leaves of ``link`` begin at ``first``, the nodes of their tree at
    ``node``, with one ``bit``. For objects on body 0, which do not move, the boxes are set, too.
    """
    view = unpack(numbers, index)
    count = len(leaves)
    for row in range(count):
        leaf = first + row
        view.leaf_bodies[leaf, 0] = body
        leaf_links[leaf] = link
        view.radii[leaf, 0] = leaves[row, 6]
        for end in range(0, 6, 3):
            x, y, z = leaves[row, end], leaves[row, end + 1], leaves[row, end + 2]
            for axis in range(3):
                r = 3 * axis
                value = pose[r] * x + pose[r + 1] * y + pose[r + 2] * z + pose[9 + axis]
                view.leaf_ends[leaf, end + axis] = value
                view.ends[leaf, end + axis] = value
    view.links[link, 0], view.links[link, 1] = first, first + count
    _build_balanced_tree(view.nodes, node, first, count, bit)
    if body == 0:
        refit(view, node, node + 2 * count - 1)
