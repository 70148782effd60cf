# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recent joint states: velocities, and positions at an earlier time.

Velocities are those of the driver if they agree with the positions, otherwise estimates. An
estimate is the least squares slope of the positions in a short window. This averages out noise,
jitter of arrival times and encoder resolution, and lags by half of the window. Joint states that
come all at once after a pause count as one, and a slope above the limit of a joint counts as that
limit, unless the driver reports such a velocity as well. Joints that arrive together have a history
of their own: several publishers of one robot have rates, delays and stalls of their own.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from operator import itemgetter
from typing import Any

import numpy as np

from collision_monitor.common.compiled import kernel, part_kernel
from collision_monitor.monitoring.publisher_watch import MOST_LISTS

# -- velocities --

# A driver's velocity below half of the slope, less this, is rejected: rad/s or m/s.
_SLACK = 0.05
# A stamp that is older than the previous one is late; if it is older by more than this (seconds), a
# clock was set back. One that is this far in the future is from another clock. After a gap as long
# a history starts anew.
CLOCK_SECONDS = 1.0
# A slope needs this many rows if there are as many, and this time span.
_LEAST_ROWS, _LEAST_SPAN = 3, 0.0015
# Joint states after a pause that come sooner than this part of their usual period were held up.
# (A larger part would hide the motion of a publisher that comes back at a higher rate.)
# A pause is this many usual periods long.
_BURST, _STALL = 0.3, 2.0
# No more joint states were held up than the pause had room for, by this factor and number.
_HELD_FACTOR, _HELD_MORE = 1.25, 2.0
# Rows per window: of joint states at higher rates, the newest replaces the previous one.
_ROWS = 16
_HISTORY_ROWS = 24


@part_kernel
def believed(given, slope, limit):
    """The driver's velocity ``given``, or ``slope`` of the positions if that is clearly faster.

    Some drivers send zeros, NaN or the wrong sign. The faster of the two is the safe side. A value
    above ``limit`` that the other does not confirm is wrong, as a slope is after a stall of the
    publisher: it counts as the limit. The other confirms it if it is above the limit as well.
    """
    size = abs(slope)
    agrees = given * slope >= 0.0 and abs(given) >= 0.5 * size - _SLACK
    if math.isfinite(given) and (agrees or size <= _SLACK):
        is_confirmed = size > limit and size >= 0.5 * abs(given)
        return given if is_confirmed else min(max(given, -limit), limit)
    return min(max(slope, -limit), limit)


@kernel
def joint_speeds(times, history, place, made, joints, q, time, window, given, limits, out):
    """Add ``joints`` (n,) of q, measured at ``time``; True if their velocities are known.

    ``times`` (m,), ``history`` (m, n) and ``place`` (2,) are a ring buffer: the next row and the
    number of rows; ``made`` (3,) when the newest row was begun, the usual time between joint
    states, and how many joint states the newest row stands for. All others are (nq,): ``given``
    velocities of the driver, NaN where there are none; ``limits`` of the joints, inf where there
    are none; ``out`` receives the velocities of ``joints``, 0 if unknown. A joint state that is not
    newer than the last is treated as measured at the same time.
    """
    size, count = len(times), place[1]
    row = place[0] - 1 if place[0] > 0 else size - 1
    gap = time - times[row]
    if abs(gap) > CLOCK_SECONDS:
        count = 0
    before = row - 1 if row > 0 else size - 1
    pause = made[0] - times[before] if count > 1 else 0.0
    usual = made[1]
    stalled = pause > _STALL * usual and time - made[0] < pause
    is_burst = stalled and gap < _BURST * usual
    if is_burst and usual > 0.0:
        is_burst = made[2] <= _HELD_FACTOR * pause / usual + _HELD_MORE
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
        made[0], made[2] = time, 0.0
    made[2] += 1.0
    if count == 1 or gap > 0.0:
        times[row] = time
    time = times[row]
    for column, joint in enumerate(joints):
        history[row, column] = q[joint]
        out[joint] = 0.0
    used, mean, span = 0, 0.0, 0.0
    for m in range(count):
        past = time - times[row - m if m <= row else row - m + size]
        if past > window and m >= _LEAST_ROWS:
            break
        mean -= past
        span = past
        used += 1
    mean /= used
    if span < _LEAST_SPAN:
        return False
    spread = 0.0
    for m in range(used):
        i = row - m if m <= row else row - m + size
        weight = times[i] - time - mean
        spread += weight * weight
        for column, joint in enumerate(joints):
            out[joint] += weight * (history[i, column] - q[joint])
    for joint in joints:
        out[joint] = believed(given[joint], out[joint] / spread, limits[joint])
    return True


