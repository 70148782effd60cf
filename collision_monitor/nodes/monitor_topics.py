# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Publishers, markers and log messages of the collision_monitor node."""

from __future__ import annotations

import math
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

from collision_monitor.common.text import MOST_LOGGED, counted, shortened
from collision_monitor.model.proximity import Nearness
from collision_monitor.model.sampled_distances import near_and_touching
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.nodes.common.messages import LATCHED, SAFE, STATE, VALUES
from collision_monitor.nodes.common.timers import steady_timer
from collision_monitor.nodes.markers.markers import MarkerBuilder, levels_of
from collision_monitor.nodes.recorder import RecordedPublisher, Recorder
from collision_monitor.robot.pairs import by_reason, may_also_collide


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
        self._on_demand = {
            "distances_rate": partial(_send_if_heard, self.distances, send_distances),
            "marker_rate": partial(_send_if_heard, self.markers, send_markers),
        }
        self._timers: dict[str, Any] = {}
        self._changes = -1  # of the scene, when the names of pairs were published
        self._distance_message = Float64()  # reused: publishing copies it
        self._scale_message = Float64()

    def _create(self, kind: type, topic: str, qos: QoSProfile) -> Publisher:
        self._publishers.append(self._node.create_publisher(kind, topic, qos))
        return self._publishers[-1]

    def _recorded(self, kind: type, topic: str, qos: QoSProfile) -> Publisher | RecordedPublisher:
        publisher = self._create(kind, topic, qos)
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
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)


class MarkerTopic:
    """Builds and publishes markers; a new robot or new parameters begin with a DELETEALL."""

    def __init__(self, node: Node, values: Mapping[str, Any], publisher: Any) -> None:
        """``values``: parameters of the node; ``publisher``: of ``~/markers``."""
        self._node, self._values, self._publisher = node, values, publisher
        self._builder: MarkerBuilder | None = None

    def forget(self) -> None:
        """Begin again with the next markers: the robot or a parameter is another one."""
        self._builder = None

    def send(self, monitor: Monitor | None, state: MonitorState) -> None:
        """Publish the markers of a state."""
        # A stopped timer may have been due when its rate was set to 0.
        if monitor is None or self._values["marker_rate"] == 0.0:
            return
        if self._builder is None:
            self._start(monitor)
        thresholds, q = monitor.behaviour.all_thresholds, monitor.buffer.q
        if monitor.narrow_phase == "leaf":
            nearness = self._nearness.of_leaves(q, thresholds)
        else:
            nearness = self._nearness.of_distances(monitor.model_distances(), thresholds)
            if not monitor.live.is_empty:
                first = len(monitor.model.pairs)
                of_objects = self._nearness.of_leaves(q, thresholds, first)
                nearness = np.minimum(nearness, of_objects)
        stamp = self._node.get_clock().now().to_msg()
        for message in self._builder.build(q, state, stamp, nearness):
            self._publisher.publish(message)

    def _start(self, monitor: Monitor) -> None:
        v = self._values
        lifetime = max(1.0, 3.0 / v["marker_rate"])
        levels = levels_of(v["show_aabb_levels"])
        mesh_level = max(levels_of(v["show_mesh_level"], "show_mesh_level"), default=-1)
        builder = MarkerBuilder(monitor.model, lifetime, monitor.live, levels, mesh_level)
        for remark in builder.remarks:
            self._node.get_logger().warning(remark)
        self._builder, self._nearness = builder, Nearness(monitor.model, monitor.live)
        self._publisher.publish(MarkerBuilder.clear())


# -- what is logged when a robot is loaded --


def log_robot(log: Any, monitor: Monitor) -> None:
    """Log which pairs are monitored, and which are not."""
    model = monitor.model
    for reason, pairs in by_reason(model.unmonitored_pairs).items():
        log.info(f"left out ({reason}): {', '.join(f'{a} - {b}' for a, b in pairs)}")
    if doubtful := may_also_collide(model.unmonitored_pairs):
        names = shortened((f"{a} - {b}" for a, b in doubtful), MOST_LOGGED)
        log.warning(
            f"left out because they overlap, though they may also collide elsewhere: {names}; a "
            "rule that names a pair has it checked"
        )
    near_pairs = list(monitor.behaviour.structural_pairs.values())
    if near_pairs:
        log.info(
            f"near by design ({counted(len(near_pairs), 'pair')}, all listed by "
            f"fit): {shortened(map(str, near_pairs), MOST_LOGGED, '; ')}"
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
        f"{shortened(pairs, MOST_LOGGED)}. If it rests there, use the distances that the command "
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
