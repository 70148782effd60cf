# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Core of the collision_monitor nodes: joint states in; distance, state and markers out."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node

from collision_monitor.common.compiled import log_compiling
from collision_monitor.errors import CollisionMonitorError, ConfigurationError
from collision_monitor.model.live.desired_scene import DesiredScene
from collision_monitor.model.loading import Loaded, Recipe
from collision_monitor.monitoring.monitor import Level, Monitor, MonitorState
from collision_monitor.monitoring.settings import NARROW_PHASES
from collision_monitor.nodes.joint_states import SCENE_JOINTS, JointStates, JointStateSource
from collision_monitor.nodes.monitor_services import MonitorServices
from collision_monitor.nodes.monitor_state import StatePublisher
from collision_monitor.nodes.node_core import LOADING, NodeCore, RobotDescriptions
from collision_monitor.nodes.obstacles.cloud import Cloud
from collision_monitor.nodes.obstacles.scene_topics import SceneTopics
from collision_monitor.nodes.parameters.monitor_parameters import (
    PARAMETERS,
    check,
    check_for_model,
    declare_robots,
    file_rules,
    recipe_of,
)
from collision_monitor.nodes.parameters.thresholds_file import ThresholdsFile
from collision_monitor.nodes.recorder import Recorder
from collision_monitor.nodes.robot_loader import (
    RobotLoader,
    build_monitor,
    has_kernels,
    log_robot,
    log_rules,
    use_values,
)

_COMPILING = "compiling kernels, once on this machine; nothing is monitored yet"
# The timer of the watchdog waits behind all joint states that came before it. If it is late by so
# many periods, the watchdog runs between two of them.
_LATE_PERIODS = 4
_REPLACING = "a large robot is replacing the previous one; nothing is monitored meanwhile"
_INACTIVE = MonitorState(Level.STALE, "inactive: monitoring is disabled", "waiting")
_ENDED = MonitorState(
    Level.STALE, "node is shutting down; the robot is no longer monitored", "waiting"
)


