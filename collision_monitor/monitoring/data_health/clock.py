# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Age of a stamp by a clock that may be simulated, stopped, late or reset."""

from __future__ import annotations

import math

# A stamp further ahead than this is from another clock, or this clock is behind.
FUTURE_SECONDS = 1.0
# A simulated clock that has not moved for so long stands; a process that has not looked at
# it for so long was held up, and may have ticks of it yet to read.
_STANDS_SECONDS = _HELD_UP_SECONDS = 0.2
# How long a simulated clock may be behind before it is called wrong.
_CATCH_UP_SECONDS = 1.0
# A clock that has moved so much more or less than time went by has jumped.
_JUMP_SECONDS = 0.5
# A simulation may run so many times as fast as time goes by.
_FASTEST_SIMULATION = 50.0
_SAID_SECONDS = 0.5


class ClockWatch:
    """Compares the clock of a node with stamps, and with a steady clock (``now``).

    A simulated clock is what messages have said last: who has been busy, or hears
    it late, has one that is behind. Its joint states are of now, as far as anybody can tell.
    A clock that is seen to run, and yet is behind, is another one than that of the stamps.

    Attributes:
        jumps: how often the clock was set forward or back.
    """

    def __init__(self) -> None:
        """Nothing has been looked at."""
        self.jumps = 0
        self._simulated = False
        self._reading = self._looked = math.nan
        self._moved = -math.inf  # when it was last seen to move
        self._held_up = -math.inf  # when it was last looked at after a long while
        self._behind_since: float | None = None
        self._catches_up = False  # may be, since then
        self._said_at, self._said = -math.inf, ""

    def look(self, reading: float, now: float, simulated: bool) -> None:
        """The clock says ``reading``; to be called several times in 0.2 s."""
        if simulated != self._simulated:
            self._simulated = simulated
            self._reading = math.nan
        passed, moved = now - self._looked, reading - self._reading  # NaN the first time
        if not passed <= _HELD_UP_SECONDS:
            self._held_up = now
        if abs(moved) > 0.0:
            self._moved = now
        # 0 is a simulated clock that had not heard the time yet.
        if abs(moved) > 0.0 and self._reading > 0.0:
            most = passed * (_FASTEST_SIMULATION if simulated else 1.0) + _JUMP_SECONDS
            least = 0.0 if simulated else passed - _JUMP_SECONDS
            if not least <= moved <= most:
                self.jumps += 1
                self._said_at = now
                name = "simulated time" if simulated else "this machine's clock"
                by = moved if simulated else moved - passed
                self._said = f"{name} was set {'forward' if by > 0 else 'back'} by {abs(by):.1f} s"
        self._reading, self._looked = reading, now

    def lag(self, stamp: float, reading: float, now: float, simulated: bool) -> float:
        """How old a message with this stamp is by the clock, seconds; 0 without a stamp.

        0 as well where the clock is behind and may yet catch up; negative where it is not to be
        reconciled with the stamp.
        """
        if stamp <= 0.0:
            return 0.0
        if simulated:
            self.look(reading, now, simulated)
        lag = reading - stamp
        if not simulated:
            return lag
        if lag >= -FUTURE_SECONDS:
            if self._behind_since is not None and self._moved >= self._behind_since:
                self._behind_since = None  # it has caught up
            return lag
        if self._behind_since is None:
            self._behind_since = now
            # The one moment to tell: is it seen to run, and is nobody to blame for the delay?
            held_up = now - self._held_up <= _CATCH_UP_SECONDS
            self._catches_up = held_up or self._stands(now)
        self._catches_up &= now - self._behind_since <= _CATCH_UP_SECONDS
        return 0.0 if self._catches_up else lag

    def _stands(self, now: float) -> bool:
        return now - self._moved > _STANDS_SECONDS

    def explain(self, now: float) -> str:
        """Why a stamp may be ahead of the clock."""
        if not self._simulated:
            return "the clocks disagree"
        if not self._reading > 0.0:
            return "use_sim_time is set, but no time has been received on /clock"
        if self._stands(now):
            return f"/clock is stopped at {self._reading:.2f} s"
        return "the clocks disagree: /clock is running, but joint state stamps do not follow it"

    def remark(self, now: float) -> str:
        """What to say of a jump; empty when there was none in the last moments."""
        return self._said if now - self._said_at < _SAID_SECONDS else ""
