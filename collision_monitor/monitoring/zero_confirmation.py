# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states of only zeros, which some drivers send until they have read their encoders."""

from __future__ import annotations

import numpy as np

# Zeros of joints that were last known elsewhere must repeat this many times as long: a robot is
# hardly moved to exactly zero unseen, and drivers need up to three seconds to read their encoders.
_ELSEWHERE = 10.0


class ZeroConfirmation:
    """Which joints are at zeros that are doubted and have not repeated long enough.

    At the start all joints are doubted, later those that were lost. Positions other than zeros end
    the doubt.

    Attributes:
        seconds: for which zeros must repeat.
    """

    def __init__(self, joints: int, seconds: float) -> None:
        """``joints``: their number."""
        self.seconds = seconds
        self._doubted = np.ones(joints, dtype=bool)
        self._since = np.full(joints, np.nan)  # NaN where no zero waits
        self._needed = np.zeros(joints)

    @property
    def waiting(self) -> np.ndarray:
        """(joints,) whether the position is a zero that is not accepted."""
        return np.isfinite(self._since)

    @property
    def longest(self) -> float:
        """Seconds for which the zeros that wait must repeat."""
        return float(self._needed[self.waiting].max(initial=0.0))

    def by_joint(self) -> tuple[np.ndarray, ...]:
        """All arrays with one entry for each joint."""
        return self._doubted, self._since, self._needed

    def doubt(self, joints: np.ndarray, now: float) -> None:
        """Doubt zeros of ``joints`` (bool, (joints,)); for those that wait, time begins again."""
        self._doubted |= joints
        self._since[joints & self.waiting] = now

    def update(self, joints: np.ndarray, zeros: bool, elsewhere: bool, now: float) -> None:
        """Report new positions of ``joints``, indices.

        Args:
            joints: those of the message.
            zeros: whether all its positions are zero.
            elsewhere: whether one of them was known at another position before.
            now: time of the steady clock.
        """
        if not zeros:
            self._since[joints] = np.nan
            self._doubted[joints] = False
            return
        is_new = np.isnan(self._since[joints])
        self._since[joints[is_new]] = now
        self._needed[joints[is_new]] = self.seconds * (_ELSEWHERE if elsewhere else 1.0)
        accepted = now - self._since[joints] >= self._needed[joints]
        accepted |= ~self._doubted[joints]
        self._since[joints[accepted]] = np.nan
        self._doubted[joints[accepted]] = False
