# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Calls of a driver's stop service: once per stop, repeated where a call fails."""

from __future__ import annotations

import math


class StopCall:
    """What is to be done about calls of one service; who uses it makes them.

    Attributes:
        retries: calls after one that failed.
        timeout: seconds in which an answer has to come.
        pause: seconds between an attempt that failed and the next.
        outcome: ``none`` so far, ``calling``, ``done`` or ``failed``.
        reason: why the last attempt failed; empty after one that did not.
        attempts: of the last stop.
        stops: how many there were.
    """

    def __init__(self, retries: int = 3, timeout: float = 0.5, pause: float = 0.1) -> None:
        """Nothing is to be called yet."""
        self.retries, self.timeout, self.pause = retries, timeout, pause
        self.outcome, self.reason, self.attempts, self.stops = "none", "", 0, 0
        self._stopping = False
        self._sent, self._next = -math.inf, math.inf

    def update(self, stopping: bool, now: float) -> bool:
        """Whether to call the service now; ``stopping``: whether the robot is to stop.

        Call it on every change and some times a second; report with `answered`.
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
        """What became of attempt number ``attempt``; of one given up before it says nothing."""
        if self.outcome != "calling" or attempt != self.attempts or self._next < math.inf:
            if success and attempt == self.attempts and self.outcome == "failed":
                self.outcome, self.reason = "done", ""  # late, but done
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
        """The outcome for people."""
        if self.outcome == "failed":
            return f"FAILED after {self.attempts} attempts: {self.reason}"
        if self.outcome == "calling" and self.reason and self.attempts:
            return f"calling, attempt {self.attempts}: {self.reason}"
        return self.outcome
