# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Notices other publishers of the state of a node, such as a second node of the same name."""

from __future__ import annotations

from rclpy.node import Node

from collision_monitor.common.text import shortened


class NameWatch:
    """Watches the graph for other publishers of ``~/state``.

    Attributes:
        remark: who they are; empty without any.
    """

    def __init__(self, node: Node) -> None:
        """Start without any."""
        self._node = node
        self._topic = node.resolve_topic_name("~/state")
        self._count = 1
        self.remark = ""

    def update(self) -> None:
        """Look at the graph; call it regularly."""
        count = self._node.count_publishers(self._topic)
        if count != self._count:
            self._count = count
            self.remark = self._found() if count > 1 else ""
            if self.remark:
                self._node.get_logger().warning(self.remark)

    def _found(self) -> str:
        full_name = self._node.get_fully_qualified_name()
        names = [
            f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in self._node.get_publishers_info_by_topic(self._topic)
        ]
        if names.count(full_name) > 1:
            return (
                f"{names.count(full_name)} nodes are named {full_name}, and their states mix on "
                f"{self._topic}: end one, or rename it (-r __node:=name)"
            )
        others = shortened(
            sorted({name for name in names if name != full_name}) or ["another node"]
        )
        return f"{self._topic} is published by {others} as well: its states mix with these"
