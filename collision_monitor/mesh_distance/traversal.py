# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The search through two hierarchies: the pairs of their leaves that are nearer than a limit.

Depth first; of two nodes the larger one is opened, and the child with the nearer centre is visited
first. The caller measures what a pair of leaves holds, and may lower the limit before it asks for
the next pair. A solid, which has one volume, is a hierarchy of one leaf.

    search = Search(work_space(np.int64(0), STACK, 2), work_space(0.0, STACK, 2))
    size = start(a, b, pose, square, search)
    while True:
        size, i, j = next_leaves(a, b, pose, square, -np.inf, search, size)
        if i < 0:
            break
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import ONE, ZERO, inlined_kernel, kernel
from collision_monitor.geometry.bounding_volumes import OBB, RSS, lower_bound


class Search(NamedTuple):
    """Work space of a search.

    Attributes:
        waiting: (STACK, 2) nodes of both trees.
        bounds: (STACK, 2) squares of their lower bound, and of the distance of their centres.
    """

    waiting: np.ndarray
    bounds: np.ndarray


@inlined_kernel
def _centers_apart(volumes_a, i, volumes_b, j, pose):
    """Squared distance of the centres of two volumes."""
    square = 0.0
    for k in range(3):
        d = pose[3, k] - volumes_a[i, k]
        for m in range(3):
            d += pose[k, m] * volumes_b[j, m]
        square += d * d
    return square


@kernel
def start(a, b, pose, best, search):
    """Begin a search with the two roots; return its ``size``. Arguments as of `next_leaves`."""
    search.waiting[0, 0] = search.waiting[0, 1] = 0
    search.bounds[0, 0] = lower_bound(a.kind, a.volumes, ZERO, b.volumes, ZERO, pose, best)
    return ONE  # a literal would be another type


@kernel
def next_leaves(a, b, pose, best, begin, search, size):
    """Return (size, node, node) of the next pair of leaves that may be nearer than the limit.

    The nodes are -1 if there are no more. ``a`` and ``b`` are trees of one kind, ``pose`` (4, 3) is
    B's in A's frame, ``best`` the square of the limit. ``begin`` less the reaches of two
    nodes is another bound of their distance (`mesh_pair_distance`); -inf without reaches.
    """
    waiting, bounds = search.waiting, search.bounds
    sizes = 15 if a.kind == OBB or a.kind == RSS else 6
    while size > 0:
        size -= 1
        if bounds[size, 0] >= best:
            continue
        i, j = waiting[size, 0], waiting[size, 1]
        gap = begin - a.reaches[i, 0] - b.reaches[j, 1]
        if gap > 0.0 and gap * gap >= best:
            continue
        first_a, count_a = a.nodes[i, 0], a.nodes[i, 1]
        first_b, count_b = b.nodes[j, 0], b.nodes[j, 1]
        if count_a <= 0 and count_b <= 0:
            return size, i, j
        opens_a = count_b <= 0 or (count_a > 0 and a.volumes[i, sizes] >= b.volumes[j, sizes])
        base = size
        for child in range(count_a if opens_a else count_b):
            if opens_a:
                i = first_a + child
            else:
                j = first_b + child
            gap = max(0.0, begin - a.reaches[i, 0] - b.reaches[j, 1])
            gap *= gap
            if gap >= best:
                continue
            gap = max(gap, lower_bound(a.kind, a.volumes, i, b.volumes, j, pose, best))
            if gap >= best:
                continue
            # Insertion sort: the nearest pair is on top.
            apart = _centers_apart(a.volumes, i, b.volumes, j, pose)
            at = size
            while at > base and bounds[at - 1, 1] < apart:
                bounds[at, 0], bounds[at, 1] = bounds[at - 1, 0], bounds[at - 1, 1]
                waiting[at, 0], waiting[at, 1] = waiting[at - 1, 0], waiting[at - 1, 1]
                at -= 1
            bounds[at, 0], bounds[at, 1] = gap, apart
            waiting[at, 0], waiting[at, 1] = i, j
            size += 1
    return size, np.int64(-1), np.int64(-1)
