# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that report lost and late messages."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from collision_monitor.nodes.common.executor import take_serialized

try:
    from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
except ImportError:  # before Iron
    from rclpy.qos_event import SubscriptionEventCallbacks, UnsupportedEventTypeError

# All waiting messages, not the last few: a message that is overwritten here is lost silently, one
# without room (5000 messages in Fast DDS) is reported by the middleware.
_ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL, reliability=ReliabilityPolicy.RELIABLE)
# Messages that a publisher sent while it was being discovered count as lost too; ignore these.
_DISCOVERY_SECONDS = 1.0
_AT_ONCE = 10  # messages taken at once: joint states wait meanwhile


class ReliableSubscription:
    """Receives every message of a topic in order, and reports messages that were lost.

    A message is lost if its publisher drops it before it is taken, because its depth is too small.
    Not every middleware reports that.

    Attributes:
        late: seconds that the last message that `take` found had waited; 0 if none waits.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        lost: Callable[[int], None],
        keep: Callable[[bytes], None] | None = None,
    ) -> None:
        """Subscribe; call `check_publishers` regularly.

        Args:
            node: the node.
            kind: type of the messages.
            topic: name of the topic.
            callback: called with each message.
            lost: called with the number of messages that were lost or cannot be read.
            keep: called with each serialized message.
        """
        self._node, self._kind, self._callback, self._lost = node, kind, callback, lost
        self.late = 0.0
        self._publishers, self._grew = 0, -math.inf
        self._keep = keep
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
        try:
            message = deserialize_message(data, self._kind)
        except Exception as problem:  # whatever the middleware raises: it is no such message
            topic = self._subscription.topic_name
            text = f"a message on {topic} cannot be read: {problem}"
            self._node.get_logger().error(text, throttle_duration_sec=1.0)
            self._lost(1)
        else:
            self._callback(message)

    def take(self) -> None:
        """Process some of the waiting messages now, oldest first, and update `late`.

        An executor takes one message of each topic in turn: under overload, messages would be
        processed later and later.
        """
        for _ in range(_AT_ONCE):
            if (found := take_serialized(self._subscription)) is None:
                self.late = 0.0
                return
            data, information = found
            received = information.get("received_timestamp") or time.time_ns()
            self.late = max(0.0, 1e-9 * (time.time_ns() - received))
            self._receive(data)

    def check_publishers(self) -> None:
        """Note when a new publisher was discovered."""
        count = self._node.count_publishers(self._subscription.topic_name)
        if count > self._publishers:
            self._grew = time.monotonic()
        self._publishers = count

    def _missed(self, event: Any) -> None:
        self.check_publishers()
        if time.monotonic() - self._grew > _DISCOVERY_SECONDS:
            self._lost(event.total_count_change)

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)
