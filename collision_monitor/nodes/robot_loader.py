# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Loads robots for a node: directly at start, in a background process while monitoring.

Fitting leaves and compiling their distances takes a third of the time of a first start. Other
processes compile exact distances and braking paths meanwhile, once per machine; until then the
state is STALE, and only the minimum leaf distance is published.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from collision_monitor.common.compiled import compiling
from collision_monitor.common.compiling_process import CompilingProcess
from collision_monitor.common.limits import limited
from collision_monitor.errors import CollisionMonitorError, JointStateError, reason_of
from collision_monitor.model.live_scene import LiveScene
from collision_monitor.model.loading import Answer, Loaded, LoadingProcess, Recipe
from collision_monitor.model.point_cloud import warm_up
from collision_monitor.model.thresholds import Rule
from collision_monitor.monitoring.cell_buffer import buffer_of
from collision_monitor.monitoring.compile_ahead import KERNELS
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.nodes.obstacles.scene_topics import bounds_of
from collision_monitor.nodes.parameters.monitor_parameters import (
    decelerations_of,
    joint_limits_of,
    settings_of,
    thresholds_of,
)
from collision_monitor.nodes.robot_topics import RobotTopics

_POLL_SECONDS = 0.02
# With more pairs, replacing the robot takes longer than the tolerated delay of joint states.
_MANY_PAIRS = 5000

library = logging.getLogger("collision_monitor")


def build_monitor(
    values: Mapping[str, Any], rules: Sequence[Rule], loaded: Loaded
) -> tuple[Monitor, dict[str, float]]:
    """Create a monitor with these parameters and the accelerations of the file of joint limits.

    Takes milliseconds once kernels are compiled.

    Raises:
        CollisionMonitorError: parameters do not fit the model.
    """
    model, thresholds = loaded.model, thresholds_of(values, rules)
    thresholds.check_left_out(model.unmonitored_pairs)
    limits = joint_limits_of(values, model)
    with compiling(*KERNELS["monitor"][1]):
        live = LiveScene(model, bounds_of(values))
        behaviour = SpeedPolicy(
            model, settings_of(values), decelerations_of(values, model, limits), live
        )
    warm_up()
    monitor = Monitor(
        model,
        values["warn_distance"],
        values["stop_distance"],
        values["joint_state_timeout"],
        values["zero_state_confirmation"],
        values["narrow_phase"],
        behaviour,
        loaded.joints,
        live,
    )
    monitor.set_thresholds(thresholds)
    return monitor, limits


class RobotLoader:
    """Loads one recipe at a time; a newer one replaces an older.

    Attributes:
        current: recipe of the monitored robot.
        refused: why the newest description is not monitored; empty if it is.
        fault: the same, if the cause is not the description but a lost loading process.
    """

    def __init__(
        self,
        node: Node,
        ready: Callable[[Recipe, Loaded], None],
        changed: Callable[[], None],
        large: Callable[[], None],
    ) -> None:
        """Start without a robot.

        Args:
            node: provides the timer.
            ready: called with each loaded robot; raises CollisionMonitorError to reject it.
            changed: called when `values` has changed.
            large: called before ``ready`` with a robot of many pairs, which takes up to seconds.
        """
        self._node, self._ready, self._changed, self._large = node, ready, changed, large
        # Steady: simulated time may be paused.
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer: Any = None
        self._process: LoadingProcess | None = None
        self.current: Recipe | None = None
        self.refused = self.fault = ""

    def values(self) -> dict[str, str]:
        """Key-values of the state."""
        found = {}
        if self._process is not None:
            found["loading"] = f"a new robot description, for {self._process.seconds:.1f} s"
        if self.refused:
            found["description_refused"] = self.refused
        return found

    def load(self, recipe: Recipe, has_leaves: Callable[[Loaded], None]) -> None:
        """Load in this thread, while no robot is monitored.

        ``has_leaves`` is called as soon as leaf distances can be measured.

        Raises:
            CollisionMonitorError: it cannot be monitored.
        """
        with limited(recipe.limits):
            loaded = recipe.load_leaves()
            has_leaves(loaded)
            recipe.prepare(loaded.model)
            self._ready(recipe, loaded)
        self.current, self.refused, self.fault = recipe, "", ""

    def request(self, recipe: Recipe) -> None:
        """Load in the background, unless this robot is monitored or being loaded."""
        if self._process is not None and recipe == self._process.recipe:
            return
        self.cancel()
        self.fault = ""
        if recipe == self.current:
            self.refused = ""
        else:
            self._node.get_logger().info(
                "loading a new robot description; still monitoring the current robot"
            )
            self._process = LoadingProcess(recipe)
            self._timer = self._node.create_timer(_POLL_SECONDS, self._poll, clock=self._clock)
        self._changed()

    def cancel(self) -> None:
        """Stop loading."""
        if self._process is not None:
            self._process.cancel()
            self._node.destroy_timer(self._timer)
            self._process = self._timer = None

    def forget(self) -> None:
        """Stop loading, and clear the monitored robot."""
        self.cancel()
        self.current, self.refused, self.fault = None, "", ""

    def _poll(self) -> None:
        process = self._process
        if process is None:
            return
        answer = process.poll()
        if answer is None:
            most = process.recipe.limits.max_load_seconds
            if process.seconds <= most:
                return
            answer = Answer(
                error=f"loading was stopped after {process.seconds:.1f} s, the limit "
                f"max_load_seconds is {most:g}"
            )
        self.cancel()
        for level, text in answer.log:
            library.log(level, "%s", text)
        error = answer.error
        if not error:
            if answer.pairs > _MANY_PAIRS:
                self._large()
            try:
                self._ready(process.recipe, pickle.loads(answer.loaded))
                self.current = process.recipe
            except Exception as problem:  # monitoring of the current robot continues
                if not isinstance(problem, CollisionMonitorError):
                    library.exception("the new robot cannot be monitored")
                error = reason_of(problem)
        self.refused = error
        if answer.is_lost:
            self.fault = f"the new robot description is not monitored: {error}"
        if error:
            self._node.get_logger().error(f"new robot description rejected: {error}")
        self._changed()


# -- distances while kernels are compiled --

_PERIOD = 0.1  # seconds


def publish_leaf_distances(
    robots: RobotTopics,
    loaded: Loaded,
    timeout: float,
    publish: Callable[[float], None],
    processes: Sequence[CompilingProcess],
    has_objects: Callable[[], bool],
) -> None:
    """Publish the minimum distance at 10 Hz until all ``processes`` have ended.

    Args:
        robots: provides joint states from its subscriptions, without an executor.
        loaded: the model and its joints.
        timeout: joint states older than this have no distance, seconds; 0 for any age.
        publish: called with each distance, metres.
        processes: compiling processes.
        has_objects: whether there are objects on topics: no distance is published then, as their
            distances are unknown here.
    """
    model, buffer = loaded.model, buffer_of(loaded.model, loaded.joints)
    robots.subscribe_joint_states()
    if model.scene.joints:
        robots.subscribe_scene_joints()
    while any(process.is_running for process in processes):
        now = time.monotonic()
        for source, data in robots.waiting():
            with suppress(JointStateError):  # reported once the robot is monitored
                buffer.update(source.read(data, now))
        is_old = bool(buffer.missing() or (timeout and buffer.too_old(timeout, now)))
        if not (is_old or has_objects()):
            publish(model.distance(buffer.q).distance)
        time.sleep(_PERIOD)
