# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Number of joint state publishers on each topic: none, unchanged, or fewer than before."""

from __future__ import annotations

import math
from collections.abc import Mapping

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

    @property
    def is_single(self) -> bool:
        """Whether there is one, whose joint states follow one another."""
        return self.count == 1

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
        return "no publisher" if self.count == 0 else ""

    def remark(self, now: float) -> str:
        """What to say of one of several that is gone; empty when none is."""
        if not self.count or now - self._lost_at >= _SAID_SECONDS:
            return ""
        gone = self._before - self.count
        if gone <= 0:
            return ""
        verb = "is" if gone == 1 else "are"
        return f"{gone} of {self._before} publishers of joint states {verb} gone"


class PublishersOfTopics:
    """A `PublisherWatch` for each topic; what is said names the topic where there are several.

    A topic on which nothing has come is no loss: a robot may have no joints that move.
    """

    def __init__(self) -> None:
        """Nobody has looked."""
        self._watches: dict[str, PublisherWatch] = {}
        self._heard: dict[str, float] = {}

    def look(self, topic: str, count: int, now: float) -> None:
        """There are so many of one topic."""
        if topic not in self._watches:
            self._watches[topic] = PublisherWatch()
        self._watches[topic].look(count, now)

    def hear(self, topic: str, now: float) -> None:
        """A message has come."""
        self._heard[topic] = now

    def forget(self) -> None:
        """Nobody looks any more."""
        for watch in self._watches.values():
            watch.forget()
        self._heard.clear()

    @property
    def count(self) -> int | None:
        """Of publishers of all topics now; None where nobody has looked."""
        counts = [watch.count for watch in self._watches.values() if watch.count is not None]
        return sum(counts) if counts else None

    @property
    def lost(self) -> int:
        """How many are gone since the start."""
        return sum(watch.lost for watch in self._watches.values())

    @property
    def is_single(self) -> bool:
        """Whether no topic has more than one, whose joint states follow one another."""
        return bool(self.count) and all((w.count or 0) <= 1 for w in self._watches.values())

    def gone(self, heard: float) -> str:
        """As of `PublisherWatch`, of each topic by what was heard on it, not by ``heard``."""
        return self._by_topic({
            topic: self._watches[topic].gone(last)
            for topic, last in self._heard.items() if topic in self._watches
        })  # fmt: skip

    def nobody(self) -> str:
        """Why no first message comes; empty when it may."""
        silent = [topic for topic, watch in self._watches.items() if watch.nobody()]
        if not silent:
            return ""
        return "no publisher" + ("" if len(self._watches) == 1 else f" on {' and '.join(silent)}")

    def remark(self, now: float) -> str:
        """As of `PublisherWatch`."""
        return self._by_topic({topic: w.remark(now) for topic, w in self._watches.items()})

    def _by_topic(self, texts: Mapping[str, str]) -> str:
        if len(self._watches) == 1:
            return "".join(texts.values())
        return "; ".join(f"{topic}: {text}" for topic, text in texts.items() if text)
