# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The action in front of a controller's, between stand-ins of a planner and a controller."""

from types import SimpleNamespace

import pytest
from support.ros.action_stand_in import FIELDS, TYPE, Planner, Result

from action_msgs.msg import GoalStatus  # isort: skip
from rclpy.action import CancelResponse  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip


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


def test_a_refused_goal_is_aborted_with_the_reason_and_never_sent(stage):
    handle = stage.plan()
    stage.relay.refuse(stage.submitted[0], "the arms would collide")
    assert ended(stage, handle) == (["aborted"], Result.INVALID_GOAL, "the arms would collide")
    stage.relay.forward(stage.submitted[0], JointTrajectory())
    assert stage.controller.goals == []


def test_a_goal_for_a_moving_base_is_refused(stage):
    handle = stage.plan(multi_dof_trajectory=SimpleNamespace(points=[1]))
    assert stage.submitted == []
    ends, code, text = ended(stage, handle)
    assert (ends, code) == (["aborted"], Result.INVALID_GOAL) and "multi_dof" in text


@pytest.mark.parametrize("accepted", [False, None])
def test_a_controller_that_does_not_take_it_is_said(stage, accepted):
    handle = stage.plan()
    stage.relay.forward(stage.submitted[0], JointTrajectory())
    if accepted is None:
        stage.controller.answer.finish(fault=RuntimeError("gone"))
    else:
        stage.controller.answer.finish(SimpleNamespace(accepted=False))
    ends, code, text = ended(stage, handle)
    assert ends == ["aborted"] and ("gone" if accepted is None else "rejected") in text


def test_a_controller_that_is_not_there_is_said(stage):
    assert stage.relay.can_forward() == ""
    stage.controller.ready = False
    assert "'/arms/follow' is not available" in stage.relay.can_forward()


def test_cancelling_is_passed_on(stage):
    handle = stage.sent()
    assert stage.cancel(handle) == CancelResponse.ACCEPT
    assert stage.controller.cancelled == 1 and handle.ends == []
    stage.controller.end(GoalStatus.STATUS_CANCELED, 0, "stopped")
    assert ended(stage, handle) == (["canceled"], 0, "stopped")
    assert stage.on_cancel(handle) == CancelResponse.REJECT


def test_cancelling_before_it_is_sent_ends_it(stage):
    handle = stage.plan()
    assert stage.cancel(handle) == CancelResponse.ACCEPT
    assert ended(stage, handle)[0] == ["canceled"]
    stage.relay.forward(stage.submitted[0], JointTrajectory())
    assert stage.controller.goals == []


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
