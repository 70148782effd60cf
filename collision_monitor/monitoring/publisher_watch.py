# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The publishers of joint states: which there are, and which are gone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from collision_monitor.monitoring.faults import FaultRegister, Level

# Duration of a remark about a publisher that is gone: after that its joints are stale, or another
# publisher has them.
_PUBLISHER_SECONDS = 1.0
# Lists of names that are kept, and names that are unknown; only a faulty publisher sends more.
MOST_LISTS = 64
# Messages may be this late without a remark: after those of another publisher that may have the
# same joints, or after their publisher is gone.
LATE_SECONDS = 0.1


class Publisher(NamedTuple):
    """A publisher in the ROS graph.

    Attributes:
        gid: its unique identifier.
        node: full name of its node.
    """

    gid: tuple[int, ...]
    node: str


@dataclass
class _Topic:
    """Publishers of one topic."""

    name: str
    count: int | None = None  # unknown before the first update
    publishers: frozenset[Publisher] | None = None
    before: int = 0  # number before the last loss
    lost_at: float = -math.inf
    changed_at: float = -math.inf  # time of the last change of the publishers
    last_message: float = math.nan
    names: Sequence[str] = ()  # of the last message
    lists: set[frozenset[str]] = field(default_factory=set)
    groups: list[set[str]] = field(default_factory=list)  # of lists that have names in common

    def hear(self, names: Sequence[str]) -> bool:
        """Take the names of a message; return whether they are others than ever before."""
        self.names = names
        new = frozenset(names)
        if new in self.lists or len(self.lists) >= MOST_LISTS:
            return False
        self.lists.add(new)
        self.groups = [group for group in self.groups if new.isdisjoint(group)] + [
            new.union(*(group for group in self.groups if not new.isdisjoint(group)))
        ]
        return True

    def several(self) -> str:
        """The publishers, if their messages do not show that each has joints of its own."""
        if self.publishers is None or len(self.publishers) <= max(len(self.groups), 1):
            return ""
        nodes = sorted(Counter(publisher.node for publisher in self.publishers).items())
        names = " and ".join(f"{node} ({n} times)" if n > 1 else node for node, n in nodes)
        return (
            f"{len(self.publishers)} publishers of joint states may have the same joints: {names}"
        )

    def gone(self) -> str:
        # False for NaN: a topic without a message is not a loss.
        if not self.last_message <= self.lost_at + LATE_SECONDS:
            return ""
        publishers = "publisher of the joint states is" if self.before == 1 else (
            "publishers of the joint states are"
        )  # fmt: skip
        return f"the {publishers} gone"

    def remark(self, now: float) -> str:
        gone = self.before - (self.count or 0)
        if not self.count or now - self.lost_at >= _PUBLISHER_SECONDS or gone <= 0:
            # All lists of names are received within a second, or joints are stale.
            return self.several() if now - self.changed_at >= _PUBLISHER_SECONDS else ""
        verb = "is" if gone == 1 else "are"
        return f"{gone} of {self.before} publishers of joint states {verb} gone"


class PublisherWatch:
    """Counts the publishers of each joint state topic. Times are seconds of a steady clock.

    A publisher that shuts down is noticed immediately. One that is killed or disconnected is
    noticed when the middleware times out, which takes longer than any sensible timeout here.

    Attributes:
        lost: number of publishers that are gone since the start.
        faults: where `gone` is raised as "gone", and `remark` as "publisher".
    """

    def __init__(self, faults: FaultRegister | None = None) -> None:
        """Start without a topic."""
        self.faults = FaultRegister() if faults is None else faults
        self._topics: dict[str, _Topic] = {}
        self._without_publisher: list[_Topic] = []  # topics without a publisher
        self.lost = 0

    def update(self, topic: str, count: int, now: float) -> bool:
        """Report the number of publishers of a topic; return whether it has changed."""
        known = self._topics.setdefault(topic, _Topic(topic))
        is_other = known.count is not None and count != known.count
        if known.count is not None and count < known.count:
            self.lost += known.count - count
            known.lost_at, known.before = now, known.count
        known.count = count
        self._without_publisher = [each for each in self._topics.values() if each.count == 0]
        self._raise(now)
        return is_other

    def identify(self, topic: str, publishers: Collection[Publisher], now: float) -> bool:
        """Report the publishers of a topic; return whether there are others than before."""
        known = self._topics.setdefault(topic, _Topic(topic))
        before, known.publishers = known.publishers, frozenset(publishers)
        if before is not None and {p.gid for p in before} == {p.gid for p in publishers}:
            return False
        known.changed_at, known.names, known.lists, known.groups = now, (), set(), []
        self._raise(now)
        return before is not None

    def report_message(self, topic: str, now: float, names: Sequence[str] = ()) -> bool:
        """Report a message on a topic; equal ``names`` are the same object.

        Returns whether it may be of a publisher that was not reported: these names are new.
        """
        known = self._topics.get(topic)
        if known is None:
            known = self._topics[topic] = _Topic(topic)
        known.last_message = now
        is_other = names is not known.names
        is_new = is_other and known.hear(names)
        if is_other or (self.faults.raised and self._without_publisher):
            self._raise(now)
        return is_new

    def several(self) -> str:
        """The publishers of a topic that may have the same joints; empty if there are none."""
        return self._by_topic([(topic, topic.several()) for topic in self._topics.values()])

    def forget(self) -> None:
        """Discard all topics; the count of lost publishers stays."""
        self._topics.clear()
        self._without_publisher.clear()
        self.faults.clear("gone", "publisher")

    def _raise(self, now: float) -> None:
        """Raise or clear faults; called at each count, for what changes by time alone."""
        self.faults.put("gone", Level.STALE, "stale", self.gone())
        ends = [topic.lost_at + _PUBLISHER_SECONDS for topic in self._topics.values()]
        until = min((end for end in ends if now < end), default=math.inf)
        self.faults.put("publisher", Level.WARN, "publisher", self.remark(now), until)

    @property
    def count(self) -> int | None:
        """Number of publishers of all topics; None if unknown."""
        counts = [topic.count for topic in self._topics.values() if topic.count is not None]
        return sum(counts) if counts else None

    @property
    def is_single(self) -> bool:
        """Whether no topic has more than one publisher, so that its stamps should increase."""
        return bool(self.count) and not self.are_several

    @property
    def are_several(self) -> bool:
        """Whether a topic has more than one publisher."""
        return any((topic.count or 0) > 1 for topic in self._topics.values())

    def gone(self) -> str:
        """Why no further message is expected; empty if messages are expected."""
        return self._by_topic([(topic, topic.gone()) for topic in self._without_publisher])

    def no_publisher(self) -> str:
        """Why no first message is expected; empty if one is expected."""
        if not self._without_publisher:
            return ""
        names = " and ".join(topic.name for topic in self._without_publisher)
        return "no publisher" + ("" if len(self._topics) == 1 else f" on {names}")

    def remark(self, now: float) -> str:
        """Which of several publishers is gone, for a second, or may have the same joints."""
        return self._by_topic([(topic, topic.remark(now)) for topic in self._topics.values()])

    def _by_topic(self, texts: Sequence[tuple[_Topic, str]]) -> str:
        if not texts:
            return ""
        is_single = len(self._topics) == 1
        return "; ".join(
            text if is_single else f"{topic.name}: {text}" for topic, text in texts if text
        )
