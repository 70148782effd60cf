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
from dataclasses import dataclass

import numpy as np

from collision_monitor.common.text import told_apart
from collision_monitor.errors import AdjustmentError
from collision_monitor.self_collision.detour import (
    Effort,
    TimedRows,
    continued,
    find_detour,
    find_timed_detour,
    spread,
    thinned,
)
from collision_monitor.self_collision.margins import Problem
from collision_monitor.self_collision.motion_clearance import Failure, failures, start_limits
from collision_monitor.self_collision.preparation import moving_scene_joint
from collision_monitor.self_collision.smoothing import Smoother, SmoothingWindow
from collision_monitor.self_collision.stepper import (
    Stepper,
    is_at,
    joint_weights,
    shares,
    tip_weights,
)

_KNOT = np.radians(7.0)  # minimum distance of knots, rad or m
_PAD = 0.25  # rad or m of the desired motion before and after waypoints that are too close
_SUBSTEP = np.radians(1.0)
BUFFER = 0.003  # m kept above limits in the initial motion
_NEED = 0.002  # m kept above limits at knots and half-way between them, for dips
_PACE = 1.08  # largest step of the adjusted motion, relative to that of the desired motion
_ROUNDS = 3  # programs per attempt
_TRIES = 5
_MOST_PLACES = 600  # maximum number of rows of a detour
_MOST_KNOTS = 300  # maximum number of rows that may all be knots
_ROWS_PER_POSE = 2  # rows per pose of a detour, so that none has to be skipped
_FAR = 1e3  # m


@dataclass(frozen=True, eq=False)
class Uncertified:
    """A window of a motion that could not be certified.

    Attributes:
        first: its first row.
        last: its last row.
        detour: (p, nq) poses of its detour, if it has one.
    """

    first: int
    last: int
    detour: np.ndarray | None

    @property
    def segments(self) -> int:
        """Number of segments with which no pose of the detour has to be skipped."""
        return 1 if self.detour is None else _ROWS_PER_POSE * (len(self.detour) - 1)


