# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How fast trajectories may go, as a monitor says; a silent monitor says: not at all."""

from __future__ import annotations

import math

# What is slower than this stands: a scale that falls with the distance never reaches 0 itself.
STANDSTILL = 1e-3


class SpeedScale:
    """The last speed scale heard, and whether it still holds."""

    def __init__(self, heeded: bool, timeout: float) -> None:
        """``heeded``: whether it counts; ``timeout`` s after which silence means 0."""
        self.heeded = heeded
        self.timeout = timeout
        self._value, self._heard = 0.0, -math.inf

    def hear(self, value: float, now: float) -> None:
        """Take in what a monitor says; above 1 is 1, and what is no number at all is 0."""
        value = min(value, 1.0) if math.isfinite(value) else 0.0
        self._value = value if value >= STANDSTILL else 0.0
        self._heard = now

    def at(self, now: float) -> float:
        """0 to 1; 1 where it is not heeded."""
        if not self.heeded:
            return 1.0
        return 0.0 if self.is_silent(now) else self._value

    def is_silent(self, now: float) -> bool:
        """Whether nothing was heard for longer than the timeout."""
        return now - self._heard > self.timeout

    def reason(self, now: float) -> str:
        """Why it is 0 now; empty when it is not."""
        if self.at(now) > 0.0:
            return ""
        if self._heard == -math.inf:
            return "no speed scale has been heard yet"
        if self.is_silent(now):
            return f"no speed scale for {now - self._heard:.2f} s, {self.timeout:g} s are allowed"
        return "the speed scale is 0"
