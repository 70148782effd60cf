# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The FollowJointTrajectory action of the simulation, as a joint_trajectory_controller has it.

Needs control_msgs, which every installation of ros2_control and of MoveIt has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.errors import TrajectoryError
from collision_monitor.nodes.trajectories.follow_joint_trajectory import ACTION
from collision_monitor.nodes.trajectories.trajectory_messages import duration_of, seconds_of
from collision_monitor.simulation.trajectory_execution import Phase, Run

_SETTLE = 2.0  # s after the last point, where a goal does not say how long it may take


class Arm(Protocol):
    """What the action needs of a simulation."""

    joint_names: Sequence[str]
    time: float
    q: np.ndarray
    target: np.ndarray


class _Goal:
    """A goal under way: its handle, its run, and how long the last point has been commanded."""

    def __init__(self, handle: Any, run: Run) -> None:
        self.handle, self.run = handle, run
        self.done_at: float | None = None
        self.cancelled = False


class TrajectoryAction:
    """Goals in; results when joints have come to rest near enough, or will not.

    The handle of a goal is executed when its result is known, so nothing waits for it.
    """

    def __init__(
        self,
        node: Node,
        action_type: Any,
        follow: Callable[[JointTrajectory], Run],
        drop: Callable[[Run], None],
        tolerance: Callable[[], float],
        make_server: Callable[..., Any] = ActionServer,
    ) -> None:
        """Offer the action.

        Args:
            node: which node offers it.
            action_type: control_msgs' FollowJointTrajectory.
            follow: begins a trajectory; TrajectoryError where it cannot.
            drop: ends one.
            tolerance: by which joints may be off a goal that names none, rad or m.
            make_server: as rclpy's ActionServer.
        """
        self._type, self._follow, self._drop = action_type, follow, drop
        self._tolerance = tolerance
        self._goals: list[_Goal] = []
        self._server = make_server(
            node,
            action_type,
            ACTION,
            self._never,
            goal_callback=lambda request: GoalResponse.ACCEPT,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
        )

    @staticmethod
    def _never(handle: Any) -> None:
        raise RuntimeError("goals are executed with their result alone")

    def _on_accepted(self, handle: Any) -> None:
        try:
            if handle.request.multi_dof_trajectory.points:
                raise TrajectoryError("has a multi_dof_trajectory, which is not supported")
            run = self._follow(handle.request.trajectory)
        except TrajectoryError as error:
            code = self._type.Result.INVALID_GOAL
            self._execute(handle, "abort", code, f"the trajectory {error}")
            return
        self._goals.append(_Goal(handle, run))

    def _on_cancel(self, handle: Any) -> CancelResponse:
        goal = next((goal for goal in self._goals if goal.handle == handle), None)
        if goal is None:
            return CancelResponse.REJECT
        goal.cancelled = True
        self._drop(goal.run)
        return CancelResponse.ACCEPT

    def watch(self, arm: Arm) -> None:
        """Look after all goals; to be called now and then, after time has passed."""
        for goal in list(self._goals):
            verdict = self._verdict(goal, arm)
            if verdict is not None:
                self._goals.remove(goal)
                self._execute(goal.handle, *verdict)

    def feed_back(self, arm: Arm) -> None:
        """Tell those who asked where their joints are."""
        for goal in self._goals:
            columns = self._columns(goal, arm)
            feedback = self._type.Feedback()
            feedback.joint_names = list(goal.run.command.joint_names)
            wanted, actual = arm.target[columns], arm.q[columns]
            feedback.desired.positions = wanted.tolist()
            feedback.actual.positions = actual.tolist()
            feedback.error.positions = (wanted - actual).tolist()
            feedback.desired.time_from_start = duration_of(goal.run.elapsed)
            goal.handle.publish_feedback(feedback)

    def _verdict(self, goal: _Goal, arm: Arm) -> tuple[str, int, str] | None:
        """(how it ends, error code, text), or None while it goes on."""
        result = self._type.Result
        if goal.cancelled:
            return "canceled", result.SUCCESSFUL, "cancelled; the joints hold their positions"
        phase = goal.run.phase
        if phase in (Phase.REPLACED, Phase.DROPPED):
            return "abort", result.INVALID_GOAL, f"given up: {phase.value}"
        if fault := self._beyond_path(goal, arm):
            self._drop(goal.run)
            return "abort", result.PATH_TOLERANCE_VIOLATED, fault
        if phase is not Phase.DONE:
            return None
        if goal.done_at is None:
            goal.done_at = arm.time
        names, columns = goal.run.command.joint_names, self._columns(goal, arm)
        given = self._given(goal.handle.request.goal_tolerance)
        allowed = np.array([given.get(name, self._tolerance()) for name in names])
        off = np.abs(goal.run.command.positions[-1] - arm.q[columns])
        if (off <= allowed).all():
            return "succeed", result.SUCCESSFUL, ""
        patience = seconds_of(goal.handle.request.goal_time_tolerance) or _SETTLE
        if arm.time - goal.done_at <= patience:
            return None
        worst = int((off - allowed).argmax())
        text = (
            f"joint '{names[worst]}' is {off[worst]:.4g} off its goal after {patience:g} s, "
            f"{allowed[worst]:g} is allowed"
        )
        return "abort", result.GOAL_TOLERANCE_VIOLATED, text

    def _beyond_path(self, goal: _Goal, arm: Arm) -> str:
        """Which joint is farther from where it should be than the goal allows; empty for none."""
        for name, most in self._given(goal.handle.request.path_tolerance).items():
            if name in goal.run.command.joint_names:
                k = list(arm.joint_names).index(name)
                off = abs(float(arm.target[k] - arm.q[k]))
                if off > most:
                    return f"joint '{name}' is {off:.4g} off its path, {most:g} is allowed"
        return ""

    @staticmethod
    def _given(tolerances: Sequence[Any]) -> dict[str, float]:
        """Positive tolerances of positions, by joint."""
        return {item.name: item.position for item in tolerances or () if item.position > 0.0}

    @staticmethod
    def _columns(goal: _Goal, arm: Arm) -> list[int]:
        names = list(arm.joint_names)
        return [names.index(name) for name in goal.run.command.joint_names]

    def _execute(self, handle: Any, how: str, code: int, text: str) -> None:
        result = self._type.Result()
        result.error_code, result.error_string = code, text

        def finish(handle: Any) -> Any:
            getattr(handle, how)()
            return result

        handle.execute(finish)
