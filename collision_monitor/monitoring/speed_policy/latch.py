# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Latched stops: they last until an operator resets or acknowledges them."""

from __future__ import annotations

LATCHED, UNACKNOWLEDGED = "latched", "unacknowledged"


class StopLatch:
    """Holds a stop whose cause has gone.

    Attributes:
        latches: a stop lasts until `reset`.
        asks: a stop lasts until `acknowledge`, which may be called while its cause lasts.
        stops: how many stops there have been.
    """

    def __init__(self, latches: bool = False, asks: bool = False) -> None:
        """Nothing is held."""
        self.latches, self.asks = latches, asks
        self.stops = 0
        self._stopping = self._latched = self._unacknowledged = False

    def update(self, stopping: bool) -> str:
        """Take in whether there is a cause to stop now; why there is a stop even so, or empty."""
        if stopping and not self._stopping:
            self.stops += 1
            self._latched, self._unacknowledged = self.latches, self.asks
        self._stopping = stopping
        return self.held

    @property
    def held(self) -> str:
        """``unacknowledged``, ``latched`` or empty."""
        if self._unacknowledged and self.asks:
            return UNACKNOWLEDGED
        return LATCHED if self._latched and self.latches else ""

    @property
    def _persists(self) -> str:
        return ", but the cause of the stop persists" if self._stopping else ""

    def acknowledge(self) -> tuple[bool, str]:
        """Somebody has seen the stop; (True, what came of it)."""
        if self.held != UNACKNOWLEDGED:
            return True, "there is no stop to acknowledge"
        self._unacknowledged = False
        if self.held:
            return True, "acknowledged; the stop is latched until ~/reset"
        return True, f"acknowledged{self._persists}"

    def reset(self) -> tuple[bool, str]:
        """Release a latched stop; (whether that could be done, what of it).

        Where its cause lasts the robot stays stopped by that alone, and may move away.
        """
        if self.held == UNACKNOWLEDGED:
            return False, "the stop has not been acknowledged: call ~/acknowledge first"
        if not self.held:
            return True, "no stop is latched"
        self._latched = False
        return True, f"released{self._persists}"
