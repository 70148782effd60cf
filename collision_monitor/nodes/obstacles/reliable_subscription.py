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

try:
    from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
except ImportError:  # before Iron
    from rclpy.qos_event import SubscriptionEventCallbacks, UnsupportedEventTypeError

# All that waits, not the last so many: what is overwritten here is lost without a word, what has
# no room (5000 messages in Fast DDS) is missed, and that the middleware tells.
_ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL, reliability=ReliabilityPolicy.RELIABLE)
# What a publisher has sent while it was being discovered counts as lost too, but nobody was
# promised that.
_DISCOVERY_SECONDS = 1.0
_AT_ONCE = 10  # messages: joint states wait meanwhile


class LosslessSubscription:
    """Every message of a topic, in order, and a word where that could not be.

    Lost are messages that a publisher has thrown away before they could be taken: its depth was
    too small. Middlewares that cannot tell do not.

    Attributes:
        late: seconds that the last message which `take` found had waited here; 0 if none waits.
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
        """Listen from now on; `look` is to be called now and then.

        Args:
            node: whose subscription it is.
            kind: of its messages.
            topic: its name.
            callback: called with each message.
            lost: called with how many were missed, or cannot be read.
            keep: called with each message as it came, serialized.
        """
        self._node, self._kind, self._callback, self._lost = node, kind, callback, lost
        self.late = 0.0
        self._publishers, self._grew = 0, -math.inf
        self._keep = keep
        events = SubscriptionEventCallbacks(message_lost=self._missed)
        create = node.create_subscription
        try:
            self._subscription = create(
                kind, topic, self._hear, _ALL, event_callbacks=events, raw=True
            )
        except UnsupportedEventTypeError:
            self._subscription = create(kind, topic, self._hear, _ALL, raw=True)

    def _hear(self, data: bytes) -> None:
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
        """Hear at once some of what waits, oldest first, and see how long it has waited.

        An executor gives each message its turn among those of all topics: where there are more
        than can be worked on, they would come later and later.
        """
        for _ in range(_AT_ONCE):
            # What executors do; one that looks for these later finds nothing.
            with self._subscription.handle:
                found = self._subscription.handle.take_message(self._kind, True)
            if found is None:
                self.late = 0.0
                return
            data, told = found
            came = told.get("received_timestamp") or time.time_ns()
            self.late = max(0.0, 1e-9 * (time.time_ns() - came))
            self._hear(data)

    def look(self) -> None:
        """See whether a publisher is new."""
        count = self._node.count_publishers(self._subscription.topic_name)
        if count > self._publishers:
            self._grew = time.monotonic()
        self._publishers = count

    def _missed(self, event: Any) -> None:
        self.look()
        if time.monotonic() - self._grew > _DISCOVERY_SECONDS:
            self._lost(event.total_count_change)

    def destroy(self) -> None:
        """End it."""
        self._node.destroy_subscription(self._subscription)
