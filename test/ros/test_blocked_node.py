# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A node whose callback does not end: no listener is left with a state that says safe."""

import os
import signal
import subprocess
import sys
import time

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


def start(graph, seconds, slides_file):
    """A monitor whose ``~/block`` takes so long, once it is safe."""
    process = subprocess.Popen(
        [sys.executable, PROGRAM, str(seconds), "--ros-args", "-p",
         f"robot_description:={slides_file}", "-p", "cycle_deadline:=5.0"],
        env={**graph.environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    graph.processes.append(process)
    graph.until_distance(lambda: send(graph))
    graph.until_safe(True, lambda: send(graph))
    return process


def block(graph):
    client = graph.node.create_client(Trigger, "/collision_monitor/block")
    assert client.wait_for_service(60.0)
    return client.call_async(Trigger.Request())


def test_a_blocked_node_is_stale_and_goes_on_afterwards(graph, slides_file):
    start(graph, 3.0, slides_file)
    blocked = block(graph)
    graph.until_level(STALE, lambda: send(graph))
    graph.until_safe(False, lambda: send(graph))
    assert "the node has been blocked for" in graph.state.message
    assert not blocked.done()
    graph.until_level(OK, lambda: send(graph))
    graph.until_safe(True, lambda: send(graph))
    assert blocked.done()


def test_the_last_message_is_stale_if_a_signal_ends_a_node_that_is_blocked(graph, slides_file):
    process = start(graph, 60.0, slides_file)
    block(graph)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    graph.until(lambda: process.poll() is not None, 30.0, lambda: send(graph))
    assert process.returncode == 0
    assert graph.state.level == STALE and graph.heard["safe"][-1].data is False


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


def test_a_subscriber_with_a_deadline_is_told_of_a_monitor_that_was_killed(graph, slides_file):
    process = graph.start("-p", f"robot_description:={slides_file}")
    graph.until_distance(lambda: send(graph))
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
