# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The action FollowJointTrajectory: its server, and a relay to a controller.

They need control_msgs, which is part of ros2_control and MoveIt. Goals are always accepted, because
a rejection cannot have a reason: a refused goal is aborted with the reason. The handle of a goal is
executed when its result is known, so its execution does not block.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

_ACTION = "~/follow_joint_trajectory"
_GONE = 2.0  # seconds without the controller's action, after which its goals are aborted


def follow_joint_trajectory_type() -> Any | None:
    """The type of the action; None if control_msgs is not installed."""
    try:
        from control_msgs.action import FollowJointTrajectory
    except ImportError:
        return None
    return FollowJointTrajectory


class DeferredActionServer(ABC):
    """Base of action servers; goals, each with a ``handle``, are in ``goals`` until they end."""

    def __init__(self, node: Node, action_type: Any) -> None:
        self.type = action_type
        self.goals: list[Any] = []
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
        """Cancel a goal of ``goals``."""

    def _on_cancel(self, handle: Any) -> CancelResponse:
        goal = next((goal for goal in self.goals if goal.handle == handle), None)
        if goal is None:
            return CancelResponse.REJECT
        self._cancel(goal)
        return CancelResponse.ACCEPT

    def result(self, code: int, text: str) -> Any:
        """A result with an error code of the action, and its text."""
        result = self.type.Result()
        result.error_code, result.error_string = code, text
        return result

    @staticmethod
    def execute(handle: Any, how: str, result: Any) -> None:
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


class FollowJointTrajectoryRelay(DeferredActionServer):
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
        self._seen = time.monotonic()  # the controller's action
        super().__init__(node, action_type)

    # -- requests of the planner --

    def _on_accepted(self, handle: Any) -> None:
        goal = RelayedGoal(handle)
        self.goals.append(goal)
        self._submit(goal)

    def _cancel(self, goal: RelayedGoal) -> None:
        goal.cancelled = True
        if goal.sent is not None:
            goal.sent.cancel_goal_async()
        elif not goal.on_its_way:
            self._end(goal, "canceled", self.result(0, "cancelled before it was sent"))

    # -- decisions of the node --

    def refuse(self, goal: RelayedGoal, reason: str) -> None:
        """Abort a goal that was not forwarded, or whose controller failed."""
        goal.refused = reason
        self._end(goal, "abort", self.result(self.type.Result.INVALID_GOAL, reason))

    def can_forward(self) -> str:
        """Why no goal can be forwarded; empty if goals can be forwarded."""
        if self._client.server_is_ready():
            return ""
        return f"the controller's action '{self.controller_action}' is not available"

    def watch(self, now: float) -> None:
        """Abort what the controller executes once its action is gone; ``now``: steady clock."""
        if not (gone := self.can_forward()):
            self._seen = now
        elif now - self._seen > _GONE:
            for goal in [goal for goal in self.goals if goal.on_its_way]:
                self.refuse(goal, f"{gone} any more: whether it moves the robot is not known")

    def forward(self, goal: RelayedGoal, message: JointTrajectory) -> None:
        """Send ``message`` to the controller instead of the trajectory of the goal."""
        if goal.done:
            return
        request = self.type.Goal()
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
        for goal in list(self.goals):
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
        if goal.cancelled or goal.stopped or goal.done:  # before the controller responded
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
            code = self.type.Result.PATH_TOLERANCE_VIOLATED
            self._end(goal, "abort", self.result(code, goal.stopped))
        elif answer.status == GoalStatus.STATUS_SUCCEEDED:
            self._end(goal, "succeed", answer.result)
        elif answer.status == GoalStatus.STATUS_CANCELED and goal.cancelled:
            self._end(goal, "canceled", answer.result)
        else:
            self._end(goal, "abort", answer.result)

    def _end(self, goal: RelayedGoal, how: str, result: Any) -> None:
        """End a goal; ``how`` as of `execute`."""
        if goal.done:
            return
        goal.done = True
        self.goals.remove(goal)
        self.execute(goal.handle, how, result)
        self._over(goal)
