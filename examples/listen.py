# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Subscribe to the node as a controller should: unknown values and silence are not safe.

Run it with the node: ``python examples/listen.py --seconds 10``.
"""

import argparse
import contextlib
import math
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import ExternalShutdownException
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool, Float64

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--seconds", type=float, default=math.inf)
arguments.add_argument("--monitor", default="/collision_monitor", help="name of the node")
options = arguments.parse_args()

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LEVELS = {b"\x00": "OK", b"\x01": "WARN", b"\x02": "ERROR", b"\x03": "STALE"}
heard = {"safe": False, "at": -math.inf, "distance": math.nan, "state": "nothing heard"}


def on_safe(message: Bool) -> None:
    """Store the value and the time of its arrival; it is published 20 times a second."""
    heard.update(safe=message.data, at=time.monotonic())


def on_state(message: DiagnosticStatus) -> None:
    """Store level and message; key-values have links, points and more."""
    heard.update(state=f"{LEVELS[message.level]}: {message.message}")


rclpy.init()
node = rclpy.create_node("listen_example")
node.create_subscription(Bool, f"{options.monitor}/safe", on_safe, LATCHED)
node.create_subscription(DiagnosticStatus, f"{options.monitor}/state", on_state, LATCHED)
node.create_subscription(
    Float64, f"{options.monitor}/min_distance", lambda m: heard.update(distance=m.data), 10
)


def report() -> None:
    """Print twice a second whether the robot may move, and the reason."""
    is_fresh = time.monotonic() - heard["at"] < 1.0
    word = "GO  " if is_fresh and heard["safe"] else "STOP"
    why = heard["state"] if is_fresh else "the monitor is silent"
    print(f"{word} {heard['distance']:7.3f} m  {why}", flush=True)


node.create_timer(0.5, report)
end = time.monotonic() + options.seconds
with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):  # Ctrl-C ends it
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
