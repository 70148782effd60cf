# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What motors are told: segments at real steps, splines through samples, rest at the end."""

import numpy as np
import pytest
from support.robots.one_joint import trapezoid

from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.torques.motor_command import MotorCommand


def test_a_trapezoid_has_segments_between_its_steps_and_rests():
    command = MotorCommand(trapezoid(("j",), np.array([1.5]), 2.0, 0.5), rest=1.0)
    assert command.duration == pytest.approx(3.0)
    assert command.segments.tolist() == [[0.0, 0.5], [0.5, 1.5], [1.5, 2.0], [2.0, 3.0]]
    assert not command.jumps.any()
    before, after = command.at(0.5, 0.5), command.at(0.5, 1.5)
    assert before.accelerations[0] == pytest.approx(2.0) and after.accelerations[0] == 0.0
    assert before.velocities[0] == pytest.approx(after.velocities[0])
    rest = command.at(np.array([2.0, 2.5, 3.0]), 3.0)
    assert np.allclose(rest.positions, 1.5) and not rest.velocities.any()


def test_samples_become_a_spline_without_steps():
    times = np.arange(201) / 100.0
    values = (1.0 - np.cos(np.pi * times / 2.0))[:, None]
    command = MotorCommand(Trajectory.through(("j",), times, values), rest=0.5)
    assert command.segments.tolist() == [[0.0, 2.0], [2.0, 2.5]]
    found = command.at(np.array([0.333, 1.0]), 2.0)
    right = np.pi / 2.0 * np.sin(np.pi / 2.0 * np.array([0.333, 1.0]))
    assert np.allclose(found.velocities[:, 0], right, atol=1e-6)


def test_lines_between_far_points_jump():
    command = MotorCommand(Trajectory.through(("j",), [0.0, 1.0, 3.0], [[0.0], [1.0], [0.0]]))
    assert command.segments.tolist() == [[0.0, 1.0], [1.0, 3.0]]
    assert np.allclose(command.jumps[:, 0], [1.0, -1.5])
    assert np.allclose(command.extra[:, 0], [10.0, -15.0])
    moving = MotorCommand(
        Trajectory.through(("j",), [0.0, 1.0], [[0.0], [1.0]]), from_rest=False
    )
    assert not moving.jumps.any()
