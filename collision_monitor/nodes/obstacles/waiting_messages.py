# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Messages on scene topics, from their reception until they are applied; lost and late ones.

Every message is received, with all that wait, and applied at once, unless that takes longer than
joint states may wait: then the state says so.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from visualization_msgs.msg import Marker

from collision_monitor.common.text import counted
from collision_monitor.nodes.common.executor import take_serialized
from collision_monitor.recording.stop_recorder import MEGABYTE

try:
    from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
except ImportError:  # before Iron
    from rclpy.qos_event import SubscriptionEventCallbacks, UnsupportedEventTypeError

# Keep all waiting messages: an overwritten message would be lost silently, while the middleware
# reports one beyond its limit (5000 messages in Fast DDS).
KEEP_ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL, reliability=ReliabilityPolicy.RELIABLE)
# Messages that a publisher sent during its discovery may also be reported as lost, until its first
# messages are received. They are ignored if the topic had no publisher before. Otherwise they may
# be of another publisher, as a report does not name it.
_DISCOVERY_SECONDS, _FIRST_SECONDS = 1.0, 0.1
# CPU time in one callback to receive the messages that wait on a topic, and to apply all, also
# before a joint state is checked: a distance that is late, but well within the usual
# `cycle_deadline`, is better than one without an obstacle that was received. The last message or
# marker that is begun may take longer: 2,000 markers take about 0.1 s to decode.
WORK_SECONDS = 10e-3
_LATE_SECONDS = 0.5  # maximum age of unprocessed messages: obstacles may have moved
# Messages that wait may take this much memory, bytes: minutes of more than can be processed.
_MOST_BYTES = 64 * MEGABYTE


