# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node self_collision with one arm, with three arms, and without optional packages."""

import os

import numpy as np
import pytest
import trimesh
from std_msgs.msg import String
from support.paths import ROOT
from support.robots.dual_arm_cases import between_arms
from support.robots.toys import joint, link, robot
from support.robots.two_slides import JOINTS, URDF, apart
from support.ros.ros_graph import ERROR, LATCHED, OK, WARN, Graph
from support.ros.self_collision_cell import Cell, rows_of, serialized, trajectory
from trajectory_msgs.msg import JointTrajectory

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion
from collision_monitor.self_collision.arms import find_chains

# -- one arm among obstacles, and three arms -----------------------------------------------

RADIUS, SAFE, DANGER = 0.1, 0.1, 0.05


def slides_urdf(places):
    """URDF of balls, each on two slides in the plane, with a fixed ball at the origin."""
    parts = [link("base", ""), link("post", f'<sphere radius="{RADIUS}"/>')]
    parts.append(joint("post_joint", "base", "post", "fixed", "0 0 0"))
    for name, at in places.items():
        parts += [
            link(f"{name}_cart", ""),
            link(f"{name}_ball", f'<sphere radius="{RADIUS}"/>'),
            joint(f"{name}_x", "base", f"{name}_cart", "prismatic", at, "1 0 0"),
            joint(f"{name}_y", f"{name}_cart", f"{name}_ball", "prismatic", "0 0 0", "0 1 0"),
        ]
    return robot(*parts, name="slides")


@pytest.fixture
def new_cell():
    """Start nodes, as `Cell`; at the end none has logged a traceback."""
    cells = []

    def start(*arguments, **options):
        cells.append(Cell(*arguments, **options))
        return cells[-1]

    yield start
    for cell in cells:
        output = cell.graph.stop_all()
        cell.close()
        assert all("Traceback" not in text for _, text in output), output


@pytest.fixture
def started(written, new_cell):
    """Start the node with balls on slides."""

    def start(places, *parameters):
        path = written("slides.urdf", slides_urdf(places))
        return new_cell(path, [f"{name}_{axis}" for name in places for axis in "xy"], *parameters)

    return start


def gaps(message, points):
    """Least distances (pairs,) of balls and post along a motion; ``points(row)``: (balls, 2)."""
    rows = rows_of(message)
    fine = np.linspace(0.0, 1.0, 40)[:, None]
    least = np.inf
    for a, b in zip(rows[:-1], rows[1:], strict=True):
        for row in a + fine * (b - a):
            balls = points(row)
            away = np.linalg.norm(balls[:, None] - balls[None], axis=2)
            away = away[np.triu_indices(len(balls), 1)] - 2.0 * RADIUS
            least = np.minimum(least, away)
    return least


def test_one_arm_is_led_around_what_stands_in_its_way_and_held_before_it(started):
    cell = started({"arm": "-0.5 0 0"})
    cell.stand([0.0, 0.02])
    assert cell.values["arms"] == "base..arm_ball"
    for name, value in {"yielding": "left", "method": "field"}.items():  # of two arms
        result = cell.graph.set_parameters("/self_collision", **{name: value})
        assert not result.successful and result.reason.startswith(f"{name}: ")
    message = cell.want(np.linspace([0.0, 0.02], [1.0, 0.02], 21), np.linspace(0.0, 4.0, 21))
    assert message is not None, cell.message
    assert cell.graph.state.level == OK and cell.values["changed"] == "true"
    least = gaps(message, lambda row: np.array([[row[0] - 0.5, row[1]], [0.0, 0.0]]))
    assert least.min() >= SAFE - 1e-6
    assert float(cell.values["present_distance"]) == pytest.approx(0.3, abs=0.01)
    cell.q = [0.26, 0.02]  # nearer than danger_distance while the motion is under way
    cell.until(lambda: cell.values["event"] == "hold")
    assert cell.graph.state.level == ERROR and "post" in cell.message
    code, output = cell.graph.stop(cell.process)
    assert code == 0 and "keeping 'base..arm_ball' (2 joints) of 'slides' clear: 1 pairs" in output


@pytest.mark.parametrize("parameter", ["yielding:=left", "method:=field"])
def test_what_is_for_two_arms_is_refused_at_the_start_with_one(started, parameter):
    cell = started({"arm": "-0.5 0 0"}, parameter)
    cell.process.wait(60.0)
    code, output = cell.graph.stop(cell.process)
    assert code == 1 and f"self_collision: error: {parameter.partition(':=')[0]}: " in output


PLACES = {"a": "-0.6 1 0", "b": "0.6 1 0", "c": "0 2 0"}
OFFSETS = np.array([[-0.6, 1.0], [0.6, 1.0], [0.0, 2.0]])


