# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The largest safe distance with which a refused motion can be adjusted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from collision_monitor.common.text import time_text
from collision_monitor.errors import AdjustmentError, CancelledError, CollisionMonitorError

_LEAST = 1e-3  # m: the smallest safe distance that is tried
_LEAST_AT_END = 1e-4  # m: below it no distance is named
_BISECTIONS = 3
_SECONDS = 3.0  # of processor time after which no further trial begins

Trial = Callable[[float, float], AdjustmentError | None]


def is_at_an_end(error: AdjustmentError) -> bool:
    """Whether an error of a method is about the start or goal, which no way could change."""
    return error.pair is not None and error.safe_prefix is None


def add_possible_distances(
    error: AdjustmentError, trial: Trial, safe_distance: float, danger_distance: float
) -> None:
    """Set ``possible`` of an error, and name it in the message.

    ``trial(safe, danger)`` is the error with other distances in metres, None if there is none; the
    given ones gave ``error``. Each named distance has been tried: a larger one may work, but the
    next that was tried does not. If a trial fails for another reason than distances, nothing is
    named.
    """
    try:
        _add(error, _Trials(trial), safe_distance, danger_distance)
    except CancelledError:
        raise
    except CollisionMonitorError:
        return


class _Trials:
    """Calls a trial; ``over`` once no further one should begin."""

    def __init__(self, trial: Trial) -> None:
        self._trial, self._end = trial, time.thread_time() + _SECONDS

    def __call__(self, safe: float, danger: float) -> AdjustmentError | None:
        error = self._trial(safe, danger)
        if error is not None and error.pair is None:
            raise error
        return error

    @property
    def over(self) -> bool:
        return time.thread_time() > self._end


def _add(error: AdjustmentError, trial: _Trials, safe: float, danger_distance: float) -> None:
    danger, last = danger_distance, error
    while last is not None and is_at_an_end(last) and last.distance < danger:
        danger = rounded_down(last.distance)
        if danger < _LEAST_AT_END:
            if last is not error:
                a, b = last.pair
                error.add(
                    f"; no danger distance would allow it, since at {time_text(last.time)} '{a}' "
                    f"and '{b}' are {last.distance:.4f} m apart"
                )
            return
        if trial.over:
            return
        last = trial(safe, danger)
    if last is None:
        error.possible = safe, danger
        error.add(f"; a danger distance of at most {danger:g} m would allow it")
        return
    if trial.over or safe <= _LEAST:
        return
    if failed := trial(_LEAST, min(_LEAST, danger)):
        # Only the start or goal is a proof: a detour that was not found may exist.
        if is_at_an_end(failed):
            error.add(f"; a safe distance of {_LEAST:g} m would not help")
        else:
            error.add("; no safe distance that would allow it was found in the time")
        return
    largest = _largest(trial, danger, safe)
    error.possible = largest, min(largest, danger)
    what = "safe distance" if error.possible[1] == danger_distance else "safe and danger distance"
    if error.possible[1] in (largest, danger_distance):
        error.add(f"; a {what} of {largest:g} m would allow it")
    else:
        error.add(
            f"; a safe distance of {largest:g} m and a danger distance of {danger:g} m would allow "
            "it"
        )


def _largest(trial: _Trials, danger: float, fails: float) -> float:
    """The largest safe distance found, metres, below one that ``fails``; `_LEAST` works."""
    works, middle = _LEAST, danger
    for _ in range(1 + _BISECTIONS):
        if works < middle < fails and not trial.over:
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
