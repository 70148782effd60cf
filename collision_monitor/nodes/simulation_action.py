# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories that the simulation is sent, and its action FollowJointTrajectory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.errors import TrajectoryError
from collision_monitor.nodes.common.messages import duration_message, seconds_of
from collision_monitor.nodes.trajectories.follow_joint_trajectory import DeferredActionServer
from collision_monitor.simulation.simulation import Simulation
from collision_monitor.simulation.trajectory_execution import Command, Phase, Run, checked_command

_SETTLE = 2.0  # s after the last point, if a goal has no goal_time_tolerance


def command_of(message: JointTrajectory, robot_joints: Sequence[str]) -> Command:
    """The command in the message for these joints.

    Raises:
        TrajectoryError: invalid names, numbers or times.
    """
    points = message.points
    return checked_command(
        robot_joints,
        message.joint_names,
        [seconds_of(point.time_from_start) for point in points],
        [point.positions for point in points],
        [point.velocities for point in points],
        [point.accelerations for point in points],
        seconds_of(message.header.stamp) or None,
    )


class _Goal:
    """An active goal: its handle, its run, and the time since its last point was commanded."""

    def __init__(self, handle: Any, run: Run) -> None:
        self.handle, self.run = handle, run
        self.done_at: float | None = None
        self.cancelled = False


class TrajectoryAction(DeferredActionServer):
    """The action of the simulation, as in joint_trajectory_controller.

    A goal ends when its joints have reached it within its tolerance, or cannot.
    """

    def __init__(
        self,
        node: Node,
        action_type: Any,
        follow: Callable[[JointTrajectory], Run],
        drop: Callable[[Run], None],
        tolerance: Callable[[], float],
    ) -> None:
        """Offer the action.

        Args:
            node: which node offers it.
            action_type: control_msgs' FollowJointTrajectory.
            follow: starts a trajectory, or raises TrajectoryError.
            drop: ends a trajectory.
            tolerance: default tolerance of joints at the goal, rad or m.
        """
        self._follow, self._drop, self._tolerance = follow, drop, tolerance
        super().__init__(node, action_type)

    def _on_accepted(self, handle: Any) -> None:
        try:
            if handle.request.multi_dof_trajectory.points:
                raise TrajectoryError("has a multi_dof_trajectory, which is not supported")
            joints = handle.request.trajectory.joint_names
            for item in (*handle.request.path_tolerance, *handle.request.goal_tolerance):
                if item.name not in joints:
                    raise TrajectoryError(f"has no joint {item.name!r}, but a tolerance for it")
                if math.isnan(item.position):
                    raise TrajectoryError(f"has a tolerance of nan for joint {item.name!r}")
            run = self._follow(handle.request.trajectory)
        except TrajectoryError as error:
            code = self.type.Result.INVALID_GOAL
            self.execute(handle, "abort", self.result(code, f"the trajectory {error}"))
            return
        self.goals.append(_Goal(handle, run))

    def _cancel(self, goal: _Goal) -> None:
        goal.cancelled = True
        self._drop(goal.run)

    def watch(self, simulation: Simulation) -> None:
        """End goals that are reached or missed; call it after each simulation step."""
        for goal in list(self.goals):
            outcome = self._outcome(goal, simulation)
            if outcome is not None:
                self.goals.remove(goal)
                how, code, text = outcome
                self.execute(goal.handle, how, self.result(code, text))

    def feed_back(self, simulation: Simulation) -> None:
        """Publish the feedback of all goals."""
        for goal in self.goals:
            columns = goal.run.columns
            feedback = self.type.Feedback()
            feedback.joint_names = list(goal.run.command.joint_names)
            wanted, actual = simulation.target[columns], simulation.q[columns]
            feedback.desired.positions = wanted.tolist()
            feedback.actual.positions = actual.tolist()
            feedback.error.positions = (wanted - actual).tolist()
            feedback.desired.time_from_start = duration_message(goal.run.elapsed)
            goal.handle.publish_feedback(feedback)

    def _outcome(self, goal: _Goal, simulation: Simulation) -> tuple[str, int, str] | None:
        """(how it ends, error code, text); None while it is active."""
        result = self.type.Result
        if goal.cancelled:
            return "canceled", result.SUCCESSFUL, "cancelled; the joints hold their positions"
        phase = goal.run.phase
        if phase in (Phase.REPLACED, Phase.DROPPED):
            return "abort", result.INVALID_GOAL, f"aborted: {phase.value}"
        if fault := self._beyond_path(goal, simulation):
            self._drop(goal.run)
            return "abort", result.PATH_TOLERANCE_VIOLATED, fault
        if phase is not Phase.DONE:
            return None
        if goal.done_at is None:
            goal.done_at = simulation.time
        names, columns = goal.run.command.joint_names, goal.run.columns
        given = self._given(goal.handle.request.goal_tolerance)
        allowed = np.array([given.get(name, self._tolerance()) for name in names])
        off = np.abs(goal.run.command.positions[-1] - simulation.q[columns])
        if (off <= allowed).all():
            return "succeed", result.SUCCESSFUL, ""
        patience = seconds_of(goal.handle.request.goal_time_tolerance) or _SETTLE
        if simulation.time - goal.done_at <= patience:
            return None
        worst = int((off - allowed).argmax())
        text = (
            f"joint '{names[worst]}' is {off[worst]:.4g} off its goal after {patience:g} s, "
            f"{allowed[worst]:g} is allowed"
        )
        return "abort", result.GOAL_TOLERANCE_VIOLATED, text

    def _beyond_path(self, goal: _Goal, simulation: Simulation) -> str:
        """Message about a joint that exceeds its path tolerance; empty if none does."""
        for name, most in self._given(goal.handle.request.path_tolerance).items():
            k = list(simulation.joint_names).index(name)
            off = abs(float(simulation.target[k] - simulation.q[k]))
            if off > most:
                return f"joint '{name}' is {off:.4g} off its path, {most:g} is allowed"
        return ""

    @staticmethod
    def _given(tolerances: Sequence[Any]) -> dict[str, float]:
        """Tolerances of positions, by joint: without those of 0, inf for those below it."""
        return {
            item.name: item.position if item.position > 0.0 else math.inf
            for item in tolerances if item.position != 0.0
        }  # fmt: skip
