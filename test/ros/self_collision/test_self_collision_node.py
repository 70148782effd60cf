# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node self_collision on a real ROS graph, in a process of its own."""

import importlib.util
import time

import numpy as np
import pytest
from support.paths import ROOT
from support.robots.two_slides import JOINTS, URDF, apart
from support.ros.ros_graph import ERROR, LATCHED, OK, STALE, WARN
from support.ros.self_collision_cell import (
    Cell,
    rows_of,
    set_parameters,
    slides_cell,
    stand_apart,
    times_of,
)

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion
from collision_monitor.self_collision.arms import find_chains
from collision_monitor.self_collision.hold_supervisor import pairs_between

from std_msgs.msg import String  # isort: skip
from visualization_msgs.msg import Marker, MarkerArray  # isort: skip


DUAL_ARM, SRDF = ROOT / "urdf/dual_arm.urdf", ROOT / "urdf/dual_arm.srdf"
MOTION = read_motion(ROOT / "config/dual_arm_motion.csv")
NAMES = MOTION.joint_names
SAFE = 0.1


@pytest.fixture(scope="module")
def arms():
    """The package's two arms: the model whose pairs are those between the arms."""
    model = CollisionModel.from_urdf(DUAL_ARM, srdf=SRDF)
    return model.twin(pairs_between(model, find_chains(model.robot, model.semantics)))


@pytest.fixture(scope="module")
def dual(arms):
    """A node for the package's robot, which stands at the beginning of its motion."""
    cell = Cell(
        DUAL_ARM, NAMES, f"robot_description_semantic:={SRDF}", "joint_state_timeout:=5.0",
        "zero_state_confirmation:=0.0",  # the robot is put at zeros from elsewhere
    )  # fmt: skip
    cell.stand(MOTION.positions[0])
    yield cell
    code, output = cell.graph.stop(cell.process)
    cell.close()
    assert code == 0 and "Traceback" not in output, output


@pytest.fixture
def robot(dual):
    """The same, at the beginning, whatever was asked of it before."""
    dual.stand(MOTION.positions[0])
    if dual.values["running"] == "true":  # nobody goes along what was sent
        assert dual.want([MOTION.positions[0]] * 2, [0.0, 0.1]) is not None
        dual.until(lambda: dual.values["running"] == "false")
    return dual


@pytest.fixture
def slides(tmp_path):
    """A robot of four slides that stands with its balls half a metre apart."""
    cells = []

    def make(*parameters, gap=0.5):
        cells.append(slides_cell(tmp_path, *parameters))
        stand_apart(cells[-1], gap)
        return cells[-1]

    yield make
    for cell in cells:
        output = cell.graph.stop_all()
        cell.close()
        assert all("Traceback" not in text for _, text in output), output


# -- trajectories ------------------------------------------------------------------------


def test_a_colliding_trajectory_comes_out_adjusted(robot, arms):
    assert arms.min_distances(MOTION.positions).min() < 0.0
    message = robot.want(MOTION.positions, MOTION.times)
    assert robot.graph.state.level == OK, robot.message
    assert tuple(message.joint_names) == NAMES
    rows, times = rows_of(message), times_of(message)
    assert np.all(np.diff(times) > 0.0) and times[0] == 0.0
    fine = np.array([
        a + s * (b - a)
        for a, b in zip(rows[:-1], rows[1:], strict=True) for s in np.linspace(0.0, 1.0, 20)
    ])  # fmt: skip
    assert arms.min_distances(fine).min() >= SAFE - 1e-9
    assert np.allclose(rows[0], MOTION.positions[0], atol=1e-9)
    assert np.allclose(rows[-1], MOTION.positions[-1], atol=1e-9)
    assert all(not point.velocities and not point.accelerations for point in message.points)
    values = robot.values
    assert values["changed"] == "true" and float(values["largest_change"]) > 0.01
    assert float(values["certified_clearance"]) >= SAFE - 1e-9
    assert float(values["distance_before"]) < 0.0 < float(values["distance"])
    assert values["method"] == "robust" and float(values["adjusting_seconds"]) > 0.0
    assert values["largest_change_joint"] in NAMES


