# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node self_collision on a real ROS graph, in a process of its own."""

import importlib.util
import time

import numpy as np
import pytest
from support.paths import ROOT
from support.robots.dual_arm_cases import between_arms
from support.robots.two_slides import JOINTS, apart
from support.ros.ros_graph import ERROR, OK, STALE, WARN
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

from rclpy.qos import qos_profile_sensor_data  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip
from visualization_msgs.msg import Marker, MarkerArray  # isort: skip


DUAL_ARM, SRDF = ROOT / "urdf/dual_arm.urdf", ROOT / "urdf/dual_arm.srdf"
MOTION = read_motion(ROOT / "config/dual_arm_motion.csv")
NAMES = MOTION.joint_names
SAFE = 0.1


@pytest.fixture(scope="module")
def arms():
    """The package's two arms: the model whose pairs are those between the arms."""
    model = CollisionModel.from_urdf(DUAL_ARM, srdf=SRDF)
    return between_arms(model, find_chains(model.robot, model.semantics))


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


@pytest.fixture(scope="module")
def sliding(tmp_path_factory):
    """A node for the robot of four slides."""
    cell = slides_cell(tmp_path_factory.mktemp("slides"))
    stand_apart(cell)
    yield cell
    code, output = cell.graph.stop(cell.process)
    cell.close()
    assert code == 0 and "Traceback" not in output, output


@pytest.fixture
def slides(sliding):
    """The same; its balls stand half a metre apart, and nothing is under way."""
    stand_apart(sliding)
    end = time.monotonic() + 20.0
    while sliding.want(way(0.5, 0.5), [0.0, 0.1], names=JOINTS) is None:
        assert time.monotonic() < end  # a jump counts as two publishers for 2 s
    sliding.until(lambda: sliding.values["running"] == "false" and sliding.graph.state.level == OK)
    return sliding


# -- trajectories ------------------------------------------------------------------------


def test_a_colliding_trajectory_comes_out_adjusted_and_is_shown_until_the_next(robot, arms):
    robot.graph.listen("markers", MarkerArray, 10)
    shown = robot.graph.heard["markers"]
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


# -- the guard ---------------------------------------------------------------------------


def way(*gaps):
    return [apart(gap) for gap in gaps]


def test_a_planner_whose_trajectories_do_not_arrive_is_named(sliding):
    node = sliding.graph.node
    planner = node.create_publisher(
        JointTrajectory, "/self_collision/desired_trajectory", qos_profile_sensor_data
    )
    named = "publishers are not received: /listener on /self_collision/desired_trajectory (quality"
    try:
        # STALE for a moment if this test was too busy to send joint states.
        sliding.until(lambda: named in sliding.message and sliding.graph.state.level == WARN)
    finally:
        node.destroy_publisher(planner)
    sliding.until(lambda: sliding.graph.state.level == OK)


def test_arms_that_something_else_brings_together_are_reported_and_held_when_wished(sliding):
    """Before anything was sent: what was is held."""
    cell = sliding
    stand_apart(cell)
    cell.q = [*apart(0.02), 0.0]
    cell.until(lambda: cell.graph.state.level == ERROR)
    cell.spin(0.3)
    assert cell.values["event"] == "near" and cell.sent == []
    cell.stand([*apart(0.5), 0.0])
    cell.until(lambda: cell.graph.state.level == OK)
    assert set_parameters(cell, guard="always").successful
    cell.q = [*apart(0.02), 0.0]
    cell.until(lambda: len(cell.sent) == 1)
    assert np.allclose(rows_of(cell.sent[-1]), [apart(0.02)])
    assert set_parameters(cell, guard="running").successful


def test_arms_that_come_too_near_are_held_once_and_go_on_without_a_restart(slides):
    cell = slides
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


def test_joint_states_that_stop_during_execution_are_reported(slides):
    slides.want(way(0.5, 0.3), [0.0, 60.0], names=JOINTS)
    slides.q = None
    slides.graph.until_level(STALE)
    assert "distances are unknown" in slides.message


# -- streaming ---------------------------------------------------------------------------


