# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Certify that pairs of links stay apart along a straight joint motion, by bisection.

A piece of the motion is certified if one of two bounds keeps every pair of leaves above its limit;
otherwise it is halved. Joints that carry both links of a pair do not count for it.

First order: the distance of two points is at least their distance in the middle of the piece less
the travel of both in half of it (Schwarzer, Saha, Latombe, IEEE Trans. Robotics 21(3), 2005).

Second order: along the normal n of the nearest points in the middle, the end points a and b of two
leaves are separated by at least ::

    n . (b - a) - |n . (b' - a')| t - (|a''| + |b''|) t^2 / 2

at t from the middle. The distance of the leaves is at least the minimum of this less both radii,
because a gap along any direction is a lower bound. With d2p / dq_j dq_k = z_j x (z_k x (p - o_k))
for j not beyond k, accelerations are at most the sum over the joints k of w_k R_k (w_k + 2 sum of
w_j before k), with rates w and reach R (`CollisionModel.link_reach`). The loss falls with the
square of the piece, so a motion near its limits takes a few tests instead of dozens.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.geometry.segments import capsule_distance, capsule_witness, surely_farther
from collision_monitor.hierarchy.aabb_tree import ROOT, STACK, push_children, push_roots
from collision_monitor.hierarchy.kinematics import point_rate
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import first_bad, move

CERTIFIED, TOO_NEAR, UNDECIDED = 0, 1, 2
# Pieces in which a link may travel farther than this, in metres, hardly ever hold: their middle is
# only searched for pairs that are too near. So are not more than 2 / _SHORT of them.
_LONG, _SHORT = 0.35, 0.03


@offline_kernel
def pair_travel(reach, steps, a, b):
    """Maximum approach of links a and b in a motion by ``steps`` (joints,), metres."""
    total = 0.0
    for k in range(len(steps)):
        if (reach[a, k] > 0.0) != (reach[b, k] > 0.0):
            total += steps[k] * (reach[a, k] + reach[b, k])
    return total


@offline_kernel
def _limiting_pair(
    view, leaf_links, pair_table, limits, widest, joints, reach, rates, steps, bends, travels, half
):
    """Return (state, leaf, leaf, pair, distance, travel) of a pair that prevents a certificate.

    UNDECIDED: nearer than its limit plus half of its travel. TOO_NEAR: nearer than its limit, which
    ends the search.
    """
    nodes = view.nodes
    waiting = work_space(ROOT, STACK, 2)
    size = push_roots(view, waiting)
    state, best_a, best_b, best_pair, best, best_travel = CERTIFIED, -1, -1, -1, np.inf, 0.0
    while size > 0:
        size -= 1
        i, j = waiting[size, 0], waiting[size, 1]
        margin = widest + half * (travels[i] + travels[j])
        if i == j or nodes[i, 0] >= 0 or nodes[j, 0] >= 0:
            size = push_children(view, i, j, margin, waiting, size)
            continue
        a, b = nodes[i, 1], nodes[j, 1]
        pair = pair_table[leaf_links[a], leaf_links[b]]
        limit = limits[pair]
        if limit == -np.inf or surely_farther(view.ends, view.radii, a, b, margin):
            continue
        travel = pair_travel(reach, steps, leaf_links[a], leaf_links[b])
        if surely_farther(view.ends, view.radii, a, b, limit + half * travel):
            continue
        distance = capsule_distance(view.ends, view.radii, a, b)
        if distance < limit:
            return TOO_NEAR, a, b, pair, distance, travel
        if (
            state == CERTIFIED
            and distance < limit + half * travel
            and not _stays_apart(view, a, b, leaf_links, joints, reach, rates, bends, half, limit)
        ):
            state, best_a, best_b, best_pair = UNDECIDED, a, b, pair
            best, best_travel = distance, travel
            half = 0.0  # the piece will be halved: only look for pairs that are too near
    return state, best_a, best_b, best_pair, best, best_travel


@offline_kernel
def _point_rate(view, link, other, joints, reach, rates, px, py, pz, nx, ny, nz):
    """Rate n . dp/ds of a point p of ``link``, by joints that do not carry ``other``."""
    total = 0.0
    for k in range(len(rates)):
        if reach[link, k] > 0.0 and not reach[other, k] > 0.0:
            total += rates[k] * point_rate(view, joints[k], px, py, pz, nx, ny, nz)
    return total


