# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on exact distances along braking paths."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel
from collision_monitor.continuous.braking import (
    bounds_of_pairs,
    ends_of,
    is_worth_measuring,
    raise_bounds,
    raise_lowest,
    travels_to,
)
from collision_monitor.mesh_distance.nearest_query import pair_at
from collision_monitor.mesh_distance.parts import unpack_state
from collision_monitor.model.proximity import part_of

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.model.live.live_scene import LiveScene

_KEPT = 64  # distances of a pair; the paths of successive cycles are nearly the same
_NUMBERS = 20_000_000  # in arrays for the first pairs that are measured

# Outcomes of `measure_pair`.
_OPEN, _SETTLED, _INSIDE = 0, 1, 2
# Measurements between two checks of the time; one for a pair that once took longer, in seconds.
_MOST, _LONG = 4, 1e-3
# Intervals of a braking path; those of a pair are divided where their travel is too long.
INTERVALS, _DIVISION, _MOST_INTERVALS = 32, 4, 512
# Metres by which bounds may exceed what is needed, so that they are enough for the next paths, too.
_LOOKAHEAD = 0.02
# Tolerance of a bound, relative to the range between the stop and the warning distance; and the
# part of it that is the error of a measurement.
_FINE_PART, _LOOSE_PART = 0.1, 0.25


class Kept(NamedTuple):
    """Distances of a pair that were measured, one after another and round again.

    Attributes:
        places: (nq, m) where; the first rows are the joints with weights.
        distances: (m,) metres.
        guesses: (m, 4) the nearest triangles there.
    """

    places: np.ndarray
    distances: np.ndarray
    guesses: np.ndarray


class Wanted(NamedTuple):
    """What is asked of a pair, metres.

    Attributes:
        stop: a smaller distance ends the search.
        enough: bounds need not exceed this.
        fine: tolerance of bounds.
        loose: distances may be this much too small.
    """

    stop: float
    enough: float
    fine: float
    loose: float


