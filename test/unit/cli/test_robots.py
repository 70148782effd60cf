# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two robots of the command line are those that each is alone."""

import argparse

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.cli.robots import (
    add_model_arguments,
    add_second_robot,
    load_cell,
    prefixed_motion,
)
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.poses import pose_from_xyz_rpy


@pytest.fixture
def cell(tmp_path):
    """Both as one model, for any words."""
    (tmp_path / "robot.urdf").write_text(chain(3))

    def load(*words):
        parser = argparse.ArgumentParser()
        add_model_arguments(parser)
        add_second_robot(parser)
        urdf = str(tmp_path / "robot.urdf")
        return load_cell(parser.parse_args([urdf, "--other", urdf, *words]))

    return load


def test_it_stands_where_it_is_put(cell):
    model, other = cell("--other-at=-1,2,3,0.1,0.2,0.3")
    alone = CollisionModel.from_urdf(chain(3))
    assert model.joint_names == ("j1", "j2", "other_j1", "other_j2")
    assert [joint.name for joint in other.joints] == ["j1", "j2"]
    q = np.array([0.3, -0.4])
    base = pose_from_xyz_rpy((-1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    found = model.link_poses(np.concatenate([[0.0, 0.0], q]))
    for name, pose in alone.link_poses(q).items():
        assert np.allclose(found[f"other_{name}"], base @ pose)
    across = {frozenset(p) for p in model.pairs if sum(n.startswith("other_") for n in p) == 1}
    everyone = {frozenset((f"l{k}", f"other_l{m}")) for k in range(3) for m in range(3)}
    assert across == everyone - {frozenset(("l0", "other_l0"))}  # neither base moves


def test_a_place_is_three_or_six_numbers(cell, capsys):
    for text in ("1,2", "1,2,3,4", "1,2,x", "1,2,inf"):
        with pytest.raises(SystemExit):
            cell(f"--other-at={text}")
        assert "is not X,Y,Z in metres" in capsys.readouterr().err


def test_a_motion_takes_the_names_of_the_whole():
    trajectory = Trajectory.through(("j1",), [0.0, 1.0], [[0.0], [1.0]])
    found = Violation(Code.SINGULARITY, "tip", 0.0, 0.0, 0.0, 0.1, "1")
    motion = LoadedMotion(trajectory, (found,), (), "m", named=frozenset(["j1"]))
    whole = prefixed_motion(motion, "b/")
    assert whole.trajectory.joint_names == ("b/j1",)
    assert (whole.named, whole.violations[0].subject) == ({"b/j1"}, "b/tip")
