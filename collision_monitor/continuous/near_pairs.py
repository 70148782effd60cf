# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of a model that may come near while the joints brake, and whether they separate.

Few pairs come near, and successive braking paths are near each other: what is known of a pair from
an earlier cycle mostly shows that it stays far away.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.compiled import kernel
from collision_monitor.continuous.braking import point_speed
from collision_monitor.continuous.known_pairs import advance, approaches, unpack_known
from collision_monitor.geometry.segments import capsule_distance, capsule_witness
from collision_monitor.hierarchy.kinematics import (
    forward_kinematics,
    place_leaves,
    place_links,
)
from collision_monitor.hierarchy.link_balls import surely_farther
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import move, near_leaves, nearest_of_links

# Columns of ``candidates``: one row for each pair of links that may come near.
COLUMNS = 9
PAIR, GROUP, DISTANCE, RATE, LEAST, TRAVEL, SAMPLED, LEAF_A, LEAF_B = range(COLUMNS)
# Leaf pairs within this many metres of the nearest determine whether two links separate.
NEARLY_NEAREST = 0.001


@kernel
def separation_rate(view, i, j, velocities):
    """Rate at which two leaves separate, m/s."""
    _, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
    rate = point_speed(view, j, bx, by, bz, nx, ny, nz, velocities)
    return rate - point_speed(view, i, ax, ay, az, nx, ny, nz, velocities)


@kernel
def near_pairs(
    numbers, index, path, enough, now, known_numbers, known_index, candidates, size
):  # fmt: skip
    """Write the pairs of a model that may come near on a `BrakingPath` to ``candidates``.

    A row has the pair, also as GROUP, its DISTANCE now and the leaves with it, the maximum TRAVEL
    of both links towards each other on the path, and LEAST, a lower bound of the distance
    meanwhile; but no RATE. Near: within ``enough`` (pairs,) metres. With ``now``, that is
    at the start of the path. Only pairs are measured that may be near by what is known (both arrays
    of `known_pairs`).

    Rows are written from ``size`` on; returns one past the last.
    """
    view = unpack(numbers, index)
    place_links(view, path.q)
    known = unpack_known(known_numbers, known_index)
    total = advance(known, path)
    for pair in range(len(enough)):
        if known.until[pair, 0] - total > enough[pair]:
            continue
        approach, shift, travel = approaches(known, pair)
        distance = known.distances[pair, 0] - approach
        least = max(known.bounds[pair, 0] - shift, distance - travel)
        known.until[pair, 0] = least + total
        if least > enough[pair] or (now and distance > enough[pair]):
            continue
        distance, i, j = nearest_of_links(
            view, view.pairs[pair, 0], view.pairs[pair, 1],
            known.leaves[pair, 0], known.leaves[pair, 1], np.inf,
        )  # fmt: skip
        known.leaves[pair, 0], known.leaves[pair, 1] = i, j
        if not least > distance - travel:  # true for NaN, too
            least = distance - travel
        known.distances[pair, 0], known.bounds[pair, 0] = distance + approach, least + shift
        known.until[pair, 0] = least + total
        if (distance if now else least) > enough[pair]:
            continue
        candidates[size, PAIR] = candidates[size, GROUP] = pair
        candidates[size, LEAF_A], candidates[size, LEAF_B] = i, j
        candidates[size, DISTANCE] = distance
        candidates[size, TRAVEL], candidates[size, LEAST] = travel, least
        size += 1
    return size


@kernel
def near_objects(
    numbers, index, leaf_links, pair_table, class_table, limits, q, near, values, slots, candidates
):
    """Write the pairs with objects that are nearer than ``limits`` (classes,) at q (nq,).

    All but RATE, LEAST and TRAVEL, as `near_pairs`. Returns the number of candidates; -1: they do
    not fit; -k: ``near`` and ``values`` need k rows. ``slots`` (pairs,) of -1 is work space.
    """
    view = unpack(numbers, index)
    move(view, q)
    most = -np.inf
    for limit in limits:
        most = max(most, limit)
    count, size = near_leaves(view, leaf_links, class_table, limits, most, near, values), 0
    if count > len(near):
        return -count
    for item in range(count):
        i, j, group = near[item, 0], near[item, 1], near[item, 2]
        pair = pair_table[leaf_links[i], leaf_links[j]]
        row = slots[pair]
        if row < 0:
            row = size
            if row < len(candidates):
                slots[pair] = row
                candidates[row, PAIR], candidates[row, GROUP] = pair, group
                candidates[row, DISTANCE] = np.inf
            size += 1
        if row < len(candidates) and values[item, 0] < candidates[row, DISTANCE]:
            candidates[row, DISTANCE] = values[item, 0]
            is_first = leaf_links[i] == view.pairs[pair, 0]
            candidates[row, LEAF_A], candidates[row, LEAF_B] = (i, j) if is_first else (j, i)
    for row in range(min(size, len(candidates))):
        slots[int(candidates[row, PAIR])] = -1
    return size if size <= len(candidates) else -1


@kernel
def set_rates(numbers, index, q, velocities, points, candidates):
    """Set RATE in ``candidates`` of `near_pairs`, of links at q (nq,).

    ``points`` (k, 2, 3): nearest points of the shapes of both links, which separate or not; rows of
    NaN for leaves, of which the slowest of the nearly nearest counts.
    """
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    for row in range(len(candidates)):
        pair = int(candidates[row, PAIR])
        i, j = int(candidates[row, LEAF_A]), int(candidates[row, LEAF_B])
        ax, ay, az = points[row, 0, 0], points[row, 0, 1], points[row, 0, 2]
        bx, by, bz = points[row, 1, 0], points[row, 1, 1], points[row, 1, 2]
        apart = math.sqrt((bx - ax) ** 2 + (by - ay) ** 2 + (bz - az) ** 2)
        if apart > 0.0:  # false for NaN
            nx, ny, nz = (bx - ax) / apart, (by - ay) / apart, (bz - az) / apart
            rate = point_speed(view, j, bx, by, bz, nx, ny, nz, velocities)
            rate -= point_speed(view, i, ax, ay, az, nx, ny, nz, velocities)
            candidates[row, RATE] = rate
            continue
        rate = separation_rate(view, i, j, velocities)
        near = capsule_distance(view.ends, view.radii, i, j) + NEARLY_NEAREST
        a, b = view.pairs[pair, 0], view.pairs[pair, 1]
        for m in range(view.links[a, 0], view.links[a, 1]):
            for n in range(view.links[b, 0], view.links[b, 1]):
                if (m == i and n == j) or surely_farther(view.ends, view.reaches, m, n, near):
                    continue
                if capsule_distance(view.ends, view.radii, m, n) <= near:
                    rate = min(rate, separation_rate(view, m, n, velocities))
        candidates[row, RATE] = rate
