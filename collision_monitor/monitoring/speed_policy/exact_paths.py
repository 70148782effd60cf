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
from collision_monitor.continuous.known_pairs import raised
from collision_monitor.continuous.near_pairs import COLUMNS, LEAST, PAIR
from collision_monitor.mesh_distance.nearest_query import LOOKAHEAD, pair_at
from collision_monitor.mesh_distance.parts import unpack_state
from collision_monitor.monitoring.speed_policy.braking_paths import BrakingInputs
from collision_monitor.monitoring.speed_policy.candidate_kernels import (
    BOUNDS,
    FINE,
    HOLDING,
    LIMITS,
    LOWEST,
    NEEDS,
    NOW,
    PROVEN,
    STOP,
    WANTED,
    WARN,
)
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
        places: (slots, nq, m) where.
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


class PathBounds(NamedTuple):
    """What is known of pairs on their path; BOUNDS of a candidate is its row.

    Attributes:
        intervals: (n, m) lower bounds in the intervals of the path, metres; they are raised.
        weights: (n, nq) how far the links come nearer at most for a unit of a joint, metres.
        slots: (n,) of the pairs, in `Kept`.
        finer: (most intervals,) bounds of one pair in shorter intervals.
        divided: (2,) the row of this pair, and the number of its intervals.
    """

    intervals: np.ndarray
    weights: np.ndarray
    slots: np.ndarray
    finer: np.ndarray
    divided: np.ndarray


