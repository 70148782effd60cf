# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers written into serialized markers arrive as if the markers had been made with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from geometry_msgs.msg import Point  # noqa: E402
from support.ros.rviz_twin import markers_of  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402

from collision_monitor.nodes.markers.marker_template import MarkerTemplate  # noqa: E402

text = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=9)


@given(
    st.lists(st.tuples(text, text, text, st.integers(0, 5)), max_size=6),
    st.integers(0, 2**31 - 1), st.integers(0, 999_999_999), st.integers(0, 1000),
)  # fmt: skip
def test_all_that_is_set_arrives_and_all_else_stays(rows, sec, nanosec, seed):
    markers = []
    for k, (namespace, frame, label, points) in enumerate(rows):
        marker = Marker(ns=namespace, id=k - 2, type=k, action=Marker.ADD, text=label)
        marker.header.frame_id = frame
        marker.scale.x, marker.scale.z = 0.1 + k, 7.5
        marker.lifetime.sec, marker.lifetime.nanosec = 3, k
        marker.points = [Point()] * points
        markers.append(marker)
    template = MarkerTemplate(markers)
    rng = np.random.default_rng(seed)
    count, total = len(rows), sum(row[3] for row in rows)
    for _ in range(2):  # what was written before does not shine through
        poses, colours = rng.normal(size=(count, 7)), rng.uniform(size=(count, 4))
        points = rng.normal(size=(total, 3))
        template.set_poses(poses)
        template.set_colours(colours)
        template.set_points(points)
        template.set_stamp(Time(sec=sec, nanosec=nanosec))
        arrived = markers_of([template.message()])
    assert len(arrived) == count
    at = 0
    for k, (marker, row) in enumerate(zip(arrived, rows, strict=True)):
        namespace, frame, label, number = row
        p, o, c = marker.pose.position, marker.pose.orientation, marker.color
        assert [p.x, p.y, p.z, o.x, o.y, o.z, o.w] == poses[k].tolist()
        assert [c.r, c.g, c.b, c.a] == pytest.approx(colours[k].tolist(), abs=1e-7)
        assert [[p.x, p.y, p.z] for p in marker.points] == points[at : at + number].tolist()
        at += number
        assert (marker.ns, marker.header.frame_id, marker.text) == (namespace, frame, label)
        assert (marker.header.stamp.sec, marker.header.stamp.nanosec) == (sec, nanosec)
        assert (marker.id, marker.type, marker.action) == (k - 2, k, Marker.ADD)
        assert (marker.scale.x, marker.scale.y, marker.scale.z) == (0.1 + k, 0.0, 7.5)
        assert (marker.lifetime.sec, marker.lifetime.nanosec) == (3, k)
