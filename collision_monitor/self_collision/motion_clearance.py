# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Repulsion field and clearances along a motion: certified, required, and errors without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collision_monitor.common.limits import LARGEST
from collision_monitor.common.text import time_text, told_apart
from collision_monitor.errors import AdjustmentError
from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.margins import Margins, Problem

_EASE = 1e-3  # m that links which start closer than d_saf may come closer than there
_WIDER = 0.05  # m above d_saf within which the closest pair is searched for before all are measured


# -- the repulsion field --


def repulsion(
    distance: np.ndarray | float, safe: np.ndarray | float, danger: np.ndarray | float
) -> np.ndarray:
    """The linear repulsion f between two links at a ``distance``, of any shape, metres.

        f(d) = 0          d >  safe
        f(d) = safe - d   danger <= d <= safe
        f(d) = infinite   d <  danger: motion must stop

    The sum F of all f is the index of a configuration: a motion is free of self-collision only if
    F = 0 at every instant. Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018,
    45-53. An unknown distance (NaN) is not safe: f is infinite.

    Args:
        distance: between leaves or meshes, or between the segments of the paper.
        safe: d_saf, for both arms together.
        danger: d_dan, for both arms together.
    """
    inside = np.where(distance >= danger, safe - distance, np.inf)
    return np.where(distance > safe, 0.0, inside)


# -- index and clearance at the waypoints --


class FieldAlong(NamedTuple):
    """The repulsion field of the monitored pairs at each row of a motion.

    Attributes:
        index: (n,) F, the sum over pairs of d_saf - d, metres; infinite below d_dan.
        clearance: (n,) minimum distance between leaves of the pairs that are kept apart
            (``margins.kept``), metres; inf without such a pair.
        closest: (n,) index into ``model.pairs`` of the pair that it belongs to; 0 without one.
    """

    index: np.ndarray
    clearance: np.ndarray
    closest: np.ndarray


def field_along(proximity: Proximity, margins: Margins, waypoints: np.ndarray) -> FieldAlong:
    """Index, clearance and closest pair at each of ``waypoints`` (n, nq)."""
    index = np.zeros(len(waypoints))
    clearance = np.full(len(waypoints), np.inf)
    closest = np.zeros(len(waypoints), dtype=np.int64)
    for row, q in enumerate(waypoints):
        distances = proximity.distances_below(q, margins.safe)
        index[row] = repulsion(distances, margins.safe, margins.danger).sum()
        closest[row], clearance[row] = closest_pair(proximity, margins.kept, margins.safe, q)
    return FieldAlong(index, clearance, closest)


def closest_pair(
    proximity: Proximity, candidates: np.ndarray, safe: np.ndarray, q: np.ndarray
) -> tuple[int, float]:
    """The closest pair at ``q`` (nq,) and its distance, metres; (0, inf) without candidates.

    ``candidates`` (pairs,) bool; ``safe`` (pairs,), metres, is the initial search distance.
    """
    if not candidates.any():
        return 0, np.inf
    largest = float(safe[candidates].max())
    found = proximity.nearest(q, np.where(candidates, largest + _WIDER, -np.inf))
    if found is not None:
        return found
    distances = np.where(candidates, proximity.model.distances(q), np.inf)
    first = int(distances.argmin())
    return first, float(distances[first])


# -- certificates between the waypoints --


@dataclass(frozen=True)
class Failure:
    """A segment of a motion that is not certified.

    Attributes:
        segment: index of the waypoint at which it begins.
        s: position of the failure, from 0 to 1 along the segment.
        pair: index into ``model.pairs``.
        missing: metres by which the pair is below its limit there; 0 if it is above its limit by
            too little to be proven.
    """

    segment: int
    s: float
    pair: int
    missing: float


