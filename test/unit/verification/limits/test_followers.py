# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that mimic others are columns of the trajectory too."""

import numpy as np
from support.robots import toys

from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.robot.urdf.urdf import load_robot
from collision_monitor.verification.limits.joint_limits_check import with_followers

ROBOT = load_robot(toys.robot(
    *(toys.link(f"l{k}") for k in range(4)),
    toys.joint("j1", "l0", "l1"),
    toys.joint("j2", "l1", "l2", extra='<mimic joint="j1" multiplier="-2" offset="0.5"/>'),
    toys.joint("j3", "l2", "l3", extra='<mimic joint="j2" multiplier="3" offset="1"/>'),
))  # fmt: skip


def test_followers_of_followers_move_along():
    trajectory = Trajectory.through(("j1",), [0, 1, 2], [[0.0], [0.3], [-0.2]], np.zeros((3, 1)))
    found = with_followers(trajectory, ROBOT)
    assert found.joint_names == ("j1", "j2", "j3")
    samples = found.sample(np.linspace(0, 2, 21))
    one, two, three = samples.positions.T
    assert np.allclose(two, 0.5 - 2.0 * one)
    assert np.allclose(three, 1.0 + 3.0 * two)
    assert np.allclose(samples.velocities @ [6.0, 0.0, 1.0], 0.0)


def test_a_follower_that_has_a_column_of_its_own_keeps_it():
    trajectory = Trajectory.through(("j2", "j1"), [0, 1], [[0.1, 0.0], [0.2, 1.0]])
    found = with_followers(trajectory, ROBOT)
    assert found.joint_names == ("j2", "j1", "j3")
    assert np.allclose(found.positions(np.array([1.0])), [[0.2, 1.0, -3.5]])
