# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: the simulated controller, the listener to the monitor, the page."""

import math
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from collision_monitor.motion.trajectory import Motion  # noqa: E402
from collision_monitor.nodes.demo.demo_topics import (  # noqa: E402
    DemoPage,
    SimulatedController,
    StateListener,
)

# -- a motion executed as joint states: where it is at what time, and what is sent --


class FakeNode:
    """A node whose clock is set by hand; it keeps what is published, and subscriptions."""

    def __init__(self):
        self.sent, self.stamp, self.topics = [], Time(sec=5, nanosec=6), []
        self.callbacks = {}

    def create_subscription(self, kind, topic, callback, qos):
        self.callbacks[topic] = (kind, callback)

    def create_publisher(self, kind, topic, qos):
        self.topics.append((kind, topic))
        return self

    def publish(self, message):
        if isinstance(message, JointTrajectory):
            self.sent.append((list(message.joint_names), list(message.points[0].positions)))
            return
        stamp = message.header.stamp
        self.sent.append((list(message.name), list(message.position), (stamp.sec, stamp.nanosec)))

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


@pytest.fixture
def controller(node):
    return SimulatedController(node, MOTION)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan])
def test_it_stands_while_the_scale_is_zero_or_unknown(node, controller, scale):
    for _ in range(3):
        controller.advance(1.0, scale)
        controller.send()
    assert controller.time == 0.0 and controller.at_start and not controller.at_end
    assert node.sent == [(["a", "b"], [0.0, 1.0], (5, 6))] * 3
    assert controller.sent == 3
    assert (JointState, "joint_states") in node.topics


def test_its_time_runs_at_the_scale_and_slower_near_the_end(controller):
    controller.advance(1.0, 0.5)
    assert controller.time == pytest.approx(0.5)
    assert controller.positions() == pytest.approx([0.25, 1.0])
    before = controller.time
    controller.advance(1.0, 7.0)  # not beyond full speed
    assert before < controller.time < before + 1.0
    for _ in range(100):
        controller.advance(1.0, 1.0)
    assert controller.at_end and controller.positions() == pytest.approx([3.0, -1.0])


def test_it_goes_back_and_takes_another_motion(node, controller):
    for _ in range(100):
        controller.advance(1.0, 1.0)
    controller.announce(-1.0)
    assert node.sent[-1] == (["a", "b"], pytest.approx([2.5, -0.5]))
    controller.advance(-1.0, 1.0)
    assert controller.time == pytest.approx(5.0)
    for _ in range(100):
        controller.advance(-1.0, 1.0)
    assert controller.at_start
    controller.take(Motion(("a", "b"), np.array([0.0, 1.0]), np.array([[5.0, 5.0], [6.0, 6.0]])))
    assert controller.positions() == [5.0, 5.0]


# -- what a listener keeps of a monitor --


@pytest.fixture
def says():
    """Makes a monitor say a distance to the listener, which is returned with it."""
    node = FakeNode()
    listener = StateListener(node, "monitor")

    def say(distance):
        kind, callback = node.callbacks["monitor/min_distance"]
        callback(kind(data=distance))
        return listener

    return say


def test_nan_is_not_a_distance_and_not_the_nearest(says):
    says(0.5)
    listener = says(math.nan)
    assert not listener.knows_distance
    assert listener.received == 2
    assert listener.nearest[0] == 0.5
    says(-0.2)
    assert listener.knows_distance
    assert listener.nearest[0] == -0.2
    listener.restart()
    assert says(0.3).nearest[0] == 0.3


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
    assert beside.exchange([7.0, 8.0], NODE, "3 execute") == [7.0, 8.0]
    assert page.heard.message == "3 execute: near" and not beside.by_hand
    assert page.configuration.tolist() == [8.0, 2.0, 7.0]
    assert (page.heard.level, page.heard.distance, page.heard.rate) == ("WARN", 0.04, 99.0)
    page.by_hand, page.configuration = True, np.array([0.1, 0.2, 0.3])
    assert beside.exchange([7.0, 8.0], NODE) == [0.3, 0.1] and beside.by_hand
    assert page.configuration.tolist() == [0.1, 0.2, 0.3]
    beside.close()
    assert page.closed.is_set()


def test_a_page_that_cannot_be_made_is_told_and_harms_nothing():
    def fail():
        raise OSError("no room")

    beside = ready(DemoPage(fail, ["a"]))
    assert str(beside.error) == "no room"
    assert beside.exchange([5.0], NODE) == [5.0]
    beside.close()
