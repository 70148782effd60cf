# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The method robust: the smallest smooth change of a motion that keeps all clearances.

It has three steps for each window in which the desired motion is not certified:

1. find an initial motion that keeps the clearances, by steps from the last pose towards the desired
one (`stepper`), or by a path around obstacles (`detour`) if that fails; 2. minimise and smooth the
change of all knots, by quadratic programs (`smoothing`); 3. certify the motion between waypoints
(`motion_clearance`); if this fails, increase the required clearances and repeat step 2.
"""

from __future__ import annotations

import time

import numpy as np

from collision_monitor.self_collision.margins import Problem
from collision_monitor.self_collision.motion_clearance import Failure, RequiredClearances
from collision_monitor.self_collision.preparation import moving_scene_joint
from collision_monitor.self_collision.robust.detour import (
    Effort,
    find_detour,
    find_timed_detour,
    spread,
)
from collision_monitor.self_collision.robust.knots import KnottedMotion
from collision_monitor.self_collision.robust.smoothing import Smoother
from collision_monitor.self_collision.stepper import (
    BUFFER,
    SUBSTEP,
    Stepper,
    is_at,
    joint_weights,
    shares,
    tip_weights,
)

_NEED = 0.002  # m kept above limits at knots and half-way between them, for dips
_ROUNDS = 3  # programs per attempt
_TRIES = 5
_MOST_PLACES = 600  # maximum number of rows of a detour
_MOST_KNOTS = 300  # maximum number of rows that may all be knots


class SqpAdjustment:
    """The adjustment of one motion.

    Attributes:
        is_stuck: whether a detour was searched for, and none was found.
    """

    def __init__(
        self, problem: Problem, buffer: float = BUFFER, effort: Effort | None = None
    ) -> None:
        """Prepare the adjustment of ``problem``; `run` computes it.

        ``buffer``: metres kept above limits in the initial motion, for dips between rows.
        ``effort``: budget of random sampling.
        """
        self.is_stuck = False
        self._problem, self._buffer, self._effort = problem, buffer, effort or Effort()
        self._proximity = problem.proximity
        self._columns = problem.yielding_columns
        # Of arms that do not yield, and of joints that move obstacles.
        scene = [joint.name for joint in problem.model.scene.joints]
        obstacles = np.flatnonzero(np.isin(problem.model.joint_names, scene))
        arms = np.setdiff1d(np.concatenate(problem.columns), self._columns)
        self._fixed_columns = np.union1d(arms, obstacles)
        self._knotted, self._required = KnottedMotion(problem), RequiredClearances(problem)
        self._desired, self._knots = self._knotted.desired, self._knotted.knots

    @property
    def limits(self) -> np.ndarray:
        """(n - 1, pairs) certified distances of each segment of the result, metres."""
        return self._required.limits

    def run(self) -> np.ndarray:
        """Adjust the desired motion where necessary; returns (n, nq), certified at d_saf.

        First and last configurations are kept. A motion that starts below d_saf, but not below
        d_dan, is led out first; until then it is certified not to come closer than at its start.

        Raises:
            AdjustmentError: with waypoint, time, pair and distance; ``safe_prefix`` is (k, nq).
        """
        self._required.refuse_bad_goal()
        motion = self._desired.copy()
        at = self._lead_out(motion)  # knot from which on all limits are kept
        begin = self._knots[at]
        if at and begin == len(motion) - 1:
            return motion
        while True:
            bad = self._required.failures(motion[begin:], begin)
            if at and (motion[begin] != self._desired[begin]).any():
                low, high = at, self._knotted.end_of(bad, at)
            elif not bad:
                return motion
            else:
                low, high = self._knotted.window(bad, int(np.searchsorted(self._knots, begin)))
            high = self._adjust(motion, low, high, bad)
            begin, at = self._knots[high], 0
            if begin >= len(motion) - 1:
                return motion

    # -- an initial motion that keeps the clearances --

    def _lead_out(self, motion: np.ndarray) -> int:
        """Lead the motion out of a start that is too close, until the returned knot; else 0."""
        required = self._required
        required.refuse_bad_start()
        worst = required.worst(motion[0])
        if worst is None:
            return 0
        stepper = self._stepper(joint_weights(self._problem))
        led, knot = motion[:1], 0
        while required.worst(led[-1]) is not None:
            if knot == len(self._knots) - 1:
                # No motion leads out: the distances of the start are kept instead, as at a goal.
                required.keep_start()
                return 0
            led = np.vstack([led, self._walk(stepper, led[-1], knot, knot + 1)[1:]])
            knot += 1
        last = self._knots[knot]
        required.lead_out_until(last)
        motion[: last + 1] = led[: last + 1]
        if last == len(motion) - 1:
            if not is_at(motion[last], self._desired[last]):
                reason = "the start is closer than that, and the motion ends before it is left"
                raise required.error(0, *worst, reason, motion[:1])
            motion[last] = self._desired[last]  # equal except for rounding
        if bad := required.failures(motion[: last + 1], first_only=True):
            raise required.violated(motion, 0, motion[: last + 1], bad[0])
        return knot

    def _adjust(self, motion: np.ndarray, low: int, high: int, bad: list[Failure]) -> int:
        """Adjust ``motion`` from knot ``low`` to ``high``, or to the end; returns the last knot."""
        inside = motion[self._knots[low] : self._knots[high] + 1]
        share = shares(self._problem, self._proximity, inside)
        weights = joint_weights(self._problem, share)
        stepper = self._stepper(weights)
        first = self._walk(stepper, inside[0], low, high)
        while not is_at(first[-1], self._desired[self._knots[high]]):
            if high == len(self._knots) - 1:
                first = self._around(stepper, motion, low, first, bad)
                break
            last, high = high, self._knotted.after(high)
            first = np.vstack([first, self._walk(stepper, first[-1], last, high)[1:]])
        first[-1] = self._desired[self._knots[high]]  # equal except for rounding
        self._smooth(motion, low, high, first, weights)
        return high

    def _stepper(self, weights: np.ndarray) -> Stepper:
        safe = self._required.safe
        return Stepper(self._proximity, self._columns, safe, weights, self._buffer)

    def _walk(self, stepper: Stepper, start: np.ndarray, low: int, high: int) -> np.ndarray:
        """Rows from knot ``low`` to ``high`` that follow the desired motion from ``start``."""
        rows = self._desired[self._knots[low] : self._knots[high] + 1]
        return stepper.walk(rows, SUBSTEP, self._knotted.pace, start)

    def _around(
        self, stepper: Stepper, motion: np.ndarray, low: int, first: np.ndarray, bad: list[Failure]
    ) -> np.ndarray:
        """Rows (n, nq) from knot ``low`` to the end on a detour.

        ``first`` (n, nq) follows the desired motion there, and gets stuck.
        """
        begin = int(self._knots[low])
        count = len(self._desired) - begin
        places = np.linspace(begin, len(self._desired) - 1, min(count, _MOST_PLACES))
        followed = places.round().astype(int)
        wanted, model = self._desired[followed], self._problem.model
        if np.ptp(wanted[:, self._fixed_columns], axis=0).any():
            rows = np.vstack([first[:1], wanted[1:]])
            timed = find_timed_detour(
                stepper, rows, self._problem.times[followed], self._problem.speeds, self._effort
            )
            if timed is not None:
                return self._knotted.spread(followed, (timed - wanted)[:, self._columns])
            if moving_scene_joint(model, model.joint_names, wanted):
                raise self._required.no_detour(motion, begin, first, bad)
        path = find_detour(stepper, wanted, first[followed - begin], self._effort)
        if path is None:
            self.is_stuck = True
            raise self._required.no_detour(motion, begin, first, bad)
        change = (spread(path, wanted) - wanted)[:, self._columns]
        return self._knotted.spread(followed, change)

    # -- smoothing and certificates --

    def _smooth(
        self, motion: np.ndarray, low: int, high: int, first: np.ndarray, weights: np.ndarray
    ) -> None:
        """Write into ``motion`` the smallest certified change from knot ``low`` to ``high``.

        ``first`` (rows between these knots, nq) keeps the clearances at its rows. If the minimum
        number of knots is not sufficient, every row is a knot.
        """
        knots = self._knots[low : high + 1]
        begin, end = int(knots[0]), int(knots[-1])
        every = np.arange(begin, end + 1)
        for tried in (knots, every) if len(knots) < len(every) <= _MOST_KNOTS else (knots,):
            if tried is every and self._effort.smoothing <= 0.0:
                continue
            candidate = self._smoothed(tried, first[tried - begin], weights)
            if candidate is not None:
                motion[begin : end + 1] = candidate
                return
        if bad := self._required.failures(first, begin, first_only=True):
            raise self._required.violated(motion, begin, first, bad[0])
        motion[begin : end + 1] = first

    def _smoothed(
        self, knots: np.ndarray, first: np.ndarray, weights: np.ndarray
    ) -> np.ndarray | None:
        """Rows from the first to the last of ``knots`` with minimum change, certified; or None."""
        columns = self._columns
        desired = self._desired[knots]
        if self._problem.tip_weight > 0.0:
            weights = weights + tip_weights(self._problem, columns, desired)
        window = self._knotted.smoothing_window(knots)
        smoother = Smoother(self._proximity, columns, self._required.safe, weights)
        change = first[:, columns] - desired[:, columns]
        need = np.full(len(window.samples), _NEED)
        for _ in range(_TRIES):
            begin = time.thread_time()
            change = smoother.smooth(window, change, need, _ROUNDS)
            candidate = self._knotted.spread(knots, change)
            bad = self._required.failures(candidate, knots[0])
            self._effort.smoothing -= time.thread_time() - begin
            if not bad:
                return candidate
            if self._effort.smoothing <= 0.0:
                break
            # Add the places where clearances were violated.
            at = np.array([f.segment + f.s for f in bad])
            places = np.searchsorted(knots, at, side="right") - 1
            places = np.minimum(places, len(knots) - 2)
            parts = (at - knots[places]) / (knots[places + 1] - knots[places])
            window = window.with_samples(self._knotted.at(at), places, parts)
            more = np.array([_NEED + max(0.5 * _NEED, 0.5 * f.missing) for f in bad])
            need = np.concatenate([need, more])
        return None
