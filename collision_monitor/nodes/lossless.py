# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that keep much of what waits, and say what the middleware has lost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

try:
    from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
except ImportError:  # before Iron
    from rclpy.qos_event import SubscriptionEventCallbacks, UnsupportedEventTypeError

# A node that loads or is held up takes what waits afterwards. Not KEEP_ALL: where more comes than
# can be worked on, the delay would have no end.
DEPTH = 2000
_DEEP = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
# What a publisher has sent while it was being discovered counts as lost too, but nobody was
# promised that.
_DISCOVERY_SECONDS = 1.0


class LosslessSubscription:
    """The messages of a topic, up to `DEPTH` that wait, and a word where some were lost.

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
    ) -> None:
        """Listen from now on; `look` is to be called now and then.

        Args:
            node: whose subscription it is.
            kind: of its messages.
            topic: its name.
            callback: called with each message.
            lost: called with how many were missed.
        """
        self._node, self._lost = node, lost
        self._publishers, self._grew = 0, -math.inf
        events = SubscriptionEventCallbacks(message_lost=self._missed)
        create = node.create_subscription
        try:
            self._subscription = create(kind, topic, callback, _DEEP, event_callbacks=events)
        except UnsupportedEventTypeError:
            self._subscription = create(kind, topic, callback, _DEEP)

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
