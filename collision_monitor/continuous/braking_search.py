# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of the distances of leaves while all joints brake, certified between samples.

As `clearance_scan`, on the path of `braking` and with a budget of configurations. Intervals are
halved level by level: when the budget is used, the bounds are about equally fine everywhere.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import FALSE, TRUE, ZERO, kernel, small_kernel
from collision_monitor.continuous.braking import braked, braking_time
from collision_monitor.continuous.near_pairs import DISTANCE, LEAF_A, LEAF_B, LEAST, PAIR, SAMPLED
from collision_monitor.continuous.pair_sweep import ball_bound, pair_bound
from collision_monitor.continuous.scan_space import SLOPE, SPAN, STRAY, sweep_of, turn
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.hierarchy.kinematics import place_links
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import nearest_of_links

# A pair that is at most this many resolutions beyond its stop distance does not end a search.
_CLEARLY = 4.0


@kernel
def braking_range(path, center, half, q, motion):
    """Write the position of braking joints at ``center`` s to ``q``, and their motion about it.

    As `scan_space.path_range`. The velocity of a joint keeps its sign and never grows: less the
    straight motion with the same ends, its path is concave. It is farthest from it at an end, or
    where the velocities are equal.
    """
    for joint in range(len(q)):
        v, a = path.velocities[joint], path.decelerations[joint]
        travel = braked(v, a, path.reaction, center)
        q[joint] = path.q[joint] + travel
        slope, stray, before, after = 0.0, 0.0, 0.0, 0.0
        if half > 0.0 and v != 0.0:
            before = travel - braked(v, a, path.reaction, center - half)
            after = braked(v, a, path.reaction, center + half) - travel
            slope = 0.5 * (before + after) / half
            stray = 0.5 * abs(after - before)
            if abs(slope) < abs(v):
                time = path.reaction + (abs(v) - abs(slope)) / a
                off = braked(v, a, path.reaction, time) - travel - slope * (time - center)
                stray = max(stray, abs(off))
        motion[joint, SLOPE] = slope
        motion[joint, SPAN] = max(abs(before), abs(after))
        motion[joint, STRAY] = stray


@small_kernel
def _measure(view, candidates, row, hints):
    """Measure a pair where its links are; return (distance, leaf, leaf)."""
    pair = int(candidates[row, PAIR])
    distance, i, j = nearest_of_links(
        view, view.pairs[pair, 0], view.pairs[pair, 1], hints[row, 0], hints[row, 1], np.inf
    )
    hints[row, 0], hints[row, 1] = i, j
    candidates[row, SAMPLED] = min(candidates[row, SAMPLED], distance)
    return distance, i, j


@kernel
def _stops(candidates, stop, resolution):
    """Whether a pair outside its stop distance comes within it, which decides the search."""
    for row in range(len(candidates)):
        if candidates[row, SAMPLED] <= stop[row]:
            if candidates[row, DISTANCE] > stop[row] + _CLEARLY * resolution:
                return True
    return False


@kernel
def bound_leaves(numbers, index, space, path, stop, enough, resolution, most, candidates):
    """Set LEAST of ``candidates`` to lower bounds of their distances on a braking path, metres.

    ``candidates`` (k, columns) have PAIR, DISTANCE and two leaves, as `near_pairs` writes them.
    LEAST is at most ``resolution`` metres below the least distance, or not below ``enough`` (k,),
    if ``most`` configurations are enough. The search ends if a pair comes within its ``stop``
    distance (k,): then LEAST is the least distance so far, of all candidates.
    `scan_space.set_firsts` must have filled ``space`` for the pairs.

    Returns (number of configurations, whether a pair comes within its stop distance).
    """
    view = unpack(numbers, index)
    sweep = sweep_of(view, space)
    end = braking_time(path.velocities, path.decelerations, path.reaction)
    q, motion = np.empty(len(path.q)), np.empty((len(path.q), 3))
    hints = np.empty((len(candidates), 2), np.int64)
    times, counts = np.empty((most, 2)), np.zeros(most, np.int64)  # centre and half length
    active = np.empty((most, len(candidates)), np.int64)
    braking_range(path, end, 0.0, q, motion)
    place_links(view, q)
    for row in range(len(candidates)):
        active[0, row] = row
        hints[row, 0], hints[row, 1] = int(candidates[row, LEAF_A]), int(candidates[row, LEAF_B])
        candidates[row, SAMPLED], candidates[row, LEAST] = candidates[row, DISTANCE], np.inf
        _measure(view, candidates, row, hints)
    times[0, 0] = times[0, 1] = 0.5 * end
    counts[0], size, head = len(candidates), 1, ZERO
    while head < size and not _stops(candidates, stop, resolution):
        half = times[head, 1]
        braking_range(path, times[head, 0], half, q, motion)
        place_links(view, q)
        turn(view, sweep, motion, half)
        left, has_room = 0, size + 2 <= most
        for item in range(counts[head]):
            row = active[head, item]
            pair = int(candidates[row, PAIR])
            bound, travel = ball_bound(view, sweep, pair, head)
            if bound < min(enough[row], candidates[row, SAMPLED] - resolution):
                distance, i, j = _measure(view, candidates, row, hints)
                target = min(enough[row], candidates[row, SAMPLED] - resolution)
                bound = distance - travel - ROUNDING
                if bound < target:
                    by_leaves, _ = pair_bound(
                        view, sweep, pair, travel, target, i, j, FALSE, head
                    )
                    bound = max(bound, by_leaves)
                    if bound < target:
                        if has_room:
                            active[size, left] = active[size + 1, left] = row
                            left += 1
                            continue
                        by_leaves, _ = pair_bound(
                            view, sweep, pair, travel, enough[row], i, j, TRUE, head
                        )
                        bound = max(distance - travel - ROUNDING, by_leaves)
            candidates[row, LEAST] = min(candidates[row, LEAST], bound)
        if left > 0:  # the later half first: a robot is usually nearest at the end
            counts[size] = counts[size + 1] = left
            times[size, 0] = times[head, 0] + 0.5 * half
            times[size + 1, 0] = times[head, 0] - 0.5 * half
            times[size, 1] = times[size + 1, 1] = 0.5 * half
            size += 2
        head += 1
    stops = _stops(candidates, stop, resolution)
    for row in range(len(candidates)):
        if stops:
            candidates[row, LEAST] = np.inf
        candidates[row, LEAST] = min(candidates[row, LEAST], candidates[row, SAMPLED])
    return head + 1, stops