@part_kernel
def _measure_pair(arrays, law, pair, weights, ends, kept, slot, wanted, lowest, most, bounds):
    """Measure a pair in the middle of its lowest intervals, ``most`` times at most.

    ``arrays`` as of `mesh_distance.nearest_query`, ``weights`` (nq,) and ``ends`` (nq, n + 1) of
    intervals as in `continuous.braking`. ``bounds`` (n,) in the intervals are raised. ``lowest``
    (m) is the least of the distances on this path so far. ``wanted``: a distance that ends the
    search, bounds that are enough, and the tolerance of bounds, metres.

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
        if not is_worth_measuring(
            ends, q, weights, there, distances[:known], interval, least + 0.5 * fine
        ):
            return lowest, _SETTLED
        if known > 0:
            nearest = np.argmin(travels_to(weights, there, q, q))
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
        for joint in range(len(q)):
            places[joint, oldest] = q[joint]
        for column in range(4):
            kept.guesses[slot, oldest, column] = guess[pair, column]
        kept.counts[slot] += 1
        lowest = lowest if lowest <= distance else distance  # NaN if the distance is
        if not distance > stop:  # true for NaN, too
            return lowest, _INSIDE
        raise_bounds(ends, weights, q, distance, enough, bounds)
    return lowest, _OPEN


@part_kernel
def _bound_pair(arrays, law, path, candidates, needs, row, kept, wanted, most, bounds):
    """Measure the pair of a candidate along its ``path``, and raise its LEAST.

    Where the bound is within a threshold and no measured distance is, intervals are divided.
    Returns the outcome of `_measure_pair`.
    """
    place, pair = int(needs[row, BOUNDS]), int(candidates[row, PAIR])
    stop, enough, _ = wanted
    slot, intervals = bounds.slots[place], bounds.intervals[place]
    lowest, warn, before = needs[row, LOWEST], needs[row, WARN], kept.counts[slot]
    weights, ends, count = bounds.weights[place], path, len(intervals)
    if bounds.divided[0] == place:  # the time was checked in between
        count = bounds.divided[1]
    while True:
        if count > bounds.intervals.shape[1]:
            intervals, ends = bounds.finer[:count], np.empty((len(weights), count + 1))
            braking_path(law, ends)
            raise_bounds(ends, weights, ends[:, 0], needs[row, NOW], enough, intervals)
        lowest, outcome = _measure_pair(
            arrays, law, pair, weights, ends, kept, slot, wanted, lowest,
            most - (kept.counts[slot] - before), intervals,
        )  # fmt: skip
        least = intervals[np.argmin(intervals)]
        alarms = least < enough and (least <= stop < lowest or least <= warn < lowest)
        if outcome != _SETTLED or not alarms or count >= _MOST_INTERVALS:
            break
        count *= _DIVISION
        for at in range(count - 1, -1, -1):  # from the last on, since both may be one array
            bounds.finer[at] = intervals[at // _DIVISION]
        bounds.divided[0], bounds.divided[1] = place, count
    needs[row, LOWEST], needs[row, PROVEN] = lowest, min(least, lowest)
    known = lowest if outcome == _INSIDE else needs[row, PROVEN]
    candidates[row, LEAST] = raised(candidates[row, LEAST], known)
    return outcome


@kernel
def measure_paths(arrays, law, path, candidates, needs, kept, order, scale, most, bounds):
    """Measure candidates along a braking ``path`` in an ``order``, ``most`` times at most.

    Arguments as of `ExactPaths.raise_least`; ``order`` (m,) rows of candidates, ``law`` the
    `BrakingPath` of the ``path``. If ``most`` is 0 nothing is measured. Ends early after a pair
    that may take long.

    Returns (how many of ``order`` are done, scale that they allow, whether a pair stops the robot,
    row of the last pair that was measured, -1 if none was).
    """
    left, last = most, np.int64(-1)
    for done in range(len(order)):
        row = order[done]
        stop, warn, needed = needs[row, STOP], needs[row, WARN], needs[row, WANTED]
        limits, holding, ends_at = needs[row, LIMITS] > 0.0, needs[row, HOLDING], stop
        if not limits:
            ends_at = min(stop, needed)
        elif scale < 1.0 and warn > stop:
            needed = min(needed, max(holding, stop + scale * (warn - stop)))
        outcome, is_quick = _SETTLED, True
        if most > 0 and candidates[row, LEAST] < needed:
            if left == 0:
                return done, scale, False, last
            slot = bounds.slots[int(needs[row, BOUNDS])]
            before = kept.counts[slot]
            is_quick = before > 0 and kept.is_quick[slot]
            outcome = _bound_pair(
                arrays, law, path, candidates, needs, row, kept,
                (ends_at, needed, needs[row, FINE]), left if is_quick else 1, bounds,
            )  # fmt: skip
            if kept.counts[slot] > before:
                left, last = left - (kept.counts[slot] - before), row
            if outcome == _OPEN:
                return done, scale, False, last
        low = candidates[row, LEAST]
        if outcome == _INSIDE or (limits and stop < low <= holding):
            for other in order[done + 1 :]:
                candidates[other, LEAST] = needs[other, NOW]
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

    def known(
        self, inputs: BrakingInputs, numbers: np.ndarray, weights: np.ndarray, now: np.ndarray,
        enough: np.ndarray,
    ) -> PathBounds:  # fmt: skip
        """What is known of pairs on their path from earlier calls.

        Args:
            inputs: of the path.
            numbers: (n,) of the pairs.
            weights: (n, nq) as of `PathBounds`.
            now: (n,) distances at the start, or less, metres.
            enough: (n,) bounds need not exceed this, metres.
        """
        slots, kept = self._slots(numbers), self._kept
        intervals = np.empty((len(numbers), INTERVALS))
        if len(numbers):
            bounds_of_pairs(
                inputs.path(INTERVALS), weights, now, enough + LOOKAHEAD, slots, kept.places,
                kept.distances, kept.counts, intervals,
            )  # fmt: skip
        return PathBounds(intervals, weights, slots, np.empty(_MOST_INTERVALS), np.full(2, -1))

    def raise_least(
        self, inputs: BrakingInputs, candidates: np.ndarray, needs: np.ndarray, order: np.ndarray,
        bounds: PathBounds, scale: float, end_time: float,
    ) -> bool:  # fmt: skip
        """Raise LEAST of candidates by exact distances on their path; whether one stops the robot.

        It is a lower bound, but for a pair that comes within its stop distance, or nearer than
        enough while it moves away within that, it is a distance on the path; and for pairs that
        were not measured, because another one stops the robot, it is the distance now. PROVEN is a
        lower bound for those that were measured.

        Args:
            inputs: of the path.
            candidates: as `near_pairs` writes them.
            needs: of the candidates, see `candidate_kernels`.
            order: (m,) rows to be measured: the worst first, as there may be no time for others.
            bounds: of `known`, on the same path; they are raised.
            scale: lowest speed scale that other pairs allow; inf if none limits it.
            end_time: of `time.thread_time`; no pair is measured after it.
        """
        path, stops = inputs.path(INTERVALS), False
        while len(order):
            begin = time.thread_time()
            done, scale, stops, last = measure_paths(
                self._arrays(), inputs.law, path, candidates, needs, self._kept, order, scale,
                _MOST if begin < end_time else 0, bounds,
            )  # fmt: skip
            if last >= 0:
                slot = bounds.slots[int(needs[last, BOUNDS])]
                self._kept.is_quick[slot] = time.thread_time() - begin <= _LONG
            order = order[done:]
        return stops

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
        joints, kept, none = self._kept.places.shape[1], self._kept, np.empty(0)
        path, zeros, order = np.zeros((joints, 3)), np.zeros(joints), np.empty(0, dtype=np.int64)
        bounds = PathBounds(np.empty((0, 2)), np.empty((0, joints)), order, none, order)
        bounds_of_pairs(
            path, bounds.weights, none, none, order, kept.places, kept.distances, kept.counts,
            bounds.intervals,
        )  # fmt: skip
        candidates, needs = np.empty((0, COLUMNS)), np.empty((0, NEEDS))
        law = BrakingPath(zeros, zeros, zeros, 0.0)
        measure_paths(self._arrays(), law, path, candidates, needs, kept, order, np.inf, 0, bounds)
