# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the collision_monitor node publishes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool, Float64, Float64MultiArray, String
from visualization_msgs.msg import MarkerArray

from collision_monitor.monitoring.monitor import MonitorState
from collision_monitor.nodes.common.qos import LATCHED, VALUES
from collision_monitor.nodes.recorder import RecordedPublisher, Recorder


class MonitorTopics:
    """The publishers of a node, and timers for those that speak only while somebody listens."""

    def __init__(
        self,
        node: Node,
        on_demand: Mapping[str, Callable[[], None]],
        recorder: Recorder | None = None,
    ) -> None:
        """``on_demand``: by the parameter of its rate, what to call so often."""
        self._node, self._recorder = node, recorder
        # A steady clock: a watchdog on simulated time would sleep while that stands still.
        self.clock = Clock(clock_type=ClockType.STEADY_TIME)
        create, recorded = node.create_publisher, self._recorded
        self._min_distance = recorded(Float64, "~/min_distance", VALUES)
        self._speed_scale = create(Float64, "~/speed_scale", VALUES)
        self._safe = create(Bool, "~/safe", LATCHED)
        self._state = recorded(DiagnosticStatus, "~/state", LATCHED)
        self._pair_names = recorded(String, "~/pair_names", LATCHED)
        self.distances = recorded(Float64MultiArray, "~/distances", VALUES)
        self.markers = recorded(MarkerArray, "~/markers", VALUES)
        self.diagnostics = create(DiagnosticArray, "/diagnostics", VALUES)
        self._every = (
            self._min_distance, self._speed_scale, self._safe, self._state, self._pair_names,
            self.distances, self.markers, self.diagnostics,
        )  # fmt: skip
        self._on_demand = {
            name: ({"distances_rate": self.distances, "marker_rate": self.markers}[name], callback)
            for name, callback in on_demand.items()
        }
        self._timers: dict[str, Any] = {}
        self._scale_is_heard = True
        self._distance_message = Float64()  # one object for all: publishing copies it
        self._scale_message = Float64()

    def _recorded(self, kind: type, topic: str, qos: QoSProfile) -> Publisher | RecordedPublisher:
        publisher = self._node.create_publisher(kind, topic, qos)
        if self._recorder is None:
            return publisher
        return self._recorder.recorded(publisher, topic, kind, latched=qos is LATCHED)

    def cycle(self, state: MonitorState) -> None:
        """What goes out with every joint state whose distance is known."""
        self._distance_message.data = state.clearance.distance
        self._min_distance.publish(self._distance_message)
        if self._scale_is_heard:
            self._scale_message.data = state.speed_scale
            self._speed_scale.publish(self._scale_message)

    def state(self, status: DiagnosticStatus, state: MonitorState) -> None:
        """The whole state."""
        self._state.publish(status)
        self._safe.publish(Bool(data=state.safe))
        if state.clearance is None:
            # Not known: NaN, so that the last distance is not taken for a new one.
            self._min_distance.publish(Float64(data=math.nan))
            self._speed_scale.publish(Float64(data=state.speed_scale))

    def pair_names(self, pairs: list[tuple[str, str]]) -> None:
        """Which pairs there are."""
        self._pair_names.publish(String(data="\n".join(f"{a} {b}" for a, b in pairs)))

    def set_timer(self, name: str, period: float, callback: Callable[[], None] | None) -> None:
        """Start a timer anew, or end it where there is no callback."""
        if name in self._timers:
            self._node.destroy_timer(self._timers.pop(name))
        if callback is not None:
            self._timers[name] = self._node.create_timer(period, callback, clock=self.clock)

    def look_for_listeners(self, rates: Mapping[str, float]) -> None:
        """Do for a topic what it takes only while somebody listens; ``rates`` in Hz."""
        self._scale_is_heard = self._speed_scale.get_subscription_count() > 0
        for name, (publisher, callback) in self._on_demand.items():
            rate = rates[name]
            wanted = rate > 0.0 and publisher.get_subscription_count() > 0
            if wanted != (name in self._timers):
                self.set_timer(name, 1.0 / rate if wanted else 0.0, callback if wanted else None)

    def rates_have_changed(self, names: set[str]) -> None:
        """End timers of these parameters; `look_for_listeners` starts them anew."""
        for name in names & self._on_demand.keys():
            self.set_timer(name, 0.0, None)

    def stop(self) -> None:
        """End all timers."""
        for name in list(self._timers):
            self.set_timer(name, 0.0, None)

    def destroy(self) -> None:
        """End everything; what was latched is gone."""
        self.stop()
        for publisher in self._every:
            self._node.destroy_publisher(getattr(publisher, "publisher", publisher))
