# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Execute a trajectory at the speed that the monitor allows by ``~/speed_scale``.

Run it with the node and the two arms of the package: the motion stops before they collide.
"""

import argparse
import time
from pathlib import Path

import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from collision_monitor.motion import read_motion

ROOT = Path(__file__).resolve().parents[1]
PERIOD, SILENCE = 0.01, 0.3  # seconds

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("motion", nargs="?", default=ROOT / "config/dual_arm_motion.csv")
arguments.add_argument("--rate", type=float, default=4.0, help="how much faster than the file says")
arguments.add_argument("--seconds", type=float, default=60.0, help="give up after them")
options = arguments.parse_args()

motion = read_motion(options.motion)
scale, heard, at = 0.0, 0.0, motion.times[0]


def on_scale(message: Float64) -> None:
    """Store the speed scale: 0 to stop, 1 for full speed."""
    global scale, heard
    scale, heard = message.data, time.monotonic()


rclpy.init()
node = rclpy.create_node("speed_scale_example")
node.create_subscription(Float64, "/collision_monitor/speed_scale", on_scale, 10)
publisher = node.create_publisher(JointState, "joint_states", 10)  # done by a driver
begin = moved = printed = time.monotonic()
while at < motion.times[-1] and time.monotonic() < begin + options.seconds:
    rclpy.spin_once(node, timeout_sec=PERIOD)
    now = time.monotonic()
    speed = scale if now - heard < SILENCE else 0.0  # silence and NaN also stop the robot
    at += PERIOD * options.rate * (speed if speed > 0.0 else 0.0)
    message = JointState(name=list(motion.joint_names), position=motion.at(at).tolist())
    message.header.stamp = node.get_clock().now().to_msg()
    publisher.publish(message)
    if now - printed > 0.5:
        print(f"{at:6.2f} s of the motion, speed {speed:4.2f}", flush=True)
        printed = now
    moved = now if speed > 0.01 else moved
    if at > motion.times[0] and now - moved > 2.0:
        break
word = "done" if at >= motion.times[-1] else "stopped"
print(f"{word} at {at:.2f} s of {motion.times[-1]:.2f} s")
