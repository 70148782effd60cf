# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Batch kinematics: against the model's one configuration at a time, and pinocchio."""

import numpy as np
import pytest
from support.robots import robots
from support.robots.toys import joint, link, robot

from collision_monitor.robot.batch_poses import link_poses
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.poses import joint_motion
from collision_monitor.robot.urdf.urdf import load_robot


def one_by_one(bodies, links, q):
    """Poses of links at one configuration, by 4 x 4 products."""
    poses = [np.eye(4)]
    for k, parent in enumerate(bodies.parents):
        position = bodies.gains[k] * q[bodies.columns[k]] + bodies.offsets[k]
        motion = joint_motion(bodies.slides[k], np.array([0.0, 0.0, 1.0]), position)
        poses.append(poses[parent] @ bodies.placements[k] @ motion)
    return {name: poses[bodies.link_bodies[name]] @ bodies.link_poses[name] for name in links}


def sampled(bodies, count, seed=0):
    lower, upper = ([getattr(j, side) for j in bodies.joints] for side in ("lower", "upper"))
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(bodies.joints)))


MIXED = robot(
    link("a"), link("b"), link("c"), link("d"), link("e"),
    joint("turn", "a", "b", axis="0.3 -0.5 0.8"),
    joint("slide", "b", "c", "prismatic", axis="1 0 0"),
    joint("hold", "c", "d", "fixed", xyz="0 0.2 0.3"),
    joint("follow", "d", "e", extra='<mimic joint="turn" multiplier="-2" offset="0.5"/>'),
)  # fmt: skip


@pytest.mark.parametrize("text", [MIXED, robot(link("alone"))], ids=["mixed", "alone"])
def test_a_batch_is_its_rows(text):
    loaded = load_robot(text)
    bodies = rigid_bodies(loaded)
    rows = sampled(bodies, 7)
    poses = link_poses(bodies, loaded.links, rows)
    assert list(poses) == list(loaded.links)
    for k, q in enumerate(rows):
        for name, pose in one_by_one(bodies, loaded.links, q).items():
            assert poses[name].shape == (7, 4, 4)
            assert poses[name][k] == pytest.approx(pose, abs=1e-12)
    assert link_poses(bodies, ["a"] if len(loaded.links) > 1 else [], rows[:0]).keys() <= {"a"}


@pytest.mark.parametrize("name", ["ur5", "panda", "baxter", "tiago_dual"])
def test_real_robots_stand_where_pinocchio_has_them(name):
    files = robots.require(name)
    from support.geometry.reference import Reference, pin

    loaded = load_robot(files.urdf, files.package_dirs)
    bodies = rigid_bodies(loaded)

    class Model:
        robot, root, joint_names = loaded, loaded.root, bodies.joint_names

    reference = Reference(files.urdf, list(files.package_dirs), Model)
    rows = sampled(bodies, 10)
    poses = link_poses(bodies, loaded.links, rows)
    known = {frame.name for frame in reference.pin_model.frames if frame.type == pin.BODY}
    assert set(loaded.links) <= known
    for k, q in enumerate(rows):
        for link_name in loaded.links:
            expected = reference.link_pose(q, link_name)
            assert poses[link_name][k] == pytest.approx(expected, abs=1e-9), link_name