class ReliableSubscription:
    """Receives every message of a topic in order, and reports messages that were lost.

    A message is lost if its publisher discards it before delivery, because its depth is too small.
    Not every middleware reports that.

    Attributes:
        late: how long, s, the last message found by `process_waiting` had waited; 0 for none.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        callback: Callable[[Any], Iterator[None] | None],
        enqueue: Callable[[int, Callable[[], Iterator[None] | None]], None],
        lost: Callable[[int], None],
        keep: Callable[[bytes], None] | None = None,
        apply: Callable[[], None] = lambda: None,
    ) -> None:
        """Subscribe; call `check_publishers` regularly.

        Args:
            node: the node.
            kind: type of the messages.
            topic: name of the topic.
            callback: called with each message; returns the steps that apply it, if there are any.
            enqueue: called with the size of each message in bytes, and a function that decodes it
                and returns what the callback returns.
            lost: called with the number of messages that were lost or cannot be read.
            keep: called with each serialized message.
            apply: called after ``enqueue`` for a message that the executor has found, with which
                others may wait.
        """
        self._node, self._kind, self._callback, self._lost = node, kind, callback, lost
        self.late = 0.0
        self._publishers = 0
        self._ignored_until = -math.inf  # losses
        self._keep, self._enqueue, self._apply = keep, enqueue, apply
        events = SubscriptionEventCallbacks(message_lost=self._missed)
        create = node.create_subscription
        try:
            self._subscription = create(
                kind, topic, self._on_message, KEEP_ALL, event_callbacks=events, raw=True
            )
        except UnsupportedEventTypeError:
            self._subscription = create(kind, topic, self._on_message, KEEP_ALL, raw=True)

    def _on_message(self, data: bytes) -> None:
        self._receive(data)
        self._apply()

    def _receive(self, data: bytes) -> None:
        if self._keep is not None:
            self._keep(data)
        self._ignored_until = min(self._ignored_until, time.monotonic() + _FIRST_SECONDS)
        self._enqueue(len(data), partial(self._decode, data))

    def _decode(self, data: bytes) -> Iterator[None] | None:
        try:
            message = deserialize_message(data, self._kind)
        except Exception as problem:  # the middleware raises any error for invalid bytes
            topic = self._subscription.topic_name
            text = f"a message on {topic} cannot be read: {problem}"
            self._node.get_logger().error(text, throttle_duration_sec=1.0)
            self._lost(1)
            return None
        try:
            return self._callback(message)
        except Exception:  # what it says of the scene is lost
            self._lost(1)
            raise

    def process_waiting(self, seconds: float = WORK_SECONDS) -> None:
        """Process the waiting messages for this CPU time, oldest first, and update `late`.

        An executor takes one message of each topic in turn: under overload, messages would be
        processed later and later.
        """
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            if (found := take_serialized(self._subscription)) is None:
                self.late = 0.0
                return
            data, information = found
            received = information.get("received_timestamp") or time.time_ns()
            self.late = max(0.0, 1e-9 * (time.time_ns() - received))
            self._receive(data)

    def check_publishers(self) -> int:
        """Notice the discovery of the first publishers; return their number."""
        count = self._node.count_publishers(self._subscription.topic_name)
        if count and not self._publishers:
            self._ignored_until = time.monotonic() + _DISCOVERY_SECONDS
        self._publishers = count
        return count

    def _missed(self, event: Any) -> None:
        self.check_publishers()
        if time.monotonic() > self._ignored_until:
            # The default executor reports a loss before messages that wait, which may be older:
            # none of them may end it. All that the middleware keeps are received in this time.
            self.process_waiting(_LATE_SECONDS)
            self._lost(event.total_count_change)
            self._apply()

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


class PendingMarkers:
    """The latest state of each object on ``~/scene`` that is not applied yet, oldest first.

    Many markers take longer than joint states may wait. So a message is applied in parts, and
    several of them count as one. Objects that are deleted stay until all that are added or changed
    are there: a message that deletes all and adds them again never leaves them out in between.
    """

    def __init__(self) -> None:
        """Start without any."""
        # When it was received first, which is their order, and the latest marker; None: deleted.
        self._pending: dict[str, tuple[float, Marker | None]] = {}
        self._is_partial = False

    def __len__(self) -> int:
        """Number of objects."""
        return len(self._pending)

    def change(self, name: str, marker: Marker | None, now: float) -> None:
        """Add or change an object, or delete it (None). Times are seconds of a steady clock.

        One that waits already keeps its turn.
        """
        since, _ = self._pending.get(name, (now, None))
        self._pending[name] = since, marker

    def names(self) -> list[str]:
        """Names of the objects that are to be added or changed."""
        return [name for name, (_, marker) in self._pending.items() if marker is not None]

    def waited(self, now: float) -> float:
        """How long the oldest one has waited, seconds; 0 without any."""
        oldest, _ = next(iter(self._pending.values()), (now, None))
        return max(0.0, now - oldest)

    @property
    def is_partial(self) -> bool:
        """Whether objects were deleted before those that replace them were added."""
        return self._is_partial and self._first(is_deleted=False) is not None

    def _first(self, is_deleted: bool) -> str | None:
        """The first object to be deleted, or to be added or changed; None without one."""
        items = self._pending.items()
        return next((k for k, (_, marker) in items if (marker is None) == is_deleted), None)

    def apply_one(
        self, has_room: Callable[[str], bool], change: Callable[[Marker], None],
        delete: Callable[[str], None],
    ) -> None:  # fmt: skip
        """Apply the next one; ``has_room`` tells whether an object can be added now."""
        changed, deleted = self._first(is_deleted=False), self._first(is_deleted=True)
        if changed is not None and (deleted is None or has_room(changed)):
            _, marker = self._pending.pop(changed)
            change(marker)
            return
        self._is_partial = changed is not None
        del self._pending[deleted]
        delete(deleted)


_STARTS_AGAIN = {"planning_scene": "a whole planning scene with the robot state"}  # by topic
_END = object()  # of steps


class _Message(NamedTuple):
    topic: str
    received: float
    size: int
    decode: Callable[[], Iterator[None] | None]  # and apply it, or return the steps that do
    lost: int = 0  # messages that were lost, instead of one


class WaitingMessages:
    """Messages that are not applied yet, in the order in which they came; and those that were lost.

    Markers of several messages on ``~/scene`` are merged; other messages wait for those before.

    Attributes:
        markers: of messages that are decoded.
    """

    def __init__(self, lost: Callable[[str], None] = lambda topic: None) -> None:
        """Start without any; ``lost`` is called with the topic of messages that were lost."""
        self.markers = PendingMarkers()
        self._report = lost
        self._messages: deque[_Message] = deque()  # which are not decoded yet
        self._size = 0  # of these, bytes
        self._applied: tuple[_Message, Iterator[None]] | None = None  # step by step
        # Lost messages by topic: since what starts the scene again, and before it while it is not
        # applied yet.
        self._lost: Counter[str] = Counter()
        self._lost_before: Counter[str] = Counter()
        self._is_decoding = False

    def __bool__(self) -> bool:
        """Whether messages were received that are not applied yet."""
        return bool(self._messages or self.markers or self._applied)

    def receive(self, topic: str, size: int, decode: Callable[[], Iterator[None] | None]) -> bool:
        """Add a message of ``size`` bytes; return whether there was room for it."""
        if self._messages and self._size + size > _MOST_BYTES:
            return False
        self._size += size
        self._messages.append(_Message(topic, time.monotonic(), size, decode))
        return True

    def apply(
        self, seconds: float, has_room: Callable[[str], bool], change: Callable[[Marker], None],
        delete: Callable[[str], None],
    ) -> None:  # fmt: skip
        """Decode and apply messages for this CPU time; arguments as of `PendingMarkers`."""
        end = time.thread_time() + seconds
        while self:
            if self._applied is not None:
                self._step(*self._applied)
            elif self._messages and (not self.markers or self._messages[0].topic == "scene"):
                self._decode(self._messages.popleft())
            else:
                self.markers.apply_one(has_room, change, delete)
            if not time.thread_time() < end:
                break
        if not (self.markers or self._applied):
            self._lost_before.clear()

    def _decode(self, message: _Message) -> None:
        self._is_decoding = True
        self._size -= message.size
        try:
            steps = message.decode()
        finally:
            self._is_decoding = False
        self._applied = None if steps is None else (message, steps)

    def _step(self, message: _Message, steps: Iterator[None]) -> None:
        try:
            if next(steps, _END) is _END:
                self._applied = None
        except Exception:  # what the rest says of the scene is lost
            self._applied = None
            self.lose(message.topic, 1)
            raise

    # -- lost and late messages --

    def lose(self, topic: str, count: int) -> None:
        """Remember messages that were lost, until `clear` of their topic by a later one."""
        self._report(topic)
        remember = partial(self._lost.update, {topic: count})
        if self._is_decoding or not self._messages:
            remember()
        else:
            self._messages.append(_Message(topic, time.monotonic(), 0, remember, count))

    def clear(self, *topics: str) -> None:
        """What was lost on them no longer matters once all that is decoded so far is applied."""
        for topic in topics:
            self._lost_before[topic] += self._lost.pop(topic, 0)

    def waited(self, now: float) -> tuple[float, str]:
        """How long the oldest message has waited, seconds, and its topic."""
        oldest = [self._applied[0]] if self._applied else list(islice(self._messages, 1))
        late = [(now - message.received, message.topic) for message in oldest]
        return max([(self.markers.waited(now), "scene"), *late])

    def fault(self, late: float, topic: str) -> str:
        """Why the scene is not known, one sentence; empty if it is.

        ``late``: how long the oldest message, on ``topic``, has waited, seconds.
        """
        lost = self._lost_before + self._lost
        for message in self._messages:
            lost[message.topic] += message.lost
        if lost := +lost:
            counts = " and ".join(f"{count} on ~/{topic}" for topic, count in lost.items())
            ends = sorted({_STARTS_AGAIN.get(topic, "a DELETEALL of everything") for topic in lost})
            return f"messages were lost, {counts}: the scene is unknown until {' and '.join(ends)}"
        if late > _LATE_SECONDS:
            return (
                f"messages on ~/{topic} have waited for {late:.1f} s: more arrive than can be "
                f"processed; {_LATE_SECONDS:g} s are allowed"
            )
        if self.markers.is_partial:
            return f"{len(self.markers)} objects on ~/scene are being replaced"
        return ""

    def remark(self) -> str:
        """What was received and is not monitored yet, one sentence; empty without any."""
        if not self:
            return ""
        messages = counted(len(self._messages) + bool(self._applied), "message")
        objects = counted(len(self.markers), "object")
        return f"changes of the scene are not applied yet: {messages}, and {objects} of others"
