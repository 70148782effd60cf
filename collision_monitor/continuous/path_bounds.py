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
def raise_bounds(path, weights, place, distance, bounds):
    """Raise ``bounds`` (n,) on the distance in the intervals of ``path`` (2 n + 1, nq).

    Every other row is the middle of an interval. ``distance`` was measured at ``place`` (nq,).
    Each joint is monotone on the path, so that it is farthest from there at an end of an interval.
    """
    for i in range(len(bounds)):
        travel = 0.0
        for k in range(len(weights)):
            before, after = path[2 * i, k] - place[k], path[2 * i + 2, k] - place[k]
            travel += weights[k] * max(abs(before), abs(after))
        bounds[i] = max(bounds[i], distance - travel)


@kernel
def raise_bounds_by_all(path, weights, places, distances, bounds):
    """`raise_bounds` by each of ``distances`` (m,), measured at ``places`` (m, nq)."""
    for k in range(len(distances)):
        if distances[k] > -np.inf:
            raise_bounds(path, weights, places[k], distances[k], bounds)


@kernel
def next_place(path, weights, bounds, is_final, enough, spare):
    """(interval, row of the path) where to measure next; -1 without any interval to look at.

    The first interval whose bound is below ``enough`` and which is not final. The row is its
    middle, or as far beyond it as a distance of ``enough`` and ``spare`` metres reaches back.
    """
    for i in range(len(bounds)):
        if bounds[i] >= enough or is_final[i]:
            continue
        row, first = 2 * i + 1, path[2 * i]
        while row + 1 < len(path) and travel_between(weights, first, path[row + 1]) <= spare:
            row += 1
        return i, row
    return -1, -1
