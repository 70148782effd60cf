# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The hybrid hierarchy: AABBs at the inner nodes, capsules and spheres at the leaves.

Boxes are tested against boxes and leaves against leaves (Zhang et al.). A box is a row
(xmin, ymin, zmin, xmax, ymax, zmax).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import ONE, inlined_kernel, kernel, small_kernel
from collision_monitor.geometry.segments import capsule_distance
from collision_monitor.hierarchy.link_balls import surely_farther


@kernel
def box_gap(boxes, i, j):
    """Lower bound of the signed distance (m) of the contents of boxes i and j.

    Disjoint boxes: their Euclidean distance. Overlapping boxes: the largest of the three axis gaps,
    which is negative. A translation along that axis separates the contents, so their penetration is
    never deeper.
    """
    gx = max(boxes[i, 0] - boxes[j, 3], boxes[j, 0] - boxes[i, 3])
    gy = max(boxes[i, 1] - boxes[j, 4], boxes[j, 1] - boxes[i, 4])
    gz = max(boxes[i, 2] - boxes[j, 5], boxes[j, 2] - boxes[i, 5])
    largest = max(gx, max(gy, gz))
    if largest <= 0.0:
        return largest
    gx, gy, gz = max(gx, 0.0), max(gy, 0.0), max(gz, 0.0)
    return math.sqrt(gx * gx + gy * gy + gz * gz)


@small_kernel
def box_size(boxes, i):
    """Sum of the edges of box i: of two boxes the larger is opened first."""
    return boxes[i, 3] - boxes[i, 0] + boxes[i, 4] - boxes[i, 1] + boxes[i, 5] - boxes[i, 2]


# Size of the stack of node pairs. Depth first, each step leaves one pair behind, and a path has at
# most two depths of about log2(leaves) + 1 steps.
STACK = 512

# The root of the tree of moving leaves. A literal 0 would be a separate type for numba, and its
# callees would be compiled again.
ROOT = np.int64(0)


@kernel
def refit(view, first, last):
    """Update the boxes of nodes first .. last - 1, from the leaves to the root."""
    nodes, boxes, ends = view.nodes, view.boxes, view.ends
    for node in range(last - 1, first - 1, -1):
        left, right = nodes[node, 0], nodes[node, 1]
        if left < 0:
            radius = view.radii[right, 0]
            for axis in range(3):
                p, q = ends[right, axis], ends[right, axis + 3]
                boxes[node, axis] = min(p, q) - radius
                boxes[node, axis + 3] = max(p, q) + radius
        else:
            for axis in range(3):
                boxes[node, axis] = min(boxes[left, axis], boxes[right, axis])
                boxes[node, axis + 3] = max(boxes[left, axis + 3], boxes[right, axis + 3])


@small_kernel
def is_open(view, i, j):
    """Whether any leaf below moving node i is checked against a leaf below node j."""
    bit = view.nodes[j, 2]
    return (view.open_bits[view.nodes[i, 2], bit >> 6] >> (bit & 63)) & 1


# -- branch and bound, depth first, the nearer child first --


class Search(NamedTuple):
    """Pairs of nodes that wait for a search, as a stack.

    Attributes:
        waiting: (STACK, 2) the nodes; the last row has the number of searches that have begun.
        gaps: (STACK, 1) between their boxes, metres.
    """

    waiting: np.ndarray
    gaps: np.ndarray


@small_kernel
def begin_search(search):
    """Return the ``size`` with which `next_leaves` begins."""
    search.waiting[STACK - 1, 0] = 0
    return ROOT


@small_kernel
def _gap(view, i, j):
    """Lower bound of the distance of checked leaves below two nodes; inf if there are none."""
    if not is_open(view, i, j):
        return np.inf
    return -np.inf if i == j else box_gap(view.boxes, i, j)


@small_kernel
def _push(search, size, i, j, gap, margin):
    """Push two nodes with a gap below ``margin``; return the new size."""
    if gap < margin:
        search.waiting[size, 0], search.waiting[size, 1], search.gaps[size, 0] = i, j, gap
        size += 1
    return size


