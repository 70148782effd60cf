# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""FollowJointTrajectory actions: a relay to a controller, and the action of the simulation.

They need control_msgs, which is part of ros2_control and MoveIt. Goals are always accepted, because
a rejection cannot have a reason: a refused goal is aborted with the reason. The handle of a goal is
executed when its result is known, so its execution does not block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.errors import TrajectoryError
from collision_monitor.nodes.common.messages import duration_message, seconds_of
from collision_monitor.simulation.trajectory_execution import Phase, Run

if TYPE_CHECKING:
    from collision_monitor.simulation.simulation import Simulation

_ACTION = "~/follow_joint_trajectory"
_SETTLE = 2.0  # s after the last point, if a goal has no goal_time_tolerance


def follow_joint_trajectory_type() -> Any | None:
    """The type of the action; None if control_msgs is not installed."""
    try:
        from control_msgs.action import FollowJointTrajectory
    except ImportError:
        return None
    return FollowJointTrajectory


class _DeferredActionServer(ABC):
    """Base of action servers; goals, each with a ``handle``, are in ``_goals`` until they end."""

    def __init__(self, node: Node, action_type: Any) -> None:
        self._type = action_type
        self._goals: list[Any] = []
        self._server = ActionServer(
            node,
            action_type,
            _ACTION,
            self._never,
            goal_callback=lambda request: GoalResponse.ACCEPT,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
        )

    @staticmethod
    def _never(handle: Any) -> None:
        raise RuntimeError("goals are executed with their result alone")

    @abstractmethod
    def _on_accepted(self, handle: Any) -> None:
        """Process a new goal."""

    @abstractmethod
    def _cancel(self, goal: Any) -> None:
        """Cancel a goal of ``_goals``."""

    def _on_cancel(self, handle: Any) -> CancelResponse:
        goal = next((goal for goal in self._goals if goal.handle == handle), None)
        if goal is None:
            return CancelResponse.REJECT
        self._cancel(goal)
        return CancelResponse.ACCEPT

    def _result(self, code: int, text: str) -> Any:
        result = self._type.Result()
        result.error_code, result.error_string = code, text
        return result

    @staticmethod
    def _execute(handle: Any, how: str, result: Any) -> None:
        """End a goal; ``how``: ``succeed``, ``abort`` or ``canceled``."""

        def finish(handle: Any) -> Any:
            getattr(handle, how)()
            return result

        handle.execute(finish)


# -- relay to a controller --


@dataclass(eq=False)
class RelayedGoal:
    """A goal: ``handle`` is that of the planner, ``sent`` that of the controller."""

    handle: Any
    sent: Any = None
    on_its_way: bool = False
    cancelled: bool = False
    stopped: str = ""  # reason if this node ends it
    refused: str = ""  # reason if the controller does not execute it, or this node does not send it
    done: bool = False

    @property
    def message(self) -> JointTrajectory:
        """The desired trajectory."""
        return self.handle.request.trajectory

    @property
    def fault(self) -> str:
        """Why the goal cannot be adjusted, whatever its trajectory; empty if it can."""
        if self.handle.request.multi_dof_trajectory.points:
            return "the desired trajectory has a multi_dof_trajectory, which cannot be adjusted"
        return ""


