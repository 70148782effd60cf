# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Names of nodes in the graph, and a watch for a second node of the same name."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from collision_monitor.common.text import shortened
from collision_monitor.monitoring.faults import FaultRegister, Level

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