def failures(
    proximity: Proximity,
    waypoints: np.ndarray,
    limits: np.ndarray,
    first_only: bool = False,
    begin: int = 0,
) -> list[Failure]:
    """Segments of a motion (n, nq), linear between its rows, that are not certified at ``limits``.

    ``limits`` is (pairs,), or (n - 1, pairs) for limits of each segment, metres. A motion of one
    row is tested at this row. An empty list is a proof (see `continuous.clearance_scan`).
    ``begin``: number of the first row.
    """
    failing = []
    waypoints = waypoints if len(waypoints) > 1 else np.repeat(waypoints, 2, axis=0)
    for segment in range(len(waypoints) - 1):
        limit = limits if limits.ndim == 1 else limits[segment]
        answer = proximity.certify(waypoints[segment], waypoints[segment + 1], limit)
        if not answer.holds:
            missing = max(0.0, float(limit[answer.pair] - answer.distance))
            failing.append(Failure(begin + segment, float(answer.s), int(answer.pair), missing))
            if first_only:
                break
    return failing


def start_limits(proximity: Proximity, q: np.ndarray, safe: np.ndarray) -> np.ndarray:
    """``safe`` (pairs,), metres; for pairs closer than that at the start ``q`` (nq,) as close."""
    return np.minimum(safe, proximity.distances_below(q, safe) - _EASE)


# -- the clearances that an adjusted motion has to keep, and the errors of one that does not --


