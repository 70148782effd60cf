# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Loads robots for a node, and logs what is monitored.

They are loaded directly at start, and in a background process while another one is monitored.

A first start fits leaves and compiles kernels, once on a machine; the state is STALE until both are
done (`python -m collision_monitor warm-up` compiles them in advance).
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rclpy.node import Node

from collision_monitor.common.compiled import compiling, is_on_disk
from collision_monitor.common.disk_cache import LOOK_SECONDS
from collision_monitor.common.limits import limited
from collision_monitor.common.text import MOST_LOGGED, counted, shortened
from collision_monitor.errors import CollisionMonitorError, reason_of
from collision_monitor.mesh_distance.crossings import list_crossings
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.live.packed_objects import put
from collision_monitor.model.live.point_cloud import foreign, warm_up
from collision_monitor.model.loading import Answer, Loaded, LoadingProcess, Recipe
from collision_monitor.model.sampled_distances import near_and_touching
from collision_monitor.model.thresholds import Rule
from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.monitoring.speed_policy.exact_paths import measure_paths
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.nodes.common.executor import steady_timer
from collision_monitor.nodes.parameters.monitor_parameters import (
    bounds_of,
    decelerations_of,
    joint_limits_of,
    settings_of,
    thresholds_of,
)
from collision_monitor.robot.pairs import by_reason, may_also_collide

# With more pairs, replacing the robot takes longer than the tolerated delay of joint states.
_MANY_PAIRS = 5000

library = logging.getLogger("collision_monitor")


def has_kernels(exact: bool) -> bool:
    """Whether the kernels of a monitor are on disk; ``exact``: those of exact distances, too."""
    last = (put, foreign, *((measure_paths, list_crossings) if exact else ()))
    return all(map(is_on_disk, last))


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
    with compiling(put):
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


def use_values(
    monitor: Monitor, values: Mapping[str, Any], rules: Sequence[Rule], limits: Mapping[str, float]
) -> None:
    """Use parameters that were set while a robot is monitored; arguments as of `build_monitor`."""
    monitor.joint_state_timeout = values["joint_state_timeout"]
    monitor.narrow_phase = values["narrow_phase"]
    monitor.set_thresholds(thresholds_of(values, rules))
    monitor.behaviour.settings = settings_of(values)
    monitor.behaviour.decelerations = decelerations_of(values, monitor.model, limits)


class RobotLoader:
    """Loads one recipe at a time; a newer one replaces an older.

    A newest description that is not monitored is the fault "description", a remark. If the cause is
    not the description but a lost loading process, it is the fault "robot" as well.

    Attributes:
        current: recipe of the monitored robot.
        refused: why the newest description is not monitored; empty if it is.
    """

    def __init__(
        self,
        node: Node,
        ready: Callable[[Recipe, Loaded], None],
        changed: Callable[[], None],
        large: Callable[[], None],
        faults: FaultRegister,
        many: int = _MANY_PAIRS,
    ) -> None:
        """Start without a robot.

        Args:
            node: provides the timer.
            ready: called with each loaded robot; raises CollisionMonitorError to reject it.
            changed: called when `values` has changed.
            large: called before ``ready`` with a robot of many pairs, which takes up to seconds.
            faults: the register of the node.
            many: that robot has more pairs.
        """
        self._node, self._ready, self._changed, self._large = node, ready, changed, large
        self._faults, self._many = faults, many
        self._timer: Any = None
        self._process: LoadingProcess | None = None
        self.current: Recipe | None = None
        self._loaded: Loaded | None = None  # the result of ``current``
        self.refused = ""

    def values(self) -> dict[str, str]:
        """Key-values of the state."""
        values = {}
        if self._process is not None:
            values["loading"] = f"a new robot description, for {self._process.seconds:.1f} s"
        if self.refused:
            values["description_refused"] = self.refused
        return values

    def load(self, recipe: Recipe) -> None:
        """Load in this thread, while no robot is monitored.

        Raises:
            CollisionMonitorError: it cannot be monitored.
        """
        with limited(recipe.limits):
            self._use(recipe, recipe.load())
        self._refuse("")
        self._faults.clear("robot")

    def request(self, recipe: Recipe) -> None:
        """Load in the background, unless this robot is monitored or being loaded.

        A robot whose meshes were written since it was loaded is loaded again.
        """
        if self._process is not None and recipe == self._process.recipe:
            return
        self.cancel()
        self._faults.clear("robot")
        if recipe == self.current and not (self._loaded and self._loaded.is_outdated):
            self._refuse("")
        else:
            self._node.get_logger().info(
                "loading a new robot description; still monitoring the current robot"
            )
            self._process = LoadingProcess(recipe)
            self._timer = steady_timer(self._node, LOOK_SECONDS, self._poll)
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
        self.current = self._loaded = None
        self._refuse("")
        self._faults.clear("robot")

    def _use(self, recipe: Recipe, loaded: Loaded) -> None:
        self._ready(recipe, loaded)
        self.current, self._loaded = recipe, loaded

    def _refuse(self, reason: str) -> None:
        self.refused = reason
        text = "new robot description rejected; still monitoring the previous one"
        self._faults.put("description", Level.WARN, "", text if reason else "")

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
            if answer.pairs > self._many:
                self._large()
            try:
                self._use(process.recipe, pickle.loads(answer.loaded))
            except Exception as problem:  # monitoring of the current robot continues
                if not isinstance(problem, CollisionMonitorError):
                    library.exception("the new robot cannot be monitored")
                error = reason_of(problem)
        self._refuse(error)
        if answer.is_lost:
            text = f"the new robot description is not monitored: {error}"
            self._faults.put("robot", Level.ERROR, "scene", text)
        if error:
            self._node.get_logger().error(f"new robot description rejected: {error}")
        self._changed()


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


def log_rules(log: Any, monitor: Monitor, values: Mapping[str, Any], rules: Sequence[Rule]) -> None:
    """Warn of thresholds that match no pair, possibly a typing error."""
    model = monitor.model
    left_out = [(a, b) for a, b, _ in model.unmonitored_pairs]
    if none := thresholds_of(values, rules).naming_none([*model.pairs, *left_out]):
        log.warning(
            f"thresholds of {', '.join(map(repr, none))} match no pair of the robot; they apply "
            "only to objects on ~/scene, ~/planning_scene or ~/cloud"
        )
