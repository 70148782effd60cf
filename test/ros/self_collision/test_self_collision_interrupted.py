# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node self_collision while a trajectory is adjusted: the table of docs/adjust.md.

What is adjusted is checked by coal at 2,000 instants. The action is in
test_self_collision_interrupted_action.py.
"""

import time

import numpy as np
import pytest
from support.paths import ROOT
from support.ros.forwarded_motions import CoalCheck
from support.ros.ros_graph import ERROR, LATCHED, OK
from support.ros.self_collision_cell import Cell, rows_of, serialized, set_parameters

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion

from rclpy.serialization import deserialize_message  # isort: skip
from std_msgs.msg import String  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip

SRDF = ROOT / "urdf/dual_arm.srdf"
URDF = (ROOT / "urdf/dual_arm.urdf").read_text().replace("package://collision_monitor", str(ROOT))
# The same joints, and a ball in the right hand.
WITH_BALL = URDF.replace(
    '<link name="right_tool"/>',
    '<link name="right_tool"><collision><origin xyz="0 0 0.06"/><geometry><sphere radius="0.05"/>'
    "</geometry></collision></link>",
)
BROKEN = URDF.replace("</robot>", "")
MOTION = read_motion(ROOT / "config/dual_arm_motion.csv")
NAMES, START = MOTION.joint_names, MOTION.positions[0]
LONG = np.linspace(0.0, 62.0, 1500)  # s; adjusting takes longer than 0.5 s
LONG_ROWS = np.array([MOTION.at(t) for t in LONG])
SHORT = MOTION.positions[:10], MOTION.times[:10]
TIMEOUT = 30.0  # s; much longer than a test


class Robot(Cell):
    """The package's robot out of the topic, and coal's view of it."""

    def __init__(self, folder):
        self.checks = {}
        for name, text in (("plain", URDF), ("ball", WITH_BALL)):
            file = folder / f"{name}.urdf"
            file.write_text(text)
            model = CollisionModel.from_urdf(file, srdf=SRDF)
            self.checks[text] = CoalCheck(file, model)
        super().__init__(
            "''", NAMES, f"robot_description_semantic:={SRDF}", f"package_dirs:=[{ROOT}]",
            f"joint_state_timeout:={TIMEOUT}",
        )  # fmt: skip
        self.descriptions = self.graph.node.create_publisher(String, "/robot_description", LATCHED)

    def describe(self, text):
        self.description = text
        self.descriptions.publish(String(data=text))

    @property
    def other(self):
        """The description that it does not have."""
        return WITH_BALL if self.description == URDF else URDF

    def begin(self):
        """Send the long trajectory; its number, once it is being adjusted."""
        message = self.trajectory(LONG_ROWS, LONG)
        self.until_fresh()
        self.wanted.publish(message)
        self.until(lambda: self.values["event"] == "adjusting")
        return int(self.values["request"])

    def until_event(self, event, request, seconds=60.0):
        """Wait for a state with this event, new or just received; its message."""

        def messages():
            recent = max(len(self.graph.heard["state"]) - 200, 0)
            return [said for *key, said in self.states(recent) if key == [event, request]]

        self.until(messages, seconds)
        return messages()[-1]

    def states(self, since):
        """(event, request, message) of all states after so many, without repetitions."""
        found = []
        for state in self.graph.heard["state"][since:]:
            values = {item.key: item.value for item in state.values}
            if "request" not in values:  # a blocked node: its state is published for it
                continue
            key = values["event"], int(values["request"]), state.message
            if not found or found[-1] != key:
                found.append(key)
        return found

    def check(self, message):
        """No two checked links of the robot touch, from where it stands."""
        present = dict(zip(self.names, self.q, strict=True))
        assert self.checks[self.description].least(message, present) > 0.0

    def check_next(self, sent, request):
        """Check what is forwarded for a request, after so many earlier trajectories.

        State and trajectory come on two topics, in any order.
        """
        self.until_event("forwarded", request)
        self.until(lambda: len(self.sent) > sent)
        self.check(self.sent[-1])

    def until_too_near(self):
        """The event: arms that were sent something in an earlier test are held."""
        self.until(lambda: self.values["event"] in ("near", "hold"))
        return self.values["event"]

    def nothing_more(self, sent, seconds=1.0):
        self.spin(seconds)
        assert len(self.sent) == sent


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    robot = Robot(tmp_path_factory.mktemp("robots"))
    robot.until(lambda: "waiting for a robot description" in robot.message, 60.0)
    robot.describe(URDF)
    robot.until(lambda: robot.message.startswith("loading the robot"))
    robot.stand(START)
    yield robot
    code, output = robot.graph.stop(robot.process)
    robot.close()
    assert code == 0 and "Traceback" not in output, output


@pytest.fixture
def robot(node):
    """At the beginning, nothing under way and nothing adjusted; either description.

    Joint states of this process, which sends and hears much, may come late.
    """
    node.stand(START)
    if node.values["running"] == "true" or node.values["event"] == "adjusting":
        assert node.want([START] * 2, [0.0, 0.1]) is not None, node.message
        node.until(lambda: node.values["running"] == "false")
    return node


@pytest.fixture
def impatient(robot):
    """The same; joint states that are late are lost."""
    assert set_parameters(robot, joint_state_timeout=0.5).successful
    yield robot
    assert set_parameters(robot, joint_state_timeout=TIMEOUT).successful


# -- preemption ----------------------------------------------------------------------------


def test_a_newer_trajectory_such_as_one_that_stays_replaces_the_one_that_is_adjusted(robot):
    present = dict(zip(NAMES, START, strict=True))
    # Several seconds in contact: a few instants find it.
    assert robot.checks[URDF].least(robot.trajectory(LONG_ROWS, LONG), present, 30) <= 0.0
    sent, since = len(robot.sent), len(robot.graph.heard["state"])
    first = robot.begin()
    began = time.monotonic()
    message = robot.want([START] * 2, [0.0, 0.1])
    assert time.monotonic() - began < 5.0
    assert np.allclose(rows_of(message), START)
    robot.nothing_more(sent + 1)
    text = f"; request {first} is not forwarded: replaced by a newer trajectory"
    assert any(
        event == "adjusting" and request == first + 1 and text in said
        for event, request, said in robot.states(since)
    )
    assert robot.values["event"] == "forwarded" and robot.values["request"] == str(first + 1)


def test_a_newer_trajectory_that_is_refused_leaves_the_earlier_one_and_its_request_number(robot):
    sent, since = len(robot.sent), len(robot.graph.heard["state"])
    first = robot.begin()
    robot.wanted.publish(robot.trajectory([], []))  # an empty trajectory cancels nothing
    assert "has no points" in robot.until_event("refused", first + 1)
    assert len(robot.sent) == sent
    robot.check_next(sent, first)
    assert ("forwarded", first + 1) not in [key[:2] for key in robot.states(since)]
    robot.nothing_more(sent + 1, 0.3)


# -- joint states that stop -----------------------------------------------------------------


def test_joint_states_that_stop_refuse_what_is_adjusted(impatient):
    robot = impatient
    sent, request = len(robot.sent), robot.begin()
    robot.q = None
    message = robot.until_event("refused", request)
    assert "during adjustment the joint state was lost: joint states are" in message
    assert robot.graph.state.level == ERROR and robot.values["joint_states"] != "fresh"
    robot.q = START.tolist()
    robot.nothing_more(sent)
    robot.stand(START)
    assert robot.want(*SHORT) is not None  # the next one needs no restart
    assert robot.graph.state.level == OK


# -- a new description ------------------------------------------------------------------------


def test_a_new_description_refuses_what_is_adjusted_and_counts_for_the_next(robot):
    sent, request = len(robot.sent), robot.begin()
    robot.describe(robot.other)
    message = robot.until_event("refused", request)
    assert "a new robot description was received during adjustment" in message
    robot.stand(START)
    robot.nothing_more(sent, 3.0)
    message = robot.want(LONG_ROWS[::40], LONG[::40])
    assert message is not None, robot.message
    robot.check(message)


def test_a_description_that_cannot_be_used_ends_forwarding_until_one_can(robot):
    sent, request, earlier = len(robot.sent), robot.begin(), robot.description
    robot.describe(BROKEN)
    robot.until(lambda: robot.values["event"] == "no robot")
    assert robot.graph.state.level == ERROR
    assert "robot_description cannot be used" in robot.message
    assert f"request {request} is not forwarded" in robot.message
    for _ in range(2):
        assert robot.want(*SHORT) is None
        assert robot.message.startswith("refused: no robot is loaded: robot_description cannot be")
    robot.points.publish(robot.trajectory([START], [0.1]))
    robot.until(lambda: robot.values["event"] == "point refused")
    assert "while no robot is loaded" in robot.message
    robot.nothing_more(sent)
    robot.stand(MOTION.positions[45])
    robot.until_too_near()
    robot.stand(START)
    robot.until(lambda: robot.values["event"] == "no robot")
    assert robot.graph.state.level == ERROR
    since = len(robot.graph.heard["state"])
    robot.describe(earlier)
    robot.until(lambda: robot.values["event"] == "ready")
    said = {message for event, _, message in robot.states(since) if event == "loading"}
    assert said and all(message.startswith("loading a new robot") for message in said)
    assert robot.want(*SHORT) is not None


def test_motions_forwarded_before_a_new_description_are_still_held(robot):
    # Slow: it is still under way when a busy machine has loaded the description.
    assert robot.want(SHORT[0], 10.0 * SHORT[1]) is not None
    robot.describe(robot.other)
    robot.until(lambda: robot.values["event"] == "ready")
    robot.stand(START)
    assert robot.values["running"] == "true"
    assert robot.want(SHORT[0][:, :7], SHORT[1], names=NAMES[:7]) is None
    assert "which an earlier trajectory still moves" in robot.message
    sent = len(robot.sent)
    robot.q = MOTION.positions[45].tolist()
    robot.until(lambda: robot.values["event"] == "hold" and len(robot.sent) > sent)
    assert len(robot.sent) == sent + 1
    assert np.allclose(rows_of(robot.sent[-1]), MOTION.positions[45])


# -- parameters -----------------------------------------------------------------------------


def test_distances_that_are_changed_refuse_what_is_adjusted(robot):
    sent, request = len(robot.sent), robot.begin()
    assert set_parameters(robot, safe_distance=0.2).successful
    try:
        message = robot.until_event("refused", request)
        assert "during adjustment safe_distance was changed from 0.1 to 0.2" in message
        robot.nothing_more(sent)
    finally:
        assert set_parameters(robot, safe_distance=0.1).successful


# -- a start in the future ---------------------------------------------------------------------


def begin_ahead(robot, seconds):
    """Send a short trajectory with a stamp in the future; its number, and its start."""
    robot.until_fresh()
    message = robot.trajectory(*SHORT, stamp=seconds)
    robot.wanted.publish(message)
    robot.until(lambda: robot.values["event"] == "adjusting")
    stamp = message.header.stamp
    return int(robot.values["request"]), stamp.sec + 1e-9 * stamp.nanosec


def test_a_trajectory_is_forwarded_at_its_start_in_the_future_unless_a_newer_one_comes(robot):
    sent = len(robot.sent)
    request, start = begin_ahead(robot, 2.0)
    assert "to be forwarded at its start in" in robot.message
    robot.until(lambda: len(robot.sent) > sent)
    assert 1e-9 * robot.graph.node.get_clock().now().nanoseconds >= start
    assert robot.sent[-1].header.stamp.sec == 0
    robot.check_next(sent, request)
    begin_ahead(robot, 2.0)
    assert robot.want(*SHORT) is not None
    robot.nothing_more(sent + 2, 2.0)


# -- a million points ---------------------------------------------------------------------------


def test_a_million_points_are_refused_unread_and_disturb_nothing(robot):
    data = serialized(robot.trajectory([START], [0.0]), 1_000_000, 0.001)
    part, began = serialized(robot.trajectory([START], [0.0]), 20_000, 0.001), time.monotonic()
    deserialize_message(part, JointTrajectory)
    reading = 50.0 * (time.monotonic() - began)  # of all points, on this machine
    sent, first = len(robot.sent), robot.begin()
    since, began = len(robot.graph.heard["state"]), time.monotonic()
    robot.wanted.publish(data)
    message = robot.until_event("refused", first + 1, 60.0)
    assert time.monotonic() - began < 0.5 * reading
    assert "has 1000000 points; max_points allows 20000" in message
    robot.until_event("forwarded", first)  # joint states were read all the time
    robot.until(lambda: len(robot.sent) > sent)
    assert len(robot.graph.heard["state"]) > since
    robot.nothing_more(sent + 1, 0.3)
    robot.points.publish(data)
    robot.until(lambda: robot.values["event"] == "point refused")
    assert "has 1000000 points" in robot.message


def test_as_many_points_as_allowed_can_be_replaced(robot):
    """As long as adjusting may take, the next trajectory does not wait for it."""
    sent = len(robot.sent)
    robot.wanted.publish(serialized(robot.trajectory([START], [0.0]), 20_000, 0.01))
    robot.until(lambda: robot.values["event"] == "adjusting")
    began = time.monotonic()
    assert robot.want(*SHORT) is not None
    assert time.monotonic() - began < 10.0
    robot.nothing_more(sent + 1, 0.5)


# -- a robot that moves -----------------------------------------------------------------------


def test_a_robot_that_moves_away_refuses_what_is_adjusted(robot):
    sent, request = len(robot.sent), robot.begin()
    robot.q = (START + 0.02).tolist()
    message = robot.until_event("refused", request)
    assert "during adjustment joint 'right_joint_1' moved" in message
    robot.nothing_more(sent)
