# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time by which lifetimes of obstacles pass; it stands still while messages cannot be received."""

from __future__ import annotations

import time

# The clock is advanced every 0.05 s or more often. A longer step is a delay: messages that would
# have extended lifetimes were not received meanwhile.
_MOST_SECONDS = 0.1
# After a step this long the process itself may have stood still (suspended, swapped out, a virtual
# machine that migrated), and with it the middleware. Messages that it missed are sent again with
# the next heartbeat of their publisher, every 3 s in Fast DDS.
_STOPPED_SECONDS, _RECOVERY_SECONDS = 0.5, 3.5


class LifetimeClock:
    """Seconds that pass no faster than a steady clock, and no faster than simulated time.

    It stands still while the node is delayed, and until messages that were sent meanwhile have
    been received.

    Attributes:
        now: the time; expiries are compared with it.
    """

    def __init__(self) -> None:
        """Start at the time of the steady clock."""
        self.now = self._read_at = time.monotonic()
        self._simulated: float | None = None
        self._recovered_at = self.now

    def expiry(self, lifetime: float) -> float:
        """When something received now expires: never sooner than after ``lifetime`` seconds."""
        return self.now + min(time.monotonic() - self._read_at, _MOST_SECONDS) + lifetime

    def advance(self, simulated: float | None = None) -> None:
        """Let time pass; call it at least every 0.05 s. ``simulated``: simulated time, seconds."""
        steady = time.monotonic()
        passed = steady - self._read_at
        if passed > _STOPPED_SECONDS:
            self._recovered_at = steady + _RECOVERY_SECONDS
        if steady < self._recovered_at:
            passed = 0.0
        if simulated is not None and self._simulated is not None:
            passed = min(passed, max(simulated - self._simulated, 0.0))
        self.now += min(passed, _MOST_SECONDS)
        self._read_at, self._simulated = steady, simulated
