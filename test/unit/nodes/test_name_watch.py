# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Other publishers of the state, whose names the graph may learn later than of them."""

import logging
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.monitoring.faults import FaultRegister  # noqa: E402
from collision_monitor.nodes.common.graph_watch import NameWatch, node_of  # noqa: E402

OWN = SimpleNamespace(node_namespace="/", node_name="monitor")
UNKNOWN = SimpleNamespace(
    node_namespace="_NODE_NAMESPACE_UNKNOWN_", node_name="_NODE_NAME_UNKNOWN_"
)


class Node:
    """A node in a graph that holds these publishers of its state."""

    def __init__(self):
        self.publishers = [OWN]
        self.logger = logging.getLogger("stub")

    def resolve_topic_name(self, name):
        return name.replace("~", "/monitor")

    def count_publishers(self, topic):
        return len(self.publishers)

    def get_publishers_info_by_topic(self, topic):
        return self.publishers

    def get_fully_qualified_name(self):
        return "/monitor"

    def get_logger(self):
        return self.logger


def test_a_name_that_the_graph_learns_later_is_in_the_remark(caplog):
    node = Node()
    faults = FaultRegister()
    watch = NameWatch(node, faults)
    watch.update(10.0)
    assert faults.text("names", 0.0) == ""
    node.publishers = [OWN, UNKNOWN]
    watch.update(10.05)
    unknown = "/monitor/state is published by a node whose name is not known"
    assert unknown in faults.text("names", 0.0)
    node.publishers = [OWN, OWN]
    for k in range(20):
        watch.update(10.1 + 0.05 * k)
    assert faults.text("names", 0.0).startswith("2 nodes are named /monitor")
    assert len(caplog.records) == 2  # each remark once
    node.publishers = [OWN, SimpleNamespace(node_namespace="/left", node_name="other")]
    watch.update(12.0)
    assert "is published by /left/other as well" in faults.text("names", 0.0)
    node.publishers = [OWN]
    watch.update(12.05)
    assert faults.text("names", 0.0) == ""


def test_a_name_is_given_with_its_namespace():
    assert node_of(OWN) == "/monitor"
    assert "UNKNOWN" not in node_of(UNKNOWN)
