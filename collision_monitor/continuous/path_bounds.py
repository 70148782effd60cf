# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on the distance of two links along a path, from distances at some configurations.

A distance that was measured at a configuration holds at any other one, less the travel of both
links between them (Schwarzer, Saha, Latombe, IEEE Trans. Robotics 21(3), 2005). It does not matter
whether the first one is on the path. ``weights`` (nq,) is how far two links come nearer at most
for a unit of a joint.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import kernel


@kernel
def travel_between(weights, a, b):
    """How far two links come nearer at most between two configurations (nq,), metres."""
    travel = 0.0
    for k in range(len(weights)):
        travel += weights[k] * abs(a[k] - b[k])
    return travel


@kernel
def raise_bounds(path, joints, weights, place, distance, enough, bounds):
    """Raise ``bounds`` (n,) on the distance in the intervals of ``path`` (2 n + 1, nq).

    Every other row is the middle of an interval. ``distance`` was measured at ``place`` (nq,).
    Each joint is monotone on the path, so that it is farthest from there at an end of an interval.
    ``joints``: the indices of all weights that are not 0. Bounds of at least ``enough`` stay as
    they are. Returns the least bound.
    """
    least = np.inf
    for i in range(len(bounds)):
        if bounds[i] < enough:
            travel = 0.0
            for k in joints:
                before, after = path[2 * i, k] - place[k], path[2 * i + 2, k] - place[k]
                travel += weights[k] * max(abs(before), abs(after))
            bounds[i] = max(bounds[i], distance - travel)
        least = min(least, bounds[i])
    return least


@kernel
def bounds_of_pairs(path, weights, now, enough, slots, places, distances, counts, bounds):
    """Write ``bounds`` (pairs, n): all that is known of the intervals of ``path``.

    ``weights`` (pairs, nq); ``now`` (pairs,) at the first row of the path; pair k was measured at
    ``places[slots[k]]`` (m, nq) with ``distances[slots[k]]`` (m,): the last ``counts[slots[k]]``
    times, one after another and round again.
    """
    for k in range(len(now)):
        bounds[k] = -np.inf
        slot, kept = slots[k], distances.shape[1]
        joints = np.flatnonzero(weights[k])
        least = raise_bounds(path, joints, weights[k], path[0], now[k], enough[k], bounds[k])
        for m in range(min(counts[slot], kept)):
            if least >= enough[k]:
                break
            last = (counts[slot] - 1 - m) % kept
            least = raise_bounds(
                path, joints, weights[k], places[slot, last], distances[slot, last], enough[k],
                bounds[k],
            )  # fmt: skip


@kernel
def lowest_interval(path, weights, places, distances, bounds, gain):
    """(interval with the lowest bound, whether measuring in its middle may raise it by ``gain``).

    The pair was measured at ``places`` (m, nq), with ``distances`` (m,), inf where it was not: how
    far it can be apart in the middle is known.
    """
    interval = np.argmin(bounds)
    first, middle, last = path[2 * interval], path[2 * interval + 1], path[2 * interval + 2]
    half = max(travel_between(weights, first, middle), travel_between(weights, middle, last))
    for k in range(len(distances)):
        if distances[k] - half <= bounds[interval] + gain:
            most = distances[k] + travel_between(weights, places[k], middle)
            if most - half <= bounds[interval] + gain:
                return interval, False
    return interval, True