class JointVelocities:
    """Velocities of all joints of q.

    Joints that always arrive together share a history. A message with only some of the joints of a
    history divides it.

    Attributes:
        values: (nq,) rad/s or m/s; 0 where they are unknown.
        known: whether all are known: not before two joint states, nor after a gap, unless the
            driver gives them.
        passed: seconds between the last two joint states if the last contains the first joint,
            otherwise 0; inf before.
        limits: (nq,) velocity limits, rad/s or m/s; inf where there are none.
    """

    def __init__(self, count: int, window: float = 0.05, limits: np.ndarray | None = None) -> None:
        """``count`` joints, ``window`` in seconds.

        ``limits``: velocity limits (count,), rad/s or m/s; inf, the default, where there are none.
        """
        self.window = window
        self.limits = np.full(count, np.inf) if limits is None else np.array(limits, dtype=float)
        self.values = np.zeros(count)
        self.known = False
        self.passed = np.inf
        # The first history contains the first joint, whose joint states measure time.
        self._histories = [_History(np.arange(count))]
        self._by_joints: dict[bytes, list[_History]] = {}

    def update(
        self,
        q: np.ndarray,
        given: np.ndarray,
        now: float,
        stamp: float = 0.0,
        joints: np.ndarray | None = None,
    ) -> None:
        """Add a joint state.

        Args:
            q: (nq,) positions.
            given: (nq,) velocities of the driver; NaN where there are none.
            now: time of arrival, seconds of the steady clock.
            stamp: time of measurement, seconds. It is preferred over ``now``, so that neither
                jitter nor simulated time has an effect; 0 if unknown.
            joints: those that the joint state contains, as indices into q; None for all.
        """
        histories = self._histories if joints is None else self._histories_of(joints)
        self.passed = 0.0
        for history in histories:
            passed = history.update(q, given, self.limits, now, stamp, self.window, self.values)
            if history is self._histories[0]:
                self.passed = passed
        self.known = all([h.known or self._use_given(h, given) for h in self._histories])

    def at_limit(self) -> np.ndarray:
        """Indices (k,) of joints whose velocity is, or counts as, the limit or more."""
        return np.flatnonzero(np.abs(self.values) >= self.limits)

    def _use_given(self, history: _History, given: np.ndarray) -> bool:
        """Use the driver's velocities of a history, if there are all; returns whether."""
        values = given[history.joints]
        history.known = bool(np.isfinite(values).all())
        if history.known:
            limits = self.limits[history.joints]
            self.values[history.joints] = np.clip(values, -limits, limits)
        return history.known

    def _histories_of(self, joints: np.ndarray) -> list[_History]:
        """The histories of these joints; those that contain others as well are divided."""
        key = joints.tobytes()
        histories = self._by_joints.get(key)
        if histories is not None:
            return histories
        is_in = np.zeros(len(self.values), dtype=bool)
        is_in[joints] = True
        for index in reversed(range(len(self._histories))):
            history = self._histories[index]
            which = is_in[history.joints]
            if which.any() and not which.all():
                which = which == which[0]
                self._histories[index : index + 1] = [history.part(which), history.part(~which)]
                self._by_joints.clear()
        if len(self._by_joints) >= MOST_LISTS:
            self._by_joints.clear()
        histories = [h for h in self._histories if is_in[h.joints].any()]
        self._by_joints[key] = histories
        return histories


