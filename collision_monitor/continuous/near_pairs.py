# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of a model that may come near while the joints brake, and whether they separate.

Few pairs come near, and successive braking paths are near each other: what is known of a pair from
an earlier path mostly shows that it stays far away.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.continuous.braking import braked, point_speed
from collision_monitor.geometry.segments import capsule_distance, capsule_witness, surely_farther
from collision_monitor.hierarchy.kinematics import FARTHEST, forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import move, near_leaves, nearest_of_links

# Columns of ``candidates``: one row for each pair of links that may come near.
COLUMNS = 9
PAIR, GROUP, DISTANCE, RATE, LEAST, TRAVEL, SAMPLED, LEAF_A, LEAF_B = range(COLUMNS)
# Entries of ``state`` of `EarlierPairs`.
WAY, REACTION, FORGOT, EXCESS = range(4)
# Beyond this sum of ways, in metres, rounding would hide small ones.
_LONGEST_WAY = 1e3
_ROUNDING = 1e-6  # metres
# Leaf pairs within this many metres of the nearest determine whether two links separate.
NEARLY_NEAREST = 0.001


@kernel
def separation_rate(view, i, j, velocities):
    """Rate at which two leaves separate, m/s."""
    _, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
    rate = point_speed(view, j, bx, by, bz, nx, ny, nz, velocities)
    return rate - point_speed(view, i, ax, ay, az, nx, ny, nz, velocities)


class EarlierPairs(NamedTuple):
    """What is known of the pairs of a model from earlier braking paths; arrays that are written.

    Values of the joints that move the links of a pair relative to each other are in the same
    places of several arrays, from ``first[pair]`` to ``first[pair + 1]``.

    Attributes:
        distances: (pairs,) lower bounds of the distances at the start of a path.
        bounds: (pairs,) lower bounds of the distances along the path.
        until: (pairs,) the same, plus the way of that time.
        reactions: (pairs,) seconds until braking begins.
        leaves: (pairs, 2) the nearest leaves of the last measurement.
        first: (pairs + 1,)
        joints: (values,) indices in q.
        weights: (values,) how far the links come nearer at most for a unit of the joint.
        starts: (values,) position at the start of the path.
        ends: (values,) position at the end of the path.
        last: (3, nq) start, end and decelerations of the last path.
        state: (4,) WAY, the sum of the ways between paths so far, by ``most``; REACTION, the last
            reaction time; FORGOT, 1 if the last path made distances at earlier places useless;
            EXCESS, the sum of ``excess``.
        most: (nq,) the largest weights of all pairs.
        slides: (k, 4) sliding joints, for whose range the weights are: index in q, gain, offset,
            and the largest position, metres.
        turns: (nq,) how far joints turn for a unit of each value of q, rad.
        excess: (nq,) how far slides were beyond their range on any path that something is known
            from: the farther out, the farther a turning joint moves a link.
    """

    distances: np.ndarray
    bounds: np.ndarray
    until: np.ndarray
    reactions: np.ndarray
    leaves: np.ndarray
    first: np.ndarray
    joints: np.ndarray
    weights: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    last: np.ndarray
    state: np.ndarray
    most: np.ndarray
    slides: np.ndarray
    turns: np.ndarray
    excess: np.ndarray


def nothing_known(
    weights: np.ndarray, leaves: np.ndarray, slides: np.ndarray, turns: np.ndarray
) -> EarlierPairs:
    """Return `EarlierPairs` for ``weights`` (pairs, nq) and any ``leaves`` (pairs, 2) of them."""
    pairs, joints = map(np.ascontiguousarray, np.nonzero(weights))  # kernels are for one layout
    count, values = weights.shape[0], np.zeros((2, len(joints)))
    unknown, first = np.full((3, count), -np.inf), np.searchsorted(pairs, np.arange(count + 1))
    return EarlierPairs(
        *unknown, np.zeros(count), leaves, first, joints, weights[pairs, joints], *values,
        np.zeros((3, weights.shape[1])), np.zeros(4), weights.max(axis=0, initial=0.0), slides,
        turns, np.zeros(weights.shape[1]),
    )  # fmt: skip


# On two braking paths with equal decelerations and reaction times, the difference of the velocities
# of a joint keeps its sign until both have stopped. So the difference of its positions is largest
# at the start or at the end. Another reaction time adds at most twice the travel in the difference.


