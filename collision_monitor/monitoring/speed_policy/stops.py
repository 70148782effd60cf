# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Stops: held until an operator resets or acknowledges them, and sent to a driver's service."""

from __future__ import annotations

import math

LATCHED, UNACKNOWLEDGED = "latched", "unacknowledged"


class StopLatch:
    """Holds a stop after its cause is gone.

    Attributes:
        latches: a stop lasts until `reset`.
        asks: a stop lasts until `acknowledge`, which may be called while its cause persists.
        stops: number of stops so far.
    """

    def __init__(self, latches: bool = False, asks: bool = False) -> None:
        """Start without a stop."""
        self.latches, self.asks = latches, asks
        self.stops = 0
        self._stopping = self._latched = self._unacknowledged = False

    def update(self, stopping: bool) -> str:
        """Report whether there is a cause to stop now; returns `held`."""
        if stopping and not self._stopping:
            self.stops += 1
            self._latched, self._unacknowledged = self.latches, self.asks
        self._stopping = stopping
        return self.held

    @property
    def held(self) -> str:
        """Why a stop is held: ``unacknowledged``, ``latched`` or empty."""
        if self._unacknowledged and self.asks:
            return UNACKNOWLEDGED
        return LATCHED if self._latched and self.latches else ""

    @property
    def _persists(self) -> str:
        return ", but the cause of the stop persists" if self._stopping else ""

    def acknowledge(self) -> tuple[bool, str]:
        """Acknowledge a stop; returns (True, message)."""
        if self.held != UNACKNOWLEDGED:
            return True, "there is no stop to acknowledge"
        self._unacknowledged = False
        if self.held:
            return True, "acknowledged; the stop is latched until ~/reset"
        return True, f"acknowledged{self._persists}"

    def reset(self) -> tuple[bool, str]:
        """Release a latched stop; returns (whether it is released, message).

        While its cause persists the robot stays stopped, but may move away.
        """
        if self.held == UNACKNOWLEDGED:
            return False, "the stop has not been acknowledged: call ~/acknowledge first"
        if not self.held:
            return True, "no stop is latched"
        self._latched = False
        return True, f"released{self._persists}"


class StopCall:
    """When to call a driver's stop service: once per stop, and again if a call fails.

    The caller makes the calls.

    Attributes:
        retries: number of further calls after a failed one.
        timeout: seconds to wait for an answer.
        pause: seconds between a failed call and the next.
        outcome: ``none``, ``calling``, ``done`` or ``failed``.
        reason: why the last call failed; empty if it succeeded.
        attempts: number of calls for the last stop.
        stops: number of stops so far.
    """

    def __init__(self, retries: int = 3, timeout: float = 0.5, pause: float = 0.1) -> None:
        """Start without a stop."""
        self.retries, self.timeout, self.pause = retries, timeout, pause
        self.outcome, self.reason, self.attempts, self.stops = "none", "", 0, 0
        self._stopping = False
        self._sent, self._next = -math.inf, math.inf

    def update(self, stopping: bool, now: float) -> bool:
        """Whether to call the service now; ``stopping``: whether the robot has to stop.

        Use it on every change and several times a second, and report answers with `answered`.
        """
        if stopping and not self._stopping:
            self.outcome, self.attempts, self._next = "calling", 0, now
            self.stops += 1
        self._stopping = stopping
        if self.outcome != "calling":
            return False
        if self._next == math.inf and now - self._sent >= self.timeout:
            self.answered(self.attempts, False, f"no answer within {self.timeout:g} s", now)
        if now < self._next or self.outcome != "calling":
            return False
        self.attempts += 1
        self._sent, self._next = now, math.inf
        return True

    def answered(self, attempt: int, success: bool, reason: str, now: float) -> None:
        """Report the answer to call number ``attempt``; ignored if that has already timed out."""
        if self.outcome != "calling" or attempt != self.attempts or self._next < math.inf:
            if success and attempt == self.attempts and self.outcome == "failed":
                self.outcome, self.reason = "done", ""
            return
        if success:
            self.outcome, self.reason = "done", ""
            return
        self.reason = reason
        if self.attempts > self.retries:
            self.outcome = "failed"
        else:
            self._next = now + self.pause

    @property
    def text(self) -> str:
        """The outcome as a message."""
        if self.outcome == "failed":
            return f"FAILED after {self.attempts} attempts: {self.reason}"
        if self.outcome == "calling" and self.reason and self.attempts:
            return f"calling, attempt {self.attempts}: {self.reason}"
        return self.outcome