class MonitorCore(NodeCore):
    """Publishes the minimum distance of a robot, and the required action.

    `configure` creates publishers and loads the robot, `activate` starts monitoring; `deactivate`
    and `cleanup` undo them.
    """

    def __init__(self, node: Node) -> None:
        """Declare all parameters.

        Raises:
            CollisionMonitorError: inconsistent parameters.
        """
        super().__init__(node, PARAMETERS, check)
        self._file_rules = file_rules(self._values)
        self._thresholds_file = ThresholdsFile()
        log_compiling()
        self._prepared = self._values["narrow_phase"]
        self._monitor: Monitor | None = None
        self._watched_at = math.inf
        self._is_merging = False  # joint states, of which the newest is not processed yet
        self._recorder: Recorder | None = None
        self._keeper: DesiredScene | None = None
        self._watchdogs.cycles.deadline = self._values["cycle_deadline"]
        self._timed = self._watchdogs.cycles.timed
        self.state = StatePublisher(
            node, self._values, self._watchdogs, lambda: self._monitor, lambda: self._idle,
            self._further_values,
        )  # fmt: skip
        ports = declare_robots(node, self._values)
        self._robots = RobotDescriptions(node, ports, self._on_description, self._faults)
        self._joint_states = JointStates(node, self._watchdogs, self._on_joint_state)
        self._loader = RobotLoader(
            node, self._start_monitoring, self._refresh, self._announce_replacement, self._faults
        )
        self._accept_parameters()

    # -- life cycle --

    def configure(self, is_active: bool = False) -> None:
        """Create publishers and services, and load a robot given by parameter.

        With ``is_active``, the state is published from the start.

        Raises:
            CollisionMonitorError: the robot cannot be loaded, or recording is not possible.
        """
        self._recorder = Recorder(self._node, self._values) if self._values["record"] else None
        self._joint_states.recorder = self._recorder
        self._robots.subscribe()
        self._idle = self._waiting()
        self.state.start(self._recorder)
        self._services = MonitorServices(self._node, lambda: self._monitor, self._refresh)
        self._scene = SceneTopics(
            self._node, self._values, self._refresh, self._faults, self._keeper, self._recorder,
            self._timed,
        )  # fmt: skip
        self._cloud = Cloud(
            self._node, self._values, self._scene.objects, self._refresh,
            lambda stamp: self._joint_states.lag(stamp, time.monotonic()), self._faults,
            self._recorder, self._timed,
        )  # fmt: skip
        self._set_stops()
        self.state.is_active = is_active
        self.state.publish(self._idle)
        _warn_of_no_watchdog(self._node, self._values)
        if not self._robots.missing:
            try:
                self._load_first(self._recipe())
            except CollisionMonitorError:
                self.cleanup()
                raise

    def activate(self) -> None:
        """Subscribe to joint states, and publish."""
        self.state.is_active = True
        if self._monitor is not None:
            self._monitor.forget()
        self._refresh()
        self._joint_states.subscribe(self._robots.ports)
        if self._monitor is not None and self._monitor.model.scene.joints:
            self._joint_states.subscribe([SCENE_JOINTS])
        self._set_watchdog()
        self.state.set_rates()
        self.state.topics.set_rate("diagnostics", 1.0, self.state.send_diagnostics)

    def _set_watchdog(self) -> None:
        if self.state.is_active:
            rate = 1.0 / self.state.watch_period
            self.state.topics.set_rate("watchdog", rate, self._on_watchdog)

    def deactivate(self) -> None:
        """Publish once that monitoring is disabled, and stop publishing."""
        self.state.publish(_INACTIVE)
        self.state.is_active = False
        self.state.topics.stop()
        self._joint_states.unsubscribe()
        if self._monitor is not None:
            self._monitor.forget()  # no positions are received while inactive
        self._watchdogs.publishers.forget()
        self._watchdogs.cycles.expect_delay()

    def cleanup(self) -> None:
        """Unload the robot, and destroy publishers and subscriptions."""
        self._monitor, self._is_refused = None, False
        self._loader.forget()
        self._joint_states.unsubscribe()
        self._robots.destroy()
        self.state.stop_service.close()
        self._cloud.destroy()
        self._scene.destroy()
        self._keeper = self._scene.objects.keeper  # obstacles are not published again
        self._services.destroy()
        self.state.stop()
        self.close()

    def end(self) -> None:
        """Publish that monitoring has ended, and write pending recordings."""
        self.state.end(_ENDED)
        self.close()

    def close(self) -> None:
        """Write pending recordings, if the node records."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = self._joint_states.recorder = None

    # -- robots --

    def _waiting(self) -> MonitorState:
        topics = " and ".join(self._robots.missing)
        text = f"waiting for a robot description on {topics}" if topics else LOADING
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
        if reason := self._refusal(lambda: self._load_first(recipe)):
            text = f"robot_description cannot be monitored: {reason}"
            self._idle = MonitorState(Level.ERROR, text, "fault")
            self._node.get_logger().error(text)
        self._refresh()

    def _has_refused(self) -> bool:
        return self._is_refused or bool(self._loader.refused)

    def _load_first(self, recipe: Recipe) -> None:
        """Load in this thread: no robot is monitored yet.

        Raises:
            CollisionMonitorError: the robot cannot be monitored.
        """
        start = time.monotonic()
        text = LOADING if has_kernels(self._prepared != "leaf") else _COMPILING
        self.state.publish(MonitorState(Level.STALE, text, "waiting"))
        self._load_reporting(lambda: self._loader.load(recipe), text)
        for _ in self._joint_states.waiting():  # joint states received while it was loaded
            pass
        self._watchdogs.cycles.expect_delay()  # the state has reported that no robot was monitored
        self._node.get_logger().info(f"loaded in {time.monotonic() - start:.1f} s")

    def _announce_replacement(self) -> None:
        """Invalidate the last state before a large robot replaces it: monitoring is interrupted."""
        self.state.publish(MonitorState(Level.STALE, _REPLACING, "waiting"))
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
        self._monitor, self._limits = monitor, limits
        self.state.markers.forget()
        if self.state.is_active and monitor.model.scene.joints:
            self._joint_states.subscribe([SCENE_JOINTS])
        if self._recorder is not None:
            for robot in recipe.robots:
                self._recorder.description(robot.urdf, self._robots.topic_of(robot.name))
        _freeze_loaded_objects(is_first=old is None)
        log_robot(self._node.get_logger(), monitor)
        log_rules(self._node.get_logger(), monitor, self._values, self._file_rules)
        self.state.topics.pair_names(monitor)

    def _connect(self, monitor: Monitor) -> None:
        self._services.use(monitor)
        self._scene.objects.use_robot(monitor)
        self._cloud.use_robot()

    # -- joint states --

    def _on_joint_state(self, source: JointStateSource, data: bytes) -> None:
        """Process a serialized sensor_msgs/JointState."""
        start, monitor, cycles = time.monotonic(), self._monitor, self._watchdogs.cycles
        if monitor is None:
            self._joint_states.pass_over(source, data)
            return
        if self._cloud.is_ready:
            self._cloud.apply_result()
        updates = monitor.updates
        state, lag_at_start = self._joint_states.process(
            monitor, source, data, start, self._process_scene
        )
        state = self.state.with_faults(state)
        self.state.publish_change(state)  # before a distance that it is about
        if state.clearance is not None and monitor.updates != updates:
            self.state.topics.cycle(state)
        end = time.monotonic()
        if cycles.add(start, end, lag_at_start):
            self._refresh()
        if end - self._watched_at > _LATE_PERIODS * self.state.watch_period:
            self._on_watchdog()

    def _process_scene(self, is_behind: bool) -> None:
        """Apply scene messages before a joint state is checked, whose state includes them.

        ``is_behind``: those that wait as well. A state in between would then be of merged joint
        states, which have no distance.
        """
        if not (is_behind or self._scene.waiting):
            return
        self._is_merging = is_behind
        try:
            # A distance without what was received would be too large.
            (self._scene.process_waiting if is_behind else self._scene.process_pending)()
        finally:
            self._is_merging = False

    # -- parameters --

    def _use_values(self, changed: Mapping[str, Any]) -> None:
        """See `NodeCore`."""
        values, rules = self._values, self._file_rules
        _check_narrow_phase(changed, self._prepared)
        if "thresholds_file" in changed:
            rules = self._thresholds_file.read(values["thresholds_file"])
        if self._monitor is not None:
            check_for_model(values, rules, self._monitor.model, self._limits)
        _warn_of_no_watchdog(self._node, changed)
        self._file_rules = rules
        self._watchdogs.cycles.deadline = values["cycle_deadline"]
        if self._monitor is not None:
            use_values(self._monitor, values, rules, self._limits)
            if changed.keys() & {"pair_thresholds", "thresholds_file"}:
                log_rules(self._node.get_logger(), self._monitor, values, rules)
        if self.state.topics is not None:
            self._set_stops()
            if self.state.is_active and changed.keys() & {"distances_rate", "marker_rate"}:
                self.state.set_rates()
            if changed.keys() & {"marker_rate", "show_aabb_levels", "show_mesh_level"}:
                self.state.markers.forget()  # the lifetime of markers depends on the rate

    def _set_stops(self) -> None:
        self._services.use_values(self._values)
        self.state.stop_service.use_values(self._values)

    # -- publishing --

    def _on_watchdog(self) -> None:
        """Check timeouts, clocks and publishers; repeat the state at its rate."""
        self._watched_at = time.monotonic()
        self._joint_states.process_kept()
        if self._recorder is not None:
            self._recorder.update()
        self._robots.watch(time.monotonic())
        self._scene.watch(self._joint_states.watch(self._monitor))
        self._cloud.watch()
        now = time.monotonic()
        self._watchdogs.cycles.report_timer(now, self.state.watch_period)
        if self.state.watch(now):
            self.state.topics.new_pair_names(self._monitor)

    def _refresh(self) -> None:
        if not self._is_merging:
            self.state.refresh()

    def _further_values(self) -> dict[str, str]:
        values = self._loader.values()
        if self._recorder is not None:
            values["record"] = self._recorder.text
        return values | self._scene.values() | self._cloud.values()


def _warn_of_no_watchdog(node: Node, values: Mapping[str, Any]) -> None:
    if values.get("joint_state_timeout") == 0.0:
        node.get_logger().warning(
            "joint_state_timeout is 0: the watchdog is OFF, and the robot is reported as "
            "safe even if joint states stop"
        )


def _check_narrow_phase(changes: Mapping[str, Any], prepared: str) -> None:
    """Raise ConfigurationError if it cannot be enabled now: compiling would interrupt."""
    phase = changes.get("narrow_phase", "leaf")
    if NARROW_PHASES.index(phase) > NARROW_PHASES.index(prepared):
        raise ConfigurationError(
            f"narrow_phase {phase!r} is not available: the node was started with "
            f"{prepared!r}; restart it with {phase!r}"
        )


def _freeze_loaded_objects(is_first: bool) -> None:
    """Exclude loaded objects from garbage collection, which would interrupt monitoring.

    A full collection takes tens of milliseconds. Objects created by messages are still collected.
    A robot monitored before is freed by reference counts: it has no reference cycles.
    """
    if is_first:
        gc.unfreeze()  # objects of a lifecycle node that was cleaned up
    gc.collect(2 if is_first else 1)
    gc.freeze()
