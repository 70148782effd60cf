# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The action of the simulation, with clients made of Python; then with control_msgs for real."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.ros.ros_graph import rclpy  # noqa: F401  skips where there is no rclpy

from builtin_interfaces.msg import Duration  # isort: skip
from rclpy.action import CancelResponse, GoalResponse  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

from collision_monitor.errors import TrajectoryError  # isort: skip
from collision_monitor.nodes.follow_joint_trajectory import TrajectoryAction  # isort: skip
from collision_monitor.simulation.trajectory_execution import checked_command  # isort: skip
from collision_monitor.simulation.trajectory_execution import TrajectoryExecution  # isort: skip

JOINTS = ("a", "b")
DT = 0.01


class Result(SimpleNamespace):
    SUCCESSFUL, INVALID_GOAL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = 0, -1, -4, -5


class Feedback(SimpleNamespace):
    def __init__(self):
        parts = {name: SimpleNamespace() for name in ("desired", "actual", "error")}
        super().__init__(joint_names=[], **parts)


TYPE = SimpleNamespace(Result=Result, Feedback=Feedback)


class Handle:
    """The client's side of a goal, with the rules of rclpy: execute once, end once."""

    def __init__(self, **request):
        self.request = SimpleNamespace(
            **{
                "trajectory": JointTrajectory(joint_names=["a"]),
                "multi_dof_trajectory": SimpleNamespace(points=[]),
                "path_tolerance": [],
                "goal_tolerance": [],
                "goal_time_tolerance": Duration(),
                **request,
            }
        )
        self.end, self.result, self.feedback = None, None, []

    def execute(self, finish):
        assert self.result is None
        self.result = finish(self)

    def succeed(self):
        self.end = "succeeded"

    def abort(self):
        self.end = "aborted"

    def canceled(self):
        self.end = "canceled"

    def publish_feedback(self, feedback):
        self.feedback.append(feedback)


class Arm:
    """Joints that follow at once, unless they are stuck ``off`` by so much."""

    joint_names = JOINTS

    def __init__(self):
        self.execution = TrajectoryExecution(JOINTS, np.zeros(2))
        self.time, self.off = 0.0, np.zeros(2)
        self.fault = None
        self.action = TrajectoryAction(
            None, TYPE, self.follow, self.execution.drop, lambda: 0.01, make_server=self.serve
        )

    def serve(self, node, kind, name, execute, goal_callback, handle_accepted_callback,
              cancel_callback):  # fmt: skip
        assert name == "~/follow_joint_trajectory"
        assert goal_callback(None) is GoalResponse.ACCEPT
        self.accept, self.cancel = handle_accepted_callback, cancel_callback

    def follow(self, message):
        if self.fault:
            raise TrajectoryError(self.fault)
        command = checked_command(JOINTS, message.joint_names, [1.0], [[1.0]])
        return self.execution.accept(command, self.time)

    @property
    def target(self):
        return self.execution.wanted

    @property
    def q(self):
        return self.target + self.off

    def go(self, seconds):
        for _ in range(round(seconds / DT)):
            self.time += DT
            self.execution.advance(self.time, DT, 1.0)
            self.action.watch(self)


@pytest.fixture
def arm():
    return Arm()


def test_a_goal_succeeds_when_its_joints_are_there(arm):
    handle = Handle()
    arm.accept(handle)
    arm.go(0.9)
    assert handle.result is None
    arm.go(0.2)
    assert handle.end == "succeeded" and handle.result.error_code == Result.SUCCESSFUL


def test_feedback_tells_where_joints_are(arm):
    handle = Handle()
    arm.accept(handle)
    arm.off[:] = 0.005
    arm.go(0.5)
    arm.action.feed_back(arm)
    (feedback,) = handle.feedback
    assert feedback.joint_names == ["a"]
    assert feedback.desired.positions == pytest.approx([0.5])
    assert feedback.actual.positions == pytest.approx([0.505])
    assert feedback.error.positions == pytest.approx([-0.005])


def test_what_cannot_be_followed_is_aborted_with_the_reason(arm):
    arm.fault = "names no joints"
    handle = Handle()
    arm.accept(handle)
    assert handle.end == "aborted" and handle.result.error_code == Result.INVALID_GOAL
    assert handle.result.error_string == "the trajectory names no joints"
    handle = Handle(multi_dof_trajectory=SimpleNamespace(points=[1]))
    arm.accept(handle)
    assert handle.end == "aborted" and "multi_dof" in handle.result.error_string


def test_a_goal_that_is_never_reached_is_aborted_after_a_while(arm):
    arm.off[0] = 0.05
    handle = Handle()
    arm.accept(handle)
    arm.go(2.9)
    assert handle.result is None
    arm.go(0.2)
    assert handle.end == "aborted"
    assert handle.result.error_code == Result.GOAL_TOLERANCE_VIOLATED
    assert "joint 'a' is 0.05 off its goal after 2 s" in handle.result.error_string


def test_a_goal_may_say_how_near_and_how_long(arm):
    arm.off[0] = 0.05
    wide = Handle(goal_tolerance=[SimpleNamespace(name="a", position=0.1)])
    arm.accept(wide)
    arm.go(1.1)
    assert wide.end == "succeeded"
    patient = Handle(goal_time_tolerance=Duration(sec=5))
    arm.accept(patient)
    arm.go(4.0)
    assert patient.result is None
    arm.go(3.0)
    assert patient.end == "aborted"


def test_leaving_the_path_too_far_aborts_and_holds(arm):
    handle = Handle(path_tolerance=[SimpleNamespace(name="a", position=0.02)])
    arm.accept(handle)
    arm.go(0.5)
    arm.off[0] = 0.03
    arm.go(DT)
    assert handle.end == "aborted"
    assert handle.result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert not arm.execution.moving


def test_cancelling_holds(arm):
    handle = Handle()
    arm.accept(handle)
    arm.go(0.5)
    assert arm.cancel(handle) is CancelResponse.ACCEPT
    arm.go(DT)
    assert handle.end == "canceled" and not arm.execution.moving
    assert arm.cancel(handle) is CancelResponse.REJECT


def test_a_newer_goal_takes_the_place_of_an_older_one(arm):
    first, second = Handle(), Handle()
    arm.accept(first)
    arm.go(0.5)
    arm.accept(second)
    arm.go(1.1)
    assert first.end == "aborted" and "newer trajectory" in first.result.error_string
    assert second.end == "succeeded"