@kernel
def measure_pair(arrays, pair, path, weights, kept, count, wanted, lowest, most, bounds):
    """Measure a pair in the middle of its lowest intervals, ``most`` times at most.

    ``arrays`` as of `mesh_distance.nearest_query`. ``path`` (2 n + 1, nq), ``weights`` (nq,) and
    ``bounds`` (n,) as of `ExactPaths.least`. ``count`` distances were ``kept`` so far, and
    ``lowest`` (m) is the least of those on this path.

    No interval is measured twice, as the first half of each is at least as long as the second:
    robots brake. Then `is_worth_measuring` expects no more than a distance in the middle gives.

    Returns (lowest, count, outcome): settled if the bounds are high enough or nothing raises them,
    inside if a distance is at most ``stop``.
    """
    numbers, index, shape_numbers, shape_index, work, work_index, calls = arrays
    places, distances, guesses = kept
    stop, enough, fine, loose = wanted
    joints, guess = np.flatnonzero(weights), unpack_state(work, work_index).guesses
    ends, joint_weights = ends_of(path, joints), weights[joints]
    for _ in range(most):
        known = min(count, len(distances))
        there = places[:, :known]
        interval = raise_lowest(ends, joint_weights, there, distances[:known], enough, bounds)
        least, q = bounds[interval], path[2 * interval + 1]
        middle = q[joints]
        if least >= min(enough, lowest - fine) or not is_worth_measuring(
            ends, middle, joint_weights, there, distances[:known], interval, least + 0.5 * fine
        ):
            return lowest, count, _SETTLED
        if known > 0:
            nearest = np.argmin(travels_to(joint_weights, there, middle, middle))
            for column in range(4):
                guess[pair, column] = guesses[nearest, column]
        distance = -np.inf
        for tolerance in (loose, 0.0):  # a stop is decided by the distance itself
            if distance <= stop:
                distance = pair_at(
                    numbers, index, shape_numbers, shape_index, work, work_index, calls, q, pair,
                    tolerance, enough,
                )  # fmt: skip
        oldest = count % len(distances)
        distances[oldest] = distance
        for joint in range(len(joints)):
            places[joint, oldest] = middle[joint]
        for column in range(4):
            guesses[oldest, column] = guess[pair, column]
        count += 1
        lowest = min(lowest, distance)
        if distance <= stop:
            return lowest, count, _INSIDE
        raise_bounds(ends, joint_weights, middle, distance, enough, bounds)
    return lowest, count, _OPEN


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
        limits_speed: (k,) whether the pair only limits the speed: then it is not measured once it
            is known to allow more than others.
    """

    numbers: np.ndarray
    weights: np.ndarray
    now: np.ndarray
    thresholds: np.ndarray
    holding: np.ndarray
    enough: np.ndarray
    limits_speed: np.ndarray


class ExactPaths:
    """Measures pairs along braking paths, and keeps the results for the next cycles.

    ``measurements`` (k,): how often each pair was measured that ever was near.
    """

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
        # By slot: where a pair was measured, the distances, and its nearest triangles there.
        # Growing takes milliseconds, and memory that is not written is not used.
        slots = min(pairs, _NUMBERS // (_KEPT * max(joints, 1)))
        self._places = np.zeros((slots, joints, _KEPT))
        self._distances = np.full((slots, _KEPT), np.inf)
        self._guesses = np.zeros((slots, _KEPT, 4), dtype=np.int64)
        self.measurements = np.zeros(slots, dtype=np.int64)
        self._most = np.full(slots, _MOST)  # measurements between two checks of the time
        self._stamps = np.zeros((slots, 2), dtype=np.int64)  # of both objects, when measured
        self._used = 0
        self._compile()

    def forget(self) -> None:
        """Use no distances of earlier calls any more."""
        self.measurements.fill(0)

    def known(
        self,
        path_of: Callable[[int], np.ndarray],
        numbers: np.ndarray,
        weights: np.ndarray,
        now: np.ndarray,
        enough: np.ndarray,
    ) -> np.ndarray:
        """Lower bounds (k, `INTERVALS`) of distances in intervals, from earlier calls, metres.

        Arguments as in `PathPairs`, and as ``path_of`` in `least`.
        """
        bounds = np.empty((len(numbers), INTERVALS))
        self._bound(path_of(2 * INTERVALS), weights, now, enough, self._slots(numbers), bounds)
        return bounds

    def least(
        self,
        path_of: Callable[[int], np.ndarray],
        pairs: PathPairs,
        bounds: np.ndarray,
        scale: float,
        resolution: float,
        tolerance: float,
        end_time: float,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Lower bounds of the exact distances of pairs on their braking path, metres.

        Returns (least (k,), proven (k,), whether a pair stops the robot). ``proven`` are lower
        bounds. ``least`` is the same, but for a pair that comes within its stop distance, or nearer
        than now while it moves away within that, it is a distance on the path; and for pairs that
        were not measured, because another one stops the robot, it is the distance now.

        Args:
            path_of: returns (2 n + 1, nq) the ends and middles of 2 n half intervals, evenly spaced
                in time; each joint is monotone.
            pairs: the pairs to be measured.
            bounds: of `known`, of the same pairs on the same path; they are raised.
            scale: lowest speed scale that other pairs allow; inf if none limits it.
            resolution: tolerance of results below ``enough``, metres. It is less for pairs whose
                warning distance is near their stop distance.
            tolerance: metres by which a pair may come nearer and still move away.
            end_time: of `time.thread_time`; no pair is measured after it.
        """
        path, slots = path_of(2 * INTERVALS), self._slot_of[pairs.numbers]
        stops, warns = pairs.thresholds.T
        fine = np.minimum(resolution, _FINE_PART * (warns - stops))
        least = np.minimum(bounds.min(axis=1), pairs.now)
        proven = least.copy()
        unsettled = np.flatnonzero(least < np.minimum(pairs.enough, pairs.now - fine))
        if not len(unsettled):
            return least, proven, False
        if len(unsettled) > 1:  # the worst first: there may be no time for the others
            parts = part_of(least[unsettled], pairs.thresholds[unsettled])
            unsettled = unsettled[np.argsort(parts)]
        # Lists, since numbers of arrays are slow one by one.
        columns = (
            unsettled, stops[unsettled], warns[unsettled], pairs.enough[unsettled],
            pairs.holding[unsettled], pairs.limits_speed[unsettled], pairs.now[unsettled],
            least[unsettled],
        )  # fmt: skip
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for done, (pair, stop, warn, needed, holding, limits, now, low) in enumerate(rows, start=1):
            if limits and scale < 1.0 and warn > stop:
                needed = min(needed, max(holding, stop + scale * (warn - stop)))
            enters, most = False, stop
            if not limits:  # it may be ignored unless it comes nearer than now
                needed = min(needed, now - tolerance)
                most = min(stop, needed)
            if low < needed and time.thread_time() < end_time:
                low, proven[pair], enters = self._measure(
                    path_of, path, bounds[pair], pairs, pair, slots[pair], most, needed,
                    fine[pair], end_time,
                )  # fmt: skip
                least[pair] = low
            is_proven = low > stop
            if enters or limits and is_proven and low <= holding:
                rest = unsettled[done:]
                least[rest] = pairs.now[rest]
                return least, proven, True
            if limits and is_proven and low <= warn:
                scale = min(scale, (low - stop) / (warn - stop))
        return least, proven, False

    def _measure(
        self,
        path_of: Callable[[int], np.ndarray],
        path: np.ndarray,
        bounds: np.ndarray,
        pairs: PathPairs,
        pair: int,
        slot: int,
        most: float,
        needed: float,
        fine: float,
        end_time: float,
    ) -> tuple[float, float, bool]:
        """Measure ``pair`` on its path; ends at a distance of at most ``most`` metres.

        Returns this distance, or a bound; a bound; and whether there is such a distance. Where the
        bound is within a threshold and no measured distance is, intervals are divided.
        """
        warn, lowest, outcome = pairs.thresholds[pair, 1], pairs.now[pair], _OPEN
        wanted = Wanted(most, needed, fine, _LOOSE_PART * fine)
        kept = Kept(self._places[slot], self._distances[slot], self._guesses[slot])
        while (begin := time.thread_time()) < end_time:
            count = self._most[slot] if self.measurements[slot] else 1
            lowest, self.measurements[slot], outcome = measure_pair(
                self._arrays(), pairs.numbers[pair], path, pairs.weights[pair], kept,
                self.measurements[slot], wanted, lowest, count, bounds,
            )
            if time.thread_time() - begin > _LONG:
                self._most[slot] = 1
            if outcome == _INSIDE:
                return lowest, min(float(bounds.min()), lowest), True
            if outcome == _OPEN:
                continue
            least = bounds.min()
            alarms = least < needed and (least <= most < lowest or least <= warn < lowest)
            if not alarms or len(bounds) >= _MOST_INTERVALS:
                break
            path, bounds = path_of(2 * _DIVISION * len(bounds)), np.repeat(bounds, _DIVISION)
            one = slice(pair, pair + 1)
            self._bound(
                path, pairs.weights[one], pairs.now[one], pairs.enough[one], np.array([slot]),
                bounds[None],
            )  # fmt: skip
        least = min(float(bounds.min()), lowest)
        return least, least, False

    def _bound(
        self, path: np.ndarray, weights: np.ndarray, now: np.ndarray, enough: np.ndarray,
        slots: np.ndarray, out: np.ndarray,
    ) -> None:  # fmt: skip
        """Bounds of pairs on their path by earlier measurements; see `bounds_of_pairs`."""
        bounds_of_pairs(
            path, weights, now, enough + _LOOKAHEAD, slots, self._places, self._distances,
            self.measurements, out,
        )  # fmt: skip

    def _slots(self, pairs: np.ndarray) -> np.ndarray:
        """Slots (k,) of pairs; those that have none get one."""
        new = pairs[self._slot_of[pairs] < 0]
        self._slot_of[new] = self._used + np.arange(len(new))
        self._used += len(new)
        if self._used > len(self.measurements):
            more = [(0, self._used)]
            self._places = np.pad(self._places, [*more, (0, 0), (0, 0)])
            self._distances = np.pad(self._distances, [*more, (0, 0)], constant_values=np.inf)
            self._guesses = np.pad(self._guesses, [*more, (0, 0), (0, 0)])
            self.measurements = np.pad(self.measurements, more)
            self._most = np.pad(self._most, more, constant_values=_MOST)
            self._stamps = np.pad(self._stamps, [*more, (0, 0)])
        slots = self._slot_of[pairs]
        if self._live is not None:  # what was measured of other objects, or elsewhere, is void
            stamps = self._live.stamps[self._live.pair_rows[pairs]]
            self.measurements[slots[(self._stamps[slots] != stamps).any(axis=1)]] = 0
            self._stamps[slots] = stamps
        return slots

    def _compile(self) -> None:
        """Run the kernels once, so that no joint state has to wait for them."""
        joints = self._places.shape[1]
        path, weights, bounds = np.zeros((3, joints)), np.zeros((0, joints)), np.zeros((0, 1))
        none = np.empty(0)
        slots = none.astype(np.int64)
        bounds_of_pairs(
            path, weights, none, none, slots, self._places, self._distances, self.measurements,
            bounds,
        )  # fmt: skip
        kept = Kept(np.zeros((joints, 3)), np.zeros(3), np.zeros((3, 4), dtype=np.int64))
        one = np.zeros(1)  # at least as high as needed, so nothing is measured
        measure_pair(
            self._arrays(), 0, path, path[0], kept, 0, Wanted(0.0, 0.0, 0.0, 0.0), 0.0, _MOST, one
        )
