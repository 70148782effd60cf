# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves in RViz, of robots with more of them than are sent at once."""

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from support.ros.rviz_twin import RvizTwin, markers_of  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402

from collision_monitor.nodes.markers import leaf_markers  # noqa: E402
from collision_monitor.nodes.markers.leaf_markers import LeafMarkers  # noqa: E402


def make(kind, namespace, number):
    """A marker in the base frame."""
    marker = Marker(type=kind, ns=namespace, id=number)
    marker.header.frame_id = "l0"
    return marker


def test_one_more_group_is_made_each_time_until_all_are_shown(monkeypatch):
    monkeypatch.setattr(leaf_markers, "GROUP", 3)
    model = CollisionModel.from_urdf(chain(9))
    rows = np.arange(1, 9)
    markers, rviz = LeafMarkers(model.leaves, rows, make), RvizTwin()
    colours = np.tile([0.1, 0.2, 0.3, 1.0], (len(model.leaves), 1))
    for expected in (3, 6, 8, 8):
        segments = model.leaf_segments(model.random_configurations(1)[0])
        messages = list(markers.build(segments, colours, Time()))
        assert all(0 < len(markers_of([message])) <= 3 for message in messages)
        rviz.take(*messages)
        assert sorted(number for _, number in rviz.shown) == rows[:expected].tolist()
    for (_, number), marker in rviz.shown.items():
        (p,) = marker.points
        assert [p.x, p.y, p.z] == segments[number, 0].tolist()
