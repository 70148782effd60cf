# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobians: against differences of the batch kinematics, and pinocchio."""

import numpy as np
import pytest
from support.robots import robots
from support.robots.toys import joint, link, robot

from collision_monitor.robot.batch_poses import link_poses
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.jacobian import Jacobians
from collision_monitor.robot.urdf.urdf import load_robot

MIXED = robot(
    link("a"), link("b"), link("c"), link("d"), link("e"),
    joint("turn", "a", "b", axis="0.3 -0.5 0.8"),
    joint("slide", "b", "c", "prismatic", axis="1 0 0"),
    joint("hold", "c", "d", "fixed", xyz="0 0.2 0.3"),
    joint("follow", "d", "e", extra='<mimic joint="turn" multiplier="-2" offset="0.5"/>'),
)  # fmt: skip


def by_differences(bodies, name, q, point, step=1e-6):
    """(6, nq) of a point fixed to a link, by central differences of its pose."""
    base = link_poses(bodies, [name], q[None])[name][0]
    local = np.linalg.solve(base, np.r_[point, 1.0])
    out = np.empty((6, len(q)))
    for k in range(len(q)):
        rows = np.array([q, q])
        rows[:, k] += step, -step
        ahead, behind = link_poses(bodies, [name], rows)[name]
        out[:3, k] = ((ahead - behind) @ local)[:3] / (2 * step)
        turn = (ahead[:3, :3] - behind[:3, :3]) @ base[:3, :3].T / (2 * step)
        out[3:, k] = turn[2, 1], turn[0, 2], turn[1, 0]
    return out


def check(loaded, seed=0):
    bodies = rigid_bodies(loaded)
    rng = np.random.default_rng(seed)
    lower, upper = ([getattr(j, side) for j in bodies.joints] for side in ("lower", "upper"))
    for q in rng.uniform(lower, upper, (3, len(bodies.joints))):
        jacobians = Jacobians(bodies, q)
        poses = link_poses(bodies, loaded.links, q[None])
        for name in loaded.links:
            assert jacobians.link_pose(name) == pytest.approx(poses[name][0], abs=1e-12)
            point = poses[name][0][:3, 3] + rng.uniform(-0.3, 0.3, 3)
            found = jacobians.of_point(bodies.link_bodies[name], point)
            expected = by_differences(bodies, name, q, point)
            assert found == pytest.approx(expected, abs=1e-7), name


def test_turning_sliding_and_following_joints():
    check(load_robot(MIXED))


def test_what_is_fixed_to_the_base_does_not_move():
    bodies = rigid_bodies(load_robot(MIXED))
    assert not Jacobians(bodies, np.zeros(2)).of_point(0, np.ones(3)).any()


@pytest.mark.parametrize("name", ["baxter", "tiago_dual"])
def test_real_robots(name):
    files = robots.require(name)
    check(load_robot(files.urdf, files.package_dirs))


def test_a_real_robot_moves_as_pinocchio_has_it():
    files = robots.require("baxter")
    from support.geometry.reference import Reference, pin

    loaded = load_robot(files.urdf, files.package_dirs)
    bodies = rigid_bodies(loaded)

    class Model:
        robot, root, joint_names = loaded, loaded.root, bodies.joint_names

    reference = Reference(files.urdf, list(files.package_dirs), Model)
    model, data = reference.pin_model, reference.pin_data
    q = np.random.default_rng(5).uniform(-0.5, 0.5, len(bodies.joints))
    pin.computeJointJacobians(model, data, reference.configuration(q))
    pin.updateFramePlacements(model, data)
    columns = [model.joints[model.getJointId(name)].idx_v for name in bodies.joint_names]
    for side in ("left", "right"):
        name = f"{side}_gripper"
        frame = model.getFrameId(name, pin.FrameType.BODY)
        expected = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:, columns]
        at = Jacobians(bodies, q).link_pose(name)[:3, 3]
        assert Jacobians(bodies, q).of_point(bodies.link_bodies[name], at) == pytest.approx(
            expected, abs=1e-9
        )
