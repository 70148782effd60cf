# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The hybrid hierarchy: AABBs at the inner nodes, capsules and spheres at the leaves.

Boxes are tested against boxes and leaves against leaves (Zhang et al.). A box is a row
(xmin, ymin, zmin, xmax, ymax, zmax).
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import ONE, kernel, small_kernel
from collision_monitor.geometry.segments import capsule_distance, surely_farther


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


@kernel
def boxes_overlap(boxes, i, j, margin):
    """Whether boxes i and j come closer than ``margin`` along every axis."""
    return (
        boxes[i, 0] - margin <= boxes[j, 3]
        and boxes[j, 0] - margin <= boxes[i, 3]
        and boxes[i, 1] - margin <= boxes[j, 4]
        and boxes[j, 1] - margin <= boxes[i, 4]
        and boxes[i, 2] - margin <= boxes[j, 5]
        and boxes[j, 2] - margin <= boxes[i, 5]
    )


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


# -- all leaves closer than a margin: a depth-first search without order --


@small_kernel
def begin_search(waiting):
    """Prepare ``waiting`` (STACK, 2), whose last row counts the searches that have begun.

    Returns the ``size`` with which `next_leaves` begins.
    """
    waiting[STACK - 1, 0] = 0
    return ROOT


@kernel
def next_leaves(view, margin, waiting, size):
    """Return (size, leaf, leaf) of the next checked pair whose boxes are closer than ``margin``.

    The leaves are -1 if there are no more. Of two nodes the larger is opened, both if they are one.
    """
    nodes, boxes = view.nodes, view.boxes
    while True:
        if size == 0:
            search = waiting[STACK - 1, 0]
            if search == len(view.searches):
                return size, np.int64(-1), np.int64(-1)
            waiting[STACK - 1, 0] += 1
            i, j = view.searches[search, 0], view.searches[search, 1]
            if is_open(view, i, j) and (i == j or boxes_overlap(boxes, i, j, margin)):
                waiting[0, 0], waiting[0, 1] = i, j
                size = 1
            continue
        size -= 1
        i, j = waiting[size, 0], waiting[size, 1]
        left, right = nodes[i, 0], nodes[i, 1]
        if i == j:
            for k in range(0 if left < 0 else 3):
                a = right if k == 1 else left
                b = left if k == 0 else right
                if is_open(view, a, b) and (a == b or boxes_overlap(boxes, a, b, margin)):
                    waiting[size, 0], waiting[size, 1] = a, b
                    size += 1
            continue
        if left < 0 and nodes[j, 0] < 0:
            return size, right, nodes[j, 1]
        splits_i = nodes[j, 0] < 0 or (left >= 0 and box_size(boxes, i) >= box_size(boxes, j))
        for m in range(2):
            a, b = (nodes[i, m], j) if splits_i else (i, nodes[j, m])
            if is_open(view, a, b) and boxes_overlap(boxes, a, b, margin):
                waiting[size, 0], waiting[size, 1] = a, b
                size += 1


@kernel
def leaves_closer(view, margin, most, leaf_pairs):
    """Write checked pairs of leaves closer than ``margin``, metres, to ``leaf_pairs`` (k, 2).

    Returns their number, those that do not fit included. The search ends at ``most`` pairs.
    """
    waiting = work_space(ROOT, STACK, 2)
    size, count = begin_search(waiting), 0
    while count < most:
        size, a, b = next_leaves(view, margin, waiting, size)
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


# -- the nearest leaves: branch and bound --


@kernel
def nearest_leaves(view):
    """Return (signed distance, leaf, leaf) of the nearest checked pair; (inf, -1, -1) if none.

    Branch and bound, depth first, the nearer child first. The nearest pair of the last query is
    measured first: its distance is an upper bound at any configuration.
    """
    nodes, boxes = view.nodes, view.boxes
    best, best_i, best_j = np.inf, -1, -1
    i, j = view.warm_start[0, 0], view.warm_start[0, 1]
    if i >= 0:
        best, best_i, best_j = capsule_distance(view.ends, view.radii, i, j), i, j
    waiting = work_space(ROOT, STACK, 2)
    bound = work_space(best, STACK, 1)
    size, search = 0, 0
    while size > 0 or search < len(view.searches):
        if size == 0:
            i, j = view.searches[search, 0], view.searches[search, 1]
            search += 1
            if is_open(view, i, j):
                waiting[0, 0], waiting[0, 1] = i, j
                bound[0, 0] = -np.inf if i == j else box_gap(boxes, i, j)
                size = 1
            continue
        size -= 1
        if bound[size, 0] >= best:
            continue
        i, j = waiting[size, 0], waiting[size, 1]
        if i == j:
            left, right = nodes[i, 0], nodes[i, 1]
            if left < 0:
                continue
            if is_open(view, left, right):
                gap = box_gap(boxes, left, right)
                if gap < best:
                    waiting[size, 0], waiting[size, 1], bound[size, 0] = left, right, gap
                    size += 1
            if is_open(view, left, left):
                waiting[size, 0], waiting[size, 1], bound[size, 0] = left, left, -np.inf
                size += 1
            if is_open(view, right, right):
                waiting[size, 0], waiting[size, 1], bound[size, 0] = right, right, -np.inf
                size += 1
            continue
        i_is_leaf, j_is_leaf = nodes[i, 0] < 0, nodes[j, 0] < 0
        if i_is_leaf and j_is_leaf:
            a, b = nodes[i, 1], nodes[j, 1]
            if not surely_farther(view.ends, view.radii, a, b, best):
                distance = capsule_distance(view.ends, view.radii, a, b)
                if distance < best:
                    best, best_i, best_j = distance, a, b
            continue
        split_i = j_is_leaf or (not i_is_leaf and box_size(boxes, i) >= box_size(boxes, j))
        if split_i:
            i1, i2, j1, j2 = nodes[i, 0], nodes[i, 1], j, j
        else:
            i1, i2, j1, j2 = i, i, nodes[j, 0], nodes[j, 1]
        gap1 = box_gap(boxes, i1, j1) if is_open(view, i1, j1) else np.inf
        gap2 = box_gap(boxes, i2, j2) if is_open(view, i2, j2) else np.inf
        if gap1 < gap2:  # push the nearer pair last, so that it is popped first
            i1, i2, j1, j2, gap1, gap2 = i2, i1, j2, j1, gap2, gap1
        if gap1 < best:
            waiting[size, 0], waiting[size, 1], bound[size, 0] = i1, j1, gap1
            size += 1
        if gap2 < best:
            waiting[size, 0], waiting[size, 1], bound[size, 0] = i2, j2, gap2
            size += 1
    view.warm_start[0, 0], view.warm_start[0, 1] = best_i, best_j
    return best, best_i, best_j
