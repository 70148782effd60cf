# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Publishers and log messages of the collision_monitor node."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool, Float64, Float64MultiArray, String
from visualization_msgs.msg import MarkerArray

from collision_monitor.common.text import counted, shortened
from collision_monitor.model.sampled_distances import near_and_touching
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.cell_buffer import CellBuffer
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.monitoring.watchdogs import Watchdogs
from collision_monitor.nodes.common.executor import StateLog
from collision_monitor.nodes.common.messages import LATCHED, SAFE, STATE, VALUES
from collision_monitor.nodes.common.steady_timer import steady_timer
from collision_monitor.nodes.recorder import RecordedPublisher, Recorder
from collision_monitor.robot.pairs import by_reason, may_also_collide

_MOST_PAIRS = 100  # in the state
_MOST_NAMED = 20  # of those left out for one reason, in the state; of near pairs, in the log


class MonitorReport:
    """Logs changes, and creates the key-values of the state."""

    def __init__(self, node: Node, watchdogs: Watchdogs) -> None:
        """``watchdogs``: of the monitor."""
        self._log, self._watchdogs = StateLog(node), watchdogs
        self._mark = (time.monotonic(), 0, 0.0)  # start time, messages then, last rate
        self._pairs: tuple[Any, dict[str, str]] = (None, {})  # thresholds, and texts of them

    def values(
        self,
        values: Mapping[str, Any],
        monitor: Monitor | None,
        state: MonitorState,
        stop_service: str,
    ) -> dict[str, str]:
        """Key-values in addition to those of `status_message`; ``values``: the parameters."""
        extra = {
            "warn_distance": f"{values['warn_distance']:g}",
            "stop_distance": f"{values['stop_distance']:g}",
            "joint_state_rate": f"{self._rate():.1f}",
        }
        if monitor is not None:
            extra["enabled"] = str(monitor.behaviour.enabled).lower()
            extra["stops"] = str(monitor.behaviour.latch.stops)
            extra |= self._pair_values(monitor) | _decision_values(monitor, state)
            if unknown := monitor.buffer.unknown_names:
                extra["unknown_joints"] = " ".join(sorted(unknown))
        if values["stop_service"]:
            extra["stop_service"] = f"{values['stop_service']}: {stop_service}"
        if values["joint_state_timeout"] == 0.0:
            extra["watchdog"] = "OFF: joint_state_timeout is 0"
        if monitor is not None and isinstance(monitor.buffer, CellBuffer):
            for robot, age in monitor.buffer.ages(time.monotonic()).items():
                extra[f"age.{robot}"] = f"{age:.4f}"
        return extra

    def _pair_values(self, monitor: Monitor) -> dict[str, str]:
        """Which pairs are near by design or left out; it changes with robot and thresholds only."""
        of, values = self._pairs
        if of is not monitor.behaviour.structural_pairs:  # a new one for each of both
            values = _pair_values(monitor)
            self._pairs = monitor.behaviour.structural_pairs, values
        return values

    def figures(self) -> dict[str, str]:
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

    def log(self, state: MonitorState) -> None:
        """Log a change of level; the same level at most once a second."""
        kind = "waiting" if state.cause == "waiting" else state.level
        self._log.add(state.level, kind, f"{state.level.name}: {state.message}")


def log_robot(log: Any, monitor: Monitor) -> None:
    """Log which pairs are monitored, and which are not."""
    model = monitor.model
    for reason, pairs in by_reason(model.unmonitored_pairs).items():
        log.info(f"left out ({reason}): {', '.join(f'{a} - {b}' for a, b in pairs)}")
    if doubtful := may_also_collide(model.unmonitored_pairs):
        names = shortened((f"{a} - {b}" for a, b in doubtful), _MOST_NAMED)
        log.warning(
            f"left out because they overlap, though they may also collide elsewhere: {names}; a "
            "rule that names a pair has it checked"
        )
    near_pairs = list(monitor.behaviour.structural_pairs.values())
    if near_pairs:
        log.info(
            f"near by design ({counted(len(near_pairs), 'pair')}, all listed by "
            f"fit): {shortened(map(str, near_pairs), _MOST_NAMED, '; ')}"
        )
    if text := stops_at_zero(monitor):
        log.warning(text)
    brakes = zip(model.joint_names, monitor.behaviour.decelerations.tolist(), strict=True)
    log.info(f"joints brake with {', '.join(f'{n} {a:g}' for n, a in brakes)} rad/s^2 or m/s^2")
    log.info(
        f"monitoring '{model.name}': {len(model.link_names)} links, {len(model.pairs)} pairs "
        f"checked, {len(model.unmonitored_pairs)} left out"
    )


