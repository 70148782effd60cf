# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A node whose callback does not end: no listener is left with a state that says safe."""


import pytest
from std_srvs.srv import Trigger
from support.paths import ROOT
from support.robots.two_slides import JOINTS, apart
from support.ros.ros_graph import LATCHED, OK, STALE

from diagnostic_msgs.msg import DiagnosticStatus  # isort: skip
from rclpy.duration import Duration  # isort: skip
from rclpy.event_handler import SubscriptionEventCallbacks  # isort: skip
from rclpy.qos import QoSProfile  # isort: skip
from std_msgs.msg import Bool  # isort: skip

from collision_monitor.nodes.common.messages import SAFE, SAFE_SECONDS, STATE, STATE_SECONDS

NAMES = (*JOINTS, "mast_joint")
PROGRAM = ROOT / "test/support/ros/blocked_monitor.py"


def send(graph):
    graph.send(NAMES, (*apart(0.5), 0.3))


def test_a_blocked_node_is_stale_goes_on_afterwards_and_is_missed_when_killed(graph, slides_file):
    robot = ("-p", f"robot_description:={slides_file}", "-p", "cycle_deadline:=5.0")
    process = graph.run([PROGRAM, "3.0", "--ros-args", *robot])
    graph.until_distance(lambda: send(graph))
    graph.until_safe(True, lambda: send(graph))
    client = graph.node.create_client(Trigger, "/collision_monitor/block")
    assert client.wait_for_service(60.0)
    blocked = client.call_async(Trigger.Request())
    graph.until_level(STALE, lambda: send(graph))
    graph.until_safe(False, lambda: send(graph))
    assert "the node has been blocked for" in graph.state.message
    assert not blocked.done()
    graph.until_level(OK, lambda: send(graph))
    graph.until_safe(True, lambda: send(graph))
    assert blocked.done()
    # A subscriber with a deadline is told of a monitor that was killed.
    missed, heard = [], []
    profile = QoSProfile(depth=1, deadline=Duration(seconds=SAFE_SECONDS))
    graph.node.create_subscription(
        Bool, "/collision_monitor/safe", heard.append, profile,
        event_callbacks=SubscriptionEventCallbacks(deadline=missed.append),
    )  # fmt: skip
    graph.until(lambda: len(heard) > 3, sending=lambda: send(graph))
    missed.clear()
    process.kill()
    graph.until(lambda: missed, 5.0)


@pytest.mark.parametrize(
    ("kind", "profile", "seconds"),
    [(Bool, SAFE, SAFE_SECONDS), (DiagnosticStatus, STATE, STATE_SECONDS)],
)
def test_a_latched_message_is_gone_after_its_time(graph, kind, profile, seconds):
    publisher = graph.node.create_publisher(kind, "said", profile)
    heard = []
    publisher.publish(kind())
    early = graph.node.create_subscription(kind, "said", heard.append, LATCHED)
    graph.until(lambda: heard)
    graph.node.destroy_subscription(early)
    heard.clear()
    publisher.publish(kind())
    graph.spin(seconds + 0.5)
    graph.node.create_subscription(kind, "said", heard.append, LATCHED)
    graph.until(publisher.get_subscription_count)
    graph.spin(1.0)
    assert not heard
