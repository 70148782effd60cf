# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers written into the bytes of markers arrive as if the markers had been made with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from support.ros.rviz_twin import markers_of  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402

from collision_monitor.nodes.markers.marker_rows import SHARE, MarkerRows  # noqa: E402

text = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=9)


def row_of(marker):
    """All that differs between markers, as the message has it."""
    p, o, s, c = marker.pose.position, marker.pose.orientation, marker.scale, marker.color
    lifetime = marker.lifetime.sec + 1e-9 * marker.lifetime.nanosec
    return [
        marker.id, marker.type, marker.header.stamp.sec, marker.header.stamp.nanosec, lifetime,
        p.x, p.y, p.z, o.x, o.y, o.z, o.w, s.x, s.y, s.z, c.r, c.g, c.b, c.a,
    ]  # fmt: skip


@given(
    text, text, st.lists(st.integers(0, 2**31 - 1), max_size=250), st.integers(0, 40),
    st.integers(0, 1000),
)  # fmt: skip
def test_all_that_is_written_arrives_and_nothing_else(namespace, frame, ids, points, seed):
    rng, count = np.random.default_rng(seed), len(ids)
    kinds = rng.integers(1, 4, count)
    poses, scales = rng.normal(size=(count, 7)), rng.uniform(size=(count, 3))
    colours = rng.uniform(size=(count, 4)).astype(np.float32)
    corners = rng.normal(size=(count, points, 3))
    rows = MarkerRows(frame, namespace)
    stamp = Time(sec=5, nanosec=6)
    messages = list(
        rows.messages(stamp, 12.25, np.array(ids), kinds, poses, scales, colours, corners)
    )
    assert all(0 < len(markers_of([message])) <= SHARE for message in messages)
    arrived = markers_of(messages)
    assert [row_of(m) for m in arrived] == [
        [ids[k], kinds[k], 5, 6, 12.25, *poses[k], *scales[k], *colours[k]] for k in range(count)
    ]
    for marker, written in zip(arrived, corners, strict=True):
        assert [[p.x, p.y, p.z] for p in marker.points] == written.tolist()
        assert (marker.ns, marker.header.frame_id) == (namespace, frame)
        assert marker.action == Marker.ADD and not marker.colors and not marker.text.strip(".")
    gone = markers_of(rows.deletions(stamp, np.array(ids)))
    assert [(m.ns, m.id, m.action) for m in gone] == [(namespace, k, Marker.DELETE) for k in ids]
