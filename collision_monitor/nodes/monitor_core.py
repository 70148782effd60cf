# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The collision monitor of a node: robots in, joint states in; distance, verdict, markers out."""

from __future__ import annotations

import gc
import math
import time
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from collision_monitor.behaviour.behaviour import Behaviour
from collision_monitor.collision_model import CollisionModel
from collision_monitor.errors import CollisionMonitorError, JointStateError
from collision_monitor.live.live_nearness import LiveNearness
from collision_monitor.live.live_scene import LiveScene
from collision_monitor.monitor import Level, Monitor, MonitorState
from collision_monitor.nearness import Nearness
from collision_monitor.nodes.aabb_markers import levels_of
from collision_monitor.nodes.behaviour_parameters import (
    check_behaviour,
    decelerations_of,
    file_rules,
    joint_limits_of,
    settings_of,
    thresholds_of,
)
from collision_monitor.nodes.cloud import Cloud
from collision_monitor.nodes.joint_state_reader import JointStateReader
from collision_monitor.nodes.joint_state_source import JointStateSource
from collision_monitor.nodes.log_bridge import bridge_logs
from collision_monitor.nodes.markers import MarkerBuilder
from collision_monitor.nodes.messages import distances_message, key_values, status_message
from collision_monitor.nodes.monitor_report import MonitorReport
from collision_monitor.nodes.monitor_services import MonitorServices
from collision_monitor.nodes.monitor_topics import MonitorTopics
from collision_monitor.nodes.parameters import declare_parameters, not_finite, refusal
from collision_monitor.nodes.qos import LATCHED
from collision_monitor.nodes.recorder import Recorder
from collision_monitor.nodes.scene_topics import SceneTopics, bounds_of
from collision_monitor.nodes.stop_service import StopService
from collision_monitor.robot.pairs import by_reason
from collision_monitor.watchdogs.clock import FUTURE_SECONDS
from collision_monitor.watchdogs.watchdogs import Watchdogs

_WATCHDOG_SECONDS = 0.05
_LOADING = "loading a robot (the first time its leaves are fitted and kernels compiled)"
_INACTIVE = MonitorState(Level.STALE, "inactive: nobody watches the robot", "waiting")


