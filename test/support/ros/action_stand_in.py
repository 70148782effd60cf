# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A stand-in of the action FollowJointTrajectory, for tests: control_msgs is not on PyPI.

Classes with the same fields, the planner's side of a goal, and the controller's.
"""

from types import SimpleNamespace
from unittest.mock import patch

from support.ros.ros_graph import rclpy  # noqa: F401  skips where there is no rclpy

from builtin_interfaces.msg import Duration  # isort: skip
from rclpy.action import CancelResponse, GoalResponse  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

from collision_monitor.nodes.trajectories import follow_joint_trajectory as actions

FIELDS = (
    "path_tolerance", "component_path_tolerance", "goal_tolerance", "component_goal_tolerance",
    "goal_time_tolerance",
)  # fmt: skip


class Goal(SimpleNamespace):
    def __init__(self, name="", **fields):
        super().__init__(**{
            "trajectory": JointTrajectory(joint_names=[name]),
            "multi_dof_trajectory": SimpleNamespace(points=[]),
            **{field: [] for field in FIELDS},
            "goal_time_tolerance": Duration(),
            **fields,
        })  # fmt: skip


class Result(SimpleNamespace):
    SUCCESSFUL, INVALID_GOAL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = 0, -1, -4, -5

    def __init__(self, error_code=0, error_string=""):
        super().__init__(error_code=error_code, error_string=error_string)


TYPE = SimpleNamespace(Goal=Goal, Result=Result)


class Future:
    """Finished by the test; then its callbacks run."""

    def __init__(self):
        self.callbacks, self.value, self.fault = [], None, None

    def add_done_callback(self, callback):
        self.callbacks.append(callback)

    def finish(self, value=None, fault=None):
        self.value, self.fault = value, fault
        for callback in self.callbacks:
            callback(self)

    def result(self):
        return self.value

    def exception(self):
        return self.fault


class Handle:
    """The planner's side of a goal, with the rules of rclpy: execute once, end once."""

    def __init__(self, request, queue):
        self.request, self.queue = request, queue
        self.ends, self.feedback, self.result, self.cancelling = [], [], None, False

    def execute(self, callback):
        assert self.result is None and not self.ends

        def run():
            self.result = callback(self)
            assert len(self.ends) == 1

        self.queue.append(run)  # rclpy does it in the executor, later

    def publish_feedback(self, feedback):
        self.feedback.append(feedback)

    def succeed(self):
        self.ends.append("succeeded")

    def abort(self):
        self.ends.append("aborted")

    def canceled(self):
        assert self.cancelling, "only a goal whose cancelling was accepted can be canceled"
        self.ends.append("canceled")


class Controller:
    """The controller's side of the goal that was sent last."""

    def __init__(self):
        self.ready, self.goals = True, []
        self.cancelled = 0

    def server_is_ready(self):
        return self.ready

    def send_goal_async(self, goal, feedback_callback):
        self.goals.append(goal)
        self.answer, self.result, self.say = Future(), Future(), feedback_callback
        return self.answer

    def cancel_goal_async(self):
        self.cancelled += 1

    def accept(self):
        self.answer.finish(
            SimpleNamespace(
                accepted=True,
                get_result_async=lambda: self.result,
                cancel_goal_async=self.cancel_goal_async,
            )
        )

    def end(self, status, code=0, text=""):
        self.result.finish(SimpleNamespace(status=status, result=Result(code, text)))


class Planner:
    """The client of an action whose server is `serve`; ``queue``: what rclpy executes later."""

    def __init__(self):
        self.queue = []
        self.controller = Controller()

    def make_relay(self, node, kind, name, submit, over):
        """As FollowJointTrajectoryRelay, but with the stand-ins of the server and the client."""
        with (
            patch.object(actions, "ActionServer", self.serve),
            patch.object(actions, "ActionClient", lambda node, kind, name: self.controller),
        ):
            return actions.FollowJointTrajectoryRelay(node, kind, name, submit, over)

    def serve(self, node, kind, name, execute, goal_callback, handle_accepted_callback,
              cancel_callback):  # fmt: skip
        assert name == "~/follow_joint_trajectory"
        self.on_request, self.on_accepted = goal_callback, handle_accepted_callback
        self.on_cancel = cancel_callback

    def plan(self, name="wanted", **fields):
        """Send a goal; its handle, once it is accepted."""
        goal = Goal(name, **fields)
        assert self.on_request(goal) == GoalResponse.ACCEPT
        handle = Handle(goal, self.queue)
        self.on_accepted(handle)
        return handle

    def cancel(self, handle):
        """Ask for a goal to be cancelled; the answer."""
        answer = self.on_cancel(handle)
        handle.cancelling = answer == CancelResponse.ACCEPT
        return answer

    def run(self):
        """What rclpy's executor does later."""
        while self.queue:
            self.queue.pop(0)()
