# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""When two links are first nearer than a limit, by bisection of time."""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.clearance_scan import DEPTH
from collision_monitor.continuous.pair_sweep import ball_bound, pair_bound, pair_nearest
from collision_monitor.continuous.scan_space import balls_of, paths_of, set_out, sweep_of
from collision_monitor.hierarchy.packed import unpack


@offline_kernel
def first_below(
    numbers, index, space, motion, starts, widths, low, high, p, limit, instant, q, hints
):  # fmt: skip
    """Seconds from ``low`` to ``high`` at which pair p is first below ``limit``; inf: never.

    To ``instant`` s: pieces that short are not halved. Paths begin within ``widths`` of
    ``starts``; the first that can be.
    """
    view, paths = unpack(numbers, index), paths_of(motion)
    groups = len(paths.paths)
    balls, sweep = balls_of(view, space, groups), sweep_of(view, space, motion)
    rates = np.zeros((len(q), 3))
    times = np.empty((DEPTH + 1, 2))
    begins = np.empty((DEPTH + 1, groups))
    ranges = np.empty((DEPTH + 1, groups))
    times[0, 0], times[0, 1] = 0.5 * (low + high), 0.5 * (high - low)
    begins[0, :], ranges[0, :] = starts, widths
    size, query, first = 1, 0, np.inf
    while size > 0:
        size -= 1
        time, half, start = times[size, 0], times[size, 1], begins[size]
        if time - half >= first:
            continue
        widest, side = half, -1
        for g in range(groups):
            if ranges[size, g] > widest:
                widest, side = ranges[size, g], g
        set_out(
            view, space, motion, paths, balls, sweep, time, half, start, ranges[size], q, rates
        )
        query += 1
        distance, i, j = pair_nearest(
            view, balls, view.pairs[p, 0], view.pairs[p, 1], hints[p, 0], hints[p, 1]
        )
        hints[p, 0], hints[p, 1] = i, j
        if distance < limit:
            first = min(first, time)
        _, travel = ball_bound(view, balls, sweep, p, query)
        if (
            2.0 * widest <= instant
            or size >= DEPTH
            or pair_bound(view, balls, sweep, groups, p, travel, limit, i, j, query) >= limit
        ):
            continue
        for g in range(groups):
            begins[size + 1, g], ranges[size + 1, g] = start[g], ranges[size, g]
        times[size + 1, 0], times[size + 1, 1] = time, half
        if side < 0:  # the earlier half on top
            times[size, 0], times[size + 1, 0] = time + 0.5 * half, time - 0.5 * half
            times[size, 1] = times[size + 1, 1] = 0.5 * half
        else:
            begins[size, side] += 0.5 * widest
            begins[size + 1, side] -= 0.5 * widest
            ranges[size, side] = ranges[size + 1, side] = 0.5 * widest
        size += 2
    return first
