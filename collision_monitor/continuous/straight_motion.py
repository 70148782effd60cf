# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Certify that pairs of links stay apart along a straight joint motion, by bisection.

A piece of the motion is halved for the pairs that the bounds of `pair_sweep` do not keep above
their limits. Unlike `clearance_scan`, which brackets the least distance of every pair, this ends at
the first pair that is too near.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import FALSE, offline_kernel
from collision_monitor.continuous.pair_sweep import (
    FAR,
    OFF,
    SIZE,
    TURN,
    ball_bound,
    pair_bound,
    pair_nearest,
)
from collision_monitor.continuous.scan_space import balls_at, move, sweep_of
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import first_bad

CERTIFIED, TOO_NEAR, UNDECIDED = range(3)
DEPTH = 62  # halvings; with resolutions above 1e-18 of the motion fewer are needed
# In pieces in which links approach by more than this, in metres, the bounds of leaves hardly ever
# hold: the piece is halved at once.
_LONG = 0.35


@offline_kernel
def _turn(view, sweep, start, end, half):
    """Set the rows of `Sweep.joints` for ``half`` of a motion to both sides."""
    for joint in range(len(view.joint_table)):
        column = view.joint_table[joint, 2]
        turn = view.joint_motion[joint, 0] * (end[column] - start[column]) * half
        sweep.joints[joint, TURN] = turn
        sweep.joints[joint, SIZE] = sweep.joints[joint, FAR] = abs(turn)
        sweep.joints[joint, OFF] = 0.0


@offline_kernel
def certify(numbers, index, space, active, limits, start, end, resolution, hints, query):
    """Return (state, s, pair, distance, tests) of the motion start + s (end - start).

    CERTIFIED: every pair keeps its limit for all s in [0, 1]. TOO_NEAR: the pair does not at s.
    UNDECIDED: the pair keeps its limit at s, but is within ``resolution`` metres of it, so that no
    bound can decide. Pieces are tested in the order of time. State -2 - k: an invalid value in
    column k.

    ``numbers`` and ``index`` are the packed model, ``space`` of its `ScanTables`. ``active`` (DEPTH
    + 1, pairs) is work space. ``limits`` (pairs,) metres; -inf: not checked. ``start`` and ``end``
    (nq,). ``hints`` (pairs, 2): two leaves of each pair that were nearest last. ``query``: at least
    ``query + tests`` of the last call.
    """
    bad = max(first_bad(start), first_bad(end))
    if bad >= 0:
        return -2 - bad, 0.0, -1, np.nan, 0
    view = unpack(numbers, index)
    balls = balls_at(view, space)
    sweep = sweep_of(view, space)
    q, low, high = np.empty(len(start)), np.empty(DEPTH + 1), np.empty(DEPTH + 1)
    counts, depths = np.zeros(DEPTH + 1, np.int64), np.zeros(DEPTH + 1, np.int64)
    for pair in range(len(limits)):
        if limits[pair] > -np.inf:
            active[0, counts[0]] = pair
            counts[0] += 1
    low[0], high[0] = 0.0, 1.0
    size, tests = 1, 0
    while size > 0:
        size -= 1
        s, half = 0.5 * (low[size] + high[size]), 0.5 * (high[size] - low[size])
        depth = depths[size]
        for column in range(len(q)):
            q[column] = start[column] + s * (end[column] - start[column])
        move(view, balls, q)
        _turn(view, sweep, start, end, half)
        tests += 1
        left = 0
        for n in range(counts[depth]):
            pair = active[depth, n]
            limit = limits[pair]
            bound, travel = ball_bound(view, balls, sweep, pair, query + tests)
            if bound >= limit:
                continue
            is_long = travel > _LONG and depth < DEPTH - 1
            needed = limit  # a pair that does not move needs no reserve for rounding
            if travel > 0.0 and not is_long:
                needed = limit + travel + ROUNDING
            distance, i, j = pair_nearest(
                view, balls, view.pairs[pair, 0], view.pairs[pair, 1],
                hints[pair, 0], hints[pair, 1], needed,
            )  # fmt: skip
            hints[pair, 0], hints[pair, 1] = i, j
            if distance < limit:
                return TOO_NEAR, s, pair, distance, tests
            if not is_long:
                if distance >= needed:
                    continue
                bound, _ = pair_bound(
                    view, balls, sweep, pair, travel, limit, i, j, FALSE, query + tests
                )
                if bound >= limit:
                    continue
                if travel <= resolution or depth == DEPTH - 1:
                    return UNDECIDED, s, pair, distance, tests
            active[depth + 1, left] = pair
            left += 1
        if left > 0:
            counts[depth + 1] = left
            depths[size] = depths[size + 1] = depth + 1
            low[size + 1], high[size + 1] = low[size], s
            low[size] = s
            size += 2
    return CERTIFIED, 1.0, -1, np.inf, tests