class SqpAdjustment:
    """The adjustment of one motion.

    Attributes:
        limits: (n - 1, pairs) certified distances of each segment of the result, metres: ``safe``
            of the margins, except where the motion is led out of its start.
        is_stuck: whether a detour was searched for, and none was found.
    """

    def __init__(
        self,
        problem: Problem,
        buffer: float = BUFFER,
        effort: Effort | None = None,
        known: np.ndarray | None = None,
    ) -> None:
        """Prepare the adjustment of ``problem``; `run` computes it.

        ``buffer``: metres kept above limits in the initial motion, for dips between rows.
        ``effort``: budget of random sampling.
        ``known``: (p, nq) a detour that was found before; with it, no pose of a detour is skipped
        if there are enough rows.
        """
        self._known = known
        self._detour: tuple[Stepper, np.ndarray] | None = None  # of the current window
        self._uncertified: tuple[int, int] | None = None
        self.is_stuck = False
        self._problem, self._buffer, self._effort = problem, buffer, effort or Effort()
        self._desired = np.asarray(problem.desired, dtype=float)
        self._safe = problem.margins.safe
        self._proximity = problem.proximity
        self._columns = problem.yielding_columns
        # Of arms that do not yield, and of joints that move obstacles.
        scene = [joint.name for joint in problem.model.scene.joints]
        obstacles = np.flatnonzero(np.isin(problem.model.joint_names, scene))
        arms = np.setdiff1d(np.concatenate(problem.columns), self._columns)
        self._fixed_columns = np.union1d(arms, obstacles)
        limits = problem.model.position_limits
        self._lower, self._upper = (limit[self._columns] for limit in limits)
        self._knots = _knots(self._desired)
        # per row; a step between knots is this times the number of rows
        self._pace = _PACE * np.abs(np.diff(self._desired, axis=0)).max(initial=0.005)
        self.limits = np.repeat(self._safe[None, :], max(1, len(self._desired) - 1), axis=0)

    def run(self) -> np.ndarray:
        """Adjust the desired motion where necessary; returns (n, nq), certified at d_saf.

        First and last configurations are kept. A motion that starts below d_saf, but not below
        d_dan, is led out first; until then it is certified not to come closer than at its start.

        Raises:
            AdjustmentError: with waypoint, time, pair and distance; ``safe_prefix`` is (k, nq).
        """
        self._refuse_bad_goal()
        motion = self._desired.copy()
        at = self._lead_out(motion)  # knot from which on all limits are kept
        begin = self._knots[at]
        if at and begin == len(motion) - 1:
            return motion
        while True:
            bad = failures(self._proximity, motion[begin:], self.limits[begin:])
            bad = [Failure(f.segment + begin, f.s, f.pair, f.missing) for f in bad]
            if (
                at
                and begin == self._knots[at]
                and np.abs(motion[begin] - self._desired[begin]).max()
            ):
                low, high = at, self._end_of(bad, at)
            elif not bad:
                return motion
            else:
                low, high = self._window(bad, int(np.searchsorted(self._knots, begin)))
            high = self._adjust(motion, low, high, bad)
            begin = self._knots[high]
            at = 0
            if begin >= len(motion) - 1:
                return motion

    def uncertified(self) -> Uncertified | None:
        """The window whose certificate failed, after an error of `run`; None if none failed."""
        if self._uncertified is None:
            return None
        detour = thinned(*self._detour) if self._detour else None
        return Uncertified(*self._uncertified, detour)

    # -- windows --

    def _window(self, bad: list[Failure], least: int) -> tuple[int, int]:
        """First and last knot around the first of ``bad`` and those that follow closely."""
        low = int(np.searchsorted(self._knots, bad[0].segment, side="right")) - 1
        high = self._end_of(bad, low)
        return self._beyond(low, -1, least), high

    def _end_of(self, bad: list[Failure], low: int) -> int:
        high = self._beyond(low + 1, 1, len(self._knots) - 1)
        for failure in bad:
            knot = int(np.searchsorted(self._knots, failure.segment, side="right")) - 1
            if knot <= self._beyond(high, 1, len(self._knots) - 1):
                high = max(high, self._beyond(knot + 1, 1, len(self._knots) - 1))
        return high

    def _beyond(self, knot: int, direction: int, end: int) -> int:
        """The knot at a distance of `_PAD` along the desired motion before or after ``knot``."""
        knot = min(max(knot, 0), len(self._knots) - 1)
        travel = 0.0
        while knot != end and travel < _PAD:
            here, there = self._knots[knot], self._knots[knot + direction]
            travel += np.abs(self._desired[there] - self._desired[here]).max()
            knot += direction
        return knot

    def _adjust(self, motion: np.ndarray, low: int, high: int, bad: list[Failure]) -> int:
        """Adjust ``motion`` from knot ``low`` to ``high``, or to the end; returns the last knot."""
        inside = motion[self._knots[low] : self._knots[high] + 1]
        share = shares(self._problem, self._proximity, inside)
        weights = joint_weights(self._problem, share)
        stepper = Stepper(self._proximity, self._columns, self._safe, weights, self._buffer)
        start = motion[self._knots[low]]
        first = self._walk(stepper, start, low, high)
        self._detour, places = None, None
        while not is_at(first[-1], self._desired[self._knots[high]]):
            if high == len(self._knots) - 1:
                followed = np.arange(self._knots[low], len(self._desired))
                if len(followed) > _MOST_PLACES:
                    followed = self._knots[low:]
                wanted = self._desired[followed]
                ahead = first[followed - followed[0]]
                model, fixed = self._problem.model, self._fixed_columns
                if np.ptp(wanted[:, fixed], axis=0).any():
                    timed = self._timed_detour(stepper, start, followed)
                    if timed is not None:
                        first = self._spread(followed, (timed - wanted)[:, self._columns])
                        break
                    if moving_scene_joint(model, model.joint_names, wanted):
                        raise self._failure(motion, followed[0], first, bad)
                path = None
                if self._known is not None:
                    path = continued(stepper, start, self._known)
                if path is None:
                    path = find_detour(stepper, wanted, ahead, self._effort)
                if path is None:
                    self.is_stuck = True
                    raise self._failure(motion, followed[0], first, bad)
                self._detour = stepper, path
                if self._known is not None:
                    first, places = self._with_every_pose(followed[0])
                else:
                    change = (spread(path, wanted) - wanted)[:, self._columns]
                    first = self._spread(followed, change)
                break
            last, high = high, self._beyond(high, 1, len(self._knots) - 1)
            first = np.vstack([first, self._walk(stepper, first[-1], last, high)[1:]])
        first[-1] = self._desired[self._knots[high]]  # equal except for rounding
        self._smooth(motion, low, high, first, weights, places)
        return high

    def _timed_detour(
        self, stepper: Stepper, start: np.ndarray, followed: np.ndarray
    ) -> np.ndarray | None:
        """Configurations at the rows ``followed`` among moving obstacles, or None."""
        problem, rows = self._problem, np.vstack([start, self._desired[followed[1:]]])
        speeds = np.full(rows.shape[1], np.inf) if problem.speeds is None else problem.speeds
        desired = TimedRows(rows, problem.times[followed], speeds)
        return find_timed_detour(stepper, desired, self._effort)

    def _with_every_pose(self, begin: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows (n, nq) from ``begin`` to the last on the detour, and those at its poses (k,)."""
        path, columns = thinned(*self._detour), self._columns
        at = np.arange(begin, len(self._desired))
        count = min(len(at), _ROWS_PER_POSE * (len(path) - 1) + 1)
        places = np.linspace(at[0], at[-1], count).round().astype(int)
        poses = spread(path[:, columns], self._desired[places][:, columns])
        out = self._desired[at].copy()
        for column, values in zip(columns, poses.T, strict=True):
            out[:, column] = np.interp(at, places, values)
        return out, places

    def _walk(self, stepper: Stepper, start: np.ndarray, low: int, high: int) -> np.ndarray:
        """Rows from knot ``low`` to ``high`` that follow the desired motion from ``start``."""
        rows = self._desired[self._knots[low] : self._knots[high] + 1]
        return stepper.walk(rows, _SUBSTEP, self._pace, start)

    # -- smoothing and certificates --

    def _smooth(
        self,
        motion: np.ndarray,
        low: int,
        high: int,
        first: np.ndarray,
        weights: np.ndarray,
        places: np.ndarray | None = None,
    ) -> None:
        """Write into ``motion`` the smallest certified change from knot ``low`` to ``high``.

        ``first`` (rows between these knots, nq) keeps the clearances at its rows. If the minimum
        number of knots is not sufficient, every row is a knot, or each of ``places``.
        """
        knots = self._knots[low : high + 1]
        begin, end = int(knots[0]), int(knots[-1])
        every = np.arange(begin, end + 1)
        limits = self.limits[begin:end]
        more = every if places is None or len(every) <= _MOST_KNOTS else places
        for tried in (knots, more) if len(knots) < len(more) <= _MOST_KNOTS else (knots,):
            if tried is more and self._effort.smoothing <= 0.0:
                continue
            candidate = self._smoothed(tried, first[tried - begin], weights)
            if candidate is not None:
                motion[begin : end + 1] = candidate
                return
        bad = failures(self._proximity, first, limits, first_only=True)
        if bad:
            self._uncertified = begin, end
            raise self._between(motion, begin, first, bad[0])
        motion[begin : end + 1] = first

    def _smoothed(
        self, knots: np.ndarray, first: np.ndarray, weights: np.ndarray
    ) -> np.ndarray | None:
        """Rows from the first to the last of ``knots`` with minimum change, certified; or None."""
        columns = self._columns
        desired = self._desired[knots]
        if self._problem.tip_weight > 0.0:
            weights = weights + tip_weights(self._problem, columns, desired)
        window = self._sampled(knots)
        smoother = Smoother(self._proximity, columns, self._safe, weights)
        change = first[:, columns] - desired[:, columns]
        need = np.full(len(window.samples), _NEED)
        limits = self.limits[knots[0] : knots[-1]]
        for _ in range(_TRIES):
            begin = time.thread_time()
            change = smoother.smooth(window, change, need, _ROUNDS)
            candidate = self._spread(knots, change)
            bad = failures(self._proximity, candidate, limits)
            self._effort.smoothing -= time.thread_time() - begin
            if not bad:
                return candidate
            if self._effort.smoothing <= 0.0:
                break
            # Add the places where clearances were violated.
            at = np.array([knots[0] + f.segment + f.s for f in bad])
            places = np.searchsorted(knots, at, side="right") - 1
            places = np.minimum(places, len(knots) - 2)
            parts = (at - knots[places]) / (knots[places + 1] - knots[places])
            window = window.with_samples(self._at(at), places, parts)
            more = np.array([_NEED + max(0.5 * _NEED, 0.5 * f.missing) for f in bad])
            need = np.concatenate([need, more])
        return None

    def _at(self, places: np.ndarray) -> np.ndarray:
        """The desired motion (k, nq) at ``places`` (k,): fractional row indices."""
        below = np.minimum(places.astype(int), len(self._desired) - 2)
        part = (places - below)[:, None]
        return (1.0 - part) * self._desired[below] + part * self._desired[below + 1]

    def _sampled(self, knots: np.ndarray) -> SmoothingWindow:
        """The window, with constraints at its knots and half-way between them."""
        count = len(knots)
        halves = np.arange(2 * count - 1)
        at = np.interp(halves, halves[::2], knots)
        return SmoothingWindow(
            self._desired[knots],
            self._at(at),
            halves // 2,
            np.where(halves % 2, 0.5, 0.0),
            np.repeat(self._pace * np.diff(knots)[:, None], len(self._columns), axis=1),
            self._room(knots),
        )

    def _room(self, knots: np.ndarray) -> np.ndarray:
        """Minimum and maximum change (2, k, m) at the knots within joint limits.

        Between two knots the change is linear, but the desired motion is not: the change at each
        knot must be valid for the rows of both adjacent segments.
        """
        desired = self._desired[knots[0] : knots[-1] + 1, self._columns]
        out = []
        at = knots - knots[0]
        for limit, extreme, none in (
            (self._lower, np.maximum, -np.inf), (self._upper, np.minimum, np.inf)
        ):  # fmt: skip
            left = limit - desired
            room = left[at]
            left[at] = none
            pieces = extreme.reduceat(left, at[:-1], axis=0)  # without their ends
            room[:-1] = extreme(room[:-1], pieces)
            room[1:] = extreme(room[1:], pieces)
            out.append(room)
        return np.array(out)

    def _spread(self, knots: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Rows from the first to the last of ``knots``, with an interpolated change."""
        at = np.arange(knots[0], knots[-1] + 1)
        out = self._desired[at].copy()
        for k, column in enumerate(self._columns):
            desired = out[:, column]
            moved = desired + np.interp(at, knots, change[:, k])
            # The desired motion may reach a limit between knots: do not exceed it.
            lower, upper = self._lower[k], self._upper[k]
            out[:, column] = np.clip(
                moved, np.minimum(lower, desired), np.maximum(upper, desired)
            )
        return out

    # -- ends --

    def _worst(self, q: np.ndarray, limits: np.ndarray | None = None) -> tuple[int, float] | None:
        """The pair that is farthest below its limit at q, and its distance; None if none is.

        ``limits`` (pairs,): by default d_saf.
        """
        limits = self._safe if limits is None else limits
        near = self._proximity.near(q, limits)
        if not len(near.pairs):
            return None
        k = int((near.distances - limits[near.pairs]).argmin())
        return int(near.pairs[k]), float(near.distances[k])

    def _refuse_bad_goal(self) -> None:
        goal = self._problem.margins.goal
        limits = self._safe if goal is None else np.maximum(self._safe, goal)
        if worst := self._worst(self._desired[-1], limits):
            raise self._bad_end(len(self._desired) - 1, "goal", *worst)

    def _lead_out(self, motion: np.ndarray) -> int:
        """Lead the motion out of a start that is too close, until the returned knot; else 0."""
        margins = self._problem.margins
        start = margins.danger if margins.start is None else margins.start
        if worst := self._worst(motion[0], start):
            raise self._bad_end(0, "start", *worst)
        worst = self._worst(motion[0])
        if worst is None:
            return 0
        stepper = Stepper(
            self._proximity, self._columns, self._safe,
            joint_weights(self._problem), self._buffer,
        )  # fmt: skip
        led, knot = motion[:1], 0
        while self._worst(led[-1]) is not None:
            if knot == len(self._knots) - 1:
                # No motion leads out: the distances of the start are kept instead, as at a goal.
                self._safe = start_limits(self._proximity, motion[0], self._safe)
                self.limits[:] = self._safe
                return 0
            led = np.vstack([led, self._walk(stepper, led[-1], knot, knot + 1)[1:]])
            knot += 1
        last = self._knots[knot]
        self.limits[:last] = start_limits(self._proximity, motion[0], self._safe)
        motion[: last + 1] = led[: last + 1]
        if last == len(motion) - 1:
            if not is_at(motion[last], self._desired[last]):
                reason = "the start is closer than that, and the motion ends before it is left"
                raise self._error(0, *worst, reason, motion[:1])
            motion[last] = self._desired[last]  # equal except for rounding
        bad = failures(self._proximity, motion[: last + 1], self.limits[:last], first_only=True)
        if bad:
            raise self._between(motion, 0, motion[: last + 1], bad[0])
        return knot

    def _bad_end(self, waypoint: int, end: str, pair: int, distance: float) -> AdjustmentError:
        """The error for a start or goal at which a pair is closer than it may be."""
        margins = self._problem.margins
        limit = "danger_distance" if margins.kept[pair] else "required"
        if not margins.kept[pair] and margins.danger[pair] < margins.safe[pair]:
            limit = "the danger distance of these links, which are near by design"
        reason = f"the {end} is closer than {limit}"
        needed = margins.danger[pair]
        if margins.goal is not None and margins.goal[pair] > -np.inf:  # leaves its danger distance
            needed = (margins.start if end == "start" else margins.goal)[pair]
            reason = "they start below their danger distance, and must end farther apart"
            if end == "start":
                reason = "the start is closer than they are now"
        return self._error(waypoint, pair, distance, reason, needed=needed)

    # -- errors --

    def _failure(
        self, motion: np.ndarray, begin: int, followed: np.ndarray, bad: list[Failure]
    ) -> AdjustmentError:
        failed = failures(self._proximity, followed, self.limits[begin:], first_only=True)
        stop = failed[0].segment if failed else len(followed) - 1
        # The motion is stuck at the row from which on it does not reach the desired one.
        change = np.abs(followed - self._desired[begin:]).max(axis=1)
        away = change > 0.5 * change[-1]
        stays = len(away) - int(np.argmin(away[::-1])) if not away.all() else 0
        prefix = np.vstack([motion[:begin], followed[: min(stop, stays) + 1]])
        reason = "no detour was found"
        # The first waypoint that is too close, or the first place between two of them.
        for waypoint in [k for f in bad for k in (f.segment, f.segment + 1)] or [begin, 0]:
            if worst := self._worst(self._desired[waypoint]):
                return self._error(waypoint, *worst, reason, prefix)
        k, s, pair, missing = bad[0].segment, bad[0].s, bad[0].pair, bad[0].missing
        time = (1.0 - s) * self._problem.times[k] + s * self._problem.times[k + 1]
        distance = self.limits[k, pair] - missing
        return self._error(k, pair, distance, reason, prefix, float(time))

    def _between(
        self, motion: np.ndarray, begin: int, candidate: np.ndarray, failure: Failure
    ) -> AdjustmentError:
        waypoint, q = int(begin) + failure.segment, candidate[failure.segment]
        time = float(self._problem.times[waypoint])
        if failure.segment + 1 < len(candidate):
            q = q + failure.s * (candidate[failure.segment + 1] - q)
            time += failure.s * (float(self._problem.times[waypoint + 1]) - time)
        only = np.full(len(self._safe), -np.inf)
        only[failure.pair] = _FAR
        _, distance = self._proximity.nearest(q, only)
        prefix = np.vstack([motion[:begin], candidate[: failure.segment + 1]])
        return self._error(
            waypoint, failure.pair, distance, "the adjusted motion violates the clearance there",
            prefix, time,
        )

    def _error(
        self,
        waypoint: int,
        pair: int,
        distance: float,
        reason: str,
        prefix: np.ndarray | None = None,
        time: float | None = None,
        needed: float | None = None,
    ) -> AdjustmentError:
        a, b = self._problem.model.pairs[pair]
        needed = self._safe[pair] if needed is None else needed
        time = float(self._problem.times[waypoint]) if time is None else time
        return AdjustmentError(
            f"waypoint {waypoint} at {time:g} s: '{a}' and '{b}' are "
            f"{told_apart(distance, needed, '{} m apart, {} m is needed')}; {reason}",
            int(waypoint), time, (a, b), float(distance), prefix,
        )  # fmt: skip


def _knots(waypoints: np.ndarray) -> np.ndarray:
    """Indices of ``waypoints`` (n, nq): first, last, and as few between as `_KNOT` allows."""
    out = [0]
    travel = 0.0
    steps = np.abs(np.diff(waypoints, axis=0)).max(axis=1, initial=0.0)
    for k, step in enumerate(steps):
        if travel > 0.0 and travel + step > _KNOT:
            out.append(k)
            travel = 0.0
        travel += step
    if len(waypoints) > 1:
        out.append(len(waypoints) - 1)
    return np.array(out)
