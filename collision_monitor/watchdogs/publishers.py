# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Who publishes joint states: nobody, as many as before, or one less."""

from __future__ import annotations

import math

# Messages of a publisher that is gone may come so long after that is known.
_STRAGGLERS_SECONDS = 0.1
# How long one of several publishers that is gone is spoken of: then its joints are too old,
# or others have them.
_SAID_SECONDS = 1.0


class PublisherWatch:
    """Follows how many publishers a topic has. Times are seconds of a steady clock.

    One that ends or is shut down is missed at once; one that is killed or cut off only when the
    middleware gives it up, which takes longer than any sensible timeout.

    Attributes:
        count: of publishers now; None where nobody has looked.
        lost: how many are gone since the start.
    """

    def __init__(self) -> None:
        """Nobody has looked."""
        self.count: int | None = None
        self.lost = 0
        self._lost_at, self._before = -math.inf, 0

    def look(self, count: int, now: float) -> None:
        """There are so many."""
        if self.count is not None and count < self.count:
            self.lost += self.count - count
            self._lost_at, self._before = now, self.count
        self.count = count

    def forget(self) -> None:
        """Nobody looks any more."""
        self.count = None
        self._lost_at = -math.inf

    def gone(self, heard: float) -> str:
        """Why nothing can be expected after a message ``heard`` last; empty when it can."""
        if self.count != 0 or heard > self._lost_at + _STRAGGLERS_SECONDS:
            return ""
        if self._before == 1:
            return "the publisher of the joint states is gone"
        return "the publishers of the joint states are gone"

    def nobody(self) -> str:
        """Why no first message comes; empty when it may."""
        return "nobody publishes them" if self.count == 0 else ""

    def remark(self, now: float) -> str:
        """What to say of one of several that is gone; empty when none is."""
        if not self.count or now - self._lost_at >= _SAID_SECONDS:
            return ""
        gone = self._before - self.count
        if gone <= 0:
            return ""
        verb = "is" if gone == 1 else "are"
        return f"{gone} of {self._before} publishers of joint states {verb} gone"
