# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of single pairs of a link and an object whose leaves have a tree of their own."""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.segments import capsule_distance, surely_farther
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import first_bad, move

_DEPTH = 64


@kernel
def _box_gap(view, leaf, node):
    """A bound from below of the distance of a leaf and all leaves below a node, if positive."""
    squared = 0.0
    for axis in range(3):
        p, q = view.ends[leaf, axis], view.ends[leaf, axis + 3]
        low, high = view.boxes[node, axis], view.boxes[node, axis + 3]
        gap = max(max(min(p, q) - high, low - max(p, q)), 0.0)
        squared += gap * gap
    return np.sqrt(squared) - view.radii[leaf, 0]


@kernel
def _nearest_below(view, leaf, root, least):
    """Distance of a leaf and the leaves below ``root``, if it is less than ``least``."""
    waiting = np.empty(_DEPTH, np.int64)
    waiting[0] = root
    size = 1
    while size > 0:
        size -= 1
        node = waiting[size]
        left, right = view.nodes[node, 0], view.nodes[node, 1]
        if left < 0:
            if not surely_farther(view.ends, view.radii, leaf, right, least):
                least = min(least, capsule_distance(view.ends, view.radii, leaf, right))
            continue
        gap = _box_gap(view, leaf, node)
        if gap > 0.0 and gap >= least:
            continue
        waiting[size], waiting[size + 1] = right, left
        size += 2
    return least


@kernel
def link_distances(numbers, index, q, pairs, count, out):
    """out[k] = signed distance of the k-th of ``count`` pairs at q; the row of a bad q[k], or -1.

    ``pairs`` (n, 2): a link, and the root of the tree over the leaves of an object. Objects
    that move are placed here.
    """
    bad = first_bad(q)
    if bad >= 0:
        return bad
    view = unpack(numbers, index)
    move(view, q)
    for k in range(count):
        link, root = pairs[k, 0], pairs[k, 1]
        least = np.inf
        for leaf in range(view.links[link, 0], view.links[link, 1]):
            least = _nearest_below(view, leaf, root, least)
        out[k] = least
    return -1