@small_kernel
def _excess_of(earlier, pair):
    """How far slides between two links are beyond their range at most, metres."""
    excess = 0.0
    if earlier.state[EXCESS] > 0.0:
        for n in range(earlier.first[pair], earlier.first[pair + 1]):
            excess += earlier.excess[earlier.joints[n]]
    return excess


@small_kernel
def _way_from(earlier, pair, velocities, reaction):
    """How far two links come nearer at most from the path of ``pair`` to the last one, metres."""
    approach, late = 0.0, 2.0 * abs(reaction - earlier.reactions[pair])
    excess = _excess_of(earlier, pair)
    for n in range(earlier.first[pair], earlier.first[pair + 1]):
        joint = earlier.joints[n]
        start = abs(earlier.last[0, joint] - earlier.starts[n])
        end = abs(earlier.last[1, joint] - earlier.ends[n])
        weight = earlier.weights[n] + excess * earlier.turns[joint]
        approach += weight * (max(start, end) + late * abs(velocities[joint]))
    return approach


@small_kernel
def _moved(earlier, pair):
    """How far two links came nearer at most since the start of the path of ``pair``, metres."""
    travel, excess = 0.0, _excess_of(earlier, pair)
    for n in range(earlier.first[pair], earlier.first[pair + 1]):
        joint = earlier.joints[n]
        weight = earlier.weights[n] + excess * earlier.turns[joint]
        travel += weight * abs(earlier.last[0, joint] - earlier.starts[n])
    return travel


@small_kernel
def _take_last_path(earlier, pair):
    """Store the last path for ``pair``; return how far the links come nearer on it at most."""
    travel, excess = 0.0, _excess_of(earlier, pair)
    for n in range(earlier.first[pair], earlier.first[pair + 1]):
        k = earlier.joints[n]
        earlier.starts[n], earlier.ends[n] = earlier.last[0, k], earlier.last[1, k]
        weight = earlier.weights[n] + excess * earlier.turns[k]
        travel += weight * abs(earlier.ends[n] - earlier.starts[n])
    return travel


@small_kernel
def forget(earlier):
    """Use nothing that is known from earlier paths any more."""
    earlier.distances[:] = -np.inf
    earlier.bounds[:] = -np.inf
    earlier.until[:] = -np.inf


@small_kernel
def raised(bound, value):
    """The larger one; NaN if either is."""
    return bound if bound >= value or bound != bound else value


@small_kernel
def keep_pair(earlier, pair, distance, bound):
    """Keep lower bounds of the distance of a pair now, and on the last path, metres.

    Those that stay away are left out of the next searches. Pairs with objects are not kept.
    """
    if pair < len(earlier.bounds):
        earlier.distances[pair] = raised(earlier.distances[pair], distance)
        earlier.bounds[pair] = raised(earlier.bounds[pair], bound)
        earlier.until[pair] = earlier.bounds[pair] + earlier.state[WAY]


@kernel
def keep(earlier, pairs, distances, bounds):
    """Keep lower bounds (k,) of distances of ``pairs`` now, and on the last path, metres."""
    for row in range(len(pairs)):
        keep_pair(earlier, pairs[row], distances[row], bounds[row])


@kernel
def beyond_range(slides, q, beyond):
    """Write how far ``slides`` are beyond their range to ``beyond`` (nq,), at q (nq,); metres.

    As `EarlierPairs.slides`; several may follow one value of q. Positions that are no number are as
    far out as can be; finite, since 0 times infinity is no number.
    """
    beyond[:] = 0.0
    for row in range(len(slides)):
        joint = int(slides[row, 0])
        off = abs(slides[row, 2] + slides[row, 1] * q[joint]) - slides[row, 3]
        if not off <= 0.0:
            beyond[joint] += off if off < FARTHEST else FARTHEST


@kernel
def note_slides(earlier, path):
    """Set `EarlierPairs.excess` for a ``path``, before it is searched.

    A slide within its range stops at its limit. Outside, the limit is not that of the robot. The
    excess grows as slides go out. Once they are back by half, what is known from paths with the
    larger excess is forgotten, as it holds for that only.
    """
    earlier.state[FORGOT] = earlier.state[EXCESS] = 0.0
    now, at_end, end = np.empty(len(path.q)), np.empty(len(path.q)), path.q.copy()
    for joint in range(len(end)):
        v, a = path.velocities[joint], path.decelerations[joint]
        end[joint] += braked(v, a, path.reaction, np.inf)
    beyond_range(earlier.slides, path.q, now)
    beyond_range(earlier.slides, end, at_end)
    for joint in range(len(now)):
        if now[joint] > 0.0:  # the farthest of the path is one of its ends
            now[joint] = max(now[joint], at_end[joint])
        if now[joint] < 0.5 * earlier.excess[joint]:
            earlier.state[FORGOT] = 1.0
        else:
            now[joint] = max(now[joint], earlier.excess[joint])
        earlier.excess[joint] = now[joint]
        earlier.state[EXCESS] += now[joint]  # sum() would take two seconds to compile
    if earlier.state[FORGOT] > 0.0:
        forget(earlier)


