# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the collision_monitor node publishes: distances, and its state.

The state is published when it changes, and repeated at its rate.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool, Float64, Float64MultiArray, String
from visualization_msgs.msg import MarkerArray

from collision_monitor.common.text import MOST_LOGGED, shortened
from collision_monitor.monitoring.cell_buffer import CellBuffer
from collision_monitor.monitoring.faults import Level
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.monitoring.watchdogs import CycleWatch, Watchdogs
from collision_monitor.nodes.common.executor import StateLog, steady_timer
from collision_monitor.nodes.common.messages import (
    LATCHED,
    SAFE,
    STATE,
    VALUES,
    distances_message,
    key_values,
    status_message,
)
from collision_monitor.nodes.common.node_state import NodeState
from collision_monitor.nodes.markers.markers import MarkerTopic
from collision_monitor.nodes.monitor_services import StopService
from collision_monitor.nodes.recorder import RecordedPublisher, Recorder
from collision_monitor.robot.pairs import by_reason

_MOST_PAIRS = 100  # in the state
_OBSTACLES = ("~/scene", "~/attach", "~/planning_scene", "~/cloud")


class MonitorTopics:
    """The publishers of a node, and the timers of the topics that have a rate.

    Attributes:
        recorder: to which messages go; None without recording.
    """

    def __init__(self, node: Node, cycles: CycleWatch, recorder: Recorder | None) -> None:
        """Create the publishers. Timers are set later; their work is reported to ``cycles``."""
        self._node, self._cycles, self.recorder = node, cycles, recorder
        create, recorded = self._create, self._recorded
        self._publishers: list[Publisher] = []
        self._min_distance = recorded(Float64, "~/min_distance", VALUES)
        self._speed_scale = create(Float64, "~/speed_scale", VALUES)
        self._safe = create(Bool, "~/safe", SAFE)
        self._state = recorded(DiagnosticStatus, "~/state", STATE)
        self._pair_names = recorded(String, "~/pair_names", LATCHED)
        self.distances = recorded(Float64MultiArray, "~/distances", VALUES)
        self.markers = recorded(MarkerArray, "~/markers", VALUES)
        self.diagnostics = create(DiagnosticArray, "/diagnostics", VALUES)
        self._timers: dict[str, Any] = {}
        self._changes = -1  # of the scene, when the names of pairs were published
        self._distance_message = Float64()  # reused: publishing copies it
        self._scale_message = Float64()

    def _create(self, kind: type, topic: str, qos: QoSProfile) -> Publisher:
        self._publishers.append(self._node.create_publisher(kind, topic, qos))
        return self._publishers[-1]

    def _recorded(self, kind: type, topic: str, qos: QoSProfile) -> Publisher | RecordedPublisher:
        publisher = self._create(kind, topic, qos)
        if self.recorder is None:
            return publisher
        latched = qos.durability is DurabilityPolicy.TRANSIENT_LOCAL
        return self.recorder.recorded(publisher, topic, kind, latched)

    def cycle(self, state: MonitorState) -> None:
        """Publish the topics of each joint state with a known distance."""
        self._distance_message.data = state.clearance.distance
        self._min_distance.publish(self._distance_message)
        if self._speed_scale.get_subscription_count():
            self._scale_message.data = state.speed_scale
            self._speed_scale.publish(self._scale_message)

    def state(self, status: DiagnosticStatus, state: MonitorState) -> None:
        """Publish the state."""
        self._state.publish(status)
        self.safe(state)
        if state.clearance is None:
            # NaN: unknown, so that the last distance is not mistaken for a new one.
            self._min_distance.publish(Float64(data=math.nan))
            self._speed_scale.publish(Float64(data=state.speed_scale))

    def safe(self, state: MonitorState) -> None:
        """Publish whether the state is safe."""
        self._safe.publish(Bool(data=state.safe))

    def pair_names(self, monitor: Monitor) -> None:
        """Publish the names of all pairs."""
        self._changes = monitor.live.changes
        text = "\n".join(f"{a} {b}" for a, b in monitor.pairs)
        self._pair_names.publish(String(data=text))

    def new_pair_names(self, monitor: Monitor | None) -> None:
        """Publish the names of all pairs if objects came or went."""
        if monitor is not None and self._changes != monitor.live.changes:
            self.pair_names(monitor)

    def set_rate(self, name: str, rate: float, callback: Callable[[], None]) -> None:
        """Restart the timer ``name`` with this rate, Hz; 0: end it."""
        if name in self._timers:
            self._node.destroy_timer(self._timers.pop(name))
        if rate:
            self._timers[name] = steady_timer(self._node, 1.0 / rate, self._cycles.timed(callback))

    def stop(self) -> None:
        """End all timers."""
        while self._timers:
            self._node.destroy_timer(self._timers.popitem()[1])

    def destroy(self) -> None:
        """Destroy timers and publishers; latched messages are lost."""
        self.stop()
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)


