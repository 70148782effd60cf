# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Definitions of messages are whole: an independent reader finds every part with its fields."""

import pytest

pytest.importorskip("rclpy", reason="the .msg files come with ROS")
typesys = pytest.importorskip("rosbags.typesys", reason="rosbags is not installed")

from collision_monitor.errors import RecordingError  # noqa: E402
from collision_monitor.nodes.recorder import message_definition  # noqa: E402

KINDS = [
    "sensor_msgs/msg/JointState",
    "std_msgs/msg/Float64MultiArray",
    "diagnostic_msgs/msg/DiagnosticStatus",
    "visualization_msgs/msg/MarkerArray",
    "std_msgs/msg/String",
    "moveit_like/msg/Nothing",
]


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_they_are_those_of_the_distribution(kind):
    known = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    read = typesys.get_types_from_msg(message_definition(kind), kind)
    assert kind in read
    for name, (_, fields) in read.items():
        assert fields == known.fielddefs[name][1], name
    store = typesys.get_typestore(typesys.Stores.EMPTY)
    store.register(read)  # refused where a part is missing
    assert store.generate_msgdef(kind) == known.generate_msgdef(kind)


def test_what_is_not_installed_is_named():
    with pytest.raises(RecordingError, match=r"moveit_like/msg/Nothing\.msg"):
        message_definition(KINDS[-1])
