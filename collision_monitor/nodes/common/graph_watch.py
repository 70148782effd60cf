# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What only the ROS graph shows: publishers that this node does not receive, and its twins."""

from __future__ import annotations

import math
from collections.abc import Collection

from rclpy.node import Node
from rclpy.qos import QoSCompatibility, qos_check_compatible
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from collision_monitor.common.text import shortened
from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.nodes.common.messages import type_name

# Between two looks at names, which take 100 times as long as a look at their number. The graph may
# know an endpoint before the name of its node.
NAMES_SECONDS = 0.5
_UNKNOWN_NAME = "_NODE_NAME_UNKNOWN_"  # of the middleware, in place of such a name


def node_of(endpoint: TopicEndpointInfo) -> str:
    """Full name of the node of a publisher or subscription; in words while it is not known."""
    if endpoint.node_name == _UNKNOWN_NAME:
        return "a node whose name is not known"
    return f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"


class NameWatch:
    """Watches the graph for other publishers of ``~/state``: they are the fault "names"."""

    def __init__(self, node: Node, faults: FaultRegister) -> None:
        """Start without any."""
        self._node, self._faults = node, faults
        self._topic = node.resolve_topic_name("~/state")
        self._count, self._looked_at = 1, 0.0
        self._remark = ""

    def update(self, now: float) -> None:
        """Look at the graph; call it regularly. ``now``: time of the steady clock, seconds."""
        count = self._node.count_publishers(self._topic)
        is_due = count > 1 and now - self._looked_at >= NAMES_SECONDS
        if count == self._count and not is_due:
            return
        self._count, self._looked_at = count, now
        remark = self._found() if count > 1 else ""
        if remark and remark != self._remark:
            self._node.get_logger().warning(remark)
        self._remark = remark
        self._faults.put("names", Level.WARN, "", remark)

    def _found(self) -> str:
        full_name = self._node.get_fully_qualified_name()
        names = [node_of(each) for each in self._node.get_publishers_info_by_topic(self._topic)]
        if names.count(full_name) > 1:
            return (
                f"{names.count(full_name)} nodes are named {full_name}, and their states mix on "
                f"{self._topic}: end one, or rename it (-r __node:=name)"
            )
        others = shortened(
            sorted({name for name in names if name != full_name}) or ["another node"]
        )
        return f"{self._topic} is published by {others} as well: its states mix with these"


class UnheardPublishers:
    """Watches all subscribed topics for publishers that the middleware does not connect.

    Their type or quality of service does not match, and the log of the middleware is the only word
    of it. Those of obstacles are the fault "unheard_obstacles", an ERROR, since what they publish
    is not monitored; those of other topics are the fault "unheard", a remark.
    """

    def __init__(self, node: Node, faults: FaultRegister, obstacles: Collection[str] = ()) -> None:
        """``obstacles``: their topics; the messages of one that has no subscription are missing."""
        self._node, self._faults = node, faults
        self._obstacles = {node.resolve_topic_name(topic) for topic in obstacles}
        self._next = -math.inf

    def update(self, now: float) -> None:
        """Look at the graph if it is time; ``now``: of the steady clock, seconds."""
        if now < self._next:
            return
        self._next = now + NAMES_SECONDS
        subscribed = {each.topic_name: each for each in self._node.subscriptions}
        obstacles = self._found(self._obstacles, subscribed)
        others = self._found(subscribed.keys() - self._obstacles, subscribed)
        text = f"publishers of obstacles are not received: {obstacles}" if obstacles else ""
        self._faults.put("unheard_obstacles", Level.ERROR, "scene", text)
        text = f"publishers are not received: {others}" if others else ""
        self._faults.put("unheard", Level.WARN, "", text)

    def _found(self, topics: Collection[str], subscribed: dict[str, Subscription]) -> str:
        unheard = {
            f"{node_of(publisher)} on {topic} ({why})"
            for topic in topics
            for publisher in self._node.get_publishers_info_by_topic(topic)
            if (why := why_unheard(publisher, subscribed.get(topic)))
        }
        return shortened(sorted(unheard))


def why_unheard(publisher: TopicEndpointInfo, subscription: Subscription | None) -> str:
    """Why the messages of a publisher of this topic are not received; empty if they are."""
    if subscription is None:
        return "the messages of this topic are not installed"
    if publisher.topic_type != (wanted := type_name(subscription.msg_type)):
        return f"its type is {publisher.topic_type}, not {wanted}"
    compatibility, reason = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
    if compatibility == QoSCompatibility.ERROR:
        return f"quality of service: {reason.removeprefix('ERROR: ').rstrip(';')}"
    return ""
