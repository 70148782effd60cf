# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Publish joint states of a fake robot: every joint oscillates about the middle of its limits.

Run it with the node: ``python examples/joint_states.py robot.urdf --seconds 30``.
"""

import argparse
import contextlib
import math
import xml.etree.ElementTree as ElementTree

import rclpy
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import JointState

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("urdf", nargs="?", default="urdf/dual_arm.urdf")
arguments.add_argument("--seconds", type=float, default=60.0)
arguments.add_argument("--swing", type=float, default=0.5, help="part of the range of a joint")
options = arguments.parse_args()

joints = {}
for joint in ElementTree.parse(options.urdf).getroot().iter("joint"):
    if joint.get("type") in ("revolute", "prismatic"):  # mimic joints are harmless
        limit = joint.find("limit")
        joints[joint.get("name")] = float(limit.get("lower", 0)), float(limit.get("upper", 0))
    elif joint.get("type") == "continuous":
        joints[joint.get("name")] = -math.pi, math.pi

rclpy.init()
node = rclpy.create_node("joint_states_example")
publisher = node.create_publisher(JointState, "joint_states", 10)
begin = node.get_clock().now()


def send() -> None:
    """Publish a joint state, stamped with the time of its positions."""
    now = node.get_clock().now()
    seconds = 1e-9 * (now - begin).nanoseconds
    if seconds > options.seconds:
        raise SystemExit
    message = JointState(name=list(joints))
    message.header.stamp = now.to_msg()
    for k, (low, high) in enumerate(joints.values()):
        swing = 0.5 * options.swing * (high - low) * math.sin(0.3 * seconds + k)
        message.position.append(0.5 * (low + high) + swing)
    publisher.publish(message)


node.create_timer(0.01, send)
with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):  # Ctrl-C ends it
    rclpy.spin(node)
