# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The node self_collision where packages are not installed: processes in which they are blocked."""

import os
from functools import partial

import numpy as np
import pytest
from support.paths import ROOT
from support.robots.two_slides import JOINTS, URDF, apart
from support.ros.ros_graph import ERROR, OK, WARN
from support.ros.self_collision_cell import Cell, rows_of, slides_cell, stand_apart

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion
from collision_monitor.self_collision.arms import find_arms
from collision_monitor.self_collision.hold_supervisor import pairs_between

DUAL_ARM, SRDF = ROOT / "urdf/dual_arm.urdf", ROOT / "urdf/dual_arm.srdf"
MOTION = read_motion(ROOT / "config/dual_arm_motion.csv")
SAFE = 0.1
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
def started(tmp_path):
    """Start nodes without some packages; afterwards they have said no traceback."""
    (tmp_path / "blocker").mkdir()
    (tmp_path / "blocker/sitecustomize.py").write_text(BLOCKER)
    paths = [str(tmp_path / "blocker"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    cells = []

    def start(missing, urdf, names, *parameters):
        environment = {"BLOCKED": " ".join(missing), "PYTHONPATH": os.pathsep.join(paths)}
        cells.append(Cell(urdf, names, *parameters, environment=environment))
        return cells[-1]

    yield start
    for cell in cells:
        output = cell.graph.stop_all()
        cell.close()
        assert all("Traceback" not in text for _, text in output), output


def slides(started, tmp_path, missing, *parameters):
    """The robot of four slides, its balls half a metre apart."""
    cell = slides_cell(tmp_path, *parameters, start=partial(started, missing))
    stand_apart(cell)
    return cell


def output_of(cell):
    """What the node has logged, once it is ended."""
    code, output = cell.graph.stop(cell.process)
    assert code == 0
    return output


def test_without_solvers_a_trajectory_comes_out_adjusted_and_certified(started):
    robot = started(
        ("daqp", "piqp"), DUAL_ARM, MOTION.joint_names, f"robot_description_semantic:={SRDF}"
    )
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
    arms = model.twin(pairs_between(model, find_arms(model.robot, model.semantics)))
    rows = rows_of(message)
    fine = np.vstack([
        a + np.linspace(0.0, 1.0, 20)[:, None] * (b - a)
        for a, b in zip(rows[:-1], rows[1:], strict=True)
    ])  # fmt: skip
    assert arms.min_distances(MOTION.positions).min() < 0.0
    assert arms.min_distances(fine).min() >= SAFE - 1e-9
    output = output_of(robot)
    warning = output.index("not installed: daqp and piqp. Trajectories are adjusted by")
    assert warning < output.index("keeping ") < output.index("adjusting a trajectory")
    assert "pip install daqp piqp" in output and "toppra" not in output


def test_what_needs_the_solvers_is_refused_with_the_reason(started, tmp_path):
    robot = slides(started, tmp_path, ("daqp", "piqp"), "danger_distance:=0.03")
    robot.points.publish(robot.trajectory([apart(0.5)], [0.1], names=JOINTS))
    robot.until(lambda: robot.values["event"] == "point refused")
    assert "daqp is not installed: pip install daqp" in robot.message
    # Nothing parts arms that are to end too near, and the message says what could find a way.
    assert robot.want([apart(0.5), apart(0.02)], [0.0, 2.0], names=JOINTS) is None
    assert robot.graph.state.level == ERROR
    assert "(method robust needs daqp and piqp)" in robot.message


def test_without_the_solvers_one_arm_is_refused_at_the_start(started, tmp_path):
    (tmp_path / "slides.urdf").write_text(URDF)
    cell = started(
        ("daqp", "piqp"), tmp_path / "slides.urdf", JOINTS, "arms:=['base:r_ball']"
    )
    cell.process.wait(60.0)
    code, output = cell.graph.stop(cell.process)
    assert code == 1
    assert "only two arms can be kept apart, not 1: pip install daqp piqp" in output


def test_without_toppra_it_is_said_at_the_start(started, tmp_path):
    robot = slides(started, tmp_path, ("toppra",))
    assert robot.values["missing"] == "toppra" and robot.values["method"] == "robust"
    assert robot.graph.state.level == WARN
    assert robot.message == "ready for a trajectory; not installed: toppra"
    message = robot.want([apart(0.5), apart(0.4)], [0.0, 2.0], names=JOINTS)
    assert message is not None and robot.graph.state.level == OK
    output = output_of(robot)
    warning = output.index("not installed: toppra. Adjusted trajectories that exceed")
    assert warning < output.index("keeping ")


def test_with_all_of_them_nothing_is_said(started, tmp_path):
    robot = slides(started, tmp_path, ())
    assert "missing" not in robot.values and robot.values["method"] == "robust"
    assert robot.graph.state.level == OK and robot.message == "ready for a trajectory"
    assert "not installed: daqp" not in output_of(robot)
