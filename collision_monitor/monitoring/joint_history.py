# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recent joint positions by their stamps."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from operator import itemgetter

import numpy as np

from collision_monitor.monitoring.joint_velocities import CLOCK_SECONDS

_HISTORY_ROWS = 2048  # two seconds at 1 kHz


class JointHistory:
    """Recent joint positions by their stamps, for sensor data that arrives with a delay."""

    def __init__(self) -> None:
        """Start empty."""
        self._states: deque[tuple[float, np.ndarray]] = deque(maxlen=_HISTORY_ROWS)

    @property
    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return not self._states

    def add(self, stamp: float, q: np.ndarray) -> None:
        """Add positions (joints,), NaN where unknown, measured at ``stamp``, seconds."""
        newest = self._states[-1][0] if self._states else -np.inf
        if stamp <= newest - CLOCK_SECONDS:
            self._states.clear()
        elif stamp <= newest:
            return
        self._states.append((stamp, q.copy()))

    def at(self, stamp: float) -> np.ndarray | None:
        """Positions (joints,) at ``stamp``, interpolated linearly between two joint states.

        The newest positions for a later stamp; None if they are unknown or too long ago.
        """
        states = list(self._states)
        after = bisect_left(states, stamp, key=itemgetter(0))
        if not states or after == 0 and stamp < states[0][0]:
            return None
        if after == len(states) or states[after][0] == stamp:
            at_stamp = states[min(after, len(states) - 1)][1]
        else:
            (begin, low), (end, high) = states[after - 1], states[after]
            share = (stamp - begin) / (end - begin)
            at_stamp = (1.0 - share) * low + share * high
        return None if np.isnan(at_stamp).any() else at_stamp
