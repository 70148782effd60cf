# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Listens to a monitor, and keeps what a summary tells: rates, levels, the nearest moment."""

from __future__ import annotations

import math
import time
from collections import Counter, deque

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from std_msgs.msg import Float64

LEVELS = {b"\x00": "OK", b"\x01": "WARN", b"\x02": "ERROR", b"\x03": "STALE"}


class Watcher:
    """What a monitor says on its topics, as numbers and text."""

    def __init__(self, node: Node, monitor: str = "collision_monitor") -> None:
        """``monitor``: name of the node to listen to, relative to this node's namespace."""
        self.distance = math.nan
        self.level = "silent"
        self.message = ""
        self.values: dict[str, str] = {}
        self.received = 0
        self.changes: list[tuple[float, str]] = []  # seconds of the steady clock, level
        self.nearest: tuple[float, float, str] = (math.inf, 0.0, "")  # distance, when, links
        self.seconds: Counter[str] = Counter()  # by level
        self._arrivals: deque[float] = deque(maxlen=200)
        self._last: float | None = None
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(
            Float64, f"{monitor}/min_distance", self._on_distance, qos_profile_sensor_data
        )
        node.create_subscription(DiagnosticStatus, f"{monitor}/state", self._on_state, latched)

    @property
    def knows_distance(self) -> bool:
        """Whether the last distance is a number: NaN means unknown."""
        return math.isfinite(self.distance)

    @property
    def links(self) -> str:
        """The nearest two links, as the state last named them."""
        a, b = self.values.get("link_a", ""), self.values.get("link_b", "")
        return f"{a} - {b}" if a and b else ""

    def rate(self, now: float) -> float:
        """Distances a second over the last moments."""
        recent = [t for t in self._arrivals if now - t <= 1.0]
        return (len(recent) - 1) / (recent[-1] - recent[0]) if len(recent) > 1 else 0.0

    def _on_distance(self, message: Float64) -> None:
        now = time.monotonic()
        self.distance = message.data
        self.received += 1
        self._arrivals.append(now)
        if self._last is not None:
            self.seconds[self.level] += now - self._last
        self._last = now
        if message.data < self.nearest[0]:
            self.nearest = (message.data, now, self.links)

    def _on_state(self, message: DiagnosticStatus) -> None:
        level = LEVELS.get(message.level, "?")
        if level != self.level:
            self.changes.append((time.monotonic(), level))
        self.level, self.message = level, message.message
        self.values = {item.key: item.value for item in message.values}