class _History:
    """Recent positions of joints that arrive together."""

    def __init__(self, joints: np.ndarray) -> None:
        self.joints = joints
        self.known = False
        self._times = np.zeros(_HISTORY_ROWS)
        self._rows = np.zeros((_HISTORY_ROWS, len(joints)))
        self._place, self._made = np.zeros(2, dtype=np.int64), np.zeros(3)
        self._time, self._now = 0.0, 0.0

    def part(self, which: np.ndarray) -> _History:
        """The history of some of its joints; ``which`` (n,) booleans."""
        part = _History(self.joints[which])
        part.known, part._time, part._now = self.known, self._time, self._now
        part._times[:], part._rows[:] = self._times, self._rows[:, which]
        part._place[:], part._made[:] = self._place, self._made
        return part

    def update(
        self,
        q: np.ndarray,
        given: np.ndarray,
        limits: np.ndarray,
        now: float,
        stamp: float,
        window: float,
        values: np.ndarray,
    ) -> float:
        """See `JointVelocities.update`; returns the seconds since the previous joint state."""
        before = self._time
        self._time = stamp if stamp > 0.0 else before + now - self._now
        self._now = now
        self.known = joint_speeds(
            self._times, self._rows, self._place, self._made, self.joints, q, self._time, window,
            given, limits, values,
        )  # fmt: skip
        return max(0.0, self._time - before)


# -- positions by their stamps --

_STATES = 2048  # two seconds at 1 kHz


class JointHistory:
    """Recent joint positions by their stamps, for sensor data that arrives with a delay.

    Joints that arrive together share a history. Where they were in a gap of more than a second is
    not known, so a history ends there.
    """

    def __init__(self) -> None:
        """Start empty."""
        # Joints, and their positions by stamp; those that were received last are the last.
        self._histories: dict[bytes, tuple[Any, deque[tuple[float, np.ndarray]]]] = {}
        self._newest = np.empty(0)

    @property
    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return not self._histories

    def add(self, stamp: float, q: np.ndarray, joints: np.ndarray | None = None) -> None:
        """Add positions (nq,), NaN where unknown, of which ``joints`` were measured at ``stamp``.

        ``joints``: indices into q; None for all. ``stamp``: seconds.
        """
        if joints is not None and not len(joints):
            return
        key, which = (b"", slice(None)) if joints is None else (joints.tobytes(), joints)
        history = self._histories.pop(key, None) or (which, deque(maxlen=_STATES))
        self._histories[key] = history
        if len(self._histories) > MOST_LISTS:
            del self._histories[next(iter(self._histories))]
        self._newest, (_, states) = q.copy(), history
        newest = states[-1][0] if states else -np.inf
        if stamp <= newest - CLOCK_SECONDS or stamp > newest + CLOCK_SECONDS:
            states.clear()
            self._end_others(which, stamp)
        elif stamp <= newest:
            return
        states.append((stamp, self._newest[which]))

    def _end_others(self, joints: Any, stamp: float) -> None:
        """Forget histories of some of these joints from beyond the gap after which they begin."""
        is_in = np.zeros(len(self._newest), dtype=bool)
        is_in[joints] = True
        for key, (theirs, states) in list(self._histories.items()):
            if states and abs(stamp - states[-1][0]) > CLOCK_SECONDS and is_in[theirs].any():
                del self._histories[key]

    def at(self, stamp: float) -> np.ndarray | None:
        """Positions (nq,) at ``stamp``, interpolated linearly between two joint states.

        The newest positions for a later stamp, and of joints without stamps; None if they are
        unknown or too long ago.
        """
        q = self._newest.copy()
        for which, _ in self._histories.values():
            q[which] = np.nan
        for which, states in self._histories.values():
            if (there := _at(list(states), stamp)) is not None:
                q[which] = there
        return None if self.is_empty or np.isnan(q).any() else q


def _at(states: list[tuple[float, np.ndarray]], stamp: float) -> np.ndarray | None:
    """Positions at ``stamp`` of joints with these positions by stamp; None before the first."""
    after = bisect_left(states, stamp, key=itemgetter(0))
    if after == 0 and stamp < states[0][0]:
        return None
    if after == len(states) or states[after][0] == stamp:
        return states[min(after, len(states) - 1)][1]
    (begin, low), (end, high) = states[after - 1], states[after]
    share = (stamp - begin) / (end - begin)
    return (1.0 - share) * low + share * high
