# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The action of self_collision between a planner and a controller on a ROS graph.

What else may happen to a goal: test_self_collision_interrupted_action.py, without control_msgs.
"""

import numpy as np
import pytest
from support.robots.two_slides import JOINTS, apart
from support.ros.self_collision_cell import slides_cell, stand_apart

control_msgs = pytest.importorskip(
    "control_msgs.action", reason="control_msgs is not installed (not on PyPI)"
)

from action_msgs.msg import GoalStatus  # noqa: E402
from rclpy.action import ActionClient, ActionServer, CancelResponse  # noqa: E402

FollowJointTrajectory = control_msgs.FollowJointTrajectory
ACTION = "/arms/follow_joint_trajectory"


class Controller:
    """Takes goals, and ends them when it is told to or cancelled."""

    def __init__(self, node):
        self.goals = []
        self.server = ActionServer(
            node, FollowJointTrajectory, ACTION, lambda handle: None,
            handle_accepted_callback=self.goals.append, cancel_callback=self.cancel,
        )  # fmt: skip

    def cancel(self, handle):
        self.end(handle, "canceled", "stopped")
        return CancelResponse.ACCEPT

    @staticmethod
    def end(handle, how, text):
        def finish(handle):
            getattr(handle, how)()
            return FollowJointTrajectory.Result(error_string=text)

        handle.execute(finish)


class Planner:
    """Sends one goal, and keeps what comes back."""

    def __init__(self, cell):
        self.cell = cell
        self.client = ActionClient(
            cell.graph.node, FollowJointTrajectory, "/self_collision/follow_joint_trajectory"
        )
        self.feedback = []

    def send(self, rows, times):
        goal = FollowJointTrajectory.Goal(
            trajectory=self.cell.trajectory(rows, times, names=JOINTS)
        )
        goal.goal_time_tolerance.sec = 7
        self.cell.until(self.client.server_is_ready)
        future = self.client.send_goal_async(
            goal, feedback_callback=lambda message: self.feedback.append(message.feedback)
        )
        self.cell.until(future.done)
        self.handle = future.result()
        assert self.handle.accepted
        self.future = self.handle.get_result_async()

    def result(self):
        self.cell.until(self.future.done)
        return self.future.result().status, self.future.result().result


@pytest.fixture
def parts(tmp_path):
    """(Cell, controller, planner); the balls stand half a metre apart."""
    cell = slides_cell(tmp_path, f"controller_action:={ACTION}")
    controller = Controller(cell.graph.node)
    stand_apart(cell)
    yield cell, controller, Planner(cell)
    _, output = cell.graph.stop(cell.process)
    cell.close()
    assert "Traceback" not in output, output


def way(*gaps):
    return [apart(gap) for gap in gaps]


def test_a_goal_goes_through_and_its_result_comes_back(parts):
    cell, controller, planner = parts
    planner.send(way(0.5, 0.3), [0.0, 2.0])
    cell.until(lambda: controller.goals)
    (handle,) = controller.goals
    trajectory = handle.request.trajectory
    assert list(trajectory.joint_names) == list(JOINTS)
    assert np.allclose(trajectory.points[-1].positions, apart(0.3))
    assert handle.request.goal_time_tolerance.sec == 7
    handle.publish_feedback(FollowJointTrajectory.Feedback(joint_names=["half way"]))
    cell.until(lambda: planner.feedback)
    assert list(planner.feedback[0].joint_names) == ["half way"]
    controller.end(handle, "succeed", "there")
    status, result = planner.result()
    assert (status, result.error_string) == (GoalStatus.STATUS_SUCCEEDED, "there")
    assert cell.sent == []  # the topic is for those who use the topic
    cell.until(lambda: cell.values["running"] == "false")


def test_cancelling_reaches_the_controller(parts):
    cell, controller, planner = parts
    planner.send(way(0.5, 0.3), [0.0, 30.0])
    cell.until(lambda: controller.goals)
    cell.until(planner.handle.cancel_goal_async().done)
    status, result = planner.result()
    assert (status, result.error_string) == (GoalStatus.STATUS_CANCELED, "stopped")
