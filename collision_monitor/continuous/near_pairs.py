# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of a model that are near now, and whether they separate.

Few pairs are near, and successive configurations are near each other: what is known of a pair from
an earlier configuration mostly shows that it is still far away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel
from collision_monitor.continuous.braking import point_speed
from collision_monitor.geometry.segments import capsule_distance, capsule_witness, surely_farther
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import unpack

# Columns of ``rows``: one row for each pair of links.
PAIR, GROUP, DISTANCE, RATE, LEAST, TRAVEL, SAMPLED, LEAF_A, LEAF_B = range(9)
COLUMNS = 9
# Beyond this sum of ways, in metres, rounding would hide small ones.
_LONGEST_WAY = 1e3
# Leaf pairs within this many metres of the nearest determine whether two links separate.
NEARLY_NEAREST = 0.001


@kernel
def separation_rate(view, i, j, velocities):
    """Rate at which two leaves separate, m/s."""
    _, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
    rate = point_speed(view, j, bx, by, bz, nx, ny, nz, velocities)
    return rate - point_speed(view, i, ax, ay, az, nx, ny, nz, velocities)


@kernel
def measure_links(view, a, b, rows, row):
    """Set the distance of links a and b, and their nearest leaves; begins with those in the row."""
    i, j = int(rows[row, LEAF_A]), int(rows[row, LEAF_B])
    best = capsule_distance(view.ends, view.radii, i, j)
    for m in range(view.links[a, 0], view.links[a, 1]):
        for n in range(view.links[b, 0], view.links[b, 1]):
            if surely_farther(view.ends, view.radii, m, n, best):
                continue
            distance = capsule_distance(view.ends, view.radii, m, n)
            if distance < best:
                best, i, j = distance, m, n
    rows[row, DISTANCE], rows[row, LEAF_A], rows[row, LEAF_B] = best, i, j


class EarlierPairs(NamedTuple):
    """What is known of the pairs of a model from earlier configurations; arrays that are written.

    Attributes:
        distances: (pairs,) lower bounds of the distances.
        places: (pairs, nq) the configurations where they were found.
        leaves: (pairs, 2) the nearest leaves of the last measurement.
        until: (pairs,) lower bounds of the distances, plus the ``way`` of that time.
        last: (nq,) the last configuration.
        way: (1,) sum of the ways so far, by ``most``.
        most: (nq,) how far any two links come nearer at most for a unit of a joint.
    """

    distances: np.ndarray
    places: np.ndarray
    leaves: np.ndarray
    until: np.ndarray
    last: np.ndarray
    way: np.ndarray
    most: np.ndarray


@kernel
def near_pairs(
    numbers, index, pair_rows, classes, weights, totals, class_warn, reserve, q, earlier, rows, size
):
    """Write rows of pairs of a model nearer than ``totals``: as `outlook` with ``most`` 0, no RATE.

    Rows are written from ``size`` on; returns one past the last. ``classes`` (pairs,);
    ``weights`` (classes, nq): how far links come nearer at most for a unit of a joint. Only pairs
    are measured that may have come near since they were last measured.
    """
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    for k in range(len(q)):
        earlier.way[0] += earlier.most[k] * abs(q[k] - earlier.last[k])
        earlier.last[k] = q[k]
    if not earlier.way[0] < _LONGEST_WAY:
        earlier.way[0] = 0.0
        earlier.until[:] = -np.inf
    way = earlier.way[0]
    for pair in range(len(classes)):
        group = classes[pair]
        if earlier.until[pair] - way >= totals[group]:
            continue
        least = earlier.distances[pair]
        for k in range(len(q)):
            least -= weights[group, k] * abs(q[k] - earlier.places[pair, k])
        if least >= totals[group]:
            earlier.until[pair] = least + way
            continue
        rows[size, LEAF_A], rows[size, LEAF_B] = earlier.leaves[pair, 0], earlier.leaves[pair, 1]
        a, b = pair_rows[pair, 0], pair_rows[pair, 1]
        measure_links(view, a, b, rows, size)
        distance = rows[size, DISTANCE]
        earlier.distances[pair], earlier.until[pair] = distance, distance + way
        for k in range(len(q)):
            earlier.places[pair, k] = q[k]
        earlier.leaves[pair, 0] = int(rows[size, LEAF_A])
        earlier.leaves[pair, 1] = int(rows[size, LEAF_B])
        if distance >= totals[group]:
            continue
        rows[size, PAIR], rows[size, GROUP], rows[size, SAMPLED] = pair, group, distance
        rows[size, TRAVEL] = totals[group] - class_warn[group] - reserve
        rows[size, LEAST] = distance - rows[size, TRAVEL]
        size += 1
    return size


@kernel
def set_rates(numbers, index, pair_rows, q, velocities, rows):
    """Set RATE in rows of `near_pairs`, of links at q (nq,)."""
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    for row in range(len(rows)):
        i, j, pair = int(rows[row, LEAF_A]), int(rows[row, LEAF_B]), int(rows[row, PAIR])
        rate = separation_rate(view, i, j, velocities)
        near = capsule_distance(view.ends, view.radii, i, j) + NEARLY_NEAREST
        a, b = pair_rows[pair, 0], pair_rows[pair, 1]
        for m in range(view.links[a, 0], view.links[a, 1]):
            for n in range(view.links[b, 0], view.links[b, 1]):
                if (m == i and n == j) or surely_farther(view.ends, view.radii, m, n, near):
                    continue
                if capsule_distance(view.ends, view.radii, m, n) <= near:
                    rate = min(rate, separation_rate(view, m, n, velocities))
        rows[row, RATE] = rate
