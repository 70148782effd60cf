# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings of several publishers as one table: as smooth as the joints were."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.interpolate import PPoly

from collision_monitor.motion.samples import one_table
from collision_monitor.motion.trajectory import Trajectory, joined, own_knots
from collision_monitor.verification.joint_limits_check import steps_of

FREE = np.full(2, np.inf)


def table_of(trajectory, lower=-FREE, upper=FREE):
    return one_table(trajectory, lower, upper)


def course(times):
    """0 to 1 within 1.6 s, from rest to rest; at most 2.26 per s^2 and 15 per s^3."""
    u = np.clip((times - 0.2) / 1.6, 0.0, 1.0)
    return u**3 * (10.0 - 15.0 * u + 6.0 * u**2)


def lines(times, values):
    times = np.asarray(times, dtype=float)
    rows = np.asarray(values, dtype=float)[:, None]
    return PPoly(np.stack([np.diff(rows, axis=0) / np.diff(times)[:, None], rows[:-1]]), times)


def recording(*parts):
    """The motion of joints a, b, ... of which each has its own samples."""
    whole = joined(parts)
    knots = own_knots(parts, whole.x)
    return Trajectory(tuple("abc"[: len(parts)]), PPoly(whole.c, whole.x - whole.x[0]), knots)


@given(st.sampled_from([10.0, 40.0, 100.0, 500.0]), st.floats(1e-6, 0.099), st.booleans())
@example(10.0, 3e-4, False)
@example(500.0, 1e-6, True)
def test_a_table_of_two_publishers_is_as_smooth_as_each(rate, shift, turned):
    fast = np.arange(1001) / 500.0
    slow = shift + np.arange(int(1.9 * rate) + 1) / rate
    parts = [lines(times, course(times)) for times in (fast, slow)]
    table = table_of(recording(*parts[:: -1 if turned else 1]))
    steps = steps_of(Trajectory.through(table.joint_names, table.times, table.positions))
    assert np.abs(steps.accelerations).max() < 2.5
    assert np.abs(steps.jerks).max() < 40.0
    assert table.duration == pytest.approx(2.0, abs=0.002)
    assert table.positions == pytest.approx(course(table.times)[:, None] * np.ones(2), abs=1e-3)


def test_samples_are_waypoints_where_the_more_frequent_publisher_has_none():
    early, late = np.arange(101) / 100.0, 0.9 + np.arange(56) / 50.0
    table = table_of(recording(lines(early, course(early)), lines(late, course(late))))
    assert set(early) <= set(table.times)
    after = late[late > 1.02]
    assert np.isin(after, table.times).all()
    column = np.interp(after, table.times, table.positions[:, 1])
    assert column == pytest.approx(course(after), abs=1e-9)


def test_joints_with_distant_samples_keep_their_lines_and_corners():
    fast = np.arange(201) / 100.0
    corners = np.array([0.0, 0.503, 1.2071, 2.0])
    table = table_of(recording(lines(fast, course(fast)), lines(corners, [0.0, 1.0, 0.5, 0.5])))
    assert np.isin(corners, table.times).all()
    expected = np.interp(table.times, corners, [0.0, 1.0, 0.5, 0.5])
    assert table.positions[:, 1] == pytest.approx(expected, abs=1e-12)


def test_a_spline_stays_within_limits_unless_samples_do_not():
    """A gripper that closes to its end stop within a sample."""
    fast, slow = np.arange(1001) / 500.0, 0.05 + np.arange(20) / 10.0
    closing = np.where(slow < 1.0, 0.04, 0.0)
    motion = recording(lines(fast, course(fast)), lines(slow, closing))
    column = table_of(motion, np.zeros(2), np.ones(2)).positions[:, 1]
    assert column.min() == 0.0
    assert 0.04 < column.max() < 0.05
    column = table_of(motion, np.full(2, 0.01), np.full(2, 0.03)).positions[:, 1]
    assert column.min() == pytest.approx(0.0, abs=1e-12)
    assert column.max() == pytest.approx(0.04, abs=1e-12)