@inlined_kernel
def next_leaves(view, margin, search, size):
    """Return (size, leaf, leaf) of the next checked pair whose boxes are closer than ``margin``.

    The leaves are -1 if there are no more. Of two nodes the larger is opened, both if they are one.
    ``margin`` may fall from call to call.
    """
    nodes, waiting = view.nodes, search.waiting
    while True:
        if size == 0:
            begun = waiting[STACK - 1, 0]
            if begun == len(view.searches):
                return size, np.int64(-1), np.int64(-1)
            waiting[STACK - 1, 0] += 1
            i, j = view.searches[begun, 0], view.searches[begun, 1]
            size = _push(search, size, i, j, _gap(view, i, j), margin)
            continue
        size -= 1
        if search.gaps[size, 0] >= margin:
            continue
        i, j = waiting[size, 0], waiting[size, 1]
        left, right = nodes[i, 0], nodes[i, 1]
        if i == j:
            if left >= 0:
                for a, b in ((left, right), (left, left), (right, right)):
                    size = _push(search, size, a, b, _gap(view, a, b), margin)
            continue
        if left < 0 and nodes[j, 0] < 0:
            return size, right, nodes[j, 1]
        if nodes[j, 0] < 0 or (left >= 0 and box_size(view.boxes, i) >= box_size(view.boxes, j)):
            i1, i2, j1, j2 = left, right, j, j
        else:
            i1, i2, j1, j2 = i, i, nodes[j, 0], nodes[j, 1]
        gap1, gap2 = _gap(view, i1, j1), _gap(view, i2, j2)
        if gap1 < gap2:  # pop the nearer one first
            i1, i2, j1, j2, gap1, gap2 = i2, i1, j2, j1, gap2, gap1
        size = _push(search, size, i1, j1, gap1, margin)
        size = _push(search, size, i2, j2, gap2, margin)


@kernel
def leaves_closer(view, margin, most, leaf_pairs):
    """Write checked pairs of leaves closer than ``margin``, metres, to ``leaf_pairs`` (k, 2).

    Returns their number, those that do not fit included. The search ends at ``most`` pairs.
    """
    search = Search(work_space(ROOT, STACK, 2), work_space(margin, STACK, 1))
    size, count = begin_search(search), 0
    while count < most:
        size, a, b = next_leaves(view, margin, search, size)
        if a < 0:
            break
        if capsule_distance(view.ends, view.radii, a, b) < margin:
            if count < len(leaf_pairs):
                leaf_pairs[count, 0], leaf_pairs[count, 1] = a, b
            count += 1
    return count


@kernel
def any_closer(view, margin):
    """Whether a checked pair of leaves is closer than ``margin``, metres.

    That of the last call is measured first: configurations in a row often have the same.
    """
    i, j = view.warm_start[0, 0], view.warm_start[0, 1]
    if i >= 0 and capsule_distance(view.ends, view.radii, i, j) < margin:
        return True
    return leaves_closer(view, margin, ONE, view.warm_start) > 0


@kernel
def nearest_leaves(view):
    """Return (signed distance, leaf, leaf) of the nearest checked pair; (inf, -1, -1) if none.

    The nearest pair of the last query is measured first: its distance is an upper bound at any
    configuration.
    """
    best, best_i, best_j = np.inf, np.int64(-1), np.int64(-1)
    i, j = view.warm_start[0, 0], view.warm_start[0, 1]
    if i >= 0:
        best, best_i, best_j = capsule_distance(view.ends, view.radii, i, j), i, j
    search = Search(work_space(ROOT, STACK, 2), work_space(best, STACK, 1))
    size = begin_search(search)
    while True:
        size, i, j = next_leaves(view, best, search, size)
        if i < 0:
            view.warm_start[0, 0], view.warm_start[0, 1] = best_i, best_j
            return best, best_i, best_j
        if not surely_farther(view.ends, view.reaches, i, j, best):
            distance = capsule_distance(view.ends, view.radii, i, j)
            if distance < best:
                best, best_i, best_j = distance, i, j
