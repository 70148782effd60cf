# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on exact distances along braking paths."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel, part_kernel
from collision_monitor.continuous.braking import (
    BrakingPath,
    bounds_of_pairs,
    braked,
    braking_path,
    braking_time,
    is_worth_measuring,
    raise_bounds,
    raise_lowest,
    travels_to,
)
from collision_monitor.mesh_distance.nearest_query import LOOKAHEAD, pair_at
from collision_monitor.mesh_distance.parts import unpack_state
from collision_monitor.model.proximity import part_of
from collision_monitor.monitoring.speed_policy.braking_paths import BrakingInputs
from collision_monitor.monitoring.speed_policy.pair_classes import MOST_NUMBERS

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.model.live.live_scene import LiveScene

_KEPT = 64  # distances of a pair; the paths of successive cycles are nearly the same

# Outcomes of `_measure_pair`.
_OPEN, _SETTLED, _INSIDE = range(3)
# Measurements between two checks of the time; one for a pair that took longer, in seconds.
_MOST, _LONG = 8, 5e-4
# Intervals of a braking path; those of a pair are divided where their travel is too long.
INTERVALS, _DIVISION, _MOST_INTERVALS = 32, 4, 512
# Error of a measurement, as a part of the tolerance of bounds.
_LOOSE_PART = 0.25


class Kept(NamedTuple):
    """What was measured of pairs: a slot has the distances of a pair, round and round.

    Attributes:
        places: (slots, nq, m) where; the first rows are the joints with weights.
        distances: (slots, m) metres.
        guesses: (slots, m, 4) the nearest triangles there.
        counts: (slots,) how many so far.
        is_quick: (slots,) whether the last one took little time.
    """

    places: np.ndarray
    distances: np.ndarray
    guesses: np.ndarray
    counts: np.ndarray
    is_quick: np.ndarray


class PathPairs(NamedTuple):
    """Pairs whose distances on a braking path are needed; metres.

    Attributes:
        numbers: (k,) in the model.
        weights: (k, nq) how far the links come nearer at most for a unit of a joint.
        now: (k,) distances at the first configuration, or less.
        thresholds: (k, 2) stop and warning distance. A smaller distance than the stop distance
            stops the robot.
        holding: (k,) a smaller distance holds an earlier stop; the stop distance without one.
        enough: (k,) results need not exceed this.
        fine: (k,) tolerance of results below ``enough``.
        limits_speed: (k,) whether the pair only limits the speed: then it is not measured once it
            is known to allow more than others.
    """

    numbers: np.ndarray
    weights: np.ndarray
    now: np.ndarray
    thresholds: np.ndarray
    holding: np.ndarray
    enough: np.ndarray
    fine: np.ndarray
    limits_speed: np.ndarray


class PathBounds(NamedTuple):
    """What is known of `PathPairs` on their path, metres; arrays that are raised.

    Attributes:
        intervals: (k, n) lower bounds in the intervals of the path.
        lowest: (k,) least distances measured on the path, or those now.
        least: (k,) results; see `ExactPaths.least`.
        proven: (k,) lower bounds on the whole path.
        finer: (most intervals,) bounds of one pair in shorter intervals.
        divided: (2,) the row of this pair, and the number of its intervals.
    """

    intervals: np.ndarray
    lowest: np.ndarray
    least: np.ndarray
    proven: np.ndarray
    finer: np.ndarray
    divided: np.ndarray


