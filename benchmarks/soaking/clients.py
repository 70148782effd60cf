# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Clients of the monitor in the soak test.

Subscribers and clients are created and destroyed, random parameters are set, valid and invalid, the
robot description is replaced by others and by invalid ones, and the scene is changed many times a
second (obstacles.py).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import threading
import time
from collections import Counter

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.srv import ListParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from soaking.obstacles import Obstacles
from soaking.robot import VARIANTS, description
from std_msgs.msg import Bool, Float64, Float64MultiArray, String
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

MONITOR = "collision_monitor"
_SWAP_SECONDS = 100.0
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_TOPICS = (
    ("min_distance", Float64), ("safe", Bool), ("state", DiagnosticStatus),
    ("distances", Float64MultiArray), ("markers", MarkerArray), ("speed_scale", Float64),
    ("pair_names", String),
)  # fmt: skip
_BROKEN = (
    "", "<robot", "<robot name='x'/>", description(1)[:-300], "\x00", "nonsense", "<robot>" * 50,
    description(0).replace('upper="2.5"', 'upper="nan"', 1),
    description(0).replace('radius="0.050"', 'radius="1e308"', 1),
)  # fmt: skip


def _parameters(dice: random.Random) -> list[Parameter]:
    """One to three random parameters; stop_distance is never below that of the observer."""
    valid = {
        "warn_distance": dice.uniform(0.06, 0.3),
        "stop_distance": dice.uniform(0.02, 0.06),
        "prediction": dice.random() < 0.7,
        "reaction_time": dice.uniform(0.0, 0.2),
        "parting_speed": dice.uniform(0.0, 0.1),
        "escape_scale": dice.random(),
        "release_distance": dice.uniform(0.0, 0.02),
        "release_cycles": dice.randrange(1, 20),
        "rise_time": dice.uniform(0.0, 2.0),
        "state_rate": dice.uniform(1.0, 50.0),
        "distances_rate": dice.choice([0.0, 5.0, 100.0]),
        "marker_rate": dice.choice([0.0, 5.0, 20.0]),
        "joint_state_timeout": dice.uniform(0.3, 2.0),
        "pair_thresholds": [dice.choice(["", "left_* right_* warn=0.2"])],
        "braking_decelerations": [dice.choice(["", "left_*=3.0"])],
        "stop_service": dice.choice(["", "/nobody/stop"]),
        "scene_timeout": dice.choice([0.0, 2.0, 10.0]),
        "cycle_deadline": dice.uniform(0.005, 0.5),
        "show_aabb_levels": dice.choice(["", "0 1"]),
    }
    wrong = {
        "warn_distance": dice.choice([-1.0, math.nan, math.inf, 1e308, "near", 0.001]),
        "stop_distance": dice.choice([5.0, -0.0001, math.nan]),
        "state_rate": dice.choice([0.0, 0.5, -1.0, 1e9]),
        "release_cycles": dice.choice([0, -5, 2**40]),
        "pair_thresholds": [dice.choice(["one", "no_such no_link stop=0.1", "a b stop=x"])],
        "braking_decelerations": [dice.choice(["left_*", "*=0", "nobody=1", "left_*=nan"])],
        "thresholds_file": "/no/such/file.yaml",
        "narrow_phase": dice.choice(["leaf", "auto", "guess"]),
        "robot_description": "another",
        "record": "other.mcap",
        "scene_timeout": dice.choice([-1.0, math.nan, 1e9]),
        "scene_max_objects": 5,
        "no_such_parameter": 1,
    }
    source = valid if dice.random() < 0.6 else wrong
    names = dice.sample(sorted(source), dice.randrange(1, 4))
    return [Parameter(name, value=source[name]) for name in names]


