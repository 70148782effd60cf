# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The knots of a desired motion: rows at which a change is chosen, linear from one to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collision_monitor.self_collision.margins import Problem
from collision_monitor.self_collision.motion_clearance import Failure
from collision_monitor.self_collision.robust.smoothing import SmoothingWindow

_KNOT = np.radians(7.0)  # minimum distance of knots, rad or m
_PAD = 0.25  # rad or m of the desired motion before and after waypoints that are too close
_PACE = 1.08  # largest step of the adjusted motion, relative to that of the desired motion


class KnottedMotion:
    """A desired motion with knots, and changes of the joints that yield.

    Attributes:
        desired: (n, nq) rows of the motion.
        knots: (k,) indices of rows, ascending: the first, the last, and some in between.
        pace: rad or m that a joint may move from row to row after a change.
    """

    def __init__(self, problem: Problem) -> None:
        """Choose the knots of the desired motion of ``problem``."""
        self.desired = np.asarray(problem.desired, dtype=float)
        self.knots = _knots(self.desired)
        self.pace = _PACE * np.abs(np.diff(self.desired, axis=0)).max(initial=0.005)
        self._columns = problem.yielding_columns
        limits = problem.model.position_limits
        self._lower, self._upper = (limit[self._columns] for limit in limits)

    # -- windows of knots --

    def window(self, bad: Sequence[Failure], least: int) -> tuple[int, int]:
        """First and last knot around the first of ``bad`` and those that follow closely.

        ``least``: a knot before which no window begins.
        """
        low = self._before(bad[0].segment)
        return self._beyond(low, -1, least), self.end_of(bad, low)

    def end_of(self, bad: Sequence[Failure], low: int) -> int:
        """The last knot of a window that begins at knot ``low``."""
        high = self.after(low + 1)
        for failure in bad:
            knot = self._before(failure.segment)
            if knot <= self.after(high):
                high = max(high, self.after(knot + 1))
        return high

    def after(self, knot: int) -> int:
        """The knot at a distance of `_PAD` along the desired motion after ``knot``, or the last."""
        return self._beyond(knot, 1, len(self.knots) - 1)

    def _before(self, row: int) -> int:
        """The last knot that is not after ``row``."""
        return int(np.searchsorted(self.knots, row, side="right")) - 1

    def _beyond(self, knot: int, direction: int, end: int) -> int:
        knot = min(max(knot, 0), len(self.knots) - 1)
        travel = 0.0
        while knot != end and travel < _PAD:
            here, there = self.knots[knot], self.knots[knot + direction]
            travel += np.abs(self.desired[there] - self.desired[here]).max()
            knot += direction
        return knot

    # -- changes at the knots of a window, or at any other rows --

    def at(self, places: np.ndarray) -> np.ndarray:
        """The desired motion (k, nq) at ``places`` (k,): fractional row indices."""
        below = np.minimum(places.astype(int), len(self.desired) - 2)
        part = (places - below)[:, None]
        return (1.0 - part) * self.desired[below] + part * self.desired[below + 1]

    def smoothing_window(self, knots: np.ndarray) -> SmoothingWindow:
        """The window of rows ``knots`` (k,), with constraints at and half-way between them."""
        halves = np.arange(2 * len(knots) - 1)
        return SmoothingWindow(
            self.desired[knots],
            self.at(np.interp(halves, halves[::2], knots)),
            halves // 2,
            np.where(halves % 2, 0.5, 0.0),
            np.repeat(self.pace * np.diff(knots)[:, None], len(self._columns), axis=1),
            self._room(knots),
        )

    def _room(self, knots: np.ndarray) -> np.ndarray:
        """Minimum and maximum change (2, k, m) at the knots within joint limits.

        Between two knots the change is linear, but the desired motion is not: the change at each
        knot must be valid for the rows of both adjacent segments.
        """
        desired = self.desired[knots[0] : knots[-1] + 1, self._columns]
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

    def spread(self, knots: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Rows (n, nq) from the first to the last of ``knots`` (k,), changed by ``change`` (k, m).

        Between two of them the change is interpolated.
        """
        at = np.arange(knots[0], knots[-1] + 1)
        out = self.desired[at].copy()
        for k, column in enumerate(self._columns):
            desired = out[:, column]
            moved = desired + np.interp(at, knots, change[:, k])
            # The desired motion may reach a limit between knots: do not exceed it.
            lower, upper = self._lower[k], self._upper[k]
            out[:, column] = np.clip(moved, np.minimum(lower, desired), np.maximum(upper, desired))
        return out


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
