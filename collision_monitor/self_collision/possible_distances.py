# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The largest safe distance with which a refused motion can be adjusted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from collision_monitor.errors import AdjustmentError

_LEAST = 1e-3  # m, tried first, unless an end needs less
_LEAST_AT_END = 1e-4  # m: below it no distance is named
_END_TRIALS, _BISECTIONS = 4, 3
_SECONDS = 4.0  # of processor time after which no further trial begins

Trial = Callable[[float, float], AdjustmentError | None]


def is_at_an_end(error: AdjustmentError) -> bool:
    """Whether an error of a method is about the start or goal, which no way could change."""
    return error.safe_prefix is None


def add_possible_distances(
    error: AdjustmentError, trial: Trial, safe_distance: float, danger_distance: float
) -> None:
    """Set ``possible`` of an error, and name it in the message.

    ``trial(safe, danger)`` is the error with other distances in metres, None if there is none; the
    given ones gave ``error``. At most nine trials are made, and each named distance has been tried:
    a larger one may work, but the next that was tried does not.
    """
    end = time.thread_time() + _SECONDS
    danger, last = danger_distance, error
    for _ in range(_END_TRIALS):
        if last is None or not is_at_an_end(last) or last.distance >= danger:
            break
        danger = rounded_down(last.distance)
        if danger < _LEAST_AT_END:
            return
        last = trial(safe_distance, danger)
    if last is None:
        error.possible = safe_distance, danger
        error.add(f"; a danger distance of at most {danger:g} m would allow it")
        return
    least = min(_LEAST, danger)
    found = _largest(trial, least, danger, safe_distance, end)
    if found is None:
        error.add(f"; a safe distance of {least:g} m would not help")
        return
    error.possible = found, min(found, danger)
    what = "safe distance" if found >= danger_distance else "safe and danger distance"
    error.add(f"; a {what} of {found:g} m would allow it")


def _largest(
    trial: Trial, least: float, danger: float, fails: float, end: float
) -> float | None:
    """The largest safe distance found, from ``least`` to ``fails``, metres; None if none is."""
    if trial(least, least) is not None:
        return None
    works, middle = least, danger
    for _ in range(1 + _BISECTIONS):
        if works < middle < fails and time.thread_time() < end:
            if trial(middle, min(middle, danger)) is None:
                works = middle
            else:
                fails = middle
        middle = rounded_down(math.sqrt(works * fails))
    return works


def rounded_down(metres: float) -> float:
    """A positive length with two significant digits, not above the given one."""
    if not metres > 0.0:
        return metres
    digit = math.floor(math.log10(metres)) - 1
    return round(math.floor(metres / 10.0**digit) * 10.0**digit, -digit)