class Clients:
    """Performs random actions, one at a time."""

    def __init__(self, node: Node, dice: random.Random) -> None:
        self.node, self.dice, self.counts = node, dice, Counter()
        self._descriptions = node.create_publisher(String, "robot_description", _LATCHED)
        # A deep queue: messages must arrive, and soak.py counts them.
        self._publishers = {
            topic: node.create_publisher(MarkerArray, f"{MONITOR}/{topic}", 2000)
            for topic in ("scene", "attach")
        }
        self._obstacles = Obstacles(dice)
        node.create_subscription(DiagnosticStatus, f"{MONITOR}/state", self._heard_state, _LATCHED)
        self._variant, self._robot = -1, ""
        self._is_loading = self._hurries = False
        self._setter = node.create_client(
            SetParametersAtomically, f"{MONITOR}/set_parameters_atomically"
        )
        self._guests: list = []

    def _heard_state(self, state: DiagnosticStatus) -> None:
        self._is_loading = any(value.key == "loading" for value in state.values)
        if self._robot and state.hardware_id != self._robot:
            self.counts["swaps"] += 1
        self._robot = state.hardware_id

    def describe(self) -> None:
        """Publish a description: valid in three of four cases.

        Usually not during loading, which it would cancel.
        """
        if self._is_loading and not self._hurries:
            return
        self._hurries = self.dice.random() < 0.2
        good = self.dice.random() < 0.75 or not self.counts["good descriptions"]
        if good:
            others = [k for k in range(VARIANTS) if k != self._variant]
            self._variant = self.dice.choice(others)
        text = description(self._variant) if good else self.dice.choice(_BROKEN)
        self._descriptions.publish(String(data=text))
        self.counts["good descriptions" if good else "broken descriptions"] += 1

    def set_parameters(self) -> None:
        """Call a service, and count the response."""
        if not self._setter.service_is_ready():
            return
        request = SetParametersAtomically.Request(
            parameters=[p.to_parameter_msg() for p in _parameters(self.dice)]
        )
        self._setter.call_async(request).add_done_callback(self._answered)

    def _answered(self, future) -> None:
        done = future.result().result.successful
        self.counts["parameters set" if done else "parameters refused"] += 1

    def come_or_go(self) -> None:
        """Create or destroy a subscriber or a client."""
        if len(self._guests) > 6 or (self._guests and self.dice.random() < 0.5):
            destroy, guest = self._guests.pop(self.dice.randrange(len(self._guests)))
            destroy(guest)
            return
        self.counts["listeners and clients"] += 1
        if self.dice.random() < 0.7:
            topic, kind = self.dice.choice(_TOPICS)
            qos = _LATCHED if topic in ("safe", "state", "pair_names") else 10
            guest = self.node.create_subscription(
                kind, f"{MONITOR}/{topic}", lambda message: None, qos
            )
            self._guests.append((self.node.destroy_subscription, guest))
        else:
            kind, name = self.dice.choice(
                [(Trigger, "reset"), (Trigger, "acknowledge"), (ListParameters, "list_parameters")]
            )
            client = self.node.create_client(kind, f"{MONITOR}/{name}")
            if client.service_is_ready():
                client.call_async(kind.Request())
            self._guests.append((self.node.destroy_client, client))

    def change_scene(self) -> None:
        """Add, move, remove, attach or detach something."""
        for topic, publisher in self._publishers.items():
            if not publisher.get_subscription_count():
                self.counts[f"waited for {topic}"] += 1
                return
        self._send(*self._obstacles.change(time.monotonic()))

    def clear_scene(self) -> None:
        """Remove all objects."""
        for topic in ("attach", "scene"):
            self._send(topic, [Marker(action=Marker.DELETEALL)])

    def _send(self, topic: str, markers: list[Marker]) -> None:
        stamp = time.time_ns()
        for marker in markers:
            marker.header.stamp.sec, marker.header.stamp.nanosec = divmod(stamp, 10**9)
        self._publishers[topic].publish(MarkerArray(markers=markers))
        self.counts[topic] += 1


def main() -> None:
    """Run the clients for a number of seconds, and print counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--description-period", type=float, required=True)
    parser.add_argument("--scene-rate", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    rclpy.init()
    node = rclpy.create_node("clients")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    clients = Clients(node, random.Random(options.seed))
    jobs = {  # period in seconds
        clients.describe: options.description_period, clients.set_parameters: 0.1,
        clients.come_or_go: 0.3, clients.change_scene: 1.0 / options.scene_rate,
    }  # fmt: skip
    clients.describe()
    loaded = threading.Event()  # standard input ends when the robot is loaded
    threading.Thread(target=lambda: (sys.stdin.read(), loaded.set()), daemon=True).start()
    while not loaded.is_set():
        executor.spin_once(timeout_sec=0.1)
    begin = time.monotonic()
    due = dict.fromkeys(jobs, begin)
    # On a slow machine longer, until there was a swap.
    while (now := time.monotonic()) - begin < options.seconds or (
        not clients.counts["swaps"] and now - begin < options.seconds + _SWAP_SECONDS
    ):
        for job, period in jobs.items():
            if now >= due[job]:
                job()
                due[job] = max(due[job] + period, now - 0.1)
        executor.spin_once(timeout_sec=max(min(due.values()) - time.monotonic(), 0.0))
    clients.clear_scene()
    executor.spin_once(timeout_sec=0.5)  # send everything
    clients.counts["seconds"] = round(time.monotonic() - begin, 3)
    print(json.dumps(clients.counts), flush=True)
    executor.shutdown()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