@part_kernel
def _measure_pair(
    arrays, law, pair, joints, weights, ends, kept, slot, wanted, lowest, most, bounds
):
    """Measure a pair in the middle of its lowest intervals, ``most`` times at most.

    ``arrays`` as of `mesh_distance.nearest_query`. ``joints`` (j,) that move the links relative to
    each other, with ``weights`` (j,) and their positions at the ``ends`` (j, n + 1) of intervals.
    ``bounds`` (n,) in the intervals are raised. ``lowest`` (m) is the least of the distances on
    this path so far. ``wanted``: a distance that ends the search, bounds that are enough, and the
    tolerance of bounds, metres.

    No interval is measured twice, as the first half of each is at least as long as the second:
    robots brake. Then `is_worth_measuring` expects no more than a distance in the middle gives.

    Returns (lowest, outcome): settled if the bounds are high enough or nothing raises them,
    inside if a distance is at most that which ends the search.
    """
    numbers, index, shape_numbers, shape_index, work, work_index, calls = arrays
    places, distances = kept.places[slot], kept.distances[slot]
    stop, enough, fine = wanted
    guess, q = unpack_state(work, work_index).guesses, np.empty(len(law.q))
    end = braking_time(law.velocities, law.decelerations, law.reaction)
    for _ in range(most):
        known = min(kept.counts[slot], len(distances))
        there = places[:, :known]
        interval = raise_lowest(ends, weights, there, distances[:known], enough, bounds)
        least = bounds[interval]
        if least >= min(enough, lowest - fine):
            return lowest, _SETTLED
        time = end * (interval + 0.5) / len(bounds)
        for joint in range(len(q)):
            v, a = law.velocities[joint], law.decelerations[joint]
            q[joint] = law.q[joint] + braked(v, a, law.reaction, time)
        middle = q[joints]
        if not is_worth_measuring(
            ends, middle, weights, there, distances[:known], interval, least + 0.5 * fine
        ):
            return lowest, _SETTLED
        if known > 0:
            nearest = np.argmin(travels_to(weights, there, middle, middle))
            for column in range(4):
                guess[pair, column] = kept.guesses[slot, nearest, column]
        distance = -np.inf
        for tolerance in (_LOOSE_PART * fine, 0.0):  # a stop is decided by the distance itself
            if not distance > stop:
                distance = pair_at(
                    numbers, index, shape_numbers, shape_index, work, work_index, calls, q, pair,
                    tolerance, enough,
                )  # fmt: skip
        oldest = kept.counts[slot] % len(distances)
        distances[oldest] = distance
        for joint in range(len(joints)):
            places[joint, oldest] = middle[joint]
        for column in range(4):
            kept.guesses[slot, oldest, column] = guess[pair, column]
        kept.counts[slot] += 1
        lowest = min(lowest, distance)
        if not distance > stop:  # true for NaN, too
            return lowest, _INSIDE
        raise_bounds(ends, weights, middle, distance, enough, bounds)
    return lowest, _OPEN


