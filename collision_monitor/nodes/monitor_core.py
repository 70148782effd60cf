# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Core of the collision_monitor nodes: joint states in; distance, state and markers out."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from collision_monitor.common.compiled import log_compiling
from collision_monitor.errors import (
    CollisionMonitorError,
    ConfigurationError,
    JointStateError,
    reason_of,
)
from collision_monitor.model.desired_scene import DesiredScene
from collision_monitor.model.loading import Loaded, Recipe
from collision_monitor.model.proximity import Nearness
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.monitor import NARROW_PHASES, Level, Monitor, MonitorState
from collision_monitor.monitoring.watchdogs import FUTURE_SECONDS, Watchdogs
from collision_monitor.nodes.common.executor import bridge_logs
from collision_monitor.nodes.common.failures import CallbackFailures
from collision_monitor.nodes.common.messages import distances_message, key_values, status_message
from collision_monitor.nodes.common.name_watch import NameWatch
from collision_monitor.nodes.common.sentinel import repeated
from collision_monitor.nodes.markers.markers import MarkerBuilder, levels_of
from collision_monitor.nodes.monitor_services import MonitorServices, StopService
from collision_monitor.nodes.monitor_topics import (
    MonitorReport,
    MonitorTopics,
    log_robot,
    log_rules,
)
from collision_monitor.nodes.obstacles.cloud import Cloud
from collision_monitor.nodes.obstacles.scene_topics import SceneTopics
from collision_monitor.nodes.parameters.monitor_parameters import (
    PARAMETERS,
    check,
    check_for_model,
    decelerations_of,
    declare_robots,
    file_rules,
    recipe_of,
    settings_of,
    thresholds_of,
)
from collision_monitor.nodes.parameters.parameter import changed_values, declare_parameters
from collision_monitor.nodes.parameters.thresholds_file import ThresholdsFile
from collision_monitor.nodes.recorder import Recorder
from collision_monitor.nodes.robot_loader import RobotLoader, build_monitor, has_kernels
from collision_monitor.nodes.robot_topics import JointStateSource, RobotTopics

_WATCHDOG_SECONDS = 0.05
_LOADING = "loading the robot (the first load fits leaves and compiles kernels)"
_COMPILING = "compiling kernels, once on this machine; nothing is monitored yet"
_REPLACING = "a large robot is replacing the previous one; nothing is monitored meanwhile"
_INACTIVE = MonitorState(Level.STALE, "inactive: monitoring is disabled", "waiting")
_ENDED = MonitorState(
    Level.STALE, "node is shutting down; the robot is no longer monitored", "waiting"
)


