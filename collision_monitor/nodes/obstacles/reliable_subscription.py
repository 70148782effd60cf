# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that receive every message, and report lost and late ones."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from collision_monitor.nodes.common.executor import take_serialized

try:
    from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
except ImportError:  # before Iron
    from rclpy.qos_event import SubscriptionEventCallbacks, UnsupportedEventTypeError

# Keep all waiting messages: an overwritten message would be lost silently, while the middleware
# reports one beyond its limit (5000 messages in Fast DDS).
_ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL, reliability=ReliabilityPolicy.RELIABLE)
# Messages that a publisher sent during its discovery may also be reported as lost, until its first
# messages are received. They are ignored if the topic had no publisher before. Otherwise they may
# be of another publisher, as a report does not name it.
_DISCOVERY_SECONDS, _FIRST_SECONDS = 1.0, 0.1
# CPU time for scene messages in one callback; joint states wait meanwhile. The last message or
# marker that is begun may take longer: 2,000 markers take about 0.1 s to decode.
WORK_SECONDS = 5e-3


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
        callback: Callable[[Any], None],
        enqueue: Callable[[int, Callable[[], None]], None],
        lost: Callable[[int], None],
        keep: Callable[[bytes], None] | None = None,
    ) -> None:
        """Subscribe; call `check_publishers` regularly.

        Args:
            node: the node.
            kind: type of the messages.
            topic: name of the topic.
            callback: called with each message.
            enqueue: called with the size of each message in bytes, and a function that decodes it
                and calls the callback.
            lost: called with the number of messages that were lost or cannot be read.
            keep: called with each serialized message.
        """
        self._node, self._kind, self._callback, self._lost = node, kind, callback, lost
        self.late = 0.0
        self._publishers = 0
        self._ignored_until = -math.inf  # losses
        self._keep, self._enqueue = keep, enqueue
        events = SubscriptionEventCallbacks(message_lost=self._missed)
        create = node.create_subscription
        try:
            self._subscription = create(
                kind, topic, self._receive, _ALL, event_callbacks=events, raw=True
            )
        except UnsupportedEventTypeError:
            self._subscription = create(kind, topic, self._receive, _ALL, raw=True)

    def _receive(self, data: bytes) -> None:
        if self._keep is not None:
            self._keep(data)
        self._ignored_until = min(self._ignored_until, time.monotonic() + _FIRST_SECONDS)
        self._enqueue(len(data), partial(self._decode, data))

    def _decode(self, data: bytes) -> None:
        try:
            message = deserialize_message(data, self._kind)
        except Exception as problem:  # the middleware raises any error for invalid bytes
            topic = self._subscription.topic_name
            text = f"a message on {topic} cannot be read: {problem}"
            self._node.get_logger().error(text, throttle_duration_sec=1.0)
            self._lost(1)
            return
        try:
            self._callback(message)
        except Exception:  # what it says of the scene is lost
            self._lost(1)
            raise

    def process_waiting(self) -> None:
        """Process some of the waiting messages now, oldest first, and update `late`.

        An executor takes one message of each topic in turn: under overload, messages would be
        processed later and later.
        """
        end = time.thread_time() + WORK_SECONDS
        while time.thread_time() < end:
            if (found := take_serialized(self._subscription)) is None:
                self.late = 0.0
                return
            data, information = found
            received = information.get("received_timestamp") or time.time_ns()
            self.late = max(0.0, 1e-9 * (time.time_ns() - received))
            self._receive(data)

    def check_publishers(self) -> None:
        """Notice the discovery of the first publishers."""
        count = self._node.count_publishers(self._subscription.topic_name)
        if count and not self._publishers:
            self._ignored_until = time.monotonic() + _DISCOVERY_SECONDS
        self._publishers = count

    def _missed(self, event: Any) -> None:
        self.check_publishers()
        if time.monotonic() > self._ignored_until:
            self._lost(event.total_count_change)

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)
