# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Send a motion of two arms to self_collision, and print the result.

Run it with the node ``self_collision`` and joint states of a robot at the start of the motion:
``python examples/adjusted.py config/dual_arm_motion.csv``.
"""

import argparse
import contextlib
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException
from rclpy.qos import DurabilityPolicy, QoSProfile
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from collision_monitor.motion import read_motion

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("motion", nargs="?", default="config/dual_arm_motion.csv")
arguments.add_argument("--seconds", type=float, default=60.0, help="to wait for an answer")
arguments.add_argument("--node", default="/self_collision")
options = arguments.parse_args()

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
motion = read_motion(options.motion)
wanted = JointTrajectory(joint_names=list(motion.joint_names))
for seconds, positions in zip(motion.times, motion.positions, strict=True):
    point = JointTrajectoryPoint(positions=positions.tolist())
    point.time_from_start = Duration(seconds=float(seconds)).to_msg()
    wanted.points.append(point)

rclpy.init()
node = rclpy.create_node("adjusted_example")
states, passed_on = [], []
node.create_subscription(DiagnosticStatus, f"{options.node}/state", states.append, LATCHED)
sent = f"{options.node}/joint_trajectory"
node.create_subscription(JointTrajectory, sent, passed_on.append, 10)
publisher = node.create_publisher(JointTrajectory, f"{options.node}/desired_trajectory", 10)


def values() -> dict[str, str]:
    """Key-values of the last state."""
    return {each.key: each.value for each in states[-1].values} if states else {}


def wait(until) -> bool:
    """Receive messages until a condition is true; returns whether it is."""
    end = time.monotonic() + options.seconds
    while not until() and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    return until()


with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):  # Ctrl-C ends it
    # The event may be that of an earlier request, so the joint states tell.
    if not wait(
        lambda: publisher.get_subscription_count() and values().get("joint_states") == "fresh"
    ):
        raise SystemExit(f"not ready: {states[-1].message if states else 'nobody is there'}")
    before = values()["request"]
    publisher.publish(wanted)
    if not wait(
        lambda: values().get("event") in ("forwarded", "refused") and values()["request"] != before
    ):
        raise SystemExit(f"no answer: {states[-1].message}")
    found = values()
    print(states[-1].message)
    if wait(lambda: passed_on or found["event"] == "refused") and passed_on:
        print(f"{len(wanted.points)} points came in, {len(passed_on[-1].points)} went out;")
        print(f"the arms came to {found['distance_before']} m, and keep {found['distance']} m")