@part_kernel
def _bound_pair(arrays, law, path, pairs, row, kept, slot, wanted, most, bounds):
    """Measure the pair in a ``row`` along its ``path`` and write what is known then to ``bounds``.

    Where the bound is within a threshold and no measured distance is, intervals are divided.
    Returns the outcome of `_measure_pair`.
    """
    stop, enough, _ = wanted
    lowest, warn, before = bounds.lowest[row], pairs.thresholds[row, 1], kept.counts[slot]
    joints, intervals = np.flatnonzero(pairs.weights[row]), bounds.intervals[row]
    weights, ends, count = pairs.weights[row][joints], path[joints], len(intervals)
    if bounds.divided[0] == row:  # the time was checked in between
        count = bounds.divided[1]
    while True:
        if count > bounds.intervals.shape[1]:
            intervals, ends = bounds.finer[:count], np.empty((len(joints), count + 1))
            braking_path(law, joints, ends)
            raise_bounds(ends, weights, ends[:, 0], pairs.now[row], enough, intervals)
        lowest, outcome = _measure_pair(
            arrays, law, pairs.numbers[row], joints, weights, ends, kept, slot, wanted, lowest,
            most - (kept.counts[slot] - before), intervals,
        )  # fmt: skip
        least = intervals[np.argmin(intervals)]
        alarms = least < enough and (least <= stop < lowest or least <= warn < lowest)
        if outcome != _SETTLED or not alarms or count >= _MOST_INTERVALS:
            break
        count *= _DIVISION
        for at in range(count - 1, -1, -1):  # from the last on, since both may be one array
            bounds.finer[at] = intervals[at // _DIVISION]
        bounds.divided[0], bounds.divided[1] = row, count
    bounds.lowest[row] = lowest
    bounds.proven[row] = min(least, lowest)
    bounds.least[row] = lowest if outcome == _INSIDE else bounds.proven[row]
    return outcome


@kernel
def measure_paths(arrays, law, path, pairs, slots, kept, order, scale, most, bounds):
    """Measure ``pairs`` along a braking ``path`` in an ``order``, ``most`` times at most.

    Arguments as of `ExactPaths.least`; ``slots`` (k,) of the pairs in ``kept``, ``order`` (m,) rows
    of pairs, ``law`` the `BrakingPath` of the ``path``. If ``most`` is 0 nothing is measured. Ends
    early after a pair that may take long.

    Returns (how many of ``order`` are done, scale that they allow, whether a pair stops the robot,
    row of the last pair that was measured, -1 if none was).
    """
    left, last = most, np.int64(-1)
    for done in range(len(order)):
        row = order[done]
        stop, warn, needed = pairs.thresholds[row, 0], pairs.thresholds[row, 1], pairs.enough[row]
        limits, holding, ends_at = pairs.limits_speed[row], pairs.holding[row], stop
        if not limits:
            ends_at = min(stop, needed)
        elif scale < 1.0 and warn > stop:
            needed = min(needed, max(holding, stop + scale * (warn - stop)))
        outcome, is_quick = _SETTLED, True
        if most > 0 and bounds.least[row] < needed:
            if left == 0:
                return done, scale, False, last
            slot, before = slots[row], kept.counts[slots[row]]
            is_quick = before > 0 and kept.is_quick[slot]
            outcome = _bound_pair(
                arrays, law, path, pairs, row, kept, slot, (ends_at, needed, pairs.fine[row]),
                left if is_quick else 1, bounds,
            )  # fmt: skip
            if kept.counts[slot] > before:
                left, last = left - (kept.counts[slot] - before), row
            if outcome == _OPEN:
                return done, scale, False, last
        low = bounds.least[row]
        if outcome == _INSIDE or (limits and stop < low <= holding):
            for other in order[done + 1 :]:
                bounds.least[other] = pairs.now[other]
            return len(order), scale, True, last
        if limits and stop < low <= warn:
            scale = min(scale, (low - stop) / (warn - stop))
        if not is_quick and last == row:
            return done + 1, scale, False, last
    return len(order), scale, False, last


class ExactPaths:
    """Measures pairs along braking paths, and keeps the results for the next cycles."""

    def __init__(self, model: CollisionModel, live: LiveScene | None = None) -> None:
        """``model`` must not be shared: successive queries should be near each other.

        ``live``: its live scene; then pairs are those of the scene.
        """
        model.prepare_exact()
        self._live = live
        self._arrays = model.exact_arrays if live is None else live.path_arrays
        joints = len(model.joint_names)
        pairs = len(model.pairs) if live is None else len(live.pair_rows)
        self._slot_of = np.full(pairs, -1, dtype=np.int64)
        # Growing takes milliseconds, and memory that is not written is not used.
        slots = min(pairs, MOST_NUMBERS // (_KEPT * max(joints, 1)))
        self._kept = Kept(
            np.zeros((slots, joints, _KEPT)), np.full((slots, _KEPT), np.inf),
            np.zeros((slots, _KEPT, 4), dtype=np.int64), np.zeros(slots, dtype=np.int64),
            np.ones(slots, dtype=bool),
        )  # fmt: skip
        self._stamps = np.zeros((slots, 2), dtype=np.int64)  # of both objects, when measured
        self._used = 0
        self._compile()

    @property
    def measurements(self) -> np.ndarray:
        """(k,) how often each pair was measured that ever was near."""
        return self._kept.counts

    def forget(self) -> None:
        """Use no distances of earlier calls any more."""
        self.measurements.fill(0)

    def known(
        self, inputs: BrakingInputs, numbers: np.ndarray, weights: np.ndarray, now: np.ndarray,
        enough: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Lower bounds (k, `INTERVALS`) of distances on the path, from earlier calls, metres.

        Arguments as in `PathPairs`.
        """
        bounds = np.empty((len(numbers), INTERVALS))
        kept = self._kept
        bounds_of_pairs(
            inputs.path(INTERVALS), weights, now, enough + LOOKAHEAD, self._slots(numbers),
            kept.places, kept.distances, kept.counts, bounds,
        )  # fmt: skip
        return bounds

    def least(
        self, inputs: BrakingInputs, pairs: PathPairs, intervals: np.ndarray, scale: float,
        end_time: float,
    ) -> tuple[np.ndarray, np.ndarray, bool]:  # fmt: skip
        """Lower bounds of the exact distances of pairs on their braking path, metres.

        Returns (least (k,), proven (k,), whether a pair stops the robot). ``proven`` are lower
        bounds. ``least`` is the same, but for a pair that comes within its stop distance, or nearer
        than enough while it moves away within that, it is a distance on the path; and for pairs
        that were not measured, because another one stops the robot, it is the distance now.

        Args:
            inputs: of the path.
            pairs: the pairs to be measured.
            intervals: of `known`, of the same pairs on the same path; they are raised.
            scale: lowest speed scale that other pairs allow; inf if none limits it.
            end_time: of `time.thread_time`; no pair is measured after it.
        """
        least = np.minimum(intervals.min(axis=1), pairs.now)
        bounds = PathBounds(
            intervals, pairs.now.copy(), least, least.copy(), np.empty(_MOST_INTERVALS),
            np.full(2, -1),
        )  # fmt: skip
        order = np.flatnonzero(least < np.minimum(pairs.enough, pairs.now - pairs.fine))
        # The worst first: there may be no time for the others.
        order = order[np.argsort(part_of(least[order], pairs.thresholds[order]))]
        path, slots = inputs.path(INTERVALS), self._slot_of[pairs.numbers]
        stops = False
        while len(order):
            begin = time.thread_time()
            done, scale, stops, last = measure_paths(
                self._arrays(), inputs.law, path, pairs, slots, self._kept, order, scale,
                _MOST if begin < end_time else 0, bounds,
            )  # fmt: skip
            if last >= 0:
                self._kept.is_quick[slots[last]] = time.thread_time() - begin <= _LONG
            order = order[done:]
        return least, bounds.proven, stops

    def _slots(self, pairs: np.ndarray) -> np.ndarray:
        """Slots (k,) of pairs; those that have none get one."""
        new = pairs[self._slot_of[pairs] < 0]
        self._slot_of[new] = self._used + np.arange(len(new))
        self._used += len(new)
        if self._used > len(self._kept.counts):
            self._kept = Kept(*map(self._grown, self._kept))
            self._stamps = self._grown(self._stamps)
        slots = self._slot_of[pairs]
        if self._live is not None:  # what was measured of other objects, or elsewhere, is void
            stamps = self._live.stamps[self._live.pair_rows[pairs]]
            self.measurements[slots[(self._stamps[slots] != stamps).any(axis=1)]] = 0
            self._stamps[slots] = stamps
        return slots

    def _grown(self, array: np.ndarray) -> np.ndarray:
        """A copy with more slots; nothing is read from slots with a count of 0."""
        return np.pad(array, [(0, self._used), *[(0, 0)] * (array.ndim - 1)])

    def _compile(self) -> None:
        """Run the kernels once, so that no joint state has to wait for them."""
        joints = self._kept.places.shape[1]
        path, weights, none = np.zeros((joints, 3)), np.zeros((0, joints)), np.empty(0)
        slots, intervals, kept = none.astype(np.int64), np.zeros((0, 1)), self._kept
        bounds_of_pairs(
            path, weights, none, none, slots, kept.places, kept.distances, kept.counts, intervals
        )
        pairs = PathPairs(
            slots, weights, none, np.zeros((0, 2)), none, none, none, none.astype(bool)
        )
        zeros = np.zeros(joints)
        law = BrakingPath(zeros, zeros, zeros, 0.0)
        bounds = PathBounds(intervals, none, none, none, none, slots)
        measure_paths(self._arrays(), law, path, pairs, slots, kept, slots, np.inf, 0, bounds)
