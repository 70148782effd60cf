# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of launch files share."""

import pytest


@pytest.fixture
def graph(request, source, monkeypatch):
    """A ROS graph that launched processes join; its parameter is the name of the monitor."""
    from support.ros.ros_graph import Graph  # skips where there is no rclpy

    graph = Graph(getattr(request, "param", "/collision_monitor"))
    monkeypatch.setenv("ROS_DOMAIN_ID", str(graph.domain))
    yield graph
    graph.close()


@pytest.fixture
def exits():
    """Exit codes of the processes that have ended."""
    return []
