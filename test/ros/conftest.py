# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes that only have parameters."""

import pytest


@pytest.fixture(scope="module")
def context():
    """A ROS context to make nodes in."""
    from support.ros.ros_graph import Graph  # skips where there is no rclpy

    graph = Graph()
    yield graph.context
    graph.close()


@pytest.fixture
def make_node(context):
    """Makes a node /cell/monitor with parameters given from outside; destroyed afterwards."""
    from rclpy.node import Node
    from rclpy.parameter import Parameter

    made = []

    def make(**given):
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        made.append(Node(
            "monitor", namespace="/cell", context=context, parameter_overrides=overrides
        ))  # fmt: skip
        return made[-1]

    yield make
    for node in made:
        node.destroy_node()
