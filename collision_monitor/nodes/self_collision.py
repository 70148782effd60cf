# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``self_collision``: adjusts desired trajectories of arms to safe ones."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.common.settings import values_of
from collision_monitor.errors import (
    CollisionMonitorError,
    JointStateError,
    MissingDependencyError,
    TrajectoryError,
)
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.loading import Recipe
from collision_monitor.monitoring.monitor import Level
from collision_monitor.nodes.common.executor import run_program
from collision_monitor.nodes.common.messages import VALUES, read_trajectory
from collision_monitor.nodes.common.node_state import Report
from collision_monitor.nodes.joint_states import JointStates, JointStateSource
from collision_monitor.nodes.markers.path_marker_topic import PathMarkerTopic
from collision_monitor.nodes.node_core import RobotNode, SingleRobotCore
from collision_monitor.nodes.parameters.monitor_parameters import limits_of
from collision_monitor.nodes.parameters.self_collision_parameters import (
    PARAMETERS,
    arm_names,
    check,
)
from collision_monitor.nodes.self_collision_state import RequestState, Shortage
from collision_monitor.nodes.trajectories.motions_under_way import ReleasedMotions
from collision_monitor.nodes.trajectories.trajectory_messages import PointStreaming
from collision_monitor.nodes.trajectories.trajectory_requests import TrajectoryRequests
from collision_monitor.robot.scene import mesh_files
from collision_monitor.self_collision.arms import find_chains
from collision_monitor.self_collision.hold_supervisor import HoldSupervisor
from collision_monitor.self_collision.margins import check_arms
from collision_monitor.self_collision.solvers import QP_SOLVERS, missing
from collision_monitor.self_collision.trajectory_filter import TrajectoryFilter


