# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states that the node does not answer while obstacles change on a topic."""

from __future__ import annotations

import os
import sys

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import numpy as np  # noqa: E402
import rclpy  # noqa: E402
from node_costs.narrow_phase import RATE, Approach, approach  # noqa: E402
from node_costs.processes import cpu_seconds, running  # noqa: E402
from support.ros.ros_domains import Domain  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

from collision_monitor.cli.demo import demo_parameters  # noqa: E402

CHANGES = 200  # a second


class Busy(Approach):
    """Says something on ~/scene with every fifth joint state."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.scene = self.node.create_publisher(MarkerArray, "/ours/collision_monitor/scene", 100)
        self.rng, self.messages, self.states = np.random.default_rng(0), 0, 0
        self.is_busy = False

    def send(self, row: np.ndarray) -> float:
        """One joint state, and now and then a message about an object."""
        self.states += 1
        if self.is_busy and self.states % (RATE // CHANGES) == 0:
            marker = Marker(ns="cell", id=int(self.rng.integers(100)), type=Marker.CUBE)
            marker.header.frame_id = "base_link"
            if self.rng.random() < 0.2:
                marker.action = Marker.DELETE
            x, y, z = self.rng.uniform(-1.0, 1.0, 3) + [0.0, 0.0, 2.5]
            marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = x, y, z
            marker.pose.orientation.w = 1.0
            marker.scale.x, marker.scale.y, marker.scale.z = self.rng.uniform(0.02, 0.2, 3)
            self.scene.publish(MarkerArray(markers=[marker]))
            self.messages += 1
        return super().send(row)


def node_cycles(seconds: float) -> dict[str, dict[str, float]]:
    """Joint states and how many of them the node did not answer, without and with messages."""
    domain = Domain()
    os.environ.setdefault("ROS_DOMAIN_ID", str(domain.number))
    motion, configurations = approach(seconds)
    command = [sys.executable, "-m", "collision_monitor.nodes.collision_monitor", "--ros-args"]
    for name, value in demo_parameters().items():
        command += ["-p", f"{name}:={value}"]
    rclpy.init()
    player = Busy(motion.joint_names)
    with running(command, "ours") as process:
        results = {}
        for name in ("without", "with", "without again", "with again"):
            player.wait(configurations[0])
            player.is_busy, before = not name.startswith("without"), player.messages
            begin = cpu_seconds(process.pid)
            sent = player.play(configurations)
            taken = cpu_seconds(process.pid) - begin
            results[name] = {
                "joint states": len(sent), "not answered": len(sent) - len(player.answers),
                "scene messages": player.messages - before, "cpu %": 100.0 * taken / seconds,
            }  # fmt: skip
            if len(player.answers) == len(sent):
                late = np.array(player.answers) - sent
                for part in (50, 99, 100):
                    results[name][f"p{part} ms"] = float(np.percentile(late, part)) * 1e3
            player.answers.clear()
    rclpy.try_shutdown()
    domain.release()
    return results