def stops_at_zero(monitor: Monitor) -> str:
    """A warning of pairs that stop the robot with all joints at zero, though none touches there.

    Empty without any, or if some touch: then zero is no pose of this robot.
    """
    model, stop = monitor.model, monitor.behaviour.thresholds[:, 0]
    q = np.clip(0.0, model.lower, model.upper)
    near, touching = near_and_touching(model, q, stop, exact=monitor.narrow_phase != "leaf")
    if touching or not near:
        return ""
    pairs = (
        f"{' - '.join(model.pairs[k])} ({1e3 * distance:.1f} mm, stop at {1e3 * stop[k]:.1f} mm)"
        for k, distance in near.items()
    )
    return (
        "with all joints at zero the robot is stopped, since links are within their stop distance: "
        f"{shortened(pairs, _MOST_NAMED)}. If it rests there, use the distances that the command "
        "thresholds prints"
    )


def log_rules(log: Any, monitor: Monitor, thresholds: Thresholds) -> None:
    """Warn of thresholds that match no pair, possibly a typing error."""
    model = monitor.model
    left_out = [(a, b) for a, b, _ in model.unmonitored_pairs]
    if none := thresholds.naming_none([*model.pairs, *left_out]):
        log.warning(
            f"thresholds of {', '.join(map(repr, none))} match no pair of the robot; they apply "
            "only to objects on ~/scene, ~/planning_scene or ~/cloud"
        )


def _pair_values(monitor: Monitor) -> dict[str, str]:
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
                f"{reason}: {shortened((' '.join(pair) for pair in pairs), _MOST_NAMED)}"
                for reason, pairs in by_reason(monitor.model.unmonitored_pairs).items()
            ), _MOST_PAIRS, "; ",
        ),
    }  # fmt: skip


def _decision_values(monitor: Monitor, state: MonitorState) -> dict[str, str]:
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


def _send_if_heard(publisher: Publisher | RecordedPublisher, send: Callable[[], None]) -> None:
    if publisher.get_subscription_count():
        send()


class MonitorTopics:
    """The publishers of a node, and the timers of the topics that have a rate."""

    def __init__(
        self,
        node: Node,
        send_distances: Callable[[], None],
        send_markers: Callable[[], None],
        recorder: Recorder | None = None,
    ) -> None:
        """``send_distances`` and ``send_markers`` are called while these have subscribers."""
        self._node, self._recorder = node, recorder
        create, recorded = node.create_publisher, self._recorded
        self._min_distance = recorded(Float64, "~/min_distance", VALUES)
        self._speed_scale = create(Float64, "~/speed_scale", VALUES)
        self._safe = create(Bool, "~/safe", SAFE)
        self._state = recorded(DiagnosticStatus, "~/state", STATE)
        self._pair_names = recorded(String, "~/pair_names", LATCHED)
        self.distances = recorded(Float64MultiArray, "~/distances", VALUES)
        self.markers = recorded(MarkerArray, "~/markers", VALUES)
        self.diagnostics = create(DiagnosticArray, "/diagnostics", VALUES)
        self._every = (
            self._min_distance, self._speed_scale, self._safe, self._state, self._pair_names,
            self.distances, self.markers, self.diagnostics,
        )  # fmt: skip
        self._on_demand = {
            "distances_rate": partial(_send_if_heard, self.distances, send_distances),
            "marker_rate": partial(_send_if_heard, self.markers, send_markers),
        }
        self._timers: dict[str, Any] = {}
        self._changes = -1  # of the scene, when the names of pairs were published
        self._distance_message = Float64()  # reused: publishing copies it
        self._scale_message = Float64()

    def _recorded(self, kind: type, topic: str, qos: QoSProfile) -> Publisher | RecordedPublisher:
        publisher = self._node.create_publisher(kind, topic, qos)
        if self._recorder is None:
            return publisher
        latched = qos.durability is DurabilityPolicy.TRANSIENT_LOCAL
        return self._recorder.recorded(publisher, topic, kind, latched)

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

    def set_timer(self, name: str, period: float, callback: Callable[[], None] | None) -> None:
        """Restart a timer, or end it without a callback."""
        if name in self._timers:
            self._node.destroy_timer(self._timers.pop(name))
        if callback is not None:
            self._timers[name] = steady_timer(self._node, period, callback)

    def set_rates(self, rates: Mapping[str, float]) -> None:
        """Send distances and markers at these rates, Hz, while they have subscribers; 0: never."""
        for name, send in self._on_demand.items():
            rate = rates[name]
            self.set_timer(name, 1.0 / rate if rate else 0.0, send if rate else None)

    def stop(self) -> None:
        """End all timers."""
        for name in list(self._timers):
            self.set_timer(name, 0.0, None)

    def destroy(self) -> None:
        """Destroy timers and publishers; latched messages are lost."""
        self.stop()
        for publisher in self._every:
            self._node.destroy_publisher(getattr(publisher, "publisher", publisher))
