# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Driver of the soak test: joint states at a high rate, with periodic contacts."""

from __future__ import annotations

import argparse
import math
import sys
import threading
import time

import numpy as np
import rclpy
from sensor_msgs.msg import JointState
from soaking.robot import CONTACT, JOINTS

_HELD = 0.3  # seconds in contact


def position(seconds: float, period: float, phases: np.ndarray) -> np.ndarray:
    """Joint positions: slow waves, with a contact at the end of each period."""
    free = 0.9 * np.sin(phases[0] + seconds * (0.4 + 0.6 * phases[1]))
    left = period - seconds % period
    share = min(max((1.5 + _HELD - left) / 1.5, 0.0), 1.0)  # 1 in the last _HELD seconds
    back = max(1.0 - (seconds % period) / 1.5, 0.0) if seconds > period else 0.0
    weight = max(share, back)
    weight *= weight * (3.0 - 2.0 * weight)
    return (1.0 - weight) * free + weight * np.array(CONTACT)


def main() -> None:
    """Publish until standard input ends; print when a subscriber has received it for a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--period", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    rclpy.init()
    node = rclpy.create_node("driver")
    publisher = node.create_publisher(JointState, "joint_states", 10)
    phases = np.random.default_rng(options.seed).uniform(0.0, math.pi, (2, len(JOINTS)))
    message = JointState(name=list(JOINTS))
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    while not publisher.get_subscription_count() and not ended.is_set():
        time.sleep(0.05)
    begin = due = time.monotonic()
    sent = 0
    while not ended.is_set():
        now = time.monotonic()
        stamp = time.time_ns()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        message.position = position(now - begin, options.period, phases).tolist()
        publisher.publish(message)
        sent += 1
        if sent == int(options.rate):
            print("sending", flush=True)
        due = max(due + 1.0 / options.rate, now - 0.02)  # missed messages are made up for
        time.sleep(max(due - time.monotonic(), 0.0))
    print(sent, flush=True)
    rclpy.shutdown()


if __name__ == "__main__":
    main()
