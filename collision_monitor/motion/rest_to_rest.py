# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A straight motion of joints from rest to rest within limits.

All joints follow 10 u^3 - 15 u^4 + 6 u^5, with the time u from 0 to 1. Velocity and acceleration
are 0 at both ends.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.motion.trajectory import NANO

_PEAKS = 15.0 / 8.0, 10.0 / math.sqrt(3.0), 60.0  # of velocity, acceleration and jerk
_STEP = 0.05  # s between waypoints
_FEWEST, _MOST = 20, 2000  # intervals


def rest_to_rest(
    start: np.ndarray, goal: np.ndarray, duration: float, *limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,) from 0 s, and positions (n, joints) from ``start`` to ``goal``, both (joints,).

    The motion takes ``duration`` seconds, or longer if the limits require it: those of velocity,
    acceleration and jerk (joints,), which may be infinite. Intervals last whole nanoseconds.
    """
    change = goal - start
    for order, (peak, limit) in enumerate(zip(_PEAKS, limits, strict=True), 1):
        shortest = (peak * np.abs(change) / limit) ** (1.0 / order)
        duration = max(duration, float(shortest.max()))
    count = int(np.clip(math.ceil(duration / _STEP), _FEWEST, _MOST))
    times = math.ceil(duration / count * NANO) / NANO * np.arange(count + 1)
    u = np.linspace(0.0, 1.0, count + 1)
    positions = start + (u**3 * (10.0 - 15.0 * u + 6.0 * u**2))[:, None] * change
    positions[-1] = goal
    return times, positions
