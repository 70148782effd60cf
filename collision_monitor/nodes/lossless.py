# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions of which no message gets lost without a word."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

try:
    from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
except ImportError:  # before Iron
    from rclpy.qos_event import SubscriptionEventCallbacks, UnsupportedEventTypeError

# All that waits, not the last so many: a node that loads or is held up takes them afterwards.
_ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL, reliability=ReliabilityPolicy.RELIABLE)
# What a publisher has sent while it was being discovered counts as lost too, but nobody was
# promised that.
_DISCOVERY_SECONDS = 1.0
_MOST = 50  # taken at once: joint states wait meanwhile


class LosslessSubscription:
    """Every message of a topic, and a word where that could not be.

    Lost are messages that a publisher has thrown away before they could be taken: its depth was
    too small. Middlewares that cannot tell do not.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        lost: Callable[[int], None],
        is_raw: bool = False,
    ) -> None:
        """Listen from now on; `look` is to be called now and then.

        Args:
            node: whose subscription it is.
            kind: of its messages.
            topic: its name.
            callback: called with each message.
            lost: called with how many were missed.
            is_raw: whether messages are handed on as they came, serialized.
        """
        self._node, self._kind, self._callback, self._lost = node, kind, callback, lost
        self._publishers, self._grew = 0, -math.inf
        self._is_raw = is_raw
        events = SubscriptionEventCallbacks(message_lost=self._missed)
        create = node.create_subscription
        try:
            self._subscription = create(
                kind, topic, self._hear, _ALL, event_callbacks=events, raw=is_raw
            )
        except UnsupportedEventTypeError:
            self._subscription = create(kind, topic, self._hear, _ALL, raw=is_raw)

    def _hear(self, message: Any) -> None:
        self._callback(message)
        self.take()

    def take(self) -> None:
        """Hear at once some of what waits, oldest first.

        An executor gives each message its turn among those of all topics: where there are more
        than can be worked on, they would come later and later.
        """
        for _ in range(_MOST):
            # What executors do; an executor that looks for these later finds nothing.
            with self._subscription.handle:
                found = self._subscription.handle.take_message(self._kind, self._is_raw)
            if found is None:
                return
            self._callback(found[0])

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