class StatePublisher(NodeState[MonitorState]):
    """Publishes the state of the monitor with what is known of its node.

    Attributes:
        stop_service: called when the state becomes a stop.
        topics: the publishers; None unless it was started.
        markers: of ~/markers, after it was started.
    """

    def __init__(
        self,
        node: Node,
        values: Mapping[str, Any],
        watchdogs: Watchdogs,
        monitor: Callable[[], Monitor | None],
        idle: Callable[[], MonitorState],
        more: Callable[[], dict[str, str]],
    ) -> None:
        """Publish nothing before `start`, and then while it is active.

        Args:
            node: the node.
            values: its parameters.
            watchdogs: with the register of faults.
            monitor: returns the one of the robot; None without one.
            idle: returns the state without a monitor.
            more: returns further key-values of the state.
        """
        super().__init__(node, values, watchdogs.faults, _OBSTACLES)
        self._monitor, self._idle, self._more = monitor, idle, more
        self._log, self._watchdogs = StateLog(node), watchdogs
        self._mark = (time.monotonic(), 0, 0.0)  # start time, messages then, last rate
        self._pairs: tuple[Any, dict[str, str]] = (None, {})  # thresholds, and texts of them
        self.stop_service = StopService(node)
        self.is_active = False
        self.topics: MonitorTopics | None = None

    def start(self, recorder: Recorder | None) -> None:
        """Create the publishers."""
        self._published = None
        self.topics = MonitorTopics(self._node, self._watchdogs.cycles, recorder)
        self.markers = MarkerTopic(
            self._node, self._values, self.topics.markers, self._monitor, self.current
        )

    def set_rates(self) -> None:
        """Send distances and markers at their rates from now on."""
        set_rate, values = self.topics.set_rate, self._values
        set_rate("distances", values["distances_rate"], self._send_distances)
        set_rate("markers", values["marker_rate"], self.markers.send)

    def stop(self) -> None:
        """Destroy the publishers; latched messages are lost."""
        self.topics.destroy()
        self.topics, self.is_active = None, False

    def _own(self) -> MonitorState:
        monitor = self._monitor()
        return self._idle() if monitor is None else monitor.state(time.monotonic())

    def _key(self, state: MonitorState) -> tuple[Level, str, str, bool]:
        is_scene_complete = "scene_waiting" not in self._faults.raised
        return state.level, state.cause, state.action, is_scene_complete

    def _changed(self, state: MonitorState) -> None:
        self.stop_service.update(_is_stop(state))
        kind = "waiting" if state.cause == "waiting" else state.level
        self._log.add(state.level, kind, f"{state.level.name}: {state.message}")

    def _send(self, status: DiagnosticStatus, state: MonitorState) -> None:
        self.topics.state(status, state)

    def publish(self, state: MonitorState) -> None:
        """See `NodeState`; a stop may be the start of a recording."""
        super().publish(state)
        if self.is_active and self.topics.recorder is not None:
            self.topics.recorder.state(_is_stop(state), state.message)

    def _bare(self, level: Level, reason: str) -> tuple[DiagnosticStatus, MonitorState]:
        state = MonitorState(level, reason, "fault")
        if level is Level.STALE:
            state = MonitorState(level, f"{reason}; nothing is monitored", "waiting")
        return status_message(state, self._node.get_name(), "", {}), state

    def _watched(self, state: MonitorState) -> bool:
        self.topics.safe(state)
        return self.stop_service.update(_is_stop(state))

    def send_diagnostics(self) -> None:
        """Publish the state with figures on /diagnostics."""
        status = self._status(self.current())
        status.values += key_values(self._figures())
        status.name = f"{self._node.get_fully_qualified_name().lstrip('/')}: clearance"
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self.topics.diagnostics.publish(message)

    def _send_distances(self) -> None:
        """Publish the distances of all pairs, if they are known and ~/distances has subscribers."""
        monitor, topics = self._monitor(), self.topics
        is_heard = topics.distances.get_subscription_count() > 0
        if monitor is None or not is_heard or self.current().clearance is None:
            return
        topics.new_pair_names(monitor)
        topics.distances.publish(distances_message(monitor.distances().tolist()))

    def _status(self, state: MonitorState) -> DiagnosticStatus:
        monitor = self._monitor()
        values = self._values_of(monitor, state) | self.failures.values() | self._more()
        robot = "" if monitor is None else monitor.model.name
        return status_message(state, self._node.get_name(), robot, values)

    def _values_of(self, monitor: Monitor | None, state: MonitorState) -> dict[str, str]:
        """Key-values in addition to those of `status_message`."""
        given = self._values
        values = {
            "warn_distance": f"{given['warn_distance']:g}",
            "stop_distance": f"{given['stop_distance']:g}",
            "joint_state_rate": f"{self._rate():.1f}",
        }
        if monitor is not None:
            values["enabled"] = str(monitor.behaviour.enabled).lower()
            values["stops"] = str(monitor.behaviour.latch.stops)
            # They change with robot and thresholds only, for each of which this is a new one.
            if self._pairs[0] is not monitor.behaviour.structural_pairs:
                self._pairs = monitor.behaviour.structural_pairs, pair_values(monitor)
            values |= self._pairs[1] | decision_values(monitor, state)
            if unknown := monitor.buffer.unknown_names:
                values["unknown_joints"] = " ".join(sorted(unknown))
        if given["stop_service"]:
            values["stop_service"] = f"{given['stop_service']}: {self.stop_service.call.text}"
        if given["joint_state_timeout"] == 0.0:
            values["watchdog"] = "OFF: joint_state_timeout is 0"
        if monitor is not None and isinstance(monitor.buffer, CellBuffer):
            for robot, age in monitor.buffer.ages(time.monotonic()).items():
                values[f"age.{robot}"] = f"{age:.4f}"
        return values

    def _figures(self) -> dict[str, str]:
        """Key-values in /diagnostics only: rates (Hz), seconds, counts since the start."""
        watchdogs = self._watchdogs
        cycles = watchdogs.cycles.figures(time.monotonic())
        return {
            "cycle_rate": f"{cycles.rate:.1f}",
            "cycle_mean": f"{cycles.mean:.6f}",
            "cycle_p99": f"{cycles.p99:.6f}",
            "cycle_max": f"{cycles.most:.6f}",
            "cycle_deadline": f"{watchdogs.cycles.deadline:g}",
            "latency_mean": f"{cycles.latency_mean:.6f}",
            "latency_max": f"{cycles.latency_most:.6f}",
            "publishers": str(watchdogs.publishers.count),
            "joint_states": str(watchdogs.messages),
            **{name: str(count) for name, count in watchdogs.counts().items()},
        }

    def _rate(self) -> float:
        """Joint states per second, over at least one second."""
        since, count, rate = self._mark
        elapsed = time.monotonic() - since
        if elapsed >= 1.0:
            rate = (self._watchdogs.messages - count) / elapsed
            self._mark = (time.monotonic(), self._watchdogs.messages, rate)
        return rate


