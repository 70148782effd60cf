# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recent joint positions by their stamps."""

from __future__ import annotations

import numpy as np

from collision_monitor.monitoring.joint_velocities import CLOCK_RESET_SECONDS

_HISTORY_ROWS = 2048  # two seconds at 1 kHz


class JointHistory:
    """Recent joint positions by their stamps, for sensor data that arrives with a delay."""

    def __init__(self, joints: int) -> None:
        """``joints``: number of joints. The history starts empty."""
        self._times = np.zeros(_HISTORY_ROWS)
        self._rows = np.zeros((_HISTORY_ROWS, joints))
        self.forget()

    def forget(self) -> None:
        """Clear the history."""
        self._times.fill(-np.inf)
        self._next, self._newest = 0, -np.inf

    @property
    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return not np.isfinite(self._newest)

    def add(self, stamp: float, q: np.ndarray) -> None:
        """Add positions (joints,), NaN where unknown, measured at ``stamp``, seconds."""
        if stamp <= self._newest:
            if stamp > self._newest - CLOCK_RESET_SECONDS:
                return
            self.forget()
        place = self._next
        self._times[place], self._rows[place] = stamp, q
        self._newest, self._next = stamp, (place + 1) % _HISTORY_ROWS

    def at(self, stamp: float) -> np.ndarray | None:
        """Positions (joints,) at ``stamp``, interpolated linearly between two joint states.

        The newest positions for a later stamp; None if they are unknown or too long ago.
        """
        times, positions = (
            np.roll(each, -self._next, axis=0) for each in (self._times, self._rows)
        )
        after = int(np.searchsorted(times, stamp))
        if after == _HISTORY_ROWS:
            at_stamp = positions[-1] if np.isfinite(times[-1]) else None
        elif times[after] == stamp:
            at_stamp = positions[after]
        elif after == 0 or not np.isfinite(times[after - 1]):
            at_stamp = None
        else:
            share = (stamp - times[after - 1]) / (times[after] - times[after - 1])
            at_stamp = (1.0 - share) * positions[after - 1] + share * positions[after]
        return None if at_stamp is None or np.isnan(at_stamp).any() else at_stamp
