# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""FollowJointTrajectory without control_msgs: the relay to a controller, and the simulation."""

from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from support.ros.action_stand_in import FIELDS, TYPE, Planner, Result

from action_msgs.msg import GoalStatus  # isort: skip
from builtin_interfaces.msg import Duration  # isort: skip
from rclpy.action import CancelResponse, GoalResponse  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

from collision_monitor.errors import TrajectoryError  # isort: skip
from collision_monitor.nodes import follow_joint_trajectory as actions  # isort: skip
from collision_monitor.simulation.trajectory_execution import checked_command  # isort: skip
from collision_monitor.simulation.trajectory_execution import TrajectoryExecution  # isort: skip

# -- the relay, between stand-ins of a planner and a controller -----------------------------


class Stage(Planner):
    """Planner, relay, node and controller."""

    def __init__(self):
        super().__init__()
        self.submitted, self.over = [], []
        self.relay = self.make_relay(
            None, TYPE, "/arms/follow", self.submitted.append, self.over.append
        )

    def sent(self):
        """A goal that the controller works on."""
        handle = self.plan()
        self.relay.forward(self.submitted[-1], JointTrajectory(joint_names=["adjusted"]))
        self.controller.accept()
        return handle


@pytest.fixture
def stage():
    return Stage()


def ended(stage, handle):
    stage.run()
    assert len(stage.over) == 1
    return handle.ends, handle.result.error_code, handle.result.error_string


def test_an_adjusted_goal_is_passed_on_with_its_tolerances(stage):
    tolerances = {field: object() for field in FIELDS}
    handle = stage.plan(**tolerances)
    (goal,) = stage.submitted
    assert goal.message.joint_names == ["wanted"]
    assert stage.controller.goals == []
    stage.relay.forward(goal, JointTrajectory(joint_names=["adjusted"]))
    (request,) = stage.controller.goals
    assert request.trajectory.joint_names == ["adjusted"]
    assert all(getattr(request, field) is tolerances[field] for field in FIELDS)
    stage.run()
    assert handle.ends == []


def test_feedback_and_result_come_back(stage):
    handle = stage.sent()
    stage.controller.say(SimpleNamespace(feedback="half way"))
    assert handle.feedback == ["half way"]
    stage.controller.end(GoalStatus.STATUS_SUCCEEDED, 0, "there")
    assert ended(stage, handle) == (["succeeded"], 0, "there")
    stage.controller.say(SimpleNamespace(feedback="late"))
    assert handle.feedback == ["half way"]


def test_what_the_controller_aborts_is_aborted_with_its_words(stage):
    handle = stage.sent()
    stage.controller.end(GoalStatus.STATUS_ABORTED, -5, "goal tolerance")
    assert ended(stage, handle) == (["aborted"], -5, "goal tolerance")


def test_what_the_controller_cancels_by_itself_is_aborted(stage):
    handle = stage.sent()
    stage.controller.end(GoalStatus.STATUS_CANCELED, 0, "")
    assert ended(stage, handle)[0] == ["aborted"]


def test_a_goal_for_a_moving_base_has_a_fault(stage):
    stage.plan()
    handle = stage.plan(multi_dof_trajectory=SimpleNamespace(points=[1]))
    first, second = stage.submitted
    assert first.fault == "" and "multi_dof" in second.fault
    stage.relay.refuse(second, second.fault)
    ends, code, text = ended(stage, handle)
    assert (ends, code) == (["aborted"], Result.INVALID_GOAL) and "multi_dof" in text


def test_a_controller_that_is_not_there_is_said(stage):
    assert stage.relay.can_forward() == ""
    stage.controller.ready = False
    assert "'/arms/follow' is not available" in stage.relay.can_forward()


def test_cancelling_while_the_controller_thinks_is_passed_on_when_it_has_thought(stage):
    handle = stage.plan()
    stage.relay.forward(stage.submitted[0], JointTrajectory())
    assert stage.cancel(handle) == CancelResponse.ACCEPT
    assert stage.controller.cancelled == 0
    stage.controller.accept()
    assert stage.controller.cancelled == 1
    stage.controller.end(GoalStatus.STATUS_CANCELED)
    assert ended(stage, handle)[0] == ["canceled"]


def test_a_goal_that_succeeds_although_it_was_to_be_cancelled_has_succeeded(stage):
    handle = stage.sent()
    stage.cancel(handle)
    stage.controller.end(GoalStatus.STATUS_SUCCEEDED)
    assert ended(stage, handle)[0] == ["succeeded"]


def test_arms_that_are_held_end_every_goal_with_the_reason(stage):
    sent, waiting = stage.sent(), stage.plan()
    stage.relay.stop("held: too near")
    stage.run()
    assert waiting.ends == ["aborted"] and waiting.result.error_string == "held: too near"
    assert stage.controller.cancelled == 1 and sent.ends == []
    stage.controller.end(GoalStatus.STATUS_CANCELED)
    stage.run()
    assert sent.ends == ["aborted"]
    assert sent.result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert sent.result.error_string == "held: too near"


def test_arms_held_while_the_controller_thinks(stage):
    handle = stage.plan()
    stage.relay.forward(stage.submitted[0], JointTrajectory())
    stage.relay.stop("held: too near")
    stage.controller.accept()
    assert stage.controller.cancelled == 1
    stage.controller.end(GoalStatus.STATUS_CANCELED)
    assert ended(stage, handle)[2] == "held: too near"


def test_a_result_that_is_lost_is_said(stage):
    handle = stage.sent()
    stage.controller.result.finish(fault=RuntimeError("gone"))
    assert "gone" in ended(stage, handle)[2]


# -- the action of the simulation ----------------------------------------------------------

JOINTS = ("a", "b")
DT = 0.01


class ArmResult(SimpleNamespace):
    SUCCESSFUL, INVALID_GOAL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = 0, -1, -4, -5


class Feedback(SimpleNamespace):
    def __init__(self):
        parts = {name: SimpleNamespace() for name in ("desired", "actual", "error")}
        super().__init__(joint_names=[], **parts)


ARM_TYPE = SimpleNamespace(Result=ArmResult, Feedback=Feedback)


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
        with patch.object(actions, "ActionServer", self.serve):
            self.action = actions.TrajectoryAction(
                None, ARM_TYPE, self.follow, self.execution.drop, lambda: 0.01
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
        return self.execution.setpoints

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
    assert handle.end == "succeeded" and handle.result.error_code == ArmResult.SUCCESSFUL


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
    assert handle.end == "aborted" and handle.result.error_code == ArmResult.INVALID_GOAL
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
    assert handle.result.error_code == ArmResult.GOAL_TOLERANCE_VIOLATED
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
    assert handle.result.error_code == ArmResult.PATH_TOLERANCE_VIOLATED
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