@offline_kernel
def _stays_apart(view, i, j, leaf_links, joints, reach, rates, bends, half, limit):
    """Whether the second-order bound keeps leaves i and j ``limit`` apart for ``half``."""
    ends, radii = view.ends, view.radii
    a, b = leaf_links[i], leaf_links[j]
    _, _, _, _, _, _, _, nx, ny, nz = capsule_witness(ends, radii, i, j)
    loss = 0.5 * half * half * (bends[a] + bends[b])
    needed = limit + radii[i, 0] + radii[j, 0] + loss
    for m in range(0, 6, 3):
        px, py, pz = ends[i, m], ends[i, m + 1], ends[i, m + 2]
        away = _point_rate(view, a, b, joints, reach, rates, px, py, pz, nx, ny, nz)
        for n in range(0, 6, 3):
            qx, qy, qz = ends[j, n], ends[j, n + 1], ends[j, n + 2]
            gap = nx * (qx - px) + ny * (qy - py) + nz * (qz - pz)
            rate = _point_rate(view, b, a, joints, reach, rates, qx, qy, qz, nx, ny, nz)
            speed = rate - away
            if gap - half * abs(speed) < needed:
                return False
    return True


@offline_kernel
def _moving_joints(view, start, end, reach):
    """Joints that move, their rates, and their columns of ``reach``: most joints stand still."""
    table = view.joint_table
    joints = np.empty(len(table), dtype=np.int64)
    rates = np.empty(len(table))
    count = 0
    for joint in range(len(table)):
        rate = view.joint_motion[joint, 0] * (end[table[joint, 2]] - start[table[joint, 2]])
        if rate != 0.0:
            joints[count], rates[count] = joint, rate
            count += 1
    columns = np.empty((len(reach), count))
    for link in range(len(reach)):
        for column in range(count):
            columns[link, column] = reach[link, joints[column]]
    return joints[:count], rates[:count], columns


@offline_kernel
def certify(
    numbers, index, leaf_links, pair_table, limits, widest, reach, start, end, resolution
):
    """Return (state, s, leaf, leaf, pair, distance, tests) of the motion start + s (end - start).

    CERTIFIED: every pair keeps its limit for all s in [0, 1]. TOO_NEAR: the pair does not at s.
    UNDECIDED: the pair keeps its limit at s, but is within ``resolution`` metres of it, so that no
    bound can decide. Pieces are tested in the order of time. State -2 - k: an invalid value in
    column k.
    """
    bad = max(first_bad(start), first_bad(end))
    if bad >= 0:
        return -2 - bad, 0.0, -1, -1, -1, np.nan, 0
    view = unpack(numbers, index)
    joints, rates, reach = _moving_joints(view, start, end, reach)
    steps = np.abs(rates)
    bends = np.empty(len(reach))
    for link in range(len(reach)):
        turned, bend = 0.0, 0.0
        for joint in range(len(steps)):
            if reach[link, joint] > 0.0:
                bend += reach[link, joint] * steps[joint] * (steps[joint] + 2.0 * turned)
                turned += steps[joint]
        bends[link] = bend
    farthest = 0.0
    travels = np.empty(len(view.nodes))  # of the leaves below a node
    for node in range(len(view.nodes) - 1, -1, -1):
        left, right = view.nodes[node, 0], view.nodes[node, 1]
        if left < 0:
            travels[node] = np.sum(reach[leaf_links[right]] * steps)
        else:
            travels[node] = max(travels[left], travels[right])
        farthest = max(farthest, travels[node])
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
        for column in range(len(q)):
            q[column] = start[column] + s * (end[column] - start[column])
        move(view, q)
        tests += 1
        is_long = half > _SHORT and half * farthest > _LONG
        state, a, b, pair, distance, travel = _limiting_pair(
            view, leaf_links, pair_table, limits, widest, joints, reach, rates, steps, bends,
            travels, 0.0 if is_long else half,
        )  # fmt: skip
        if state == TOO_NEAR or (state == UNDECIDED and half * travel < resolution):
            return state, s, a, b, pair, distance, tests
        if state == UNDECIDED or is_long:
            if size > 61:  # impossible above a resolution of 1e-18 of the motion
                return state, s, a, b, pair, distance, tests
            low[size], high[size] = s, s1
            low[size + 1], high[size + 1] = s0, s
            size += 2
    return CERTIFIED, 1.0, -1, -1, -1, np.inf, tests