class FollowJointTrajectoryRelay(_DeferredActionServer):
    """Passes goals to the node, and adjusted trajectories to a controller."""

    def __init__(
        self,
        node: Node,
        action_type: Any,
        controller_action: str,
        submit: Callable[[RelayedGoal], None],
        over: Callable[[RelayedGoal], None],
    ) -> None:
        """Offer the action.

        Args:
            node: which node offers it.
            action_type: control_msgs' FollowJointTrajectory.
            controller_action: name of the action of the controller.
            submit: called with every new goal; `refuse` or `forward` answer it.
            over: called when a goal has ended.
        """
        self._submit = submit
        self._over = over
        self.controller_action = controller_action
        self._client = ActionClient(node, action_type, controller_action)
        super().__init__(node, action_type)

    # -- requests of the planner --

    def _on_accepted(self, handle: Any) -> None:
        goal = RelayedGoal(handle)
        self._goals.append(goal)
        self._submit(goal)

    def _cancel(self, goal: RelayedGoal) -> None:
        goal.cancelled = True
        if goal.sent is not None:
            goal.sent.cancel_goal_async()
        elif not goal.on_its_way:
            self._end(goal, "canceled", self._result(0, "cancelled before it was sent"))

    # -- decisions of the node --

    def refuse(self, goal: RelayedGoal, reason: str) -> None:
        """Abort a goal that was not forwarded, or whose controller failed."""
        goal.refused = reason
        self._end(goal, "abort", self._result(self._type.Result.INVALID_GOAL, reason))

    def can_forward(self) -> str:
        """Why no goal can be forwarded; empty if goals can be forwarded."""
        if self._client.server_is_ready():
            return ""
        return f"the controller's action '{self.controller_action}' is not available"

    def forward(self, goal: RelayedGoal, message: JointTrajectory) -> None:
        """Send ``message`` to the controller instead of the trajectory of the goal."""
        if goal.done:
            return
        request = self._type.Goal()
        wanted = goal.handle.request
        request.trajectory = message
        # the action of Humble has no second field
        for field in ("path_tolerance", "component_path_tolerance", "goal_tolerance",
                      "component_goal_tolerance", "goal_time_tolerance"):  # fmt: skip
            if hasattr(wanted, field):
                setattr(request, field, getattr(wanted, field))
        goal.on_its_way = True
        future = self._client.send_goal_async(
            request, feedback_callback=lambda message: self._on_feedback(goal, message.feedback)
        )
        future.add_done_callback(lambda future: self._on_response(goal, future))

    def stop(self, reason: str) -> None:
        """Cancel all goals of the controller, and abort those of the planner with the reason."""
        for goal in list(self._goals):
            goal.stopped = goal.stopped or reason
            if goal.sent is not None:
                goal.sent.cancel_goal_async()
            elif not goal.on_its_way:
                self.refuse(goal, reason)

    # -- responses of the controller --

    def _on_response(self, goal: RelayedGoal, future: Any) -> None:
        if (fault := future.exception()) is not None:
            self.refuse(goal, f"the controller's action failed: {fault}")
            return
        sent = future.result()
        if not sent.accepted:
            self.refuse(goal, "the controller rejected the adjusted trajectory")
            return
        goal.sent = sent
        if goal.cancelled or goal.stopped:  # before the controller responded
            sent.cancel_goal_async()
        sent.get_result_async().add_done_callback(lambda future: self._on_result(goal, future))

    def _on_feedback(self, goal: RelayedGoal, feedback: Any) -> None:
        if not goal.done:
            goal.handle.publish_feedback(feedback)

    def _on_result(self, goal: RelayedGoal, future: Any) -> None:
        if (fault := future.exception()) is not None:
            self.refuse(goal, f"the controller's action failed: {fault}")
            return
        answer = future.result()
        if goal.stopped:
            code = self._type.Result.PATH_TOLERANCE_VIOLATED
            self._end(goal, "abort", self._result(code, goal.stopped))
        elif answer.status == GoalStatus.STATUS_SUCCEEDED:
            self._end(goal, "succeed", answer.result)
        elif answer.status == GoalStatus.STATUS_CANCELED and goal.cancelled:
            self._end(goal, "canceled", answer.result)
        else:
            self._end(goal, "abort", answer.result)

    def _end(self, goal: RelayedGoal, how: str, result: Any) -> None:
        """End a goal; ``how`` as of `_execute`."""
        if goal.done:
            return
        goal.done = True
        self._goals.remove(goal)
        self._execute(goal.handle, how, result)
        self._over(goal)


# -- action of the simulation --


class _Goal:
    """An active goal: its handle, its run, and the time since its last point was commanded."""

    def __init__(self, handle: Any, run: Run) -> None:
        self.handle, self.run = handle, run
        self.done_at: float | None = None
        self.cancelled = False


class TrajectoryAction(_DeferredActionServer):
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
            run = self._follow(handle.request.trajectory)
        except TrajectoryError as error:
            code = self._type.Result.INVALID_GOAL
            self._execute(handle, "abort", self._result(code, f"the trajectory {error}"))
            return
        self._goals.append(_Goal(handle, run))

    def _cancel(self, goal: _Goal) -> None:
        goal.cancelled = True
        self._drop(goal.run)

    def watch(self, simulation: Simulation) -> None:
        """End goals that are reached or missed; call it after each simulation step."""
        for goal in list(self._goals):
            outcome = self._outcome(goal, simulation)
            if outcome is not None:
                self._goals.remove(goal)
                how, code, text = outcome
                self._execute(goal.handle, how, self._result(code, text))

    def feed_back(self, simulation: Simulation) -> None:
        """Publish the feedback of all goals."""
        for goal in self._goals:
            columns = self._columns(goal, simulation)
            feedback = self._type.Feedback()
            feedback.joint_names = list(goal.run.command.joint_names)
            wanted, actual = simulation.target[columns], simulation.q[columns]
            feedback.desired.positions = wanted.tolist()
            feedback.actual.positions = actual.tolist()
            feedback.error.positions = (wanted - actual).tolist()
            feedback.desired.time_from_start = duration_message(goal.run.elapsed)
            goal.handle.publish_feedback(feedback)

    def _outcome(self, goal: _Goal, simulation: Simulation) -> tuple[str, int, str] | None:
        """(how it ends, error code, text); None while it is active."""
        result = self._type.Result
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
        names, columns = goal.run.command.joint_names, self._columns(goal, simulation)
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
            if name in goal.run.command.joint_names:
                k = list(simulation.joint_names).index(name)
                off = abs(float(simulation.target[k] - simulation.q[k]))
                if off > most:
                    return f"joint '{name}' is {off:.4g} off its path, {most:g} is allowed"
        return ""

    @staticmethod
    def _given(tolerances: Sequence[Any]) -> dict[str, float]:
        """Positive tolerances of positions, by joint."""
        return {item.name: item.position for item in tolerances or () if item.position > 0.0}

    @staticmethod
    def _columns(goal: _Goal, simulation: Simulation) -> list[int]:
        names = list(simulation.joint_names)
        return [names.index(name) for name in goal.run.command.joint_names]
