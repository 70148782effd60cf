# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: the motion that is played, and the page."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from collision_monitor.motion.trajectory import Motion  # noqa: E402
from collision_monitor.nodes.demo import DemoPage, MotionPlayer  # noqa: E402

# -- a motion played as joint states: where it is at what time, and what is sent --


class FakeNode:
    """A node whose clock is set by hand; it keeps what is published."""

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


# -- the page beside the demo: it shows what is sent, and leads once somebody has the robot --


NODE = SimpleNamespace(level="WARN", distance=0.04, message="near", rate=lambda now: 99.0)


class Page:
    """Keeps what it is told, and runs until it is closed."""

    joint_names = ("a", "b", "c")

    def __init__(self):
        self.by_hand = False
        self.configuration = np.array([1.0, 2.0, 3.0])
        self.heard = None
        self.closed = threading.Event()

    def show_report(self, report):
        self.heard = report

    def follow(self, q):
        self.configuration = q

    def run(self):
        self.closed.wait(20.0)

    def close(self):
        self.closed.set()


def ready(beside):
    """Wait until it has loaded."""
    end = time.monotonic() + 20.0
    while beside.loading:
        assert time.monotonic() < end
        time.sleep(0.01)
    return beside


def test_the_page_follows_in_its_own_order_and_leads_when_it_is_taken_over():
    page = Page()
    beside = ready(DemoPage(lambda: page, ["c", "a"]))
    assert beside.exchange([7.0, 8.0], NODE) == [7.0, 8.0]
    assert page.configuration.tolist() == [8.0, 2.0, 7.0]
    assert (page.heard.level, page.heard.distance, page.heard.rate) == ("WARN", 0.04, 99.0)
    page.by_hand, page.configuration = True, np.array([0.1, 0.2, 0.3])
    assert beside.exchange([7.0, 8.0], NODE) == [0.3, 0.1]
    assert page.configuration.tolist() == [0.1, 0.2, 0.3]
    beside.close()
    assert page.closed.is_set() and not beside._thread.is_alive()


def test_a_page_that_cannot_be_made_is_told_and_harms_nothing():
    def fail():
        raise OSError("no room")

    beside = DemoPage(fail, ["a"])
    beside._thread.join(10.0)
    assert not beside.loading and str(beside.error) == "no room"
    assert beside.exchange([5.0], NODE) == [5.0]
    beside.close()
