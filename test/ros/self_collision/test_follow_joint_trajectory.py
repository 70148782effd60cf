# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""FollowJointTrajectory without control_msgs: the relay to a controller, and the simulation."""

import math
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from support.ros.action_stand_in import FIELDS, TYPE, Planner, Result

from action_msgs.msg import GoalStatus  # isort: skip
from builtin_interfaces.msg import Duration  # isort: skip
from rclpy.action import CancelResponse  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

from collision_monitor.errors import TrajectoryError  # isort: skip
from collision_monitor.nodes.trajectories import follow_joint_trajectory as actions  # isort: skip
from collision_monitor.nodes.simulation_action import TrajectoryAction  # isort: skip
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


@pytest.mark.parametrize(
    ("is_cancelled", "status", "ends"),
    [
        (False, GoalStatus.STATUS_CANCELED, "aborted"),
        (True, GoalStatus.STATUS_SUCCEEDED, "succeeded"),
    ],
)
def test_a_goal_ends_as_the_controller_ends_it(stage, is_cancelled, status, ends):
    handle = stage.sent()
    if is_cancelled:
        stage.cancel(handle)
    stage.controller.end(status)
    assert ended(stage, handle)[0] == [ends]


def test_cancelling_while_the_controller_thinks_is_passed_on_when_it_has_thought(stage):
    handle = stage.plan()
    stage.relay.forward(stage.submitted[0], JointTrajectory())
    assert stage.cancel(handle) == CancelResponse.ACCEPT
    assert stage.controller.cancelled == 0
    stage.controller.accept()
    assert stage.controller.cancelled == 1
    stage.controller.end(GoalStatus.STATUS_CANCELED)
    assert ended(stage, handle)[0] == ["canceled"]


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


class Feedback(SimpleNamespace):
    def __init__(self):
        parts = {name: SimpleNamespace() for name in ("desired", "actual", "error")}
        super().__init__(joint_names=[], **parts)


ARM_TYPE = SimpleNamespace(Result=Result, Feedback=Feedback)


class Arm(Planner):
    """The client of the simulation, and joints that follow unless ``off`` by so much."""

    joint_names = JOINTS

    def __init__(self):
        super().__init__()
        self.execution = TrajectoryExecution(JOINTS, np.zeros(2))
        self.time, self.off = 0.0, np.zeros(2)
        self.fault = None
        with patch.object(actions, "ActionServer", self.serve):
            self.action = TrajectoryAction(
                None, ARM_TYPE, self.follow, self.execution.drop, lambda: 0.01
            )

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
        self.run()


@pytest.fixture
def arm():
    return Arm()


def test_a_goal_succeeds_when_its_joints_are_there(arm):
    handle = arm.plan("a")
    arm.go(0.9)
    assert handle.result is None
    arm.go(0.2)
    assert handle.ends == ["succeeded"] and handle.result.error_code == Result.SUCCESSFUL


def test_feedback_tells_where_joints_are(arm):
    handle = arm.plan("a")
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
    handles = [
        arm.plan("a"), arm.plan("a", multi_dof_trajectory=SimpleNamespace(points=[1])),
    ]  # fmt: skip
    arm.run()
    for handle, says in zip(handles, ("names no joints", "has a multi_dof"), strict=True):
        assert handle.ends == ["aborted"] and handle.result.error_code == Result.INVALID_GOAL
        assert handle.result.error_string.startswith(f"the trajectory {says}")


def test_a_goal_that_is_never_reached_is_aborted_after_a_while(arm):
    arm.off[0] = 0.05
    handle = arm.plan("a")
    arm.go(2.9)
    assert handle.result is None
    arm.go(0.2)
    assert handle.ends == ["aborted"]
    assert handle.result.error_code == Result.GOAL_TOLERANCE_VIOLATED
    assert "joint 'a' is 0.05 off its goal after 2 s" in handle.result.error_string


def test_a_goal_may_say_how_near_and_how_long(arm):
    arm.off[0] = 0.05
    wide = arm.plan("a", goal_tolerance=[SimpleNamespace(name="a", position=0.1)])
    arm.go(1.1)
    assert wide.ends == ["succeeded"]
    patient = arm.plan("a", goal_time_tolerance=Duration(sec=5))
    arm.go(4.0)
    assert patient.result is None
    arm.go(3.0)
    assert patient.ends == ["aborted"]


@pytest.mark.parametrize("field", ["path_tolerance", "goal_tolerance"])
def test_a_tolerance_that_is_no_number_does_not_count_as_none(arm, field):
    handle = arm.plan("a", **{field: [SimpleNamespace(name="a", position=math.nan)]})
    arm.run()
    assert handle.ends == ["aborted"] and handle.result.error_code == Result.INVALID_GOAL
    assert handle.result.error_string == "the trajectory has a tolerance of nan for joint 'a'"


def test_leaving_the_path_too_far_aborts_and_holds(arm):
    handle = arm.plan("a", path_tolerance=[SimpleNamespace(name="a", position=0.02)])
    arm.go(0.5)
    arm.off[0] = 0.03
    arm.go(DT)
    assert handle.ends == ["aborted"]
    assert handle.result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert not arm.execution.moving


def test_cancelling_holds(arm):
    handle = arm.plan("a")
    arm.go(0.5)
    assert arm.cancel(handle) is CancelResponse.ACCEPT
    arm.go(DT)
    assert handle.ends == ["canceled"] and not arm.execution.moving
    assert arm.cancel(handle) is CancelResponse.REJECT


def test_a_newer_goal_takes_the_place_of_an_older_one(arm):
    first = arm.plan("a")
    arm.go(0.5)
    second = arm.plan("a")
    arm.go(1.1)
    assert first.ends == ["aborted"] and "newer trajectory" in first.result.error_string
    assert second.ends == ["succeeded"]
