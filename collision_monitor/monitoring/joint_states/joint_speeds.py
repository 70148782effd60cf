# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint velocities out of the last positions, and those that a driver gives where they agree.

The slope of the least squares line through the positions of a short window: noise, jitter of
arrival and rounding of encoders average out. It lags half a window behind.
"""

from __future__ import annotations

import math

from collision_monitor.common.compiled import kernel

# A given velocity below half of the slope, less this, is not believed: rad/s or m/s.
_SLACK = 0.05
# A joint state that comes so much later than the window is long begins a new history, and so
# does one so much older than the last: a clock was set back.
_GAP_WINDOWS, _GAP_SECONDS, _BACK_SECONDS = 4.0, 1.0, 1.0
# From fewer rows than this, if there are more, no slope is taken; nor from shorter times.
_LEAST_ROWS, _LEAST_SPAN = 3, 0.0015
# So many rows a window at most: of joint states that come faster the newest replaces the last.
_ROWS = 16


@kernel
def believed(given, slope):
    """``given``, unless it says much less than the positions do, or the opposite.

    Some drivers send zeros, or numbers that are none. What says more is the safe side.
    """
    if not math.isfinite(given):
        return slope
    size = abs(slope)
    if (given * slope < 0.0 and size > _SLACK) or abs(given) < 0.5 * size - _SLACK:
        return slope
    return given


@kernel
def joint_speeds(times, history, place, q, time, window, given, out):
    """Take in q (nq,) measured at ``time``; write velocities into ``out``; whether they are known.

    ``times`` (m,), ``history`` (m, nq) and ``place`` (2,) are a ring: its next row, and how many
    there are. ``given`` (nq,) holds NaN where a driver gives none. Joint states of several
    publishers need not come in order: one that is no newer than the last is taken to be of the
    same time. Two dozen rows are enough. Velocities that are not known are written as 0.
    """
    size, count = len(times), place[1]
    row = place[0] - 1 if place[0] > 0 else size - 1
    gap = time - times[row]
    if count == 0 or gap < -_BACK_SECONDS or gap > max(_GAP_SECONDS, _GAP_WINDOWS * window):
        count = 0
    before = row - 1 if row > 0 else size - 1
    if count == 0 or (gap > 0.0 and (count == 1 or times[row] - times[before] >= window / _ROWS)):
        row = place[0]
        place[0] = row + 1 if row + 1 < size else 0
        count = min(count + 1, size)
        place[1] = count
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
        out[k] = believed(given[k], out[k] / spread)
    return True
