# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Certify that pairs of links stay apart along a straight joint motion, by bisection.

Two points on two links come no nearer than their distance in the middle of a piece of motion less
the way that both can go in half of it (Schwarzer, Saha, Latombe, IEEE Trans. Robotics 21(3),
2005; `robot.reach`). A piece for which that leaves more than the limit, for every pair of
leaves, is certified; another is halved. The bound is each pair's own: joints that carry both
links do not count.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.kernels.boxes import boxes_overlap
from collision_monitor.kernels.jit import offline_kernel
from collision_monitor.kernels.packed import unpack
from collision_monitor.kernels.query import first_bad, move
from collision_monitor.kernels.segments import capsule_distance, surely_farther
from collision_monitor.kernels.tree import is_open

CERTIFIED, TOO_NEAR, UNDECIDED = 0, 1, 2
_STACK = 512  # as in tree.py


@offline_kernel
def pair_travel(reach, steps, a, b):
    """How far links a and b can come nearer in a motion by ``steps`` (joints,), metres."""
    total = 0.0
    for k in range(len(steps)):
        if (reach[a, k] > 0.0) != (reach[b, k] > 0.0):
            total += steps[k] * (reach[a, k] + reach[b, k])
    return total


@offline_kernel
def _nearest_to_its_limit(
    view, leaf_links, pair_table, limits, widest, reach, steps, farthest, half
):
    """(state, leaf, leaf, pair, distance, travel): some pair that hinders the piece of motion.

    UNDECIDED: nearer than its limit and half of its travel; TOO_NEAR: nearer than its
    limit, which ends the search.
    """
    nodes, boxes = view.nodes, view.boxes
    first = np.empty(_STACK, np.int64)
    second = np.empty(_STACK, np.int64)
    size = 0
    if len(nodes) > view.moving_nodes and is_open(view, 0, view.moving_nodes):
        first[0], second[0] = 0, view.moving_nodes
        size = 1
    if view.moving_nodes > 0 and is_open(view, 0, 0):
        first[size], second[size] = 0, 0
        size += 1
    margin = widest + half * farthest
    state, best_a, best_b, best_pair, best, way = CERTIFIED, -1, -1, -1, np.inf, 0.0
    while size > 0:
        size -= 1
        i, j = first[size], second[size]
        left, right = nodes[i, 0], nodes[i, 1]
        if i == j:
            if left < 0:
                continue
            for m in range(3):
                a = left if m != 1 else right
                b = left if m == 0 else right
                if is_open(view, a, b) and (a == b or boxes_overlap(boxes, a, b, margin)):
                    first[size], second[size] = a, b
                    size += 1
            continue
        if left < 0 and nodes[j, 0] < 0:
            a, b = right, nodes[j, 1]
            pair = pair_table[leaf_links[a], leaf_links[b]]
            limit = limits[pair]
            if limit == -np.inf or surely_farther(view.ends, view.radii, a, b, margin):
                continue
            travel = pair_travel(reach, steps, leaf_links[a], leaf_links[b])
            distance = capsule_distance(view.ends, view.radii, a, b)
            if distance < limit:
                return TOO_NEAR, a, b, pair, distance, travel
            if state == CERTIFIED and distance < limit + half * travel:
                state, best_a, best_b, best_pair = UNDECIDED, a, b, pair
                best, way = distance, travel
                margin = widest  # the piece is to be halved: only what is too near counts now
            continue
        split_i = nodes[j, 0] < 0 or (left >= 0 and _size(boxes, i) >= _size(boxes, j))
        for m in range(2):
            a, b = (nodes[i, m], j) if split_i else (i, nodes[j, m])
            if is_open(view, a, b) and boxes_overlap(boxes, a, b, margin):
                first[size], second[size] = a, b
                size += 1
    return state, best_a, best_b, best_pair, best, way


@offline_kernel
def _size(boxes, i):
    return boxes[i, 3] - boxes[i, 0] + boxes[i, 4] - boxes[i, 1] + boxes[i, 5] - boxes[i, 2]


@offline_kernel
def certify(
    numbers, index, leaf_links, pair_table, limits, widest, reach, start, end, resolution
):
    """(state, s, leaf, leaf, pair, distance, tests) of the motion start + s (end - start).

    CERTIFIED: every pair keeps its limit for all s in [0, 1]. TOO_NEAR: at s the pair does not.
    UNDECIDED: at s the pair keeps its limit, but is within ``resolution`` metres of it, so that
    no bound can tell. Pieces are tested in the order of time. State -2 - k: a bad value in
    column k.
    """
    bad = max(first_bad(start), first_bad(end))
    if bad >= 0:
        return -2 - bad, 0.0, -1, -1, -1, np.nan, 0
    view = unpack(numbers, index)
    joints = view.joint_table
    steps = np.empty(len(joints))
    for k in range(len(joints)):
        steps[k] = abs(view.joint_motion[k, 0] * (end[joints[k, 2]] - start[joints[k, 2]]))
    farthest, second = 0.0, 0.0  # of two links: no pair travels farther than their sum
    for link in range(len(reach)):
        travel = 0.0
        for k in range(len(steps)):
            travel += reach[link, k] * steps[k]
        if travel > farthest:
            farthest, second = travel, farthest
        elif travel > second:
            second = travel
    farthest += second
    q = np.empty(len(start))
    low = np.empty(64)
    high = np.empty(64)
    low[0], high[0] = 0.0, 1.0
    size, tests = 1, 0
    while size > 0:
        size -= 1
        s0, s1 = low[size], high[size]
        s = 0.5 * (s0 + s1)
        half = 0.5 * (s1 - s0)
        for k in range(len(q)):
            q[k] = start[k] + s * (end[k] - start[k])
        move(view, q)
        tests += 1
        state, a, b, pair, distance, travel = _nearest_to_its_limit(
            view, leaf_links, pair_table, limits, widest, reach, steps, farthest, half
        )
        if state == TOO_NEAR or (state == UNDECIDED and half * travel < resolution):
            return state, s, a, b, pair, distance, tests
        if state == UNDECIDED:
            if size > 61:  # cannot happen above a resolution of 1e-18 of the motion
                return state, s, a, b, pair, distance, tests
            low[size], high[size] = s, s1
            low[size + 1], high[size + 1] = s0, s
            size += 2
    return CERTIFIED, 1.0, -1, -1, -1, np.inf, tests
