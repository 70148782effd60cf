# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Certify that pairs of links keep their limits along a motion, by bisection.

A piece of the motion is halved for the pairs that the bounds of `pair_sweep` do not keep above
their limits. Unlike `clearance_scan`, which brackets the least distance of every pair, this ends at
the first pair that is too near.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import FALSE, offline_kernel
from collision_monitor.continuous.pair_sweep import ball_bound, pair_bound, pair_nearest
from collision_monitor.continuous.scan_space import balls_at, path_of, set_out, sweep_of
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.hierarchy.packed import unpack

CERTIFIED, TOO_NEAR, UNDECIDED = range(3)
DEPTH = 62  # halvings; with resolutions above 1e-18 of the motion fewer are needed
# In pieces in which links approach by more than this, in metres, the bounds of leaves hardly ever
# hold: the piece is halved at once.
_LONG = 0.35


@offline_kernel
def certify(
    numbers, index, space, motion, active, limits, within, resolution, instant, q, hints, query
):  # fmt: skip
    """Return (state, time, pair, distance, tests) of a motion ``within`` two times, seconds.

    CERTIFIED: every pair keeps its limit all the time. TOO_NEAR: the pair does not at this time.
    UNDECIDED: the pair keeps its limit then, but no bound can decide: it is within ``resolution``
    metres of it, or the piece is no longer than ``instant`` seconds. Pieces are tested in the order
    of time: up to that piece every pair keeps its limit.

    ``numbers`` and ``index`` are the packed model, ``space`` of its `ScanTables`, ``motion`` a
    `ScanMotion`. ``active`` (DEPTH + 1, pairs) is work space. ``limits`` (pairs,) metres; -inf: not
    checked. ``q`` (nq,) holds the positions of joints that do not move; the others are written.
    ``hints`` (pairs, 2): two leaves of each pair that were nearest last. ``query``: at least
    ``query + tests`` of the last call.
    """
    view, path = unpack(numbers, index), path_of(motion)
    balls, sweep = balls_at(view, space), sweep_of(view, space)
    rates, pieces = np.zeros((len(q), 3)), np.empty((DEPTH + 1, 2))  # begin and end of pieces
    counts, depths = np.zeros(DEPTH + 1, np.int64), np.zeros(DEPTH + 1, np.int64)
    for pair in range(len(limits)):
        if limits[pair] > -np.inf:
            active[0, counts[0]] = pair
            counts[0] += 1
    pieces[0, 0], pieces[0, 1] = within
    size, tests = 1, 0
    while size > 0:
        size -= 1
        begin, end, depth = pieces[size, 0], pieces[size, 1], depths[size]
        time, half = 0.5 * (begin + end), 0.5 * (end - begin)
        set_out(view, space, path, balls, sweep, time, half, q, rates)
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
                return TOO_NEAR, time, pair, distance, tests
            if not is_long:
                if distance >= needed:
                    continue
                bound, _ = pair_bound(
                    view, balls, sweep, pair, travel, limit, i, j, FALSE, query + tests
                )
                if bound >= limit:
                    continue
                if travel <= resolution or 2.0 * half <= instant or depth == DEPTH - 1:
                    return UNDECIDED, time, pair, distance, tests
            active[depth + 1, left] = pair
            left += 1
        if left > 0:
            counts[depth + 1] = left
            depths[size] = depths[size + 1] = depth + 1
            pieces[size, 0], pieces[size, 1] = time, end
            pieces[size + 1, 0], pieces[size + 1, 1] = begin, time
            size += 2
    return CERTIFIED, within[1], -1, np.inf, tests