def pair_values(monitor: Monitor) -> dict[str, str]:
    """Key-values: which pairs are near by design, not in the minimum distance, or left out."""
    return {
        "structural_pairs": shortened(
            (
                f"{' '.join(pair.links)} {pair.warn:.4f} {pair.stop:.4f} ({pair.reason})"
                for pair in monitor.behaviour.structural_pairs.values()
            ), _MOST_PAIRS, "; ",
        ),
        "not_in_min_distance": shortened(
            (" ".join(pair) for pair in monitor.not_counted), _MOST_PAIRS, "; ",
        ),
        "left_out_pairs": shortened(
            (
                f"{reason}: {shortened((' '.join(pair) for pair in pairs), MOST_LOGGED)}"
                for reason, pairs in by_reason(monitor.model.unmonitored_pairs).items()
            ), _MOST_PAIRS, "; ",
        ),
    }  # fmt: skip


def decision_values(monitor: Monitor, state: MonitorState) -> dict[str, str]:
    """Key-values: why the action of a state is what it is."""
    behaviour, decision = monitor.behaviour, state.decision
    values: dict[str, str] = {}
    if decision is None:
        return values
    q = monitor.buffer.q
    values["velocities"] = "known" if behaviour.velocities.known else "unknown"
    values["time_to_collision"] = f"{behaviour.time_to_collision(q):.3f}"
    values["braking_clearance"] = f"{decision.braking_clearance:.6f}"
    if state.pair is not None:
        values["pair"] = " ".join(state.pair)
        values["pair_distance"] = f"{decision.distance:.6f}"
        values["pair_rate"] = f"{decision.rate:.4f}"
        values["pair_thresholds"] = f"{decision.warn_distance:.4f} {decision.stop_distance:.4f}"
        if (near_pair := behaviour.structural_pairs.get(decision.pair)) is not None:
            values["pair_reason"] = near_pair.reason
    if decision.inside:
        out = behaviour.escape_direction(q)
        values["way_out"] = (
            "none" if out is None else " ".join(
                f"{name}={value:.3f}"
                for name, value in zip(monitor.buffer.joint_names, out.tolist(), strict=True)
                if abs(value) >= 0.0005
            )
        )  # fmt: skip
    return values


def _is_stop(state: MonitorState) -> bool:
    """Whether the state is a stop of a monitored robot."""
    return state.action == "stop" and state.cause != "waiting"
