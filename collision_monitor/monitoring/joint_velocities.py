# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint velocities: those of the driver if they agree with the positions, otherwise estimates.

An estimate is the least squares slope of the positions in a short window. This averages out noise,
jitter of arrival times and encoder resolution, and lags by half of the window. Joint states that
come all at once after a pause count as one, and a slope above the limit of a joint counts as that
limit, unless the driver reports such a velocity as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from collision_monitor.common.compiled import kernel

# A driver's velocity below half of the slope, less this, is rejected: rad/s or m/s.
_SLACK = 0.05
# A history starts anew after a gap of this many windows and at least this many seconds, and if
# stamps go back by more than this: a clock was set back.
_GAP_WINDOWS, _GAP_SECONDS, _BACK_SECONDS = 4.0, 1.0, 1.0
# A slope needs this many rows if there are as many, and this time span.
_LEAST_ROWS, _LEAST_SPAN = 3, 0.0015
# Joint states after a pause that come sooner than this part of their usual period were held up.
# A pause is this many usual periods long.
_BURST, _STALL = 0.3, 2.0
# Rows per window: of joint states at higher rates, the newest replaces the previous one.
_ROWS = 16
_HISTORY_ROWS = 24


@kernel
def believed(given, slope, limit):
    """The driver's velocity ``given``, or ``slope`` of the positions if that is clearly faster.

    Some drivers send zeros, NaN or the wrong sign. The faster of the two is the safe side. A value
    above ``limit`` that the other does not confirm is wrong, as a slope is after a stall of the
    publisher: it counts as the limit.
    """
    size = abs(slope)
    agrees = given * slope >= 0.0 and abs(given) >= 0.5 * size - _SLACK
    if math.isfinite(given) and (agrees or size <= _SLACK):
        is_confirmed = size >= 0.5 * abs(given)
        return given if is_confirmed else min(max(given, -limit), limit)
    return min(max(slope, -limit), limit)


@kernel
def joint_speeds(times, history, place, made, q, time, window, given, limits, out):
    """Add q (nq,), measured at ``time``, and write velocities to ``out``; True if they are known.

    ``times`` (m,), ``history`` (m, nq) and ``place`` (2,) are a ring buffer: the next row and the
    number of rows; ``made`` (2,) when the newest row was begun, and the usual time between joint
    states. ``given`` (nq,) are velocities of the driver, NaN where there are none; ``limits`` (nq,)
    those of the joints, inf where there are none. Joint states of several publishers may arrive out
    of order: one that is not newer than the last is treated as measured at the same time. Unknown
    velocities are written as 0.
    """
    size, count = len(times), place[1]
    row = place[0] - 1 if place[0] > 0 else size - 1
    gap = time - times[row]
    if count == 0 or gap < -_BACK_SECONDS or gap > max(_GAP_SECONDS, _GAP_WINDOWS * window):
        count = 0
    before = row - 1 if row > 0 else size - 1
    pause = made[0] - times[before] if count > 1 else 0.0
    usual = made[1]
    stalled = pause > _STALL * usual and time - made[0] < pause
    is_burst = stalled and gap < _BURST * usual
    if count == 1 and gap > 0.0:
        made[1] = gap
    elif not is_burst and 0.0 < gap < _STALL * usual:
        made[1] += 0.2 * (gap - usual)
    is_new = count > 1 and not is_burst and (
        times[row] - times[before] >= window / _ROWS or gap > _STALL * usual
    )
    if count == 0 or (gap > 0.0 and (count == 1 or is_new)):
        row = place[0]
        place[0] = row + 1 if row + 1 < size else 0
        count = min(count + 1, size)
        place[1] = count
        made[0] = time
    if count == 1 or gap > 0.0:
        times[row] = time
    time = times[row]
    for k in range(len(q)):
        history[row, k] = q[k]
    used, mean, span = 0, 0.0, 0.0
    for m in range(count):
        past = time - times[row - m if m <= row else row - m + size]
        if past > window and m >= _LEAST_ROWS:
            break
        mean -= past
        span = past
        used += 1
    mean /= used
    for k in range(len(q)):
        out[k] = 0.0
    if span < _LEAST_SPAN:
        known = True
        for k in range(len(q)):
            known &= math.isfinite(given[k])
        if known:
            for k in range(len(q)):
                out[k] = given[k]
        return known
    spread = 0.0
    for m in range(used):
        i = row - m if m <= row else row - m + size
        weight = times[i] - time - mean
        spread += weight * weight
        for k in range(len(q)):
            out[k] += weight * (history[i, k] - q[k])
    for k in range(len(q)):
        out[k] = believed(given[k], out[k] / spread, limits[k])
    return True


