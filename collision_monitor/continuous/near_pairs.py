# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of a model that may come near while the joints brake, and whether they separate.

Few pairs come near, and successive braking paths are near each other: what is known of a pair from
an earlier cycle mostly shows that it stays far away.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.continuous.braking import braked, point_speed
from collision_monitor.geometry.segments import capsule_distance, capsule_witness
from collision_monitor.hierarchy.kinematics import (
    FARTHEST,
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


class KnownPairs(NamedTuple):
    """What is known of the pairs of a model from earlier cycles; arrays that are written.

    A bound holds later, less the way that both links came nearer at most since. Bounds are stored
    with the way until then added: so they need no change while nobody asks for them.

    Values of the joints that move the links of a pair relative to each other are in the same
    places of two arrays, from ``first[pair]`` to ``first[pair + 1]``.

    Attributes:
        distances: (pairs,) lower bounds of distances at the start of a path, plus the way between
            the starts of all paths until then, metres.
        bounds: (pairs,) lower bounds along a path, plus the way between all paths until then.
        until: (pairs,) the same, plus how far any pair came nearer at most, one sum for all.
        leaves: (pairs, 2) the nearest leaves of the last measurement.
        first: (pairs + 1,)
        joints: (values,) indices in q.
        weights: (values,) how far the links come nearer at most for a unit of the joint, metres.
        most: (nq,) the largest weights of all pairs.
        turns: (nq,) how far joints turn for a unit of each value of q, rad.
        slides: (k, 4) sliding joints, for whose range the weights are, as of `beyond_range`.
        excess: (nq,) how far slides are beyond it on the last path, metres: the farther out, the
            farther a turning joint moves a link.
        moves: (3, nq) how far joints moved at most: from start to start of all paths so far, from
            path to path, and along the last path.
        beyond: (2,) how much farther than by their weights links may have moved by the first two,
            since slides were beyond their range, metres.
        last: (3, nq) start, end and decelerations of the last path.
        reaction: (1,) seconds until braking begins on it.
    """

    distances: np.ndarray
    bounds: np.ndarray
    until: np.ndarray
    leaves: np.ndarray
    first: np.ndarray
    joints: np.ndarray
    weights: np.ndarray
    most: np.ndarray
    turns: np.ndarray
    slides: np.ndarray
    excess: np.ndarray
    moves: np.ndarray
    beyond: np.ndarray
    last: np.ndarray
    reaction: np.ndarray


def nothing_known(
    weights: np.ndarray, leaves: np.ndarray, slides: np.ndarray, turns: np.ndarray
) -> KnownPairs:
    """Return `KnownPairs` for ``weights`` (pairs, nq) and any ``leaves`` (pairs, 2) of them."""
    pairs, joints = map(np.ascontiguousarray, np.nonzero(weights))  # kernels are for one layout
    first = np.searchsorted(pairs, np.arange(len(weights) + 1))
    return KnownPairs(
        *np.full((3, len(weights)), -np.inf), leaves, first, joints, weights[pairs, joints],
        weights.max(axis=0, initial=0.0), turns, slides, np.zeros(len(turns)),
        np.zeros((3, len(turns))), np.zeros(2), np.zeros((3, len(turns))), np.zeros(1),
    )  # fmt: skip


@small_kernel
def forget(known):
    """Use nothing that is known from earlier cycles any more."""
    known.distances[:] = -np.inf
    known.bounds[:] = -np.inf
    known.until[:] = -np.inf


@small_kernel
def _approaches(known, pair):
    """How far two links come nearer at most by each row of ``known.moves``, metres."""
    approach, shift, travel, beyond = known.beyond[0], known.beyond[1], 0.0, 0.0
    for n in range(known.first[pair], known.first[pair + 1]):
        beyond += known.excess[known.joints[n]]
    for n in range(known.first[pair], known.first[pair + 1]):
        joint = known.joints[n]
        approach += known.weights[n] * known.moves[0, joint]
        shift += known.weights[n] * known.moves[1, joint]
        travel += (known.weights[n] + beyond * known.turns[joint]) * known.moves[2, joint]
    return approach, shift, travel


@small_kernel
def raised(bound, value):
    """The larger one; NaN if either is."""
    return bound if bound >= value or bound != bound else value


@small_kernel
def keep_pair(known, pair, distance, bound):
    """Keep lower bounds of the distance of a pair now, and on the last path, metres.

    Those that stay away are left out of the next searches. Pairs with objects are not kept.
    """
    if pair < len(known.bounds):
        approach, shift, _ = _approaches(known, pair)
        known.distances[pair] = raised(known.distances[pair], distance + approach)
        known.bounds[pair] = raised(known.bounds[pair], bound + shift)


@kernel
def keep(known, pairs, distances, bounds):
    """Keep lower bounds (k,) of distances of ``pairs`` now, and on the last path, metres."""
    for row in range(len(pairs)):
        keep_pair(known, pairs[row], distances[row], bounds[row])


@kernel
def beyond_range(slides, q, beyond):
    """Write how far ``slides`` are beyond their range to ``beyond`` (nq,), at q (nq,); metres.

    ``slides`` (k, 4) are sliding joints: index in q, gain, offset, and the largest position in
    metres. Several may follow one value of q. Positions that are no number are as far out as can
    be; finite, since 0 times infinity is no number.
    """
    beyond[:] = 0.0
    for row in range(len(slides)):
        joint = int(slides[row, 0])
        off = abs(slides[row, 2] + slides[row, 1] * q[joint]) - slides[row, 3]
        if not off <= 0.0:
            beyond[joint] += off if off < FARTHEST else FARTHEST


@kernel
def set_excess(known, path):
    """Set ``known.excess`` for a ``path``, before it is searched.

    The farthest that a slide is out on it is at one of its ends.
    """
    end, there = path.q.copy(), np.empty(len(path.q))
    for joint in range(len(end)):
        v, a = path.velocities[joint], path.decelerations[joint]
        end[joint] += braked(v, a, path.reaction, np.inf)
    beyond_range(known.slides, path.q, known.excess)
    beyond_range(known.slides, end, there)
    for joint in range(len(end)):
        known.excess[joint] = max(known.excess[joint], there[joint])


# On two braking paths with equal decelerations and reaction times, the difference of the velocities
# of a joint keeps its sign until both have stopped. So the difference of its positions is largest
# at the start or at the end. Another reaction time adds at most twice the travel in the difference.
# Between two configurations all slides may be moved first, and then what turns: so it is enough to
# know how far slides are beyond their range at one of them.


@small_kernel
def _advance(known, path):
    """Add the moves to this path; return how far any pair came nearer so far, at most, metres."""
    last, moves, beyond, total = known.last, known.moves, known.beyond, 0.0
    is_comparable, late = True, 2.0 * abs(path.reaction - known.reaction[0])
    known.reaction[0] = path.reaction
    excess = 0.0
    for joint in range(len(path.q)):
        excess += known.excess[joint]
    for joint in range(len(path.q)):
        q, v, a = path.q[joint], path.velocities[joint], path.decelerations[joint]
        end = q + braked(v, a, path.reaction, np.inf)
        step, shift = abs(q - last[0, joint]), abs(end - last[1, joint])
        if step > shift:  # false for NaN, which is kept
            shift = step
        shift += late * abs(v)
        moves[0, joint] += step
        moves[1, joint] += shift
        moves[2, joint] = abs(end - q)
        if excess > 0.0:
            beyond[0] += excess * known.turns[joint] * step
            beyond[1] += excess * known.turns[joint] * shift
        total += known.most[joint] * moves[1, joint]
        is_comparable = is_comparable and a == last[2, joint]
        last[0, joint], last[1, joint], last[2, joint] = q, end, a
    total += beyond[1]
    if not total < _LONGEST_WAY or not is_comparable:
        moves[:2], beyond[:], total = 0.0, 0.0, 0.0
        forget(known)
    return total


@kernel
def near_pairs(numbers, index, path, enough, now, known, candidates, size):
    """Write the pairs of a model that may come near on a `BrakingPath` to ``candidates``.

    A row has the pair, also as GROUP, its DISTANCE now and the leaves with it, the maximum TRAVEL
    of both links towards each other on the path, and LEAST, a lower bound of the distance
    meanwhile; but no RATE. Near: within ``enough`` (pairs,) metres. With ``now``, that is
    at the start of the path. Only pairs are measured that may be near by what is known.

    Rows are written from ``size`` on; returns one past the last.
    """
    view = unpack(numbers, index)
    place_links(view, path.q)
    total = _advance(known, path)
    for pair in range(len(enough)):
        if known.until[pair] - total > enough[pair]:
            continue
        approach, shift, travel = _approaches(known, pair)
        distance = known.distances[pair] - approach
        least = max(known.bounds[pair] - shift, distance - travel)
        known.until[pair] = least + total
        if least > enough[pair] or (now and distance > enough[pair]):
            continue
        distance, i, j = nearest_of_links(
            view, view.pairs[pair, 0], view.pairs[pair, 1],
            known.leaves[pair, 0], known.leaves[pair, 1], np.inf,
        )  # fmt: skip
        known.leaves[pair, 0], known.leaves[pair, 1] = i, j
        if not least > distance - travel:  # true for NaN, too
            least = distance - travel
        known.distances[pair], known.bounds[pair] = distance + approach, least + shift
        known.until[pair] = least + total
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
