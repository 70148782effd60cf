# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Any marker can be written into a template, and as many as are wanted are in the message."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from geometry_msgs.msg import Point  # noqa: E402
from support.ros.rviz_twin import markers_of  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402

from collision_monitor.nodes.markers.marker_template import (  # noqa: E402
    PointsTemplate,
    SolidTemplate,
)

text = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=9)
keys = st.lists(st.integers(0, 2**31 - 1), max_size=7)


def make(namespace, frame):
    marker = Marker(ns=namespace)
    marker.header.frame_id = frame
    return marker


def row_of(marker):
    """All that a template can set, as the message has it."""
    p, o, s, c = marker.pose.position, marker.pose.orientation, marker.scale, marker.color
    lifetime = marker.lifetime.sec + 1e-9 * marker.lifetime.nanosec
    return [
        marker.id, marker.type, marker.header.stamp.sec, lifetime, p.x, p.y, p.z, o.x, o.y, o.z,
        o.w, s.x, s.y, s.z, c.r, c.g, c.b, c.a,
    ]  # fmt: skip


@given(text, text, st.lists(keys, min_size=2, max_size=3), st.integers(0, 1000))
def test_the_first_markers_are_what_was_written_last(namespace, frame, messages, seed):
    rng = np.random.default_rng(seed)
    template = SolidTemplate([make(namespace, frame) for _ in range(7)])
    assert template.most == 7
    for numbers in messages:
        count = len(numbers)
        kinds = rng.integers(1, 4, count)
        poses, scales = rng.normal(size=(count, 7)), rng.uniform(size=(count, 3))
        colours = rng.uniform(size=(count, 4)).astype(np.float32)
        template.set_stamp(Time(sec=5))
        template.set_lifetime(12.25)
        template.fill(np.array(numbers, dtype=np.int64), kinds, poses, scales, colours)
        arrived = markers_of([template.first(count)])
        assert [row_of(m) for m in arrived] == [
            [numbers[k], kinds[k], 5, 12.25, *poses[k], *scales[k], *colours[k]]
            for k in range(count)
        ]
        assert all((m.ns, m.header.frame_id) == (namespace, frame) for m in arrived)
        assert all(m.action == Marker.ADD and not m.points for m in arrived)
        template.remove(np.array(numbers, dtype=np.int64))
        gone = markers_of([template.first(count)])
        assert [(m.ns, m.id, m.action) for m in gone] == [
            (namespace, k, Marker.DELETE) for k in numbers
        ]


@given(text, text, st.lists(st.integers(1, 300), min_size=2, max_size=3), st.integers(0, 1000))
def test_a_list_has_as_many_points_as_are_wanted(namespace, frame, counts, seed):
    rng = np.random.default_rng(seed)
    marker = make(namespace, frame)
    marker.points = [Point()]
    template = PointsTemplate(marker)
    pose = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]
    for count in counts:
        points = rng.normal(size=(count, 3))
        template.fill(
            np.array([count]), np.array([Marker.SPHERE_LIST]), np.array([pose]),
            np.full((1, 3), 0.5), np.ones((1, 4)),
        )  # fmt: skip
        (arrived,) = markers_of([template.with_points(points)])
        assert [[p.x, p.y, p.z] for p in arrived.points] == points.tolist()
        assert row_of(arrived)[4:] == [*pose, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0]
        assert (arrived.ns, arrived.id, arrived.header.frame_id) == (namespace, count, frame)
        assert not arrived.colors and not arrived.text
