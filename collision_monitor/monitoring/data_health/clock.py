# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Age of a stamp by a clock that may be simulated, paused, delayed or reset."""

from __future__ import annotations

import math

# A stamp further in the future is from another clock, or this clock is delayed.
FUTURE_SECONDS = 1.0
# A simulated clock that has not changed for this long is paused; a node that has not read it for
# this long was delayed, and may have ticks of it yet to read.
_PAUSED_SECONDS = _DELAYED_SECONDS = 0.2
# A simulated clock may be behind the stamps for this long before it is treated as another clock.
_CATCH_UP_SECONDS = 1.0
# A clock that deviates from the steady clock by this much between two readings was set.
_JUMP_SECONDS = 0.5
_FASTEST_SIMULATION = 50.0  # real-time factor
_REMARK_SECONDS = 0.5


class ClockWatch:
    """Compares the clock of a node with stamps, and with a steady clock (``now``).

    Simulated time is the last message on /clock. In a node that was busy or receives it late, it is
    behind the stamps of joint states, which are treated as new for a moment. If the clock is
    running and still behind, the stamps are from another clock.

    Attributes:
        jumps: number of times that the clock was set forward or back.
    """

    def __init__(self) -> None:
        """Start without a reading."""
        self.jumps = 0
        self._simulated = False
        self._reading = self._read_at = math.nan
        self._moved = -math.inf  # time of the last change
        self._delayed = -math.inf  # time of the last reading after a delay of the node
        self._behind_since: float | None = None
        self._may_catch_up = False  # since then
        self._remark_at, self._remark = -math.inf, ""

    def update(self, reading: float, now: float, simulated: bool) -> None:
        """Report a reading of the clock; call it several times in 0.2 s."""
        if simulated != self._simulated:
            self._simulated = simulated
            self._reading = math.nan
        passed, moved = now - self._read_at, reading - self._reading  # NaN the first time
        if not passed <= _DELAYED_SECONDS:
            self._delayed = now
        if abs(moved) > 0.0:
            self._moved = now
        # 0: simulated time that has not been received yet.
        if abs(moved) > 0.0 and self._reading > 0.0:
            most = passed * (_FASTEST_SIMULATION if simulated else 1.0) + _JUMP_SECONDS
            least = 0.0 if simulated else passed - _JUMP_SECONDS
            if not least <= moved <= most:
                self.jumps += 1
                self._remark_at = now
                name = "simulated time" if simulated else "this machine's clock"
                by = moved if simulated else moved - passed
                direction = "forward" if by > 0 else "back"
                self._remark = f"{name} was set {direction} by {abs(by):.1f} s"
        self._reading, self._read_at = reading, now

    def lag(self, stamp: float, reading: float, now: float, simulated: bool) -> float:
        """Age of a message with this stamp by the clock, seconds; 0 without a stamp.

        It is 0 while the clock is behind but may catch up, and negative if it disagrees with the
        stamp.
        """
        if stamp <= 0.0:
            return 0.0
        if not simulated:
            return reading - stamp
        self.update(reading, now, simulated)
        lag = reading - stamp
        if lag >= -FUTURE_SECONDS:
            if self._behind_since is not None and self._moved >= self._behind_since:
                self._behind_since = None
            return lag
        if self._behind_since is None:
            self._behind_since = now
            # A clock that is running in a node that was not delayed is another clock.
            was_delayed = now - self._delayed <= _CATCH_UP_SECONDS
            self._may_catch_up = was_delayed or self._is_paused(now)
        self._may_catch_up &= now - self._behind_since <= _CATCH_UP_SECONDS
        return 0.0 if self._may_catch_up else lag

    def _is_paused(self, now: float) -> bool:
        return now - self._moved > _PAUSED_SECONDS

    def explain(self, now: float) -> str:
        """Why a stamp may be in the future."""
        if not self._simulated:
            return "the clocks disagree"
        if not self._reading > 0.0:
            return "use_sim_time is set, but no time has been received on /clock"
        if self._is_paused(now):
            return f"/clock is stopped at {self._reading:.2f} s"
        return "the clocks disagree: /clock is running, but joint state stamps do not follow it"

    def remark(self, now: float) -> str:
        """The last jump; empty if there was none in the last half second."""
        return self._remark if now - self._remark_at < _REMARK_SECONDS else ""
