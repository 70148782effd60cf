# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Instants have both sides of every step, and samples are their points."""

import numpy as np
import pytest
from support.robots.one_joint import trapezoid

from collision_monitor.errors import TrajectoryError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.limits.velocity_discontinuities import steps_of
from collision_monitor.verification.torques.sample_times import instants_of


def rows(trajectory, longest=0.01, **options):
    """Instants of a trajectory."""
    return instants_of(trajectory, steps_of(trajectory, **options), longest)


def test_knots_are_there_twice_with_both_accelerations():
    found = rows(trapezoid(("j",), np.array([1.5]), 2.0, 0.5), 0.1)
    assert (np.diff(found.times) >= 0.0).all() and np.diff(found.times).max() <= 0.1 + 1e-12
    for knot, sides in ((0.5, [2.0, 0.0]), (1.5, [0.0, -2.0])):
        met = found.times == knot
        assert found.accelerations[met, 0].tolist() == sides
        assert np.allclose(found.velocities[met], 1.0)
    assert found.times[0] == 0.0 and found.times[-1] == 2.0


def test_samples_are_instants_with_the_differences_of_their_neighbours():
    times = np.arange(101) / 50.0
    values = np.sin(times)[:, None]
    found = rows(Trajectory.through(("j",), times, values), from_rest=False)
    assert np.array_equal(found.times[1:-1], times[1:-1])
    second = (values[2:] - 2.0 * values[1:-1] + values[:-2]) / 0.02**2
    central = (values[2:] - values[:-2]) / 0.04
    assert np.allclose(found.accelerations[1:-1], second)
    assert np.allclose(found.velocities[1:-1], central)
    assert np.allclose(found.positions[1:-1], values[1:-1])


def test_a_corner_of_long_lines_is_between_its_two_sides():
    corner = Trajectory.through(("j",), [0.0, 1.0, 3.0], [[0.0], [1.0], [0.0]])
    found = rows(corner, 0.25)
    met = np.flatnonzero(found.times == 1.0)
    assert found.velocities[met, 0].tolist() == [1.0, 0.25, -0.5]
    assert np.allclose(found.accelerations[met, 0], [0.0, -1.5 / 0.1, 0.0])


def test_rest_is_one_piece():
    found = rows(Trajectory.through(("j",), [0.0], [[0.4]]))
    assert (found.positions == 0.4).all() and (found.velocities == 0.0).all()


def test_more_instants_than_memory_holds_are_refused():
    endless = Trajectory.through(("j",), [0.0, 1e7], [[0.0], [1.0]])
    with pytest.raises(TrajectoryError, match=r"1e\+07 s are too long for torques"):
        rows(endless)