def stream(cell, gaps, ahead=0.1, period=0.05):
    """Send one point after the other, to a robot that follows; what came out, as gaps."""
    sent = len(cell.sent)
    for gap in gaps:
        if cell.sent[sent:]:
            cell.q[:4] = rows_of(cell.sent[-1])[-1].tolist()
        cell.points.publish(cell.trajectory([apart(gap)], [ahead], names=JOINTS, stamp=1e-9))
        cell.spin(period)
    cell.until(lambda: len(cell.sent) >= sent + len(gaps))
    rows = [rows_of(message)[-1] for message in cell.sent[sent:]]
    return [1.0 + l_x - r_x - 0.2 for r_x, _, l_x, _ in rows]


def begin_stream(cell, gap):
    """Send points until one is followed: on a busy machine the first may come after it is due."""
    sent = len(cell.sent)
    for _ in range(20):
        cell.points.publish(cell.trajectory([apart(gap)], [0.1], names=JOINTS, stamp=1e-9))
        cell.spin(0.5)
        if cell.sent[sent:]:
            return
    pytest.fail(f"no point was followed: {cell.message}")


def test_points_that_lead_together_are_stopped_at_the_safe_distance(slides):
    cell = slides
    stand_apart(cell, 0.2)
    begin_stream(cell, 0.2)
    gaps = np.linspace(0.2, -0.1, 31)
    got = stream(cell, gaps)
    assert len(got) == 31
    assert min(got) >= SAFE - 1e-6
    assert got[:5] == pytest.approx(gaps[:5], abs=1e-6)
    assert cell.graph.state.level == WARN and "adjusted" in cell.message
    assert cell.values["event"] == "streaming" and int(cell.values["stream_adjusted"]) >= 15
    assert int(cell.values["stream_points"]) >= 30  # the first is a stream of its own
    assert {cell.values["link_a"], cell.values["link_b"]} == {"r_ball", "l_ball"}


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


def test_nothing_is_missing_and_a_node_that_is_adjusting_ends_at_once(tmp_path):
    cell = slides_cell(tmp_path)
    try:
        stand_apart(cell)
        assert "missing" not in cell.values and cell.values["method"] == "robust"
        assert cell.graph.state.level == OK and cell.message == "ready for a trajectory"
        times = np.linspace(0.0, 50.0, 5000)
        rows = [apart(0.5 - t / 200) for t in times]
        cell.wanted.publish(cell.trajectory(rows, times, names=JOINTS))
        cell.spin(0.2)
        began = time.monotonic()
        code, output = cell.graph.stop(cell.process)
        assert code == 0 and "Traceback" not in output, output
        assert time.monotonic() - began < 10.0
        assert "not installed" not in output.replace("control_msgs is not installed", "")
        missing = importlib.util.find_spec("control_msgs") is None
        said = "control_msgs is not installed" if missing else "controller_action is empty"
        assert said in output
        assert "waiting for a robot description" not in output  # it was given, and is loaded
        (line,) = [line for line in output.splitlines() if "STALE: loading the robot" in line]
        assert "ERROR" not in line
        cell.graph.until(lambda: cell.graph.values.get("event") == "ended")
        assert cell.graph.state.level == STALE
    finally:
        cell.close()


def test_trajectories_faster_than_they_are_adjusted_fill_no_log_and_the_last_is_forwarded(tmp_path):
    # 2,000 points take long to send and to read; joint states wait meanwhile
    cell = slides_cell(tmp_path, "joint_state_timeout:=5.0")
    try:
        stand_apart(cell)
        times = np.linspace(0.0, 20.0, 2000)
        rows = [apart(0.5 - t / 100) for t in times]
        message = cell.trajectory(rows, times, names=JOINTS)
        for _ in range(50):
            cell.wanted.publish(message)
            cell.spin(0.02)
        assert "is not forwarded: replaced by a newer trajectory" in cell.message
        assert cell.want([apart(0.5)], [1.0], names=JOINTS) is not None
        code, output = cell.graph.stop(cell.process)
        assert code == 0 and len(output.splitlines()) < 20, output
    finally:
        cell.close()
