# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A motion played as joint states: where it is at what time, and what is sent."""

import numpy as np
import pytest

from collision_monitor.motion.motion import Motion

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from collision_monitor.nodes.demo.demo import MotionPlayer  # noqa: E402


class FakeNode:
    """A node whose clock is set by hand, and whose publisher keeps copies."""

    def __init__(self):
        self.sent, self.stamp, self.topics = [], Time(sec=5, nanosec=6), []

    def create_publisher(self, kind, topic, qos):
        self.topics.append((kind, topic))
        return self

    def publish(self, message):
        stamp = message.header.stamp
        self.sent.append(
            (list(message.name), list(message.position), (stamp.sec, stamp.nanosec))
        )

    def get_clock(self):
        return self

    def now(self):
        return self

    def to_msg(self):
        return self.stamp


MOTION = Motion(
    ("a", "b"), np.array([2.0, 4.0, 8.0]), np.array([[0.0, 1.0], [1.0, 1.0], [3.0, -1.0]])
)


@pytest.fixture
def node():
    return FakeNode()


def test_it_stands_at_the_first_row_until_it_is_started(node):
    player = MotionPlayer(node, MOTION, 3.0)
    for now in (0.0, 50.0, 1e6):
        player.send(now)
        assert player.time(now) == 0.0
        assert not player.at_end(now)
    assert node.sent == [(["a", "b"], [0.0, 1.0], (5, 6))] * 3
    assert player.sent == 3
    assert node.topics == [(JointState, "joint_states")]


@pytest.mark.parametrize(
    ("share", "positions"),
    [(0.0, [0.0, 1.0]), (1 / 6, [0.5, 1.0]), (1 / 3, [1.0, 1.0]), (2 / 3, [2.0, 0.0]),
     (1.0, [3.0, -1.0]), (2.0, [3.0, -1.0])],
)  # fmt: skip
@pytest.mark.parametrize("seconds", [1.5, 6.0, 60.0])
def test_the_whole_motion_takes_the_seconds_given(node, seconds, share, positions):
    player = MotionPlayer(node, MOTION, seconds)
    player.start(100.0)
    now = 100.0 + share * seconds
    player.send(now)
    assert node.sent[-1][1] == pytest.approx(positions)
    assert player.time(now) == pytest.approx(min(share, 1.0) * 6.0)
    assert player.at_end(now + 1e-9) == (share >= 1.0)


def test_every_message_has_the_time_of_its_sending(node):
    player = MotionPlayer(node, MOTION, 3.0)
    player.send(0.0)
    node.stamp = Time(sec=7, nanosec=8)
    player.send(0.1)
    assert [stamp for _, _, stamp in node.sent] == [(5, 6), (7, 8)]


def test_a_motion_of_one_row_is_at_its_end_at_once(node):
    player = MotionPlayer(node, Motion(("a",), np.array([3.0]), np.array([[0.5]])), 10.0)
    assert not player.at_end(0.0)
    player.start(1.0)
    assert player.at_end(1.0)
    player.send(2.0)
    assert node.sent[-1][1] == [0.5]