class SelfCollisionCore(SingleRobotCore):
    """Adjusts trajectories to keep arms apart, and holds the arms if they come too close."""

    def __init__(self, node: Node) -> None:
        """Declare parameters, load a robot given by parameter, and start.

        Raises:
            CollisionMonitorError: inconsistent parameters, or the arms of a robot given by
                parameter cannot be monitored.
        """
        super().__init__(node, PARAMETERS, check)
        self._shortage = Shortage(missing())
        for text in self._shortage.warnings:
            node.get_logger().warning(text)
        self._stream: PointStreaming | None = None
        self._note = ""  # trajectory dropped because of the last description
        self._joint_states = JointStates(node, self._watchdogs, self._on_joint_state)
        self._motions = ReleasedMotions(self._joint_states.seconds)
        self._markers = PathMarkerTopic(node, self._values)
        self.state = RequestState(node, self._values, self._faults, self._shortage, self._motions)
        self._requests = TrajectoryRequests(
            node, self._values, self.state, self._shortage, self._motions, self._markers,
            self._joint_states.seconds, self._end_stream, self._joint_states.catch_up,
        )  # fmt: skip
        self._start()
        self._joint_states.subscribe(self._robots.ports)
        self._requests.subscribe()
        node.create_subscription(
            JointTrajectory, "~/desired_point", self._on_point, VALUES, raw=True
        )

    def end(self) -> None:
        """Publish that trajectories are no longer forwarded."""
        text = "node is shutting down; trajectories are no longer forwarded"
        self.state.end(Report(Level.STALE, "ended", text, serial=self.state.request))

    # -- set-up --

    def _load(self, description: str | ReceivedText) -> frozenset[str]:
        """See `SingleRobotCore`; a trajectory being adjusted for the previous robot is dropped."""
        start, v = time.monotonic(), self._values
        dropped = self._requests.adjusting.current
        if self._motions.filter is not None:
            self._note = self._requests.drop("a new robot description was received")
            text = (
                "loading a new robot description; the distance of the arms is not monitored until "
                "it is loaded"
            )
            self.state.report(Level.STALE, "loading", f"{text}{self._note}")
        model = CollisionModel.from_urdf(
            description,
            **{**values_of(Recipe, v), **self._sources(), "leaves": v["leaves"] or None},
            **values_of(FitSettings, v),
            limits=limits_of(v),
        )
        arms = find_chains(model.robot, model.semantics, arm_names(v))
        method = self._shortage.method(v["method"])
        if method != v["method"] and len(arms) != 2:
            raise MissingDependencyError(
                f"not installed: {self._shortage.solvers}, without which only two arms can be kept "
                f"apart, not {len(arms)}: pip install {' '.join(QP_SOLVERS)}"
            )
        check_arms(arms, method, v["yielding"])
        supervisor = HoldSupervisor(
            model,
            arms,
            v["safe_distance"],
            v["danger_distance"],
            v["joint_state_timeout"],
            v["zero_state_confirmation"],
            self._watchdogs,
        )
        if supervisor.left_out:
            names = ", ".join(f"{a} - {b}" for a, b in supervisor.left_out)
            self._node.get_logger().warning(
                f"ignored: closer than danger_distance in most configurations: {names}"
            )
        trajectory_filter = TrajectoryFilter(model, arms, supervisor)
        self._requests.use_robot(trajectory_filter)
        self._stream, self._model = None, model
        self.state.no_robot = ""
        self._markers.use_robot()
        names = " and ".join(f"'{arm.name}' ({len(arm.joint_names)} joints)" for arm in arms)
        pairs = len(supervisor.pairs)
        apart = f"apart: {pairs} pairs between them" if len(arms) > 1 else f"clear: {pairs} pairs"
        text = (
            f"keeping {names} of '{model.name}' {apart}; loaded in {time.monotonic() - start:.1f} s"
        )
        self._node.get_logger().info(text)
        if dropped is None:
            self.state.report(*self._shortage.ready)
        else:
            reason = "refused: a new robot description was received during adjustment"
            self.state.report(Level.ERROR, "refused", reason, serial=dropped.serial)
        return mesh_files(model.robot, model.scene)

    # -- points --

    def _on_point(self, data: bytes) -> None:
        self.state.request += 1
        clock = self._joint_states.seconds()
        try:
            if reason := self.state.no_robot:
                raise TrajectoryError(f"was received while no robot is loaded: {reason}")
            message = read_trajectory(data, self._values["max_points"])
            if self._requests.adjusting.current is not None:
                waits = self._requests.adjusting.current.future.done()
                what = "waits for its start" if waits else "is being adjusted"
                raise TrajectoryError(f"was received while a trajectory {what}")
            if self._shortage.points:
                raise TrajectoryError(f"cannot be followed: {self._shortage.points}")
            if self._stream is None:  # or its settings have changed
                self._stream = PointStreaming(self._model, self._motions.filter, self._values)
            followed = self._stream.follow(message, clock, time.monotonic())
        except CollisionMonitorError as error:
            what = "the desired point " if isinstance(error, TrajectoryError) else ""
            self.state.report(Level.ERROR, "point refused", f"refused: {what}{error}")
            return
        self._requests.follow(followed.message, followed.ahead)
        ended = followed.level is Level.ERROR
        event, serial = ("stream ended", None) if ended else ("streaming", 0)
        self.state.report(followed.level, event, followed.text, followed.values, serial)

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._stream.end()

    # -- supervisor --

    def _on_joint_state(self, source: JointStateSource, data: bytes) -> None:
        trajectories, joint_states = self._motions.filter, self._joint_states
        if trajectories is None:
            return
        start, monitor = time.monotonic(), trajectories.supervisor.monitor
        source, data, _ = joint_states.newest(monitor, source, data, start)
        try:
            message = joint_states.read(source, data, monitor)
        except JointStateError as error:
            monitor.reject(error, time.monotonic())
        else:
            if trajectories.update(message, joint_states.seconds()):
                self._hold()
        self._watchdogs.cycles.add(start, time.monotonic())

    def _hold(self) -> None:
        """Hold the arms that may move: they are closer than danger_distance."""
        supervisor = self._motions.filter.supervisor
        nearest, (a, b) = supervisor.nearest, supervisor.nearest.links
        note = self._requests.drop("the arms came closer than danger_distance")
        self._end_stream()
        self.state.request += 1
        held = self._requests.hold(str(nearest))
        done = "held" if held else "not held: no arm that this node has sent is moving"
        self.state.report(
            Level.ERROR,
            "hold" if held else "near",
            f"{done}: {nearest}{note}",
            {"link_a": a, "link_b": b, "distance": f"{nearest.distance:.6f}"},
        )

    # -- robot and parameters --

    def _refuse_description(self, reason: str) -> None:
        """Forward no trajectories until a valid description arrives, which may be the previous one.

        Monitoring continues with the previous robot.
        """
        self.state.request += 1
        self.state.no_robot, self._description = reason, ""
        self._end_stream()
        self.state.report(Level.ERROR, "no robot", f"{reason}{self._note}")
        self._note = ""

    def _use_values(self, changed: Mapping[str, Any]) -> None:
        if self._motions.filter is not None:
            method = self._shortage.method(self._values["method"])
            check_arms(self._motions.filter.arms, method, self._values["yielding"])
            supervisor = self._motions.filter.supervisor
            supervisor.set_distances(self._values["safe_distance"], self._values["danger_distance"])
            supervisor.monitor.joint_state_timeout = self._values["joint_state_timeout"]
        self._stream = None
        self._markers.send_at_once()

    def _watch(self) -> None:
        """Publish the state and markers at their rates, and changes immediately."""
        self._joint_states.process_kept()
        self._robots.watch(time.monotonic())
        now = time.monotonic()
        self._requests.watch(now)
        supervisor = None if self._motions.filter is None else self._motions.filter.supervisor
        self._joint_states.watch(None if supervisor is None else supervisor.monitor)
        self.state.watch(now)
        if supervisor is not None:
            self._markers.watch(now, supervisor.model, self._motions.filter.arms[0])


class SelfCollisionNode(RobotNode):
    """Adjusts trajectories; see `SelfCollisionCore`."""

    def __init__(self, **options: Any) -> None:
        """As of `SelfCollisionCore`."""
        super().__init__("self_collision", SelfCollisionCore, **options)


def main(args: list[str] | None = None) -> None:
    """Run the node; it prints an error and exits with code 1 if parameters are invalid."""
    run_program(SelfCollisionNode, args, "self_collision")


if __name__ == "__main__":
    main()
