# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint velocities: as a driver gives them where that agrees with positions, else estimated."""

from __future__ import annotations

import numpy as np

from collision_monitor.kernels.joint_speeds import joint_speeds

_ROWS = 24


class JointSpeeds:
    """Velocities of all joints of q, from one joint state to the next.

    Attributes:
        passed: seconds between the last two joint states; inf before.
        values: (nq,) rad/s or m/s; 0 where they are not known.
        known: whether they are: not before two joint states, nor after a gap.
    """

    def __init__(self, count: int, window: float = 0.05) -> None:
        """``count`` joints; ``window``: seconds of joint states that an estimate is made of."""
        self.window = window
        self.values = np.zeros(count)
        self.known = False
        self._times = np.zeros(_ROWS)
        self._history = np.zeros((_ROWS, count))
        self._place = np.zeros(2, dtype=np.int64)
        self._time, self._now = 0.0, 0.0
        self.passed = np.inf

    def update(self, q: np.ndarray, given: np.ndarray, now: float, stamp: float = 0.0) -> None:
        """Take in positions q (nq,) and what the driver ``given`` (nq,), NaN for nothing.

        Times are those of the stamps, so that neither jitter nor simulated time matters; a joint
        state without one is as much later than the last as it came later.
        """
        before = self._time
        self._time = stamp if stamp > 0.0 else self._time + now - self._now
        self._now = now
        self.passed = max(0.0, self._time - before)
        self.known = joint_speeds(
            self._times, self._history, self._place, q, self._time, self.window, given, self.values
        )
