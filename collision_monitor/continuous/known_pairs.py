# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of the pairs of a model from earlier cycles: bounds of distances that hold later.

A bound holds later, less the way that both links came nearer at most since. Bounds are stored
with the way until then added: so they need no change while nobody asks for them.

All is in one float and one integer array, as in `hierarchy.packed`: kernels that take each of a
dozen arrays spend more time on that than on a cycle of a small robot.

=================  ==================================================================
window             rows and columns
=================  ==================================================================
leaves (int)       pairs x 2: the nearest leaves of the last measurement
first (int)        (pairs + 1) x 1: see ``weights``
columns (int)      weights x 1: indices in q
weights (float)    weights x 1: how far the links of a pair come nearer for a unit of the joint at
                   most, metres; those of a pair are from ``first[pair]`` to ``first[pair + 1]``,
                   for the joints that move its links relative to each other
distances (float)  pairs x 1: lower bounds of distances at the start of a path, metres, plus the way
                   between the starts of all paths until then
bounds (float)     pairs x 1: lower bounds along a path, plus the way between all paths until then
until (float)      pairs x 1: the same, plus how far any pair came nearer, one sum for all
joints (float)     nq x 10: `OF_STARTS` to `REACTION`
slides (float)     k x 4: sliding joints, for whose range the weights are: index in q, gain, offset,
                   and the largest position in metres
sums (float)       1 x 2: `OF_STARTS`, `OF_PATHS`: how much farther than by their weights links may
                   have moved, since slides were beyond their range, metres
=================  ==================================================================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.continuous.braking import braked
from collision_monitor.hierarchy.kinematics import FARTHEST

# Columns of ``joints``:
#   OF_STARTS     how far the joint moved at most from start to start of all paths so far
#   OF_PATHS      the same from path to path
#   OF_LAST       how far it moves along the last path
#   MOST          the largest of its weights, metres
#   TURN          how far joints turn for a unit of this value of q, rad
#   EXCESS        how far its slides are beyond their range on the last path, metres: the farther
#                 out, the farther a turning joint moves a link
#   START, END    of the last path
#   DECELERATION  on the last path
#   REACTION      seconds until braking begins on the last path, of all joints
(
    OF_STARTS, OF_PATHS, OF_LAST, MOST, TURN, EXCESS, START, END, DECELERATION, REACTION,
) = range(10)  # fmt: skip
# Beyond this sum of ways, in metres, rounding would hide small ones.
_LONGEST_WAY = 1e3


class KnownPairs(NamedTuple):
    """Windows into the two arrays; see the table of the module."""

    leaves: np.ndarray
    first: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    distances: np.ndarray
    bounds: np.ndarray
    until: np.ndarray
    joints: np.ndarray
    slides: np.ndarray
    sums: np.ndarray


_INTEGERS = KnownPairs._fields.index("weights")  # windows of the integer array: the first ones


