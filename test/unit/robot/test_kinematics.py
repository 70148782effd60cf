# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of links and Jacobians: against 4 x 4 products, differences and pinocchio."""

import numpy as np
import pytest
from support.robots import robots
from support.robots.toys import joint, link, robot

from collision_monitor.robot.bodies import Jacobians, link_poses, rigid_bodies
from collision_monitor.robot.urdf import load_robot

MIXED = robot(
    link("a"), link("b"), link("c"), link("d"), link("e"),
    joint("turn", "a", "b", axis="0.3 -0.5 0.8"),
    joint("slide", "b", "c", "prismatic", axis="1 0 0"),
    joint("hold", "c", "d", "fixed", xyz="0 0.2 0.3"),
    joint("follow", "d", "e", extra='<mimic joint="turn" multiplier="-2" offset="0.5"/>'),
)  # fmt: skip


def by_pinocchio(files, loaded, bodies):
    """The robot in pinocchio, and pinocchio."""
    from support.geometry.reference import Reference, pin

    class Model:
        robot, root, joint_names = loaded, loaded.root, bodies.joint_names

    return Reference(files.urdf, list(files.package_dirs), Model), pin


def sampled(bodies, count, seed=0):
    lower, upper = ([getattr(j, side) for j in bodies.joints] for side in ("lower", "upper"))
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(bodies.joints)))


def by_differences(bodies, names, q, points, step=1e-6):
    """{name: (6, nq)} of a point fixed to each link, by central differences of the poses."""
    base = link_poses(bodies, names, q[None])
    out = {name: np.empty((6, len(q))) for name in names}
    for k in range(len(q)):
        rows = np.array([q, q])
        rows[:, k] += step, -step
        moved = link_poses(bodies, names, rows)
        for name in names:
            ahead, behind = moved[name]
            local = np.linalg.solve(base[name][0], np.r_[points[name], 1.0])
            out[name][:3, k] = ((ahead - behind) @ local)[:3] / (2 * step)
            turn = (ahead[:3, :3] - behind[:3, :3]) @ base[name][0][:3, :3].T / (2 * step)
            out[name][3:, k] = turn[2, 1], turn[0, 2], turn[1, 0]
    return out


def check(loaded, seed=0):
    bodies = rigid_bodies(loaded)
    rng = np.random.default_rng(seed)
    for q in sampled(bodies, 3, seed):
        jacobians = Jacobians(bodies, q)
        poses = link_poses(bodies, loaded.links, q[None])
        points = {name: poses[name][0][:3, 3] + rng.uniform(-0.3, 0.3, 3) for name in loaded.links}
        expected = by_differences(bodies, list(loaded.links), q, points)
        for name in loaded.links:
            assert jacobians.link_pose(name) == pytest.approx(poses[name][0], abs=1e-12)
            found = jacobians.of_point(bodies.link_bodies[name], points[name])
            assert found == pytest.approx(expected[name], abs=1e-7), name


def test_turning_sliding_and_following_joints():
    check(load_robot(MIXED))


@pytest.mark.parametrize("name", ["ur5", "panda", "baxter", "tiago_dual"])
def test_real_robots_stand_where_pinocchio_has_them(name):
    files = robots.require(name)
    loaded = load_robot(files.urdf, files.package_dirs)
    bodies = rigid_bodies(loaded)
    reference, pin = by_pinocchio(files, loaded, bodies)
    rows = sampled(bodies, 10)
    poses = link_poses(bodies, loaded.links, rows)
    known = {frame.name for frame in reference.pin_model.frames if frame.type == pin.BODY}
    assert set(loaded.links) <= known
    for k, q in enumerate(rows):
        for link_name in loaded.links:
            expected = reference.link_pose(q, link_name)
            assert poses[link_name][k] == pytest.approx(expected, abs=1e-9), link_name
