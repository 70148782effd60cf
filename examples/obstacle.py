# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Add a box beside the monitored robot, move it closer, and remove it.

Run it with the node and joint states: ``python examples/obstacle.py``.
"""

import argparse
import contextlib
import math
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import ExternalShutdownException
from rclpy.qos import DurabilityPolicy, QoSProfile
from visualization_msgs.msg import Marker, MarkerArray

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--frame", default="base_link", help="the link that it stands on")
arguments.add_argument("--at", nargs=3, type=float, default=(0.3, 0.8, 1.25), metavar="METRES")
arguments.add_argument("--seconds", type=float, default=5.0, help="until it is there")
arguments.add_argument("--monitor", default="/collision_monitor", help="name of the node")
options = arguments.parse_args()

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
state = {"text": "nothing heard", "objects": "0"}


def on_state(message: DiagnosticStatus) -> None:
    """Distances include the box as soon as ``scene_objects`` counts it."""
    values = {each.key: each.value for each in message.values}
    state.update(text=message.message, objects=values.get("scene_objects", "0"))


rclpy.init()
node = rclpy.create_node("obstacle_example")
node.create_subscription(DiagnosticStatus, f"{options.monitor}/state", on_state, LATCHED)
publisher = node.create_publisher(MarkerArray, f"{options.monitor}/scene", 100)

box = Marker(ns="example", id=0, type=Marker.CUBE, action=Marker.ADD)
box.header.frame_id = options.frame
box.pose.position.y, box.pose.position.z = options.at[1:]
box.pose.orientation.w = 1.0
box.scale.x = box.scale.y = box.scale.z = 0.2
box.lifetime.sec = 2  # the box expires if this program dies
began = shown = -math.inf
with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):  # Ctrl-C ends it
    while publisher.get_subscription_count() == 0:
        rclpy.spin_once(node, timeout_sec=0.1)
    began = time.monotonic()
    while (passed := time.monotonic() - began) < options.seconds + 2.0:
        box.pose.position.x = options.at[0] + 0.2 * max(options.seconds - passed, 0.0)
        publisher.publish(MarkerArray(markers=[box]))
        if passed > shown + 0.5:
            shown = passed
            place = f"box at x {box.pose.position.x:.2f} m"
            print(f"{place}, {state['objects']} watched: {state['text']}", flush=True)
        rclpy.spin_once(node, timeout_sec=0.05)
    box.action = Marker.DELETE
    publisher.publish(MarkerArray(markers=[box]))
    rclpy.spin_once(node, timeout_sec=0.5)