def nothing_known(
    weights: np.ndarray, leaves: np.ndarray, slides: np.ndarray, turns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return both arrays for ``weights`` (pairs, nq) and any ``leaves`` (pairs, 2) of the pairs.

    ``slides`` (k, 4) and ``turns`` (nq,) as in the table of the module.
    """
    pairs, columns = np.nonzero(weights)
    joints = np.zeros((len(turns), 10))
    joints[:, MOST], joints[:, TURN] = weights.max(axis=0, initial=0.0), turns
    content = KnownPairs(
        leaves, np.searchsorted(pairs, np.arange(len(weights) + 1)), columns,
        weights[pairs, columns], *np.full((3, len(weights)), -np.inf), joints, slides,
        np.zeros((1, 2)),
    )  # fmt: skip
    header = []  # begin and rows of each window
    begins = [2 * len(content), 0]
    for place, array in enumerate(content):
        which = int(place >= _INTEGERS)
        header += [begins[which], len(array)]
        begins[which] += array.size
    flat = [array.ravel() for array in content]
    return (
        np.concatenate(flat[_INTEGERS:]),
        np.concatenate([header, *flat[:_INTEGERS]]).astype(np.int64),
    )


def excess_of_slides(numbers: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the column `EXCESS` (nq,), without a copy."""
    begin, rows = index[14:16].tolist()
    return numbers[begin : begin + 10 * rows].reshape(rows, 10)[:, EXCESS]


@kernel
def unpack_known(numbers, index):
    """The `KnownPairs` of both arrays; valid as long as these exist."""
    return KnownPairs(
        borrow(index, index[0], index[1], 2),
        borrow(index, index[2], index[3], 1),
        borrow(index, index[4], index[5], 1),
        borrow(numbers, index[6], index[7], 1),
        borrow(numbers, index[8], index[9], 1),
        borrow(numbers, index[10], index[11], 1),
        borrow(numbers, index[12], index[13], 1),
        borrow(numbers, index[14], index[15], 10),
        borrow(numbers, index[16], index[17], 4),
        borrow(numbers, index[18], index[19], 2),
    )


@small_kernel
def _forget(known):
    for pair in range(len(known.until)):
        known.distances[pair, 0] = known.bounds[pair, 0] = known.until[pair, 0] = -np.inf


@kernel
def forget(numbers, index):
    """Use nothing that is known from earlier cycles any more."""
    _forget(unpack_known(numbers, index))


@small_kernel
def approaches(known, pair):
    """How far two links come nearer at most: from start to start, path to path, along the last."""
    approach, shift, travel, beyond = known.sums[0, OF_STARTS], known.sums[0, OF_PATHS], 0.0, 0.0
    for n in range(known.first[pair, 0], known.first[pair + 1, 0]):
        beyond += known.joints[known.columns[n, 0], EXCESS]
    for n in range(known.first[pair, 0], known.first[pair + 1, 0]):
        joint, weight = known.columns[n, 0], known.weights[n, 0]
        approach += weight * known.joints[joint, OF_STARTS]
        shift += weight * known.joints[joint, OF_PATHS]
        travel += (weight + beyond * known.joints[joint, TURN]) * known.joints[joint, OF_LAST]
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
        approach, shift, _ = approaches(known, pair)
        known.distances[pair, 0] = raised(known.distances[pair, 0], distance + approach)
        known.bounds[pair, 0] = raised(known.bounds[pair, 0], bound + shift)


@kernel
def keep(numbers, index, pairs, distances, bounds):
    """Keep lower bounds (k,) of distances of ``pairs`` now, and on the last path, metres."""
    known = unpack_known(numbers, index)
    for row in range(len(pairs)):
        keep_pair(known, pairs[row], distances[row], bounds[row])


@kernel
def beyond_range(numbers, index, q, beyond):
    """Write how far slides are beyond their range to ``beyond`` (nq,), at q (nq,); metres.

    Several slides may follow one value of q. Positions that are no number are as far out as can
    be; finite, since 0 times infinity is no number.
    """
    slides = unpack_known(numbers, index).slides
    beyond[:] = 0.0
    for row in range(len(slides)):
        joint = int(slides[row, 0])
        off = abs(slides[row, 2] + slides[row, 1] * q[joint]) - slides[row, 3]
        if not off <= 0.0:
            beyond[joint] += off if off < FARTHEST else FARTHEST


@kernel
def set_excess(numbers, index, path):
    """Set the column `EXCESS` for a path, before it is searched.

    The farthest that a slide is out on it is at one of its ends.
    """
    known, end = unpack_known(numbers, index), path.q.copy()
    here, there = np.empty(len(end)), np.empty(len(end))
    for joint in range(len(end)):
        v, a = path.velocities[joint], path.decelerations[joint]
        end[joint] += braked(v, a, path.reaction, np.inf)
    beyond_range(numbers, index, path.q, here)
    beyond_range(numbers, index, end, there)
    for joint in range(len(end)):
        known.joints[joint, EXCESS] = max(here[joint], there[joint])


# On two braking paths with equal decelerations and reaction times, the difference of the velocities
# of a joint keeps its sign until both have stopped. So the difference of its positions is largest
# at the start or at the end. Another reaction time adds at most twice the travel in the difference.
# Between two configurations all slides may be moved first, and then what turns: so it is enough to
# know how far slides are beyond their range at one of them.


@small_kernel
def advance(known, path):
    """Add the moves to this path; return how far any pair came nearer so far, at most, metres."""
    joints, sums, total, excess = known.joints, known.sums, 0.0, 0.0
    is_comparable = True
    for joint in range(len(joints)):
        excess += joints[joint, EXCESS]
    for joint in range(len(joints)):
        q, v, a = path.q[joint], path.velocities[joint], path.decelerations[joint]
        end = q + braked(v, a, path.reaction, np.inf)
        step, shift = abs(q - joints[joint, START]), abs(end - joints[joint, END])
        if step > shift:  # false for NaN, which is kept
            shift = step
        shift += 2.0 * abs(path.reaction - joints[joint, REACTION]) * abs(v)
        joints[joint, OF_STARTS] += step
        joints[joint, OF_PATHS] += shift
        joints[joint, OF_LAST] = abs(end - q)
        if excess > 0.0:
            sums[0, OF_STARTS] += excess * joints[joint, TURN] * step
            sums[0, OF_PATHS] += excess * joints[joint, TURN] * shift
        total += joints[joint, MOST] * joints[joint, OF_PATHS]
        is_comparable = is_comparable and a == joints[joint, DECELERATION]
        joints[joint, START], joints[joint, END] = q, end
        joints[joint, DECELERATION], joints[joint, REACTION] = a, path.reaction
    total += sums[0, OF_PATHS]
    if not total < _LONGEST_WAY or not is_comparable:
        for joint in range(len(joints)):
            joints[joint, OF_STARTS] = joints[joint, OF_PATHS] = 0.0
        sums[0, OF_STARTS] = sums[0, OF_PATHS] = total = 0.0
        _forget(known)
    return total
