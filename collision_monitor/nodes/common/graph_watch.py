# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Publishers of obstacles whose messages the middleware does not deliver to this node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from rclpy.node import Node
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from rclpy.topic_endpoint_info import TopicEndpointInfo

from collision_monitor.common.text import shortened
from collision_monitor.nodes.common.messages import type_name
from collision_monitor.nodes.common.node_state import NAMES_SECONDS, node_of


class Subscribed(NamedTuple):
    """A type of messages and the quality of service of its subscription.

    ``kind``: None if the type is not installed, so that there is no subscription.
    """

    kind: type | None
    qos: QoSProfile


class UnheardPublishers:
    """Looks for publishers of another type, or of a quality of service that does not match.

    The middleware connects neither, and its log is the only word of it: what they publish would not
    be monitored.

    Attributes:
        fault: which they are, one sentence; empty without any.
    """

    def __init__(self, node: Node, topics: Mapping[str, Subscribed]) -> None:
        """``topics``: what is subscribed, by topic, which is relative to the name of the node."""
        self._node = node
        self._topics = {
            node.resolve_topic_name(f"~/{name}"): (name, each) for name, each in topics.items()
        }
        self._next = -math.inf
        self.fault = ""

    def update(self, now: float) -> None:
        """Look at the graph if it is time; ``now``: of the steady clock, seconds."""
        if now < self._next:
            return
        self._next = now + NAMES_SECONDS
        unheard = {
            f"{node_of(publisher)} on ~/{name} ({why})"
            for topic, (name, subscribed) in self._topics.items()
            for publisher in self._node.get_publishers_info_by_topic(topic)
            if (why := _why_unheard(publisher, subscribed))
        }
        names = shortened(sorted(unheard))
        self.fault = f"publishers of obstacles are not received: {names}" if unheard else ""


def _why_unheard(publisher: TopicEndpointInfo, subscribed: Subscribed) -> str:
    """Why the messages of a publisher are not received; empty if they are."""
    if subscribed.kind is None:
        return "the messages of this topic are not installed"
    if publisher.topic_type != (wanted := type_name(subscribed.kind)):
        return f"its type is {publisher.topic_type}, not {wanted}"
    compatibility, reason = qos_check_compatible(publisher.qos_profile, subscribed.qos)
    if compatibility == QoSCompatibility.ERROR:
        return f"quality of service: {reason.removeprefix('ERROR: ').rstrip(';')}"
    return ""
