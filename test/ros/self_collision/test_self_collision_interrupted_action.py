# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The action of self_collision while a goal is adjusted or executed: docs/adjust.md.

control_msgs is not on PyPI. Planner and controller are stand-ins in the process of the node. What
the controller receives is what the topic receives: test_self_collision_interrupted.py.
"""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from support.robots.two_slides import JOINTS, URDF, apart
from support.ros.action_stand_in import TYPE, Planner, Result
from support.ros.ros_graph import LATCHED, rclpy

from action_msgs.msg import GoalStatus  # isort: skip
from diagnostic_msgs.msg import DiagnosticStatus  # isort: skip
from rclpy.executors import SingleThreadedExecutor  # isort: skip
from rclpy.parameter import Parameter  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import String  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.self_collision import SelfCollisionNode
from collision_monitor.nodes.trajectories import trajectory_requests
from collision_monitor.nodes.trajectories.trajectory_messages import motion_message
from collision_monitor.self_collision import trajectory_filter
from collision_monitor.self_collision.adjustment import adjust

NAMES = (*JOINTS, "mast_joint")
MAX_POINTS = 5000
TIMEOUT = 2.0  # seconds; adjusting in the same process may keep joint states waiting
ABORTED = ["aborted"], Result.INVALID_GOAL


def trajectory(*gaps, count=2, seconds=1.0):
    """Balls that are ``gaps`` apart, one after so many ``seconds`` each, in ``count`` points."""
    times = np.linspace(0.0, seconds * (len(gaps) - 1.0), count)
    at = np.interp(times, seconds * np.arange(len(gaps)), gaps)
    return motion_message(Motion(JOINTS, times, np.array([apart(gap) for gap in at])))


def slowly(*arguments, cancelled, **options):
    """`adjust`, which takes longer than joint_state_timeout on a fast machine too if it is long."""
    motion, end = arguments[1], time.monotonic() + 2.0 * TIMEOUT
    adjustment = adjust(*arguments, cancelled=cancelled, **options)
    while len(motion.times) >= MAX_POINTS and time.monotonic() < end and not cancelled():
        time.sleep(0.01)
    return adjustment


def long():
    """Too near in the middle."""
    return trajectory(0.5, 0.02, 0.5, count=MAX_POINTS)


def short():
    """Two points; still under way when a busy machine looks for it."""
    return trajectory(0.5, 0.4, seconds=10.0)


class Scene(Planner):
    """The node with the robot of four slides, executed here, and who hears its state."""

    def __init__(self, domain, folder, patch):
        super().__init__()
        (folder / "slides.urdf").write_text(URDF)
        patch.setattr(trajectory_requests, "follow_joint_trajectory_type", lambda: TYPE)
        patch.setattr(trajectory_requests, "FollowJointTrajectoryRelay", self.make_relay)
        patch.setattr(trajectory_filter, "adjust", slowly)
        self.context = rclpy.Context()
        self.context.init(domain_id=domain.number)
        values = {
            "right_base_link": "base", "right_tip_link": "r_ball",
            "left_base_link": "base", "left_tip_link": "l_ball",
            "controller_action": "/arms/follow", "max_points": MAX_POINTS,
            "joint_state_timeout": TIMEOUT,
        }  # fmt: skip
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = SelfCollisionNode(context=self.context, parameter_overrides=overrides)
        self.listener = rclpy.create_node("listener", context=self.context)
        self.state, self.sent = None, []
        self.listener.create_subscription(
            DiagnosticStatus, "/self_collision/state", self.keep, LATCHED
        )
        self.listener.create_subscription(
            JointTrajectory, "/self_collision/joint_trajectory", self.sent.append, 10
        )
        create = self.listener.create_publisher
        self.descriptions = create(String, "/robot_description", LATCHED)
        self.topic = create(JointTrajectory, "/self_collision/desired_trajectory", 10)
        self.driver = create(JointState, "/joint_states", 10)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.listener)
        self.gap, self.description = None, ""

    def keep(self, state):
        self.state = state

    @property
    def values(self):
        return {item.key: item.value for item in self.state.values}

    def spin(self, seconds=0.05):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.gap is not None:
                position = [*apart(self.gap), 0.0]
                self.driver.publish(JointState(name=NAMES, position=position))
            self.executor.spin_once(timeout_sec=0.01)
            self.run()
            time.sleep(0.004)  # leaves the processor to whoever adjusts

    def plan(self, **fields):
        self.spin()  # checks by coal kept joint states waiting
        return super().plan(**fields)

    def until(self, condition, seconds=120.0):
        end = time.monotonic() + seconds
        while self.state is None or not condition():
            assert time.monotonic() < end, self.state
            self.spin(0.02)

    def until_event(self, *events):
        self.until(lambda: self.values["event"] in events)

    def describe(self, text):
        self.description = text
        self.descriptions.publish(String(data=text))

    def begin(self):
        """A goal that is being adjusted."""
        goals = len(self.controller.goals)
        handle = self.plan(trajectory=long())
        self.until_event("adjusting")
        assert len(self.controller.goals) == goals
        return handle

    def execute(self, wanted=None):
        """A goal that the controller executes."""
        goals = len(self.controller.goals)
        handle = self.plan(trajectory=wanted or short())
        self.until(lambda: len(self.controller.goals) > goals)
        self.controller.accept()
        self.until(lambda: self.values["event"] == "forwarded" and self.values["running"] == "true")
        return handle

    def ended(self, handle):
        """(how, code, text), once the goal has ended."""
        self.until(lambda: handle.result is not None)
        return handle.ends, handle.result.error_code, handle.result.error_string

    def close(self):
        self.executor.shutdown()
        for node in (self.node, self.listener):
            node.destroy_node()
        self.context.shutdown()


@pytest.fixture(scope="module")
def scene(domain, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        scene = Scene(domain, tmp_path_factory.mktemp("robot"), patch)
        scene.until(scene.topic.get_subscription_count)
        yield scene
        scene.close()


@pytest.fixture
def stage(scene):
    """At rest, half a metre apart, with its own description."""
    scene.controller.ready, scene.gap = True, 0.5
    if scene.description != URDF:
        scene.describe(URDF)
        scene.until_event("ready", "waiting")
    scene.until(
        lambda: scene.values.get("joint_states") == "fresh"
        and scene.values["present_distance"] == "0.500000"
    )
    yield scene
    if scene.values["running"] == "true":
        scene.controller.end(GoalStatus.STATUS_SUCCEEDED)
    scene.until(lambda: scene.values["running"] == "false", 60.0)


# -- cancel --------------------------------------------------------------------------------


def test_a_cancelled_goal_is_never_sent_while_adjusted_and_passed_on_while_executed(stage):
    goals, handle = len(stage.controller.goals), stage.begin()
    stage.cancel(handle)
    assert stage.ended(handle) == (["canceled"], 0, "cancelled before it was sent")
    stage.until_event("cancelled")
    stage.spin(1.0)
    assert len(stage.controller.goals) == goals
    handle, before = stage.execute(), stage.controller.cancelled
    stage.cancel(handle)
    stage.spin(0.2)
    assert stage.controller.cancelled == before + 1
    assert handle.ends == [] and stage.values["running"] == "true"
    stage.controller.end(GoalStatus.STATUS_CANCELED, 0, "stopped")
    assert stage.ended(handle) == (["canceled"], 0, "stopped")
    stage.until(lambda: stage.values["running"] == "false")


# -- preemption ------------------------------------------------------------------------------


def test_a_newer_goal_replaces_the_one_that_is_adjusted_and_follows_one_that_is_executed(stage):
    goals, first = len(stage.controller.goals), stage.begin()
    second = stage.execute()
    of_second = stage.controller.result
    assert stage.ended(first) == (*ABORTED, "replaced by a newer trajectory")
    assert second.ends == [] and len(stage.controller.goals) == goals + 1
    third = stage.execute()
    of_second.finish(_answer(GoalStatus.STATUS_ABORTED, -1, "preempted"))  # by the controller
    assert stage.ended(second) == (["aborted"], -1, "preempted")
    stage.spin(0.2)
    assert third.ends == [] and stage.values["running"] == "true"


def test_a_newer_trajectory_of_the_topic_replaces_the_goal_that_is_adjusted(stage):
    goals, sent, first = len(stage.controller.goals), len(stage.sent), stage.begin()
    stage.topic.publish(trajectory(0.5, 0.5))
    stage.until(lambda: len(stage.sent) > sent)
    assert stage.ended(first) == (*ABORTED, "replaced by a newer trajectory")
    stage.spin(0.5)
    assert len(stage.controller.goals) == goals and len(stage.sent) == sent + 1
    stage.until(lambda: stage.values["running"] == "false")


def test_a_newer_goal_that_is_refused_leaves_the_earlier_one(stage):
    goals, first = len(stage.controller.goals), stage.begin()
    number = int(stage.values["request"])
    second = stage.plan(trajectory=trajectory(0.3, 0.5))
    how, code, text = stage.ended(second)
    assert (how, code) == ABORTED and "starts with joint" in text
    stage.until(lambda: len(stage.controller.goals) > goals)
    stage.controller.accept()
    stage.until_event("forwarded")
    assert first.ends == [] and int(stage.values["request"]) == number


def test_a_goal_is_executed_until_the_controller_ends_it_even_if_the_robot_pauses(stage):
    goal = stage.execute(trajectory(0.5, 0.4))  # in 1 s
    stage.spin(2.5)
    assert goal.ends == [] and stage.values["running"] == "true"
    one_arm = trajectory(0.5, 0.4)
    one_arm.joint_names = one_arm.joint_names[:2]
    for point in one_arm.points:
        point.positions = point.positions[:2]
    _, _, text = stage.ended(stage.plan(trajectory=one_arm))
    assert "which an earlier trajectory still moves" in text
    stage.controller.end(GoalStatus.STATUS_SUCCEEDED)
    stage.until(lambda: stage.values["running"] == "false")


def _answer(status, code, text):
    return type("Answer", (), {"status": status, "result": Result(code, text)})


# -- what else ends a goal that is being adjusted ----------------------------------------------


def move(stage):
    stage.gap = 0.45


def describe_nothing(stage):
    stage.describe("<robot")


def lose_the_controller(stage):
    stage.controller.ready = False


@pytest.mark.parametrize(
    ("happens", "says"),
    [
        (move, "during adjustment joint 'r_x' moved"),
        (describe_nothing, "a new robot description was received"),
        (lose_the_controller, "the controller's action '/arms/follow' is not available"),
    ],
)
def test_a_goal_that_can_no_longer_be_sent_is_aborted_with_the_reason(stage, happens, says):
    goals, handle = len(stage.controller.goals), stage.begin()
    happens(stage)
    how, code, text = stage.ended(handle)
    assert (how, code) == ABORTED and text.startswith(says)
    stage.until_event("refused", "no robot")
    assert stage.values["running"] == "false"
    if happens is describe_nothing:
        how, code, text = stage.ended(stage.plan(trajectory=short()))
        assert (how, code) == ABORTED and text.startswith("no robot is loaded: robot_description")
    stage.spin(0.5)
    assert len(stage.controller.goals) == goals


def test_a_goal_whose_controller_disappears_is_aborted_and_the_arms_stand_later(stage):
    handle = stage.execute()
    stage.controller.ready = False
    how, code, text = stage.ended(handle)
    assert (how, code) == ABORTED and "is not available any more" in text
    stage.until_event("refused")
    stage.until(lambda: stage.values["running"] == "false", 60.0)  # as joint states show


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (
            {"trajectory": trajectory(0.5, 0.4, count=MAX_POINTS + 1)},
            "has 5001 points; max_points allows 5000",
        ),
        (
            {"trajectory": short(), "multi_dof_trajectory": SimpleNamespace(points=[1])},
            "the desired trajectory has a multi_dof_trajectory, which cannot be adjusted",
        ),
        ({"trajectory": trajectory(0.5, 0.02)}, "'r_ball' and 'l_ball' are"),  # at the goal
    ],
)
def test_a_goal_that_is_refused_at_once_is_aborted_with_the_reason(stage, wanted, says):
    goals, number = len(stage.controller.goals), int(stage.values["request"])
    how, code, text = stage.ended(stage.plan(**wanted))
    assert (how, code) == ABORTED and says in text
    assert len(stage.controller.goals) == goals
    stage.until(lambda: int(stage.values["request"]) == number + 1)
    stage.until_event("refused")
    assert stage.state.message == f"refused: {text}"


@pytest.mark.parametrize("is_moving", [False, True])
def test_a_goal_that_the_controller_rejects_is_aborted_and_the_state_says_so(stage, is_moving):
    earlier = stage.execute() if is_moving else None
    of_earlier = stage.controller.result if is_moving else None
    goals, handle = len(stage.controller.goals), stage.plan(trajectory=short())
    stage.until(lambda: len(stage.controller.goals) > goals)
    stage.controller.answer.finish(type("Answer", (), {"accepted": False}))
    how, code, text = stage.ended(handle)
    assert (how, code) == ABORTED and "the controller rejected" in text
    stage.until_event("refused")
    assert "the controller rejected" in stage.state.message
    # The guard goes on with the earlier motion.
    assert stage.values["running"] == ("true" if is_moving else "false")
    if is_moving:
        assert earlier.ends == []
        of_earlier.finish(_answer(GoalStatus.STATUS_SUCCEEDED, 0, ""))
        assert stage.ended(earlier)[0] == ["succeeded"]