def test_an_impossible_trajectory_does_not_come_out_and_the_reason_does(robot, arms):
    goal = 51  # the arms are through each other here
    assert arms.distance(MOTION.positions[goal - 1]).distance < 0.0
    assert robot.want(MOTION.positions[:goal], MOTION.times[:goal], seconds=60.0) is None
    assert robot.graph.state.level == ERROR
    assert robot.message.startswith("refused: ")
    values = robot.values
    sides = {name.split("_")[0] for name in (values["link_a"], values["link_b"])}
    assert sides == {"right", "left"}
    assert float(values["distance"]) < SAFE
    assert 40 <= int(values["waypoint"]) <= goal


def test_a_trajectory_that_keeps_apart_comes_out_as_it_was(robot):
    message = robot.want(MOTION.positions[:20], MOTION.times[:20])
    assert robot.values["changed"] == "false" and robot.graph.state.level == OK
    times, rows = times_of(message), rows_of(message)
    assert set(MOTION.times[:20]) <= set(times.round(6)) and times[-1] == 19.0
    assert np.allclose(rows, [MOTION.at(t) for t in times], atol=1e-9)


@pytest.fixture
def many(robot):
    """Ten thousand points of the colliding motion."""
    # Whoever sends so many, and hears so many, is slow to send joint states.
    assert set_parameters(robot, joint_state_timeout=10.0).successful
    times = np.linspace(0.0, 62.0, 10_000)
    yield np.array([MOTION.at(t) for t in times]), times
    assert set_parameters(robot, joint_state_timeout=5.0).successful


def test_the_guard_goes_on_while_ten_thousand_points_are_adjusted(robot, arms, many):
    assert arms.distance(MOTION.positions[45]).distance < 0.05
    message, sent = robot.trajectory(*many), len(robot.sent)
    robot.spin(0.1)
    robot.wanted.publish(message)
    robot.until(lambda: robot.values["event"] == "adjusting")
    robot.q = MOTION.positions[45].tolist()
    robot.until(lambda: robot.values["event"] in ("near", "hold"), 10.0)
    assert robot.graph.state.level == ERROR
    robot.spin(1.0)
    assert len(robot.sent) == sent + (robot.values["event"] == "hold")
    assert robot.want(*many, seconds=60.0) is None  # it does not start here


def test_the_newest_of_many_comes_out(robot):
    goals = (20, 18, 16, 14, 12, 10)
    sent = len(robot.sent)
    for goal in goals:
        robot.wanted.publish(robot.trajectory(MOTION.positions[:goal], MOTION.times[:goal]))
    robot.until(
        lambda: len(robot.sent) > sent
        and np.allclose(rows_of(robot.sent[-1])[-1], MOTION.positions[goals[-1] - 1])
    )
    robot.spin(0.5)
    assert np.allclose(rows_of(robot.sent[-1])[-1], MOTION.positions[goals[-1] - 1])
    assert robot.values["event"] == "forwarded"


def test_the_state_is_latched_and_beats(robot):
    robot.graph.listen("late", type(robot.graph.state), LATCHED, "/self_collision/state")
    robot.until(lambda: robot.graph.heard["late"])
    before, began = len(robot.graph.heard["state"]), time.monotonic()
    robot.until(lambda: len(robot.graph.heard["state"]) >= before + 20, 3.0)
    assert time.monotonic() - began > 1.3


# -- markers -----------------------------------------------------------------------------


def test_paths_and_field_are_shown_and_replaced_by_those_of_the_next_adjustment(robot):
    robot.graph.listen("markers", MarkerArray, 10)
    robot.want(MOTION.positions, MOTION.times)
    shown = robot.graph.heard["markers"]

    def arrows():
        return [m for m in shown[-1].markers if m.ns == "field"]

    robot.until(lambda: shown and arrows())
    first, *markers = shown[-1].markers
    assert first.action == Marker.DELETEALL
    ids = [(m.ns, m.id) for m in markers]
    assert len(set(ids)) == len(ids)
    assert {("before", 0), ("before", 1), ("after", 0), ("after", 1)} <= set(ids)
    assert {("zone", 0), ("zone", 1), ("index", 0)} <= set(ids)
    assert {m.header.frame_id for m in markers} == {"base_link"}
    seen = len(shown)
    robot.want(MOTION.positions[:10], MOTION.times[:10])
    robot.until(lambda: len(shown) > seen and not arrows())


# -- the guard ---------------------------------------------------------------------------


def way(*gaps):
    return [apart(gap) for gap in gaps]


