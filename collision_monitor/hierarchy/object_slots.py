# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Objects in the reserved slots of a packed model: added, moved and removed at run time.

Every object has a range of leaves and a range of twice as many nodes for a tree over them. A small
top tree connects the objects. Adding, moving or removing an object therefore costs its own leaves
and the top tree, regardless of the number of other objects.

A parent precedes its children, and its left half follows directly: n leaves need 2 n - 1 nodes.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.hierarchy.aabb_tree import refit
from collision_monitor.hierarchy.packed import unpack

_DEPTH = 64
_CELLS = 1 << 21  # along each axis of a Morton code


@kernel
def _build_balanced_tree(nodes, node, leaf, count):
    """Build a balanced tree over ``count`` consecutive leaves; its root is ``node``."""
    tops, firsts = np.empty(_DEPTH, np.int64), np.empty(_DEPTH, np.int64)
    counts = np.empty(_DEPTH, np.int64)
    tops[0], firsts[0], counts[0] = node, leaf, count
    waiting = 1
    while waiting > 0:
        waiting -= 1
        top, first, many = tops[waiting], firsts[waiting], counts[waiting]
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
def put(numbers, index, leaf_links, leaves, pose, body, link, first, node):
    """Write the ``leaves`` (k, 7) of an object at ``pose`` (12,) in the frame of its body.

    ``leaves``: end points and radius in the object's frame, metres. ``pose``: rotation row by row,
    then translation. The leaves of ``link`` begin at ``first``, the nodes of their tree at
    ``node``. For objects on body 0, which do not move, the boxes are set, too.
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
    _build_balanced_tree(view.nodes, node, first, count)
    if body == 0:
        refit(view, node, node + 2 * count - 1)
    view.warm_start[0, 0], view.warm_start[0, 1] = -1, -1


@kernel
def open_range(index, pattern, first_row, last_row, first, count):
    """Set whether rows first_row .. last_row - 1 are checked against some nodes.

    The nodes are first .. first + count - 1. ``pattern`` (moving nodes,): whether a row is checked
    against these nodes.
    """
    words, start = index[17], index[3]
    first_word, last_word = first >> 6, (first + count - 1) >> 6
    for word in range(first_word, last_word + 1):
        low = max(first - 64 * word, 0)
        high = min(first + count - 64 * word, 64)
        mask = np.int64(-1)
        if high - low < 64:
            mask = ((np.int64(1) << (high - low)) - 1) << low
        for row in range(first_row, last_row):
            place = start + row * words + word
            if pattern[row]:
                index[place] |= mask
            else:
                index[place] &= ~mask
    index[index[6]] = index[index[6] + 1] = -1  # the last nearest pair may not be checked any more


@kernel
def mark_above(numbers, index, leaf_links, marked, first, out):
    """Write 1 for each node from ``first`` on that is above a leaf of ``marked`` (links,), else 0.

    The nodes are complete trees, parents before their children.
    """
    nodes = unpack(numbers, index).nodes
    for node in range(first + len(out) - 1, first - 1, -1):
        left, right = nodes[node, 0], nodes[node, 1]
        if left < 0:
            out[node - first] = marked[leaf_links[right]]
            continue
        out[node - first] = 0
        for child in (left, right):
            if first <= child < first + len(out):
                out[node - first] |= out[child - first]


@kernel
def _spread_bits(value):
    """The lowest 21 bits of a number with two zero bits behind each."""
    x = value & 0x1FFFFF
    x = (x | (x << 32)) & 0x1F00000000FFFF
    x = (x | (x << 16)) & 0x1F0000FF0000FF
    x = (x | (x << 8)) & 0x100F00F00F00F00F
    x = (x | (x << 4)) & 0x10C30C30C30C30C3
    return (x | (x << 2)) & 0x1249249249249249


@small_kernel
def morton(x, y, z):
    """Index on Morton's curve of a cell; coordinates of 0 to 2^21 - 1."""
    return _spread_bits(x) | (_spread_bits(y) << 1) | (_spread_bits(z) << 2)


@kernel
def _sort(keys, order, count):
    """Write ``order``: 0 .. count - 1 by ascending keys, by Shell sort.

    The sort function of numpy takes seconds to compile.
    """
    for k in range(count):
        order[k] = k
    gap = 1
    while 3 * gap + 1 < count:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, count):
            moved, place = order[k], k
            while place >= gap and keys[order[place - gap]] > keys[moved]:
                order[place] = order[place - gap]
                place -= gap
            order[place] = moved
        gap //= 3


@kernel
def _sorted_by_place(boxes, ranges, count, keys, order):
    """Write ``order``: the objects sorted along Morton's curve through the box of their centres."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for item in range(count):
        for axis in range(3):
            middle = boxes[ranges[item, 0], axis] + boxes[ranges[item, 0], axis + 3]
            low[axis] = min(low[axis], middle)
            high[axis] = max(high[axis], middle)
    scale = (_CELLS - 1) / max(high[0] - low[0], max(high[1] - low[1], high[2] - low[2]), 1e-9)
    cell = np.empty(3, np.int64)
    for item in range(count):
        for axis in range(3):
            middle = boxes[ranges[item, 0], axis] + boxes[ranges[item, 0], axis + 3]
            cell[axis] = np.int64((middle - low[axis]) * scale)
        keys[item] = morton(cell[0], cell[1], cell[2])
    _sort(keys, order, count)


@small_kernel
def _child(ranges, order, node, first, many):
    return ranges[order[first], 0] if many == 1 else node


@small_kernel
def refit_top(numbers, index, top, count):
    """Update the boxes of the top tree over ``count`` objects at ``top``, and of its parent."""
    view = unpack(numbers, index)
    if count > 1:
        refit(view, top, top + count - 1)
    refit(view, view.moving_nodes, view.moving_nodes + 1)


@kernel
def lay_top(numbers, index, ranges, count, top, keys, order):
    """Build the tree over ``count`` >= 1 static objects; return its root.

    ``ranges`` (m, 2): root of the tree of each object and its number of nodes. Uses the nodes from
    ``top`` on, one fewer than objects. ``keys`` and ``order`` (m,) are work space.
    """
    view = unpack(numbers, index)
    if count == 1:
        return ranges[0, 0]
    _sorted_by_place(view.boxes, ranges, count, keys, order)
    tops, firsts = np.empty(_DEPTH, np.int64), np.empty(_DEPTH, np.int64)
    counts = np.empty(_DEPTH, np.int64)
    tops[0], firsts[0], counts[0] = top, 0, count
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node, first, many = tops[waiting], firsts[waiting], counts[waiting]
        half = (many + 1) // 2
        view.nodes[node, 0] = _child(ranges, order, node + 1, first, half)
        view.nodes[node, 1] = _child(ranges, order, node + half, first + half, many - half)
        if half > 1:
            tops[waiting], firsts[waiting], counts[waiting] = node + 1, first, half
            waiting += 1
        if many - half > 1:
            tops[waiting], firsts[waiting] = node + half, first + half
            counts[waiting] = many - half
            waiting += 1
    return np.int64(top)