@kernel
def _advance(earlier, path):
    """Store the last path, and add the way from the one before; return the sum."""
    last, state = earlier.last, earlier.state
    is_known, excess = True, state[EXCESS]
    late = 2.0 * abs(path.reaction - state[REACTION])
    state[REACTION] = path.reaction
    for joint in range(len(path.q)):
        q, v, a = path.q[joint], path.velocities[joint], path.decelerations[joint]
        end = q + braked(v, a, path.reaction, np.inf)
        step = max(abs(q - last[0, joint]), abs(end - last[1, joint])) + late * abs(v)
        state[WAY] += (earlier.most[joint] + excess * earlier.turns[joint]) * step
        is_known = is_known and a == last[2, joint]
        last[0, joint], last[1, joint], last[2, joint] = q, end, a
    if not is_known:
        forget(earlier)
    if not state[WAY] < _LONGEST_WAY:
        state[WAY] = 0.0
        earlier.until[:] = -np.inf
    return state[WAY]


@kernel
def near_pairs(
    numbers, index, path, classes, enough, now, nearest, distance, earlier, candidates, size
):
    """Write the pairs of a model that may come near while braking to ``candidates``, but no RATE.

    A row has the pair, its distance now (m) and the leaves with it, the maximum TRAVEL of both
    links towards each other while braking, and LEAST, a lower bound of the distance meanwhile.
    Near: nearer than ``enough`` (pairs,). GROUP is the class (pairs,) of a pair. With ``now``: only
    pairs that are near at the start of the ``path``, a `BrakingPath`. Only pairs are measured that
    may be near by what is known from earlier paths. ``distance`` is that of the pair ``nearest``
    (-1: none), exact or of its leaves; if it contradicts what is known, nothing of that is used.

    Rows are written from ``size`` on; returns one past the last.
    """
    view = unpack(numbers, index)
    velocities, reaction = path.velocities, path.reaction
    forward_kinematics(view, path.q)
    place_leaves(view, view.moving_leaves)
    total = _advance(earlier, path)
    if nearest >= 0:
        least = earlier.bounds[nearest] - _way_from(earlier, nearest, velocities, reaction)
        if not max(distance, 0.0) >= least - _ROUNDING:
            forget(earlier)
    for pair in range(len(enough)):
        if earlier.until[pair] - total >= enough[pair] and pair != nearest:
            continue
        least = earlier.bounds[pair] - _way_from(earlier, pair, velocities, reaction)
        if pair != nearest:
            if least >= enough[pair]:
                earlier.until[pair] = least + total
                continue
            if now and earlier.distances[pair] - _moved(earlier, pair) >= enough[pair]:
                continue
        apart, i, j = nearest_of_links(
            view, view.pairs[pair, 0], view.pairs[pair, 1],
            earlier.leaves[pair, 0], earlier.leaves[pair, 1],
        )  # fmt: skip
        travel = _take_last_path(earlier, pair)
        known = max(apart, distance) if pair == nearest else apart
        least = max(least, known - travel)
        earlier.distances[pair], earlier.bounds[pair] = known, least
        earlier.until[pair], earlier.reactions[pair] = least + total, reaction
        earlier.leaves[pair, 0], earlier.leaves[pair, 1] = i, j
        if (known if now else least) > enough[pair]:
            continue
        candidates[size, PAIR], candidates[size, GROUP] = pair, classes[pair]
        candidates[size, LEAF_A], candidates[size, LEAF_B] = i, j
        candidates[size, DISTANCE] = apart
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
                if (m == i and n == j) or surely_farther(view.ends, view.radii, m, n, near):
                    continue
                if capsule_distance(view.ends, view.radii, m, n) <= near:
                    rate = min(rate, separation_rate(view, m, n, velocities))
        candidates[row, RATE] = rate