def test_arms_that_come_too_near_are_held_once_and_go_on_without_a_restart(slides):
    cell = slides()
    assert cell.want(way(0.5, 0.3), [0.0, 60.0], names=JOINTS) is not None
    sent = len(cell.sent)
    cell.q = [*apart(0.04), 0.0]
    cell.until(lambda: cell.values["event"] == "hold")
    cell.spin(0.5)
    assert len(cell.sent) == sent + 1
    hold = cell.sent[-1]
    assert tuple(hold.joint_names) == JOINTS
    assert np.allclose(rows_of(hold), [apart(0.04)])
    assert cell.graph.state.level == ERROR
    assert {cell.values["link_a"], cell.values["link_b"]} == {"r_ball", "l_ball"}
    assert float(cell.values["distance"]) == pytest.approx(0.04, abs=1e-4)
    assert cell.want(way(0.04, 0.01), [0.0, 1.0], names=JOINTS) is None
    message = cell.want(way(0.04, 0.5), [0.0, 5.0], names=JOINTS)
    assert message is not None, cell.message
    assert "only motions that separate them are accepted" in cell.message
    gaps = [1.0 + l_x - r_x - 0.2 for r_x, _, l_x, _ in rows_of(message)]
    assert min(gaps) >= 0.038 and gaps[-1] == pytest.approx(0.5)
    sent = len(cell.sent)
    for gap in (0.041, 0.045, 0.06, 0.2, 0.5):
        cell.stand([*apart(gap), 0.0])
    cell.until(lambda: cell.graph.state.level != ERROR)
    assert len(cell.sent) == sent
    assert cell.want(way(0.5, 0.4), [0.0, 1.0], names=JOINTS) is not None
    assert cell.graph.state.level == OK


def test_arms_that_something_else_brings_together_are_reported_and_held_when_wished(slides):
    cell = slides()
    cell.q = [*apart(0.02), 0.0]
    cell.until(lambda: cell.graph.state.level == ERROR)
    cell.spin(0.3)
    assert cell.values["event"] == "near" and cell.sent == []
    cell.stand([*apart(0.5), 0.0])
    cell.until(lambda: cell.graph.state.level == OK)
    set_parameters(cell, guard="always")
    cell.q = [*apart(0.02), 0.0]
    cell.until(lambda: len(cell.sent) == 1)
    assert np.allclose(rows_of(cell.sent[0]), [apart(0.02)])


def test_joint_states_that_stop_during_execution_are_reported(slides):
    cell = slides()
    cell.want(way(0.5, 0.3), [0.0, 60.0], names=JOINTS)
    cell.q = None
    cell.graph.until_level(STALE)
    assert "distances are unknown" in cell.message


# -- streaming ---------------------------------------------------------------------------


def stream(cell, gaps, ahead=0.1, period=0.05):
    """Send one point after the other, to a robot that follows; what came out, as gaps."""
    sent = len(cell.sent)
    for gap in gaps:
        if cell.sent[sent:]:
            cell.q[:4] = rows_of(cell.sent[-1])[-1].tolist()
        cell.points.publish(
            cell.trajectory([apart(gap)], [ahead], names=JOINTS, stamp=1e-9)
        )
        cell.spin(period)
    cell.until(lambda: len(cell.sent) >= sent + len(gaps))
    rows = [rows_of(message)[-1] for message in cell.sent[sent:]]
    return [1.0 + l_x - r_x - 0.2 for r_x, _, l_x, _ in rows]


def test_points_that_lead_together_are_stopped_at_the_safe_distance(slides):
    cell = slides(gap=0.2)
    stream(cell, [0.2])  # what streams is made at the first point, which takes a moment
    gaps = np.linspace(0.2, -0.1, 31)
    got = stream(cell, gaps)
    assert len(got) == 31
    assert min(got) >= SAFE - 1e-6
    assert got[:5] == pytest.approx(gaps[:5], abs=1e-6)
    assert cell.graph.state.level == WARN and "adjusted" in cell.message
    assert cell.values["event"] == "streaming" and int(cell.values["stream_adjusted"]) >= 15
    assert int(cell.values["stream_points"]) >= 30  # the first is a stream of its own
    assert {cell.values["link_a"], cell.values["link_b"]} == {"r_ball", "l_ball"}


