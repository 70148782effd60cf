# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A driver in a process of its own: ``flood.py RATE NAMES POSITIONS`` publishes until it is ended.

RATE in Hz; names and positions are separated by commas.
"""

import sys
import time

import rclpy
from sensor_msgs.msg import JointState


def main() -> None:
    """Publish the same joint state again and again, stamped now."""
    rate, names, positions = sys.argv[1:4]
    rclpy.init()
    node = rclpy.create_node("flood")
    publisher = node.create_publisher(JointState, "joint_states", 10)
    message = JointState(name=names.split(","), position=list(map(float, positions.split(","))))
    due = time.monotonic()
    while rclpy.ok():
        message.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(message)
        due = max(due + 1.0 / float(rate), time.monotonic() - 0.1)
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