class RequiredClearances:
    """Distances that the pairs of a motion with n rows have to keep.

    Attributes:
        safe: (pairs,) metres: d_saf of the margins, or less (`keep_start`).
        limits: (n - 1, pairs) metres to be certified on each segment: ``safe``, except where the
            motion is led out of its start.
    """

    def __init__(self, problem: Problem) -> None:
        """Require d_saf of the margins of ``problem`` everywhere."""
        self._problem, self._proximity = problem, problem.proximity
        self.safe = problem.margins.safe
        self.limits = np.repeat(self.safe[None, :], max(1, len(problem.desired) - 1), axis=0)

    def failures(self, rows: np.ndarray, begin: int = 0, first_only: bool = False) -> list[Failure]:
        """Segments that are not certified, of ``rows`` (m, nq) from row ``begin`` of the motion."""
        return failures(self._proximity, rows, self.limits[begin:], first_only, begin)

    def worst(self, q: np.ndarray, limits: np.ndarray | None = None) -> tuple[int, float] | None:
        """The pair that is farthest below its limit at q (nq,), and its distance; None if none is.

        ``limits`` (pairs,): by default ``safe``.
        """
        limits = self.safe if limits is None else limits
        near = self._proximity.near(q, limits)
        if not len(near.pairs):
            return None
        k = int((near.distances - limits[near.pairs]).argmin())
        return int(near.pairs[k]), float(near.distances[k])

    # -- ends of the motion --

    def refuse_bad_goal(self) -> None:
        """Raise AdjustmentError if a pair is too close at the desired goal."""
        desired = self._problem.desired
        if worst := self.worst(desired[-1], np.maximum(self.safe, self._problem.margins.goal)):
            raise self._bad_end(len(desired) - 1, "goal", *worst)

    def refuse_bad_start(self) -> None:
        """Raise AdjustmentError if a pair is closer at the start than it may be led out of."""
        if worst := self.worst(self._problem.desired[0], self._problem.margins.start):
            raise self._bad_end(0, "start", *worst)

    def keep_start(self) -> None:
        """Everywhere, pairs that start below d_saf only have to stay as far apart as they start."""
        self.safe = self._limits_of_start()
        self.limits[:] = self.safe

    def lead_out_until(self, row: int) -> None:
        """Until ``row``, pairs that start below d_saf only have to stay as far apart."""
        self.limits[:row] = self._limits_of_start()

    def _limits_of_start(self) -> np.ndarray:
        return start_limits(self._proximity, self._problem.desired[0], self.safe)

    def _bad_end(self, waypoint: int, end: str, pair: int, distance: float) -> AdjustmentError:
        """The error for a start or goal at which a pair is closer than it may be."""
        margins = self._problem.margins
        limit = "danger_distance" if margins.kept[pair] else "required"
        if not margins.kept[pair] and margins.danger[pair] < margins.safe[pair]:
            limit = "the danger distance of these links, which are near by design"
        reason = f"the {end} is closer than {limit}"
        needed = margins.danger[pair]
        if margins.goal[pair] > -np.inf:  # leaves its danger distance
            needed = (margins.start if end == "start" else margins.goal)[pair]
            reason = "they start below their danger distance, and must end farther apart"
            if end == "start":
                reason = "the start is closer than they are now"
        return self.error(waypoint, pair, distance, reason, needed=needed)

    # -- errors --

    def no_detour(
        self, motion: np.ndarray, begin: int, followed: np.ndarray, bad: list[Failure]
    ) -> AdjustmentError:
        """The error where ``followed`` (m, nq), which replaces ``motion`` from ``begin``, is stuck.

        ``bad``: failures of the motion.
        """
        desired, times = self._problem.desired, self._problem.times
        failed = self.failures(followed, begin, first_only=True)
        stop = failed[0].segment - begin if failed else len(followed) - 1
        # The motion is stuck at the row from which on it does not reach the desired one.
        change = np.abs(followed - desired[begin:]).max(axis=1)
        away = change > 0.5 * change[-1]
        stays = len(away) - int(np.argmin(away[::-1])) if not away.all() else 0
        prefix = np.vstack([motion[:begin], followed[: min(stop, stays) + 1]])
        reason = "no detour was found"
        # The first waypoint that is too close, or the first place between two of them.
        for waypoint in [k for f in bad for k in (f.segment, f.segment + 1)] or [begin, 0]:
            if worst := self.worst(desired[waypoint]):
                return self.error(waypoint, *worst, reason, prefix)
        k, s, pair = bad[0].segment, bad[0].s, bad[0].pair
        time = (1.0 - s) * times[k] + s * times[k + 1]
        distance = self.limits[k, pair] - bad[0].missing
        return self.error(k, pair, distance, reason, prefix, float(time))

    def violated(
        self, motion: np.ndarray, begin: int, waypoints: np.ndarray, failure: Failure
    ) -> AdjustmentError:
        """The error of a failure in ``waypoints`` (m, nq) of ``motion`` from ``begin`` on."""
        waypoint, times = failure.segment, self._problem.times
        row = waypoint - begin
        q, time = waypoints[row], float(times[waypoint])
        if row + 1 < len(waypoints):
            q = q + failure.s * (waypoints[row + 1] - q)
            time += failure.s * (float(times[waypoint + 1]) - time)
        only = np.full(len(self.safe), -np.inf)
        only[failure.pair] = LARGEST
        _, distance = self._proximity.nearest(q, only)
        reason = "the adjusted motion violates the clearance there"
        prefix = np.vstack([motion[:begin], waypoints[: row + 1]])
        return self.error(waypoint, failure.pair, distance, reason, prefix, time)

    def error(
        self, waypoint: int, pair: int, distance: float, reason: str,
        prefix: np.ndarray | None = None, time: float | None = None, needed: float | None = None,
    ) -> AdjustmentError:  # fmt: skip
        """The error of a pair at a distance in metres, where ``needed`` (``safe``) are required.

        ``time``: seconds, by default of the waypoint; ``prefix``: (k, nq) the safe part.
        """
        a, b = self._problem.model.pairs[pair]
        needed = self.safe[pair] if needed is None else needed
        time = float(self._problem.times[waypoint]) if time is None else time
        return AdjustmentError(
            f"waypoint {waypoint} at {time_text(time)}: '{a}' and '{b}' are "
            f"{told_apart(distance, needed, '{} m apart, {} m is needed')}; {reason}",
            int(waypoint), time, (a, b), float(distance), prefix,
        )  # fmt: skip