def test_points_that_cannot_be_followed_are_refused(slides):
    cell = slides()
    two = cell.trajectory([apart(0.5)] * 2, [0.1, 0.2], names=JOINTS)
    far = cell.trajectory([apart(0.5)], [9.0], names=JOINTS)
    old = cell.trajectory([apart(0.5)], [0.1], names=JOINTS, stamp=-9.0)
    one_arm = cell.trajectory([apart(0.5)[:2]], [0.1], names=JOINTS[:2])
    for point, says in (
        (two, "has 2 points"), (far, "9 s ahead"), (old, "too old"), (one_arm, "moves both arms"),
    ):  # fmt: skip
        cell.points.publish(point)
        cell.until(lambda says=says: says in cell.message)
        assert cell.graph.state.level == ERROR
    assert cell.sent == []


# -- robot and parameters ----------------------------------------------------------------


def test_parameters_take_effect_and_contradictions_are_refused(robot):
    result = set_parameters(robot, safe_distance=10.0, danger_distance=10.0)
    assert not result.successful and "nothing can be monitored" in result.reason
    robot.until(lambda: robot.values["danger_distance"] == "0.05")
    assert set_parameters(robot, start_tolerance=0.5).successful
    try:
        start = MOTION.positions[0] + 0.3
        assert robot.want([start, start], [0.0, 1.0]) is not None
    finally:
        assert set_parameters(robot, start_tolerance=0.01).successful
    assert robot.want([start, start], [0.0, 1.0]) is None


def test_what_is_wrong_at_the_start_is_said_and_ends_it():
    cell = Cell(DUAL_ARM, NAMES, f"robot_description_semantic:={SRDF}", "arms:=[one, two]")
    try:
        output, _ = cell.process.communicate(timeout=60)
        assert cell.process.returncode == 1, output
        assert "one" in output and "Traceback" not in output
    finally:
        cell.close()


def test_the_robot_comes_out_of_its_topic_and_a_bad_one_is_no_end(slides):
    cell = Cell("''", (*JOINTS, "mast_joint"))
    try:
        cell.until(lambda: "waiting for a robot description" in cell.message, 60.0)
        cell.q = [*apart(0.5), 0.0]
        assert cell.want(way(0.5, 0.4), [0.0, 1.0], names=JOINTS) is None
        assert "no robot is loaded" in cell.message
        publisher = cell.graph.node.create_publisher(String, "/robot_description", LATCHED)
        publisher.publish(String(data="<robot"))
        cell.until(lambda: "robot_description cannot be used" in cell.message)
        assert cell.graph.state.level == ERROR
        publisher.publish(String(data=URDF.replace("r_", "right_").replace("l_", "left_")))
        cell.names = [n.replace("r_", "right_").replace("l_", "left_") for n in cell.names]
        cell.until(lambda: cell.values.get("event") == "ready", 60.0)
    finally:
        cell.close()


def test_what_is_missing_is_said(slides):
    cell = slides()
    assert "missing" not in cell.values and cell.values["method"] == "robust"
    assert cell.graph.state.level == OK and cell.message == "ready for a trajectory"
    _, output = cell.graph.stop(cell.process)
    assert "not installed" not in output.replace("control_msgs is not installed", "")
    missing = importlib.util.find_spec("control_msgs") is None
    said = "control_msgs is not installed" if missing else "controller_action is empty"
    assert said in output


def test_limits_are_kept_from_rest_to_rest_or_it_is_said(slides):
    cell = slides()
    assert set_parameters(cell, acceleration_limit=1.0, jerk_limit=5.0).successful
    message = cell.want([apart(0.3)], [0.0], names=JOINTS)
    speeds = np.diff(rows_of(message), axis=0) / np.diff(times_of(message))[:, None]
    assert np.abs(speeds[[0, -1]]).max() < 0.01 < np.abs(speeds).max()
    assert cell.graph.state.level == OK and cell.values["moving_ends"] == ""
    cell.want(way(0.5, 0.3), [0.0, 0.5], names=JOINTS)
    assert cell.graph.state.level == WARN and "starts at speed" in cell.message
    assert "r_x starts: 0.2/s, acceleration limit" in cell.values["moving_ends"]


def test_a_node_that_is_adjusting_ends_at_once(slides):
    cell = slides()
    times = np.linspace(0.0, 50.0, 5000)
    cell.wanted.publish(cell.trajectory([apart(0.5 - t / 200) for t in times], times, names=JOINTS))
    cell.spin(0.2)
    began = time.monotonic()
    code, output = cell.graph.stop(cell.process)
    assert code == 0, output
    assert time.monotonic() - began < 10.0
    cell.graph.until(lambda: cell.graph.values.get("event") == "ended")
    assert cell.graph.state.level == STALE
