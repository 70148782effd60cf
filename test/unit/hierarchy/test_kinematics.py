# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled forward kinematics: against pinocchio on real robots, and against scipy's rotations."""

import numba
import numpy as np
import pytest
from support.robots import robots

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy.kinematics import forward_kinematics
from collision_monitor.hierarchy.packed import pack_model, unpack
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.urdf import load_robot

CONFIGURATIONS = 300


@numba.njit
def body_poses(numbers, index, rows, out):
    """Fill out (rows, bodies, 12) with what the kernel writes."""
    view = unpack(numbers, index)
    for k in range(len(rows)):
        forward_kinematics(view, rows[k])
        for body in range(len(view.poses)):
            for column in range(12):
                out[k, body, column] = view.poses[body, column]


class Kinematics:
    """A robot packed with one leaf a link."""

    def __init__(self, source, package_dirs=()):
        self.robot = load_robot(source, package_dirs)
        self.root = self.robot.root
        self.bodies = bodies = rigid_bodies(self.robot)
        self.joint_names = bodies.joint_names
        self.links = sorted(self.robot.links, key=lambda name: bodies.link_bodies[name] == 0)
        leaves = [
            Leaf(name, np.zeros(3), np.zeros(3), 0.01).moved(bodies.link_poses[name], name)
            for name in self.links
        ]
        first = np.arange(len(leaves))
        self.numbers, self.index = pack_model(
            bodies, leaves, np.array([bodies.link_bodies[name] for name in self.links]),
            np.column_stack([first, first + 1]), np.empty((0, 2), dtype=np.int64),
        )  # fmt: skip

    def rows(self, count=CONFIGURATIONS, seed=0):
        """Random configurations within the limits; beyond one turn where there are none."""
        joints = self.bodies.joints
        reach = [3.0 if j.kind == "continuous" else 1.0 for j in joints]
        lower, upper = np.array([[j.lower, j.upper] for j in joints]).T * reach
        return np.random.default_rng(seed).uniform(lower, upper, (count, len(joints)))

    def link_poses(self, rows):
        """Poses (rows, links, 4, 4) by the kernel."""
        out = np.empty((len(rows), len(self.bodies.parents) + 1, 12))
        body_poses(self.numbers, self.index, rows, out)
        poses = np.tile(np.eye(4), (*out.shape[:2], 1, 1))
        poses[..., :3, :3] = out[..., :9].reshape(*out.shape[:2], 3, 3)
        poses[..., :3, 3] = out[..., 9:]
        return np.stack(
            [poses[:, self.bodies.link_bodies[name]] @ self.bodies.link_poses[name]
             for name in self.links], axis=1,
        )  # fmt: skip


REAL = ["ur5", "panda", "pr2", "tiago_dual"]


@pytest.fixture(scope="module", params=REAL)
def real(request):
    """A real robot, and as pinocchio sees it."""
    files = robots.require(request.param)
    reference = pytest.importorskip("support.geometry.reference")
    kinematics = Kinematics(files.urdf, files.package_dirs)
    return kinematics, reference.Reference(files.urdf, list(files.package_dirs), kinematics)


def test_links_stand_where_pinocchio_has_them(real):
    from support.geometry.reference import pin

    kinematics, reference = real
    rows = kinematics.rows()
    poses = kinematics.link_poses(rows)
    model, data = reference.pin_model, reference.pin_data
    frames = [model.getFrameId(name, pin.FrameType.BODY) for name in kinematics.links]
    assert max(frames) < model.nframes
    root = model.getFrameId(kinematics.root, pin.FrameType.BODY)
    worst = 0.0
    for row, q in zip(poses, rows, strict=True):
        pin.framesForwardKinematics(model, data, reference.configuration(q))
        base = data.oMf[root].inverse()
        expected = np.array([(base * data.oMf[frame]).homogeneous for frame in frames])
        worst = max(worst, np.abs(row - expected).max())
    assert worst < 1e-9