class MonitorCore:
    """Publishes how near the links of a robot are, and what is to be done about it.

    `configure` makes publishers and loads, `activate` begins to watch; `deactivate` and
    `cleanup` undo them.
    """

    def __init__(self, node: Node) -> None:
        """Declare all parameters.

        Raises:
            CollisionMonitorError: parameters that contradict each other.
        """
        self._node = node
        bridge_logs(node)
        self._values = declare_parameters(node)
        if reason := refusal(self._values):
            raise CollisionMonitorError(reason)
        self._file_rules = file_rules(self._values)
        check_behaviour(self._values, self._file_rules)
        self._is_prepared = self._values["narrow_phase"] != "leaf"  # for exact distances
        self._monitor: Monitor | None = None
        self._marker_builder: MarkerBuilder | None = None
        self._is_active = False
        self._topics: MonitorTopics | None = None
        self._recorder: Recorder | None = None
        self._reader = JointStateReader()
        self._watchdogs = Watchdogs()
        self._watchdogs.cycles.deadline = self._values["cycle_deadline"]
        self._time_is_simulated = node.get_clock().ros_time_is_active
        self._report = MonitorReport(node)
        self._stop_service = StopService(node)
        node.add_on_set_parameters_callback(self._on_parameters)

    # -- steps of life ---------------------------------------------------------------

    def configure(self, is_active: bool = False) -> None:
        """Make publishers and services, and load a robot given by parameter.

        With ``is_active`` it says what it does from the first moment on.

        Raises:
            CollisionMonitorError: it cannot be loaded, or not be recorded.
        """
        self._recorder = Recorder(self._node, self._values) if self._values["record"] else None
        self._description = ""
        self._idle = MonitorState(Level.STALE, "waiting for a robot description", "waiting")
        self._published: tuple[Level, str, str] | None = None
        self._topics = MonitorTopics(
            self._node,
            {"distances_rate": self._send_distances, "marker_rate": self._send_markers},
            self._recorder,
        )
        self._services = MonitorServices(self._node, lambda: self._monitor, self._refresh)
        self._scene = SceneTopics(self._node, self._values, self._refresh)
        self._cloud = Cloud(self._node, self._values, self._scene, self._refresh)
        self._descriptions = self._joint_states = None
        self._set_stops()
        self._is_active = is_active
        self._publish_state(self._idle)
        if self._values["joint_state_timeout"] == 0.0:
            self._node.get_logger().warning(
                "joint_state_timeout is 0: the watchdog is OFF, and a robot whose joint states "
                "stop is still called safe"
            )
        if self._values["robot_description"]:
            try:
                self._load(self._values["robot_description"])
            except CollisionMonitorError:
                self.cleanup()
                raise
        else:
            self._descriptions = self._node.create_subscription(
                String, "robot_description", self._on_description, LATCHED
            )

    def activate(self) -> None:
        """Listen to joint states, and speak."""
        self._is_active = True
        if self._monitor is not None:
            self._monitor.forget()
        self._publish_state(self._now_state())
        self._joint_states = JointStateSource(self._node, self._on_joint_state)
        self._next_beat = -math.inf
        self._topics.set_timer("watchdog", self._watch_period(), self._watch)
        self._topics.set_timer("diagnostics", 1.0, self._send_diagnostics)

    def deactivate(self) -> None:
        """Say once that nobody watches any more, and fall silent."""
        self._publish_state(_INACTIVE)
        self._is_active = False
        self._topics.stop()
        self._joint_states.destroy()
        self._joint_states = None
        self._watchdogs.publishers.forget()
        self._watchdogs.cycles.rest()

    def cleanup(self) -> None:
        """Forget the robot and everything that was made for it."""
        self._monitor = self._marker_builder = None
        self._stop_service.close()
        self._cloud.destroy()
        self._scene.destroy()
        self._services.destroy()
        self._topics.destroy()
        self._topics, self._is_active = None, False
        if self._descriptions is not None:
            self._node.destroy_subscription(self._descriptions)
            self._descriptions = None
        self.close()

    def close(self) -> None:
        """Write what is still to be recorded; without a recording nothing happens."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None

    # -- loading ---------------------------------------------------------------------

    def _load(self, description: str) -> None:
        """Load a robot and begin to monitor it; whatever was monitored before ends here."""
        start = time.monotonic()
        # Until it is done nobody watches: what was called safe before is not any more.
        self._publish_state(MonitorState(Level.STALE, _LOADING, "waiting"))
        v = self._values
        if self._recorder is not None:
            self._recorder.description(description)
        model = CollisionModel.from_urdf(
            description,
            srdf=v["robot_description_semantic"] or None,
            package_dirs=[folder for folder in v["package_dirs"] if folder],
            scene=v["scene"] or None,
            max_leaves_per_link=v["max_leaves_per_link"],
            leaf_tolerance=v["leaf_tolerance"],
            leaves=v["leaves"] or None,
            visual_meshes=v["visual_meshes"],
        )
        log = self._node.get_logger()
        for reason, pairs in by_reason(model.unmonitored_pairs).items():
            log.info(f"not monitored ({reason}): {', '.join(f'{a} - {b}' for a, b in pairs)}")
        if not model.pairs:
            raise CollisionMonitorError(
                f"robot '{model.name}' has no pair of links to check ({len(model.link_names)} "
                "links have collision shapes)"
            )
        limits = joint_limits_of(v, model)
        decelerations = decelerations_of(v, model, limits)
        live = LiveScene(model, bounds_of(v))
        monitor = Monitor(
            model,
            v["warn_distance"],
            v["stop_distance"],
            v["joint_state_timeout"],
            v["zero_state_confirmation"],
            v["narrow_phase"],
            Behaviour(model, settings_of(v), decelerations, live),
            live,
        )
        monitor.set_thresholds(thresholds_of(v, self._file_rules))
        self._services.attend(monitor)
        self._scene.attend(monitor)
        self._cloud.forget()
        monitor.scene_fault = self._scene_fault
        monitor.watchdogs = self._watchdogs
        self._watchdogs.cycles.rest()  # nobody was watched meanwhile, and it was said
        self._monitor, self._marker_builder, self._limits = monitor, None, limits
        _freeze_what_is_loaded()
        self._description, self._report.refused = description, ""
        self._tell_pairs(monitor)
        brakes = zip(model.joint_names, decelerations.tolist(), strict=True)
        log.info(f"joints brake with {', '.join(f'{n} {a:g}' for n, a in brakes)} rad/s^2 or m/s^2")
        log.info(
            f"monitoring '{model.name}': {len(model.link_names)} links, {len(model.pairs)} pairs "
            f"checked, {len(model.unmonitored_pairs)} left out; loaded in "
            f"{time.monotonic() - start:.1f} s"
        )

    def _tell_pairs(self, monitor: Monitor) -> None:
        self._told = monitor.live.changes
        self._topics.pair_names(monitor.pairs)

    def _tell_new_pairs(self) -> None:
        if self._monitor is not None and self._told != self._monitor.live.changes:
            self._tell_pairs(self._monitor)

    def _scene_fault(self, now: float) -> str:
        """What is not watched though it should be; empty if all is."""
        return self._scene.fault(now) or self._cloud.fault(now)

    def _on_description(self, message: String) -> None:
        if message.data == self._description and not self._report.refused:
            return
        try:
            self._load(message.data)
        except CollisionMonitorError as error:
            self._report.refused = f"robot_description cannot be monitored: {error}"
            self._idle = MonitorState(Level.ERROR, self._report.refused, "fault")
            self._node.get_logger().error(self._report.refused)
        self._publish_state(self._now_state())

    # -- joint states ----------------------------------------------------------------

    def _on_joint_state(self, data: bytes) -> None:
        """Take in a serialized sensor_msgs/JointState."""
        start, monitor, cycles = time.monotonic(), self._monitor, self._watchdogs.cycles
        self._report.messages += 1
        if monitor is None:
            if self._recorder is not None:
                self._recorder.joint_state(data)
            return
        if self._cloud.is_ready:
            self._cloud.take()
        lag_at_start = math.nan
        try:
            if cycles.is_behind(start):  # what waits is merged; the verdict is of the newest
                for newer in self._joint_states.waiting():
                    monitor.merge(*self._read(data))
                    self._report.messages += 1
                    data = newer
            joint_state = self._read(data)
        except JointStateError as error:
            state = monitor.refuse(error, time.monotonic())
        else:
            state = monitor.update(*joint_state)
            _, _, taken, stamp, lag, _ = joint_state
            if stamp > 0.0 and lag >= -FUTURE_SECONDS:
                lag_at_start = lag + start - taken
        if state.clearance is not None:
            self._topics.cycle(state)
        if (state.level, state.cause, state.action) != self._published:
            self._publish_state(state)
        if cycles.add(start, time.monotonic(), lag_at_start):
            self._refresh()

    def _read(
        self, data: bytes
    ) -> tuple[list[str], tuple[float, ...], float, float, float, tuple[float, ...]]:
        """The arguments of `Monitor.update`.

        Raises:
            JointStateError: the bytes are no joint state.
        """
        if self._recorder is not None:  # behind what was said to the ones before it
            self._recorder.joint_state(data)
        names, positions, stamp, velocities = self._reader.read(data)
        now = time.monotonic()
        if self._time_is_simulated:
            lag = self._watchdogs.clock.lag(stamp, self._clock_seconds(), now, True)
        else:
            lag = time.time() - stamp if stamp > 0.0 else 0.0
        return names, positions, now, stamp, lag, velocities

    def _clock_seconds(self) -> float:
        """The node's time; without simulated time by the shortest way."""
        if self._time_is_simulated:
            return 1e-9 * self._node.get_clock().now().nanoseconds
        return time.time()

    # -- parameters ------------------------------------------------------------------

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        wanted = {p.name: p.value for p in parameters if p.name in self._values}
        values = {**self._values, **wanted}
        model = None if self._monitor is None else self._monitor.model
        limits = None if self._monitor is None else self._limits
        try:
            reason = not_finite(wanted) or refusal(values) or self._unprepared(wanted)
            if reason:
                return SetParametersResult(successful=False, reason=reason)
            rules = file_rules(values) if "thresholds_file" in wanted else self._file_rules
            check_behaviour(values, rules, model, limits)
        except CollisionMonitorError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._values.update(wanted)
        self._file_rules = rules
        self._watchdogs.cycles.deadline = self._values["cycle_deadline"]
        if self._monitor is not None:
            self._use_values(self._monitor)
        if self._topics is not None:
            self._set_stops()
            self._topics.rates_have_changed(set(wanted))
        if "marker_rate" in wanted:
            self._marker_builder = None  # its markers' lifetime follows the rate
        if "state_rate" in wanted and self._is_active:
            self._topics.set_timer("watchdog", self._watch_period(), self._watch)
        return SetParametersResult(successful=True)

    def _use_values(self, monitor: Monitor) -> None:
        v = self._values
        monitor.joint_state_timeout = v["joint_state_timeout"]
        monitor.narrow_phase = v["narrow_phase"]
        monitor.set_thresholds(thresholds_of(v, self._file_rules))
        monitor.behaviour.settings = settings_of(v)
        monitor.behaviour.decelerations = decelerations_of(v, monitor.model, self._limits)

    def _set_stops(self) -> None:
        v = self._values
        self._services.latch.latches = v["latch_stops"]
        self._services.latch.asks = v["acknowledge_stops"]
        self._stop_service.set(
            v["stop_service"], v["stop_service_data"], v["stop_service_attempts"],
            v["stop_service_timeout"],
        )  # fmt: skip

    def _unprepared(self, wanted: dict[str, Any]) -> str:
        """Why exact distances cannot begin now: compiling would leave the robot unwatched."""
        if self._is_prepared or wanted.get("narrow_phase", "leaf") == "leaf":
            return ""
        return (
            f"narrow_phase {wanted['narrow_phase']!r} needs what was not loaded: the node was "
            "started with 'leaf'; start it with 'auto' or 'mesh'"
        )

    # -- what is said ----------------------------------------------------------------

    def _now_state(self) -> MonitorState:
        return self._idle if self._monitor is None else self._monitor.state(time.monotonic())

    def _watch_period(self) -> float:
        """Seconds: a timer that wakes the node for the heartbeat alone would cost as much again."""
        return min(_WATCHDOG_SECONDS, 1.0 / self._values["state_rate"])

    def _watch(self) -> None:
        """Look after everything that no message brings about."""
        self._topics.look_for_listeners(self._values)
        if self._recorder is not None:
            self._recorder.update()
        self._scene.watch()
        if self._cloud.is_ready:
            self._cloud.take()
        self._time_is_simulated = self._node.get_clock().ros_time_is_active  # a slow question
        now, watchdogs = time.monotonic(), self._watchdogs
        watchdogs.cycles.woke(now, self._watch_period())
        watchdogs.clock.look(self._clock_seconds(), now, self._time_is_simulated)
        watchdogs.publishers.look(self._joint_states.publishers(), now)
        state = self._now_state()
        is_news = self._stop_service.update(_is_stop(state))
        is_news |= (state.level, state.cause, state.action) != self._published
        period = 1.0 / self._values["state_rate"]
        if now >= self._next_beat - 0.5 * self._watch_period():
            # Beats keep their rate in the mean, whatever the watchdog's period is.
            self._next_beat = max(self._next_beat + period, now + 0.5 * period)
            is_news = True
            self._tell_new_pairs()
        if is_news:
            self._publish_state(state)

    def _refresh(self) -> None:
        self._publish_state(self._now_state())

    def _publish_state(self, state: MonitorState) -> None:
        if not self._is_active:
            return
        if (state.level, state.cause, state.action) != self._published:
            self._published = (state.level, state.cause, state.action)
            self._stop_service.update(_is_stop(state))
            self._report.log(state)
        self._topics.state(self._status(state), state)
        if self._recorder is not None:
            self._recorder.state(_is_stop(state), state.message)

    def _status(self, state: MonitorState) -> DiagnosticStatus:
        extra = self._report.values(
            self._values, self._monitor, state, self._stop_service.call.text
        )
        if self._recorder is not None:
            extra["record"] = self._recorder.text
        extra |= self._scene.values() | self._cloud.values()
        robot = "" if self._monitor is None else self._monitor.model.name
        return status_message(state, self._node.get_name(), robot, extra)

    def _send_diagnostics(self) -> None:
        status = self._status(self._now_state())
        status.values += key_values(self._report.figures(self._watchdogs))
        status.name = f"{self._node.get_fully_qualified_name().lstrip('/')}: clearance"
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._topics.diagnostics.publish(message)

    def _send_distances(self) -> None:
        if self._monitor is None or self._now_state().clearance is None:
            return
        self._tell_new_pairs()
        self._topics.distances.publish(distances_message(self._monitor.distances().tolist()))

    def _send_markers(self) -> None:
        monitor, v = self._monitor, self._values
        # A timer that has ended may have been due already when its rate was set to 0.
        if monitor is None or v["marker_rate"] == 0.0:
            return
        if self._marker_builder is None:
            lifetime = max(1.0, 3.0 / v["marker_rate"])
            self._marker_builder = MarkerBuilder(monitor.model, lifetime)
            self._nearness = Nearness(monitor.model)
            self._live_nearness = LiveNearness(monitor.live)
            self._topics.markers.publish(MarkerBuilder.clear())
        if remark := self._marker_builder.show_levels(levels_of(v["show_aabb_levels"])):
            self._node.get_logger().warning(f"show_aabb_levels: {remark}")
        thresholds = monitor.behaviour.thresholds
        if monitor.narrow_phase == "leaf":
            nearness = self._nearness.of_leaves(monitor.buffer.q, thresholds)
        else:
            nearness = self._nearness.of_distances(monitor.model_distances(), thresholds)
        if not monitor.live.is_empty:
            of_objects = monitor.behaviour.thresholds_of_objects
            near_objects = self._live_nearness.of_leaves(monitor.buffer.q, of_objects)
            nearness = np.minimum(nearness, near_objects)
        stamp = self._node.get_clock().now().to_msg()
        messages = self._marker_builder.build(
            monitor.buffer.q, self._now_state(), stamp, nearness
        )
        for message in messages:
            self._topics.markers.publish(message)


def _is_stop(state: MonitorState) -> bool:
    """Whether the robot is to stop, though it has been watched."""
    return state.action == "stop" and state.cause != "waiting"


def _freeze_what_is_loaded() -> None:
    """Keep what is loaded out of the search for cyclic garbage, which else stops the watch.

    A full search among the objects of all imports takes tens of milliseconds; what comes
    and goes with messages is searched as before.
    """
    gc.unfreeze()  # a robot monitored before may be garbage now
    gc.collect()
    gc.freeze()
