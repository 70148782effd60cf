# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A FollowJointTrajectory action in front of a controller's, for planners to be pointed at.

Needs control_msgs, which every installation of ros2_control and of MoveIt has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

ACTION = "~/follow_joint_trajectory"


def follow_joint_trajectory_type() -> Any | None:
    """The type of the action; None where control_msgs is not installed."""
    try:
        from control_msgs.action import FollowJointTrajectory
    except ImportError:
        return None
    return FollowJointTrajectory


@dataclass(eq=False)
class RelayedGoal:
    """One goal on its way: ``handle`` is the planner's side, ``sent`` the controller's."""

    handle: Any
    sent: Any = None
    on_its_way: bool = False
    cancelled: bool = False
    stopped: str = ""  # why this node ends it, whatever the controller says
    done: bool = False

    @property
    def message(self) -> JointTrajectory:
        """The trajectory that is wanted."""
        return self.handle.request.trajectory


class FollowJointTrajectoryRelay:
    """Takes goals, lets the node decide on them, and passes on what it makes of them.

    Goals are always accepted, because a rejection cannot say why: one that is refused is
    aborted with the reason. The handle of an accepted goal is executed when its result is
    known, so nothing ever waits for it.
    """

    def __init__(
        self,
        node: Node,
        action_type: Any,
        controller_action: str,
        submit: Callable[[RelayedGoal], None],
        over: Callable[[RelayedGoal], None],
        make_server: Callable[..., Any] = ActionServer,
        make_client: Callable[..., Any] = ActionClient,
    ) -> None:
        """Offer the action.

        Args:
            node: which node offers it.
            action_type: control_msgs' FollowJointTrajectory.
            controller_action: name of the controller's action.
            submit: called with every goal that comes; `refuse` or `forward` answer it.
            over: called when a goal has ended in any way.
            make_server: as rclpy's ActionServer.
            make_client: as rclpy's ActionClient.
        """
        self._type = action_type
        self._submit = submit
        self._over = over
        self._goals: list[RelayedGoal] = []
        self.controller_action = controller_action
        self._client = make_client(node, action_type, controller_action)
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

    # -- from the planner ------------------------------------------------------------

    def _on_accepted(self, handle: Any) -> None:
        goal = RelayedGoal(handle)
        self._goals.append(goal)
        if handle.request.multi_dof_trajectory.points:
            self.refuse(goal, "has a multi_dof_trajectory, which cannot be adjusted")
            return
        self._submit(goal)

    def _on_cancel(self, handle: Any) -> CancelResponse:
        goal = next((goal for goal in self._goals if goal.handle == handle), None)
        if goal is None or goal.done:
            return CancelResponse.REJECT
        goal.cancelled = True
        if goal.sent is not None:
            goal.sent.cancel_goal_async()
        elif not goal.on_its_way:
            self._end(goal, "canceled", self._result(0, "cancelled before it was sent"))
        return CancelResponse.ACCEPT

    # -- from the node ---------------------------------------------------------------

    def refuse(self, goal: RelayedGoal, reason: str) -> None:
        """Abort a goal that was not passed on."""
        self._end(goal, "abort", self._result(self._type.Result.INVALID_GOAL, reason))

    def can_forward(self) -> str:
        """Why nothing can be passed on; empty when it can."""
        if self._client.server_is_ready():
            return ""
        return f"the controller's action '{self.controller_action}' is not available"

    def forward(self, goal: RelayedGoal, message: JointTrajectory) -> None:
        """Send ``message`` to the controller in place of what the goal wanted."""
        if goal.done:
            return
        request = self._type.Goal()
        wanted = goal.handle.request
        request.trajectory = message
        # Humble's action lacks the second
        for field in ("path_tolerance", "component_path_tolerance", "goal_tolerance",
                      "component_goal_tolerance", "goal_time_tolerance"):  # fmt: skip
            if hasattr(wanted, field):
                setattr(request, field, getattr(wanted, field))
        goal.on_its_way = True
        future = self._client.send_goal_async(
            request, feedback_callback=lambda message: self._on_feedback(goal, message.feedback)
        )
        future.add_done_callback(lambda future: self._on_answer(goal, future))

    def stop(self, reason: str) -> None:
        """Cancel whatever the controller does for us, and abort it with the reason."""
        for goal in list(self._goals):
            goal.stopped = goal.stopped or reason
            if goal.sent is not None:
                goal.sent.cancel_goal_async()
            elif not goal.on_its_way:
                self.refuse(goal, reason)

    # -- from the controller ---------------------------------------------------------

    def _on_answer(self, goal: RelayedGoal, future: Any) -> None:
        if (fault := future.exception()) is not None:
            self.refuse(goal, f"the controller's action failed: {fault}")
            return
        sent = future.result()
        if not sent.accepted:
            self.refuse(goal, "the controller rejected the adjusted trajectory")
            return
        goal.sent = sent
        if goal.cancelled or goal.stopped:  # while the controller was thinking
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

    def _result(self, code: int, text: str) -> Any:
        result = self._type.Result()
        result.error_code, result.error_string = code, text
        return result

    def _end(self, goal: RelayedGoal, how: str, result: Any) -> None:
        """Execute the goal's handle at last: it ends as ``how`` says."""
        if goal.done:
            return
        goal.done = True
        self._goals.remove(goal)

        def finish(handle: Any) -> Any:
            getattr(handle, how)()
            return result

        goal.handle.execute(finish)
        self._over(goal)
