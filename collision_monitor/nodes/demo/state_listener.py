# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the demo hears of the monitor."""

from __future__ import annotations

import math
import time
from collections import deque

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import Float64

from collision_monitor.monitoring.monitor import Level
from collision_monitor.nodes.common.messages import LATCHED


class StateListener:
    """Subscribes to a monitor; keeps its last values, and the least distance since `restart`."""

    def __init__(self, node: Node, monitor: str = "collision_monitor") -> None:
        """``monitor``: name of the monitor node, relative to the namespace of ``node``."""
        self.distance = math.nan
        self.level, self.message = "silent", ""
        self.values: dict[str, str] = {}
        self.received = 0
        self.nearest: tuple[float, float, str] = (math.inf, 0.0, "")  # distance, when, links
        self.speed_scale = 0.0
        self.scale_at = -math.inf  # time.monotonic() of the last speed scale
        self._arrivals: deque[float] = deque(maxlen=200)
        node.create_subscription(
            Float64, f"{monitor}/min_distance", self._on_distance, qos_profile_sensor_data
        )
        node.create_subscription(Float64, f"{monitor}/speed_scale", self._on_scale, 10)
        node.create_subscription(DiagnosticStatus, f"{monitor}/state", self._on_state, LATCHED)

    def restart(self) -> None:
        """Forget the least distance."""
        self.nearest = (math.inf, 0.0, "")

    @property
    def knows_distance(self) -> bool:
        """Whether the last distance is a number: NaN means unknown."""
        return math.isfinite(self.distance)

    @property
    def links(self) -> str:
        """The nearest two links of the last state."""
        a, b = self.values.get("link_a", ""), self.values.get("link_b", "")
        return f"{a} - {b}" if a and b else ""

    def rate(self, now: float) -> float:
        """Distances per second over the last second."""
        recent = [t for t in self._arrivals if now - t <= 1.0]
        return (len(recent) - 1) / (recent[-1] - recent[0]) if len(recent) > 1 else 0.0

    def _on_distance(self, message: Float64) -> None:
        now = time.monotonic()
        self.distance = message.data
        self.received += 1
        self._arrivals.append(now)
        if message.data < self.nearest[0]:
            self.nearest = (message.data, now, self.links)

    def _on_scale(self, message: Float64) -> None:
        self.speed_scale, self.scale_at = message.data, time.monotonic()

    def _on_state(self, message: DiagnosticStatus) -> None:
        self.level, self.message = Level(message.level[0]).name, message.message
        self.values = {item.key: item.value for item in message.values}