def all_balls(row):
    return np.vstack([row.reshape(3, 2) + OFFSETS, [[0.0, 0.0]]])


def test_three_arms_keep_apart_and_one_that_is_not_named_is_held(started):
    arms = ", ".join(f"'base:{name}_ball'" for name in PLACES)
    cell = started(PLACES, f"arms:=[{arms}]")
    cell.stand(np.zeros(6))
    goal = [0.6, 1.5, 0.4, 0.0]  # of a and b: a past c, that stands still
    message = cell.want(
        np.linspace(np.zeros(4), goal, 31), np.linspace(0.0, 6.0, 31), names=cell.names[:4]
    )
    assert message is not None, cell.message
    assert list(message.joint_names) == cell.names[:4]
    assert "'base..c_ball' is not named and is held at its position" in cell.message
    assert gaps(message, lambda row: all_balls(np.r_[row, 0.0, 0.0])).min() >= DANGER - 1e-6
    # a and b change places, c comes down between them.
    goal = [1.2, 0.0, -1.2, 0.0, 0.0, -0.6]
    message = cell.want(np.linspace(np.zeros(6), goal, 31), np.linspace(0.0, 6.0, 31))
    assert message is not None, cell.message
    assert gaps(message, all_balls).min() >= DANGER - 1e-6
    assert np.abs(rows_of(message)[-1] - goal).max() < 1e-6


# -- without optional packages: processes in which they are blocked ------------------------

DUAL_ARM, SRDF = ROOT / "urdf/dual_arm.urdf", ROOT / "urdf/dual_arm.srdf"
MOTION = read_motion(ROOT / "config/dual_arm_motion.csv")
BLOCKER = """
import os
import sys


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in os.environ["BLOCKED"].split():
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


sys.meta_path.insert(0, Blocker())
"""


@pytest.fixture
def start_without(tmp_path, new_cell):
    """Start nodes in which some packages cannot be imported."""
    (tmp_path / "blocker").mkdir()
    (tmp_path / "blocker/sitecustomize.py").write_text(BLOCKER)
    paths = [str(tmp_path / "blocker"), str(ROOT), os.environ.get("PYTHONPATH", "")]

    def start(missing, urdf, names, *parameters):
        environment = {"BLOCKED": " ".join(missing), "PYTHONPATH": os.pathsep.join(paths)}
        return new_cell(urdf, names, *parameters, environment=environment)

    return start


def output_of(cell):
    """What the node has logged, once it is ended."""
    code, output = cell.graph.stop(cell.process)
    assert code == 0
    return output


def test_without_solvers_a_trajectory_comes_out_adjusted_and_certified(start_without):
    robot = start_without(
        ("daqp", "piqp"), DUAL_ARM, MOTION.joint_names, f"robot_description_semantic:={SRDF}",
        "joint_state_timeout:=5.0",
    )  # fmt: skip
    robot.stand(MOTION.positions[0])
    # At the start, before anything was asked for.
    assert robot.values["missing"] == "daqp, piqp" and robot.values["method"] == "field"
    assert robot.graph.state.level == WARN and robot.values["event"] == "ready"
    assert "not installed: daqp, piqp (method field instead of robust)" in robot.message
    message = robot.want(MOTION.positions, MOTION.times, seconds=120.0)
    assert message is not None, robot.message
    assert robot.graph.state.level == OK and robot.values["changed"] == "true"
    assert robot.values["method"] == "field" and robot.values["missing"] == "daqp, piqp"
    assert float(robot.values["certified_clearance"]) >= SAFE - 1e-9
    assert 0.05 <= float(robot.values["certified_elsewhere"]) <= SAFE  # not the arms alone
    model = CollisionModel.from_urdf(DUAL_ARM, srdf=SRDF)
    arms = between_arms(model, find_chains(model.robot, model.semantics))
    rows = rows_of(message)
    fine = np.vstack([
        a + np.linspace(0.0, 1.0, 20)[:, None] * (b - a)
        for a, b in zip(rows[:-1], rows[1:], strict=True)
    ])  # fmt: skip
    assert arms.min_distances(MOTION.positions).min() < 0.0
    assert arms.min_distances(fine).min() >= SAFE - 1e-9
    # What needs the solvers is refused with the reason.
    robot.points.publish(robot.trajectory([MOTION.positions[0]], [0.1]))
    robot.until(lambda: robot.values["event"] == "point refused")
    assert "daqp is not installed: pip install daqp" in robot.message
    # Nothing parts arms that are to end too near, and the message says what could find a way.
    assert robot.want(MOTION.positions[:51], MOTION.times[:51]) is None
    assert robot.graph.state.level == ERROR
    assert "(method robust needs daqp and piqp)" in robot.message
    output = output_of(robot)
    warning = output.index("not installed: daqp and piqp. Trajectories are adjusted by")
    assert warning < output.index("keeping ") < output.index("adjusting a trajectory")
    assert "pip install daqp piqp" in output and "toppra" not in output