class JointVelocities:
    """Velocities of all joints of q.

    Each robot with joint states of its own has its own history: positions of different robots are
    measured at different times.

    Attributes:
        values: (nq,) rad/s or m/s; 0 where they are unknown.
        known: whether they are known: not before two joint states, nor after a gap.
        passed: seconds between the last two joint states (of the first robot); inf before.
        several: whether there are several robots.
        limits: (nq,) velocity limits, rad/s or m/s; inf where there are none.
    """

    def __init__(
        self,
        count: int,
        window: float = 0.05,
        robots: Sequence[np.ndarray] = (),
        limits: np.ndarray | None = None,
    ) -> None:
        """``count`` joints, ``window`` in seconds, ``robots``: indices into q of each robot.

        ``limits``: velocity limits (count,), rad/s or m/s; inf, the default, where there are none.
        """
        self.window = window
        self.limits = np.full(count, np.inf) if limits is None else np.array(limits, dtype=float)
        self.values = np.zeros(count)
        self.known = False
        self.passed = np.inf
        self.several = len(robots) > 0
        self._robots = list(robots) if self.several else [slice(None)]
        self._parts = [_History(len(self.values[indices])) for indices in self._robots]
        # The robot whose joint states measure time; a robot without joints has none.
        self._clock = next((k for k, part in enumerate(self._parts) if len(part.values)), 0)

    def update(
        self,
        q: np.ndarray,
        given: np.ndarray,
        now: float,
        stamp: float = 0.0,
        touched: Sequence[int] | None = None,
    ) -> None:
        """Add a joint state.

        Args:
            q: (nq,) positions.
            given: (nq,) velocities of the driver; NaN where there are none.
            now: time of arrival, seconds of the steady clock.
            stamp: time of measurement, seconds. It is preferred over ``now``, so that neither
                jitter nor simulated time has an effect; 0 if unknown.
            touched: robots that the joint state belongs to, as indices; None for all.
        """
        if self.several:
            self.passed = 0.0
        for k in range(len(self._parts)) if touched is None else touched:
            part, indices = self._parts[k], self._robots[k]
            passed = part.update(
                q[indices], given[indices], self.limits[indices], now, stamp, self.window
            )
            self.values[indices] = part.values
            if k == self._clock:
                self.passed = passed
        self.known = all(part.known for part in self._parts if len(part.values))


class _History:
    """Recent positions of one robot."""

    def __init__(self, count: int) -> None:
        self.values = np.zeros(count)
        self.known = False
        self._times = np.zeros(_HISTORY_ROWS)
        self._rows = np.zeros((_HISTORY_ROWS, count))
        self._place, self._made = np.zeros(2, dtype=np.int64), np.zeros(2)
        self._time, self._now = 0.0, 0.0

    def update(
        self,
        q: np.ndarray,
        given: np.ndarray,
        limits: np.ndarray,
        now: float,
        stamp: float,
        window: float,
    ) -> float:
        """See `JointVelocities.update`; returns the seconds since the previous joint state."""
        before = self._time
        self._time = stamp if stamp > 0.0 else before + now - self._now
        self._now = now
        self.known = joint_speeds(
            self._times, self._rows, self._place, self._made, q, self._time, window, given, limits,
            self.values,
        )  # fmt: skip
        return max(0.0, self._time - before)
