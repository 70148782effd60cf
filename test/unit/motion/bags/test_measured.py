# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recorded joint states beside a command: their values at its times, and what is refused."""

import numpy as np
import pytest
from support.files.made_bags import command, state, write_bag

from collision_monitor.errors import MotionError
from collision_monitor.motion.measured import POSITIONS, TORQUES, VELOCITIES, read_measured

TIMES = np.arange(0.0, 2.01, 0.5)


def bag(tmp_path, **given):
    rows = [
        ("/joint_states", t, state(10.0 + t, ("a", "b"), (t, -t), *[(v, -v) for v in values]))
        for t, values in ((t, [f(t) for f in given.values()]) for t in TIMES)
    ]
    return write_bag(tmp_path / "bag", rows)


def test_values_are_those_of_the_messages_from_the_start_of_the_command_on(tmp_path):
    found = read_measured(bag(tmp_path, rate=lambda t: 3.0 + t, torque=lambda t: 7.0 * t), 0.5)
    times = np.array([-0.6, -0.5, 0.0, 0.75, 1.5, 1.6])
    assert found.at("a", POSITIONS, times)[1:5] == pytest.approx([0.0, 0.5, 1.25, 2.0])
    assert found.at("b", VELOCITIES, times)[1:5] == pytest.approx([-3.0, -3.5, -4.25, -5.0])
    assert found.at("a", TORQUES, times)[1:5] == pytest.approx([0.0, 3.5, 8.75, 14.0])
    assert np.isnan(found.at("a", TORQUES, times)[[0, 5]]).all(), "nothing recorded then"
    assert np.isnan(found.at("c", POSITIONS, times)).all()


def test_rates_that_are_not_recorded_are_those_of_the_positions(tmp_path):
    found = read_measured(bag(tmp_path))
    assert found.at("b", VELOCITIES, TIMES) == pytest.approx([-1.0] * 5)
    assert np.isnan(found.at("b", TORQUES, TIMES)).all()


def test_joints_that_the_robot_lacks_may_have_no_position(tmp_path):
    rows = [("/s", t, state(1.0 + t, "ab", (np.nan, t), (5.0, t), (6.0, -t))) for t in TIMES]
    found = read_measured(write_bag(tmp_path / "bag", rows), unneeded=lambda joint: joint == "a")
    assert found.at("b", VELOCITIES, TIMES) == pytest.approx(TIMES)
    assert found.at("b", TORQUES, TIMES) == pytest.approx(-TIMES)
    assert np.isnan(found.at("a", TORQUES, TIMES)).all()


def test_continuous_joints_are_compared_modulo_a_turn(tmp_path):
    """A driver reports them within half a turn, and the command counts the turns."""
    found = read_measured(bag(tmp_path), turning=["a"])
    turns = np.array([4.0 * np.pi, 2.0 * np.pi])
    commanded = np.column_stack([TIMES, -TIMES]) + turns + 0.1
    found = found.beside(("a", "b"), TIMES, commanded)
    assert found.at("a", POSITIONS, TIMES) == pytest.approx(TIMES + turns[0])
    assert found.at("b", POSITIONS, TIMES) == pytest.approx(-TIMES), "it has end stops"
    late = np.array([5.0, 6.0])  # nothing was recorded then
    assert found.beside(("a", "c"), late, np.zeros((2, 2))).samples == found.samples


def test_commands_are_no_measurement(tmp_path):
    path = write_bag(
        tmp_path / "bag", [("/c", 0.0, command(1.0, ("a",), [(0.0, [0.0]), (1.0, [1.0])]))]
    )
    with pytest.raises(MotionError, match="'/c' has no joint states to compare with"):
        read_measured(path)
