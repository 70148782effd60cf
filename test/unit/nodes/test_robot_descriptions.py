# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Several publishers of a robot description: whether they contradict each other, and who counts."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from std_msgs.msg import String  # noqa: E402

from collision_monitor.model.loading import RobotSource  # noqa: E402
from collision_monitor.monitoring.faults import FaultRegister  # noqa: E402
from collision_monitor.nodes.node_core import RobotDescriptions  # noqa: E402
from collision_monitor.nodes.parameters.monitor_parameters import RobotPort  # noqa: E402


class LatchedTopic:
    """A node in a graph with one latched topic, and what it makes of that; times in seconds."""

    def __init__(self):
        self.last = {}  # message of each publisher; None before the first
        self.callbacks = {}
        self.loaded = []
        self.now = 10.0
        self.faults = FaultRegister()
        self.robots = RobotDescriptions(self, [RobotPort(RobotSource(""))], self.load, self.faults)
        self.robots.subscribe()

    def load(self):
        self.loaded.append(self.robots.sources[0].urdf.text)

    def create_subscription(self, kind, topic, callback, qos):
        subscription = SimpleNamespace(topic_name=topic)
        self.callbacks[id(subscription)] = callback
        for text in filter(None, self.last.values()):
            callback(String(data=text))
        return subscription

    def destroy_subscription(self, subscription):
        del self.callbacks[id(subscription)]

    def count_publishers(self, topic):
        return len(self.last)

    def publish(self, publisher, text):
        self.last[publisher] = text
        for callback in list(self.callbacks.values()):
            callback(String(data=text))

    def fault_after(self, seconds):
        for _ in range(round(20 * seconds)):
            self.now += 0.05
            self.robots.watch(self.now)
        return self.faults.text("descriptions", self.now)


@pytest.fixture
def topic():
    return LatchedTopic()


def test_a_correction_of_one_publisher_contradicts_no_other_that_is_silent(topic):
    topic.last = {"driver": None, "silent": None}
    topic.publish("driver", "first")
    assert topic.fault_after(5.0) == ""
    topic.publish("driver", "second")
    assert topic.fault_after(5.0) == ""
    topic.publish("driver", "third")
    topic.publish("driver", "fourth")
    assert topic.fault_after(5.0) == ""
    assert topic.loaded == ["first", "second", "third", "fourth"]


def test_a_contradiction_is_not_over_because_one_publisher_repeats_itself(topic):
    topic.publish("cell", "of the cell")
    topic.publish("driver", "of the driver")
    for _ in range(10):
        assert "2 publishers of robot_description have sent different" in topic.fault_after(1.0)
        topic.publish("driver", "of the driver")
    assert set(topic.loaded[1:]) == {"of the driver"}  # the other one is not loaded in between


def test_what_is_left_is_used_if_the_others_end_or_are_corrected(topic):
    topic.publish("cell", "of the cell")
    topic.publish("driver", "of the driver")
    assert topic.fault_after(1.0)
    del topic.last["driver"]
    assert topic.fault_after(0.2) == ""
    assert topic.loaded == ["of the cell", "of the driver", "of the cell"]
    topic.publish("driver", "of the driver")
    assert topic.fault_after(1.0)
    topic.publish("driver", "of the cell")
    assert topic.fault_after(5.0) == ""
    assert topic.loaded[3:] == ["of the driver", "of the cell"]


def test_the_end_of_all_subscriptions_ends_the_fault(topic):
    topic.publish("cell", "of the cell")
    topic.publish("driver", "of the driver")
    assert topic.fault_after(1.0)
    topic.robots.destroy()
    assert not topic.callbacks
    assert topic.fault_after(1.0) == ""