def test_without_optional_packages_one_arm_is_refused_at_the_start(start_without, tmp_path):
    (tmp_path / "slides.urdf").write_text(URDF)
    missing = ("daqp", "piqp", "toppra")
    cell = start_without(missing, tmp_path / "slides.urdf", JOINTS, "arms:=['base:r_ball']")
    cell.process.wait(60.0)
    code, output = cell.graph.stop(cell.process)
    assert code == 1
    assert "only two arms can be kept apart, not 1: pip install daqp piqp" in output


# -- meshes that change ----------------------------------------------------------------------


def test_the_same_description_is_loaded_again_if_one_of_its_meshes_was_written_since(
    tmp_path, new_cell
):
    mesh = tmp_path / "ball.stl"
    trimesh.creation.box((0.2, 0.2, 0.2)).export(mesh)
    ball, shape = link("r_ball", '<sphere radius="0.1"/>'), f'<mesh filename="file://{mesh}"/>'
    text = String(data=URDF.replace(ball, link("r_ball", shape)))
    assert str(mesh) in text.data
    cell = new_cell(
        "''", (*JOINTS, "mast_joint"), f"package_dirs:={tmp_path}",
        "right_base_link:=base", "right_tip_link:=r_ball",
        "left_base_link:=base", "left_tip_link:=l_ball",
    )  # fmt: skip
    descriptions = cell.graph.node.create_publisher(String, "/robot_description", LATCHED)
    descriptions.publish(text)
    cell.stand([*apart(0.5), 0.0])

    def distance():
        return float(cell.values.get("present_distance", "nan"))

    cell.until(lambda: distance() > 0.35)  # 0.5 m less the excess of leaves
    trimesh.creation.box((0.6, 0.2, 0.2)).export(mesh)  # such as a longer tool
    descriptions.publish(text)  # as by a driver that is started again
    cell.until(lambda: distance() <= 0.3)


# -- more joint states than the guard can check ----------------------------------------------


def test_a_guard_too_slow_for_its_joint_states_checks_the_newest_and_trajectories_have_a_turn(
    written,
):
    names, q = (*JOINTS, "mast_joint"), [*apart(0.5), 0.0]
    graph = Graph("/self_collision")
    try:
        graph.run([
            ROOT / "test/support/ros/slow_node.py", "self_collision", "0.01", "--ros-args",
            "-p", f"robot_description:={written('slides.urdf', URDF)}",
            "-p", "right_base_link:=base", "-p", "right_tip_link:=r_ball",
            "-p", "left_base_link:=base", "-p", "left_tip_link:=l_ball",
        ])  # fmt: skip
        wanted = graph.node.create_publisher(
            JointTrajectory, "/self_collision/desired_trajectory", 10
        )
        graph.until(
            lambda: graph.heard["state"] and graph.values.get("joint_states") == "fresh"
            and wanted.get_subscription_count(), 400.0, lambda: graph.send(names, q),
        )  # fmt: skip
        graph.node.destroy_publisher(graph.joint_states.pop("joint_states"))
        positions = ",".join(map(str, q))
        graph.run([ROOT / "test/support/ros/flood.py", "1000", ",".join(names), positions])
        graph.spin(4.0)
        seen = len(graph.heard["state"])
        wanted.publish(trajectory(JOINTS, [[x + 0.01 for x in q[:4]]], [1.0]))
        graph.until(lambda: graph.values["event"] == "forwarded", 10.0)
        graph.spin(4.0)
        assert len(graph.heard["state"]) - seen >= 12  # in 4 s; the rate is 10 Hz
    finally:
        graph.close()


def test_a_trajectory_that_takes_longer_to_read_than_joint_states_may_be_old_is_not_refused(
    tmp_path, new_cell
):
    (tmp_path / "slides.urdf").write_text(URDF)
    cell = new_cell(
        tmp_path / "slides.urdf", (*JOINTS, "mast_joint"), "max_points:=60000",
        "joint_state_timeout:=0.3", "right_base_link:=base", "right_tip_link:=r_ball",
        "left_base_link:=base", "left_tip_link:=l_ball",
    )  # fmt: skip
    cell.stand([*apart(0.5), 0.3])
    stays = serialized(cell.trajectory([cell.q[:4]], [0.0], names=JOINTS), 60_000, 0.01)
    cell.until_fresh()
    cell.wanted.publish(stays)
    cell.until(lambda: cell.values["event"] in ("adjusting", "refused"))
    assert cell.values["event"] == "adjusting", cell.message