class MonitorCore:
    """Publishes the minimum distance of a robot, and the required action.

    `configure` creates publishers and loads the robot, `activate` starts monitoring; `deactivate`
    and `cleanup` undo them.
    """

    def __init__(self, node: Node) -> None:
        """Declare all parameters.

        Raises:
            CollisionMonitorError: inconsistent parameters.
        """
        self._node = node
        bridge_logs(node)
        self._watchdogs = Watchdogs()
        self._faults = self._watchdogs.faults
        self._failures = CallbackFailures(node.get_logger(), self._faults)
        self._values = declare_parameters(node, PARAMETERS, check)
        self._file_rules = file_rules(self._values)
        self._thresholds_file = ThresholdsFile()
        log_compiling()
        self._prepared = self._values["narrow_phase"]
        self._monitor: Monitor | None = None
        self._marker_builder: MarkerBuilder | None = None
        self._is_active = False
        self._is_merging = False  # joint states, of which the newest is not processed yet
        self._topics: MonitorTopics | None = None
        self._recorder: Recorder | None = None
        self._keeper: DesiredScene | None = None
        self._watchdogs.cycles.deadline = self._values["cycle_deadline"]
        self._time_is_simulated = node.get_clock().ros_time_is_active
        self._report, self._names = MonitorReport(node), NameWatch(node, self._faults)
        self._robots = RobotTopics(
            node, declare_robots(node, self._values), self._on_description, self._on_joint_state
        )
        self._loader = RobotLoader(
            node, self._start_monitoring, self._refresh, self._announce_replacement, self._faults
        )
        self._stop_service = StopService(node)
        node.add_on_set_parameters_callback(self._on_parameters)

    # -- life cycle --

    def configure(self, is_active: bool = False) -> None:
        """Create publishers and services, and load a robot given by parameter.

        With ``is_active``, the state is published from the start.

        Raises:
            CollisionMonitorError: the robot cannot be loaded, or recording is not possible.
        """
        self._recorder = Recorder(self._node, self._values) if self._values["record"] else None
        self._robots.subscribe_descriptions()
        self._idle = self._waiting()
        self._published: tuple[Level, str, str] | None = None
        self._topics = MonitorTopics(
            self._node,
            self._timed(self._send_distances),
            self._timed(self._send_markers),
            self._recorder,
        )
        self._services = MonitorServices(self._node, lambda: self._monitor, self._refresh)
        self._scene = SceneTopics(
            self._node, self._values, self._refresh, self._keeper, self._recorder, self._timed,
            self._faults,
        )  # fmt: skip
        self._cloud = Cloud(
            self._node, self._values, self._scene, self._refresh,
            lambda stamp: self._lag(stamp, time.monotonic()), self._recorder, self._timed,
            self._faults,
        )  # fmt: skip
        self._set_stops()
        self._is_active = is_active
        self._publish_state(self._idle)
        self._warn_of_no_watchdog(self._values)
        if not self._robots.missing:
            try:
                self._load_first(self._recipe())
            except CollisionMonitorError:
                self.cleanup()
                raise

    def activate(self) -> None:
        """Subscribe to joint states, and publish."""
        self._is_active = True
        if self._monitor is not None:
            self._monitor.forget()
        self._publish_state(self._current_state())
        self._robots.subscribe_joint_states()
        if self._monitor is not None and self._monitor.model.scene.joints:
            self._robots.subscribe_scene_joints()
        self._next_beat = -math.inf
        self._topics.set_timer("watchdog", self._watch_period(), self._timed(self._on_watchdog))
        self._topics.set_timer("diagnostics", 1.0, self._timed(self._send_diagnostics))

    def deactivate(self) -> None:
        """Publish once that monitoring is disabled, and stop publishing."""
        self._publish_state(_INACTIVE)
        self._is_active = False
        self._topics.stop()
        self._robots.unsubscribe_joint_states()
        if self._monitor is not None:
            self._monitor.forget()  # no positions are received while inactive
        self._watchdogs.publishers.forget()
        self._watchdogs.cycles.expect_delay()

    def cleanup(self) -> None:
        """Unload the robot, and destroy publishers and subscriptions."""
        self._monitor = self._marker_builder = None
        self._loader.forget()
        self._robots.destroy()
        self._stop_service.close()
        self._cloud.destroy()
        self._scene.destroy()
        self._keeper = self._scene.keeper  # obstacles are not published again
        self._services.destroy()
        self._topics.destroy()
        self._topics, self._is_active = None, False
        self.close()

    def end(self) -> None:
        """Publish that monitoring has ended, and write pending recordings."""
        if self._is_active and self._node.context.ok():
            self._publish_state(_ENDED)
        self.close()

    def failed(self, error: Exception) -> None:
        """Publish that a callback has failed."""
        self._failures.add(error)
        try:
            self._refresh()
        except Exception:  # it may be the state that fails: publish it without any details
            if self._is_active:
                reason = self._faults.text("callback", time.monotonic())
                state = MonitorState(Level.ERROR, reason, "fault")
                with suppress(Exception):
                    name = self._node.get_name()
                    self._topics.state(status_message(state, name, "", {}), state)

    def publish_stale(self, reason: str) -> None:
        """Publish that nothing is monitored now, or repeat the last state if that is STALE.

        May be called from any thread.
        """
        if not (self._is_active and self._node.context.ok()):
            return
        status, state = self._last
        if state.level is not Level.STALE:
            state = MonitorState(Level.STALE, f"{reason}; nothing is monitored", "waiting")
            status = status_message(state, self._node.get_name(), "", {})
            self._published = None  # the next state is published at once
        self._topics.state(status, state)

    def close(self) -> None:
        """Write pending recordings, if the node records."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None

    # -- robots --

    def _waiting(self) -> MonitorState:
        topics = " and ".join(self._robots.missing)
        text = f"waiting for a robot description on {topics}" if topics else _LOADING
        return MonitorState(Level.STALE, text, "waiting")

    def _recipe(self) -> Recipe:
        is_exact = self._prepared != "leaf"
        return recipe_of(self._values, self._robots.sources, is_exact, self._file_rules)

    def _on_description(self) -> None:
        """Load the first robot in this thread; later descriptions in the background."""
        if self._robots.missing:
            self._idle = self._waiting()
            self._refresh()
            return
        recipe = self._recipe()
        if self._monitor is not None:
            self._loader.request(recipe)
            return
        try:
            self._load_first(recipe)
        except Exception as error:
            if not isinstance(error, CollisionMonitorError):
                self._failures.add(error)
            reason = f"robot_description cannot be monitored: {reason_of(error)}"
            self._idle = MonitorState(Level.ERROR, reason, "fault")
            self._node.get_logger().error(reason)
        self._refresh()

    def _load_first(self, recipe: Recipe) -> None:
        """Load in this thread: no robot is monitored yet.

        Raises:
            CollisionMonitorError: the robot cannot be monitored.
        """
        start = time.monotonic()
        text = _LOADING if has_kernels(self._prepared != "leaf") else _COMPILING
        self._publish_state(MonitorState(Level.STALE, text, "waiting"))
        with repeated(lambda: self.publish_stale(text)):
            self._loader.load(recipe)
        for _ in self._robots.waiting():  # joint states received while it was loaded
            pass
        self._watchdogs.cycles.expect_delay()  # the state has reported that no robot was monitored
        self._node.get_logger().info(f"loaded in {time.monotonic() - start:.1f} s")

    def _announce_replacement(self) -> None:
        """Invalidate the last state before a large robot replaces it: monitoring is interrupted."""
        self._publish_state(MonitorState(Level.STALE, _REPLACING, "waiting"))
        self._watchdogs.cycles.expect_delay()

    def _start_monitoring(self, recipe: Recipe, loaded: Loaded) -> None:
        """Switch to a loaded robot, between two joint states.

        Raises:
            CollisionMonitorError: it cannot be monitored; the previous robot stays.
        """
        monitor, limits = build_monitor(self._values, self._file_rules, loaded)
        monitor.watchdogs = self._watchdogs
        old = self._monitor
        try:
            self._connect(monitor)
            if old is not None:
                monitor.take_over(old, time.monotonic())
        except Exception:
            if old is not None:
                self._connect(old)  # otherwise it would no longer receive changes of the scene
            raise
        self._monitor, self._marker_builder, self._limits = monitor, None, limits
        if self._is_active and monitor.model.scene.joints:
            self._robots.subscribe_scene_joints()
        if self._recorder is not None:
            for robot in recipe.robots:
                self._recorder.description(robot.urdf, self._robots.description_topic(robot.name))
        _freeze_loaded_objects(is_first=old is None)
        log_robot(self._node.get_logger(), monitor)
        thresholds = thresholds_of(self._values, self._file_rules)
        log_rules(self._node.get_logger(), monitor, thresholds)
        self._publish_pair_names(monitor)

    def _connect(self, monitor: Monitor) -> None:
        self._services.use(monitor)
        self._scene.use_robot(monitor)
        self._cloud.use_robot()

    def _publish_pair_names(self, monitor: Monitor) -> None:
        self._published_changes = monitor.live.changes
        self._topics.pair_names(monitor.pairs)

    def _publish_new_pair_names(self) -> None:
        if self._monitor is not None and self._published_changes != self._monitor.live.changes:
            self._publish_pair_names(self._monitor)

    def _timed(self, callback: Callable[..., None]) -> Callable[..., None]:
        """A callback whose duration is measured: joint states wait while it runs."""

        def work(*arguments: Any) -> None:
            start = time.monotonic()
            callback(*arguments)
            self._watchdogs.cycles.report_other_work(start, time.monotonic())

        return work

    # -- joint states --

    def _on_joint_state(self, source: JointStateSource, data: bytes) -> None:
        """Process a serialized sensor_msgs/JointState."""
        start, monitor, cycles = time.monotonic(), self._monitor, self._watchdogs.cycles
        self._report.messages += 1
        if monitor is None:
            if self._recorder is not None:
                self._recorder.joint_state(data, source.topic)
            return
        if self._cloud.is_ready:
            self._cloud.apply_result()
        lag_at_start = math.nan
        try:
            if cycles.is_behind(start):  # merge waiting messages, and check the newest
                for newer in self._robots.waiting():
                    self._merge(monitor, source, data)
                    self._report.messages += 1
                    source, data = newer
                self._process_scene()
            joint_state = self._read(source, data)
        except JointStateError as error:
            state = monitor.reject(error, time.monotonic())
        else:
            state = monitor.process(joint_state)
            if joint_state.stamp > 0.0 and joint_state.lag >= -FUTURE_SECONDS:
                lag_at_start = joint_state.lag + start - joint_state.now
        state = self._with_faults(state)
        if state.clearance is not None:
            self._topics.cycle(state)
        if _key(state) != self._published:
            self._publish_state(state)
        if cycles.add(start, time.monotonic(), lag_at_start):
            self._refresh()

    def _process_scene(self) -> None:
        """Process waiting scene messages before the newest joint state, whose state includes them.

        A state in between would be of merged joint states, which have no distance.
        """
        self._is_merging = True
        try:
            self._scene.process_waiting()
        finally:
            self._is_merging = False

    def _merge(self, monitor: Monitor, source: JointStateSource, data: bytes) -> None:
        """Process a joint state without a query; faults are reported with the next state."""
        try:
            monitor.merge(self._read(source, data))
        except JointStateError as error:
            monitor.reject(error, time.monotonic())

    def _read(self, source: JointStateSource, data: bytes) -> JointState:
        """Read a joint state, with its lag.

        Raises:
            JointStateError: the bytes are not a joint state.
        """
        if self._recorder is not None:  # after the states of earlier ones
            self._recorder.joint_state(data, source.topic)
        now = time.monotonic()
        message = source.read(data, now, self._lag)
        self._watchdogs.publishers.report_message(source.topic, now, message.names)
        return message

    def _lag(self, stamp: float, now: float) -> float:
        """Age of a message with this stamp, seconds; see `ClockWatch.lag`."""
        clock = self._clock_seconds(), now, self._time_is_simulated
        return self._watchdogs.clock.lag(stamp, *clock)

    def _clock_seconds(self) -> float:
        """Time of the node, seconds; system time is read directly, which is faster."""
        if self._time_is_simulated:
            return 1e-9 * self._node.get_clock().now().nanoseconds
        return time.time()

    # -- parameters --

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            changes = changed_values(self._values, parameters, PARAMETERS, check)
            self._check_narrow_phase(changes)
            values = {**self._values, **changes}
            rules = self._file_rules
            if "thresholds_file" in changes:
                rules = self._thresholds_file.read(values["thresholds_file"])
            if self._monitor is not None:
                check_for_model(values, rules, self._monitor.model, self._limits)
        except CollisionMonitorError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._values.update(changes)
        self._warn_of_no_watchdog(changes)
        self._file_rules = rules
        self._watchdogs.cycles.deadline = self._values["cycle_deadline"]
        if self._monitor is not None:
            self._use_values(self._monitor)
            if changes.keys() & {"pair_thresholds", "thresholds_file"}:
                thresholds = thresholds_of(self._values, rules)
                log_rules(self._node.get_logger(), self._monitor, thresholds)
        if self._topics is not None:
            self._set_stops()
            self._topics.stop_timers(set(changes))
        if changes.keys() & {"marker_rate", "show_aabb_levels", "show_mesh_level"}:
            self._marker_builder = None  # the lifetime of markers depends on the rate
        if "state_rate" in changes and self._is_active:
            self._topics.set_timer("watchdog", self._watch_period(), self._timed(self._on_watchdog))
        return SetParametersResult(successful=True)

    def _warn_of_no_watchdog(self, values: dict[str, Any]) -> None:
        if values.get("joint_state_timeout") == 0.0:
            self._node.get_logger().warning(
                "joint_state_timeout is 0: the watchdog is OFF, and the robot is reported as "
                "safe even if joint states stop"
            )

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

    def _check_narrow_phase(self, changes: dict[str, Any]) -> None:
        """Raise ConfigurationError if it cannot be enabled now: compiling would interrupt."""
        phase = changes.get("narrow_phase", "leaf")
        if NARROW_PHASES.index(phase) > NARROW_PHASES.index(self._prepared):
            raise ConfigurationError(
                f"narrow_phase {phase!r} is not available: the node was started with "
                f"{self._prepared!r}; restart it with {phase!r}"
            )

    # -- publishing --

    def _current_state(self) -> MonitorState:
        if self._monitor is None:
            return self._with_faults(self._idle)
        return self._with_faults(self._monitor.state(time.monotonic()))

    def _with_faults(self, state: MonitorState) -> MonitorState:
        """The state; an ERROR after a failure, not OK with a rejected description or a twin."""
        if not self._faults:
            return state
        now = time.monotonic()
        for source in ("description", "names"):
            if remark := self._faults.text(source, now):
                state = state.with_remark(remark)
        if fault := self._faults.text("callback", now):
            state = state.with_fault(fault)
        return state

    def _watch_period(self) -> float:
        """Period in seconds of the common timer of watchdog and heartbeat."""
        return min(_WATCHDOG_SECONDS, 1.0 / self._values["state_rate"])

    def _on_watchdog(self) -> None:
        """Check timeouts, clocks and publishers; repeat the state at its rate."""
        self._topics.check_subscribers(self._values)
        self._names.update(time.monotonic())
        if self._recorder is not None:
            self._recorder.update()
        self._time_is_simulated = self._node.get_clock().ros_time_is_active  # slow
        self._scene.watch(self._clock_seconds() if self._time_is_simulated else None)
        self._cloud.watch()
        now, watchdogs = time.monotonic(), self._watchdogs
        watchdogs.cycles.report_timer(now, self._watch_period())
        watchdogs.clock.update(self._clock_seconds(), now, self._time_is_simulated)
        if self._robots.watch_publishers(watchdogs.publishers, now) and self._monitor is not None:
            self._monitor.report_other_publishers(now)
        state = self._current_state()
        self._topics.safe(state)
        is_news = self._stop_service.update(_is_stop(state))
        is_news |= _key(state) != self._published
        period = 1.0 / self._values["state_rate"]
        if now >= self._next_beat - 0.5 * self._watch_period():
            # The mean rate of heartbeats does not depend on the period of the watchdog.
            self._next_beat = max(self._next_beat + period, now + 0.5 * period)
            is_news = True
            self._publish_new_pair_names()
        if is_news:
            self._publish_state(state)

    def _refresh(self) -> None:
        if not self._is_merging:
            self._publish_state(self._current_state())

    def _publish_state(self, state: MonitorState) -> None:
        if not self._is_active:
            return
        if _key(state) != self._published:
            self._published = _key(state)
            self._stop_service.update(_is_stop(state))
            self._report.log(state)
        self._last = self._status(state), state
        self._topics.state(*self._last)
        if self._recorder is not None:
            self._recorder.state(_is_stop(state), state.message)

    def _status(self, state: MonitorState) -> DiagnosticStatus:
        extra = self._report.values(
            self._values, self._monitor, state, self._stop_service.call.text
        )
        extra |= self._loader.values() | self._failures.values()
        if self._recorder is not None:
            extra["record"] = self._recorder.text
        extra |= self._scene.values() | self._cloud.values()
        robot = "" if self._monitor is None else self._monitor.model.name
        return status_message(state, self._node.get_name(), robot, extra)

    def _send_diagnostics(self) -> None:
        status = self._status(self._current_state())
        status.values += key_values(self._report.figures(self._watchdogs))
        status.name = f"{self._node.get_fully_qualified_name().lstrip('/')}: clearance"
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._topics.diagnostics.publish(message)

    def _send_distances(self) -> None:
        if self._monitor is None or self._current_state().clearance is None:
            return
        self._publish_new_pair_names()
        self._topics.distances.publish(distances_message(self._monitor.distances().tolist()))

    def _make_marker_builder(self, monitor: Monitor) -> None:
        v = self._values
        lifetime = max(1.0, 3.0 / v["marker_rate"])
        levels = levels_of(v["show_aabb_levels"])
        mesh_level = max(levels_of(v["show_mesh_level"], "show_mesh_level"), default=-1)
        builder = MarkerBuilder(monitor.model, lifetime, monitor.live, levels, mesh_level)
        for remark in builder.remarks:
            self._node.get_logger().warning(remark)
        self._marker_builder, self._nearness = builder, Nearness(monitor.model, monitor.live)
        self._topics.markers.publish(MarkerBuilder.clear())

    def _send_markers(self) -> None:
        monitor, v = self._monitor, self._values
        # A stopped timer may have been due when its rate was set to 0.
        if monitor is None or v["marker_rate"] == 0.0:
            return
        if self._marker_builder is None:
            self._make_marker_builder(monitor)
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
        messages = self._marker_builder.build(q, self._current_state(), stamp, nearness)
        for message in messages:
            self._topics.markers.publish(message)


def _key(state: MonitorState) -> tuple[Level, str, str]:
    """A state is published immediately when this changes."""
    return state.level, state.cause, state.action


def _is_stop(state: MonitorState) -> bool:
    """Whether the state is a stop of a monitored robot."""
    return state.action == "stop" and state.cause != "waiting"


def _freeze_loaded_objects(is_first: bool) -> None:
    """Exclude loaded objects from garbage collection, which would interrupt monitoring.

    A full collection takes tens of milliseconds. Objects created by messages are still collected.
    A robot monitored before is freed by reference counts: it has no reference cycles.
    """
    if is_first:
        gc.unfreeze()  # objects of a lifecycle node that was cleaned up
    gc.collect(2 if is_first else 1)
    gc.freeze()
