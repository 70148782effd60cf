# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Points become polynomials that pass through them with the rates that were given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.interpolate import BPoly, CubicSpline, PPoly

from collision_monitor.errors import TrajectoryError
from collision_monitor.motion.trajectory import REST, Trajectory, hermite, joined

NAMES = ("a", "b")


def test_each_piece_has_the_order_that_both_its_ends_allow():
    times = np.arange(5.0)
    p, v, a = np.random.default_rng(4).normal(size=(3, 5, 2))
    v[0] = a[:2] = a[4] = np.nan  # linear, cubic, quintic, cubic
    trajectory = Trajectory.through(NAMES, times, p, v, a)
    found = trajectory.sample(times[:-1])
    assert np.allclose(found.velocities[0], p[1] - p[0])
    assert np.allclose(found.velocities[1:], v[1:4])
    assert np.allclose(found.accelerations[2], a[2])
    ahead = trajectory.sample(np.arange(1.0, 5.0) - 1e-9)
    assert np.allclose(ahead.positions, p[1:], atol=1e-7)
    assert np.allclose(ahead.velocities[1:], v[2:], atol=1e-6)
    assert np.allclose(ahead.accelerations[2], a[3], atol=1e-6)
    assert not ahead.accelerations[0].any()
    assert not trajectory.polynomial.c[:2, [0, 1, 3]].any(), "quintic where it should not be"


def test_it_rests_beyond_its_ends():
    trajectory = Trajectory.through(NAMES, [0.0, 1.0], np.eye(2), np.ones((2, 2)))
    found = trajectory.sample(np.array([-1.0, 5.0]))
    assert np.allclose(found.positions, np.eye(2))
    assert not found.velocities.any()
    assert np.allclose(trajectory.positions(np.array([-1.0, 5.0])), np.eye(2))


@pytest.mark.parametrize(
    ("times", "rows", "message"),
    [
        ([0.0, 0.0], [np.zeros((2, 2))], "time of point 1 is 0 s, not after the 0 s"),
        ([0.0, np.nan], [np.zeros((2, 2))], "time of point 1 is not finite"),
        ([], [np.zeros((0, 2))], "with at least one point"),
        ([0.0, 1e308], [np.zeros((2, 2))], r"takes 1e\+308 s, more than the maximum of 1e\+08 s"),
        ([0.0, 1e-308], [np.zeros((2, 2))], "points 0 and 1 are 1e-308 s apart"),
        ([0.0, 1.0], [np.zeros((2, 3))], r"positions have shape \(2, 3\), not \(2, 2\)"),
        ([0.0, 1.0], [np.full((2, 2), np.inf)], "positions of point 0 are not finite: inf for"),
        ([0.0, 1.0], [np.zeros((2, 2)), None, np.zeros((2, 2))], "without velocities"),
        ([0.0, 1.0], [np.zeros((2, 2)), np.zeros((1, 2))], "velocities have shape"),
        ([0.0, 1.0], [np.zeros((2, 2)), np.full((2, 2), np.inf)], "velocities of point 0 are not"),
        ([0.0, 1.0], [np.zeros((2, 2)), [[0, 0], [0, np.nan]]], "velocities of point 1 are not"),
        (0.0, [np.zeros((1, 2))], r"times have shape \(\), not \(n,\)"),
    ],
)
def test_bad_points_are_refused_by_name(times, rows, message):
    if len(rows) == 3:
        rows = [rows[0], None, rows[2]]
    with pytest.raises(TrajectoryError, match=message):
        Trajectory.through(NAMES, times, *rows)


@pytest.mark.parametrize(
    ("times", "rows", "says"),
    [
        ([5.0, 6.0, 7.0], np.zeros((3, 2)), "begins at 5 s; its times are from 0 s"),
        ([-1.0, 0.0, 1.0], np.zeros((3, 2)), "begins at -1 s"),
        ([0.0, 1.0, 2.0], np.zeros((3, 3)), r"shape \(4, 2, 3\), not \(order, pieces, 2\)"),
        ([0.0, 1.0, 2.0], np.zeros(3), r"shape \(4, 2\), not"),
    ],
)
def test_a_spline_of_scipy_begins_at_zero_with_a_column_for_each_joint(times, rows, says):
    with pytest.raises(TrajectoryError, match=says):
        Trajectory(("a", "b"), CubicSpline(times, rows))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_polynomial_that_is_not_finite_is_refused(value):
    with pytest.raises(TrajectoryError, match="not finite, too large, or too close in time"):
        Trajectory(("a",), PPoly(np.full((2, 1, 1), value), [0.0, 1.0]))


def test_accelerations_of_a_point_without_velocities_are_refused():
    v = np.array([[0.0, 0.0], [np.nan, np.nan]])
    with pytest.raises(TrajectoryError, match="accelerations of point 1 are given without vel"):
        Trajectory.through(NAMES, [0.0, 1.0], np.zeros((2, 2)), v, np.zeros((2, 2)))


ends = arrays(float, (3, 5, 2), elements=st.floats(-5, 5))


@pytest.mark.parametrize("count", [1, 2, 3])
@given(steps=arrays(float, 4, elements=st.floats(0.05, 3.0)), rows=ends)
def test_it_is_the_polynomial_that_scipy_finds(count, steps, rows):
    times = np.concatenate([[0.0], np.cumsum(steps)])
    rows = rows[:count]
    left, right = rows[:, :-1], rows[:, 1:]
    found = PPoly(hermite(np.diff(times), left, right), times)
    expected = BPoly.from_derivatives(times, np.stack(rows, axis=1))
    at = np.linspace(0.0, times[-1], 101)
    for order in range(count):
        size = 1.0 + np.abs(expected(at, order)).max()
        assert np.allclose(found(at, order), expected(at, order), atol=1e-8 * size)


@st.composite
def polynomials(draw):
    """A piecewise polynomial of one to three columns that begins anywhere."""
    seed, pieces = draw(st.integers(0, 2**31)), draw(st.integers(1, 6))
    order, columns = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    rng = np.random.default_rng(seed)
    breaks = draw(st.integers(-2, 3)) + np.cumsum(rng.choice([0.25, 0.5, 1.3], pieces + 1))
    return PPoly(rng.normal(size=(order, pieces, columns)), breaks)


@given(st.lists(polynomials(), min_size=1, max_size=4))
def test_each_part_is_what_it_was_and_held_outside(parts):
    whole = joined(parts)
    assert whole.x[0] == min(part.x[0] for part in parts)
    assert whole.x[-1] == max(part.x[-1] for part in parts)
    at = np.random.default_rng(0).uniform(whole.x[0], whole.x[-1], 200)
    found = whole(at)
    column = 0
    for part in parts:
        width = part.c.shape[2]
        expected = part(np.clip(at, part.x[0], part.x[-1]))
        assert np.allclose(found[:, column : column + width], expected, rtol=1e-9, atol=1e-9)
        column += width
    assert column == found.shape[1]


def test_a_part_at_rest_adds_no_knot_between_those_of_others():
    """A piece of a nanosecond would make the steps at its ends look sudden."""
    a = PPoly(np.array([[[1.0], [-1.0]], [[0.0], [0.3]]]), np.array([0.0, 0.3, 1.0]))

    def resting(at):
        return PPoly(np.full((1, 1, 1), 7.0), np.array([at, at + REST]))

    for at in (0.0, 0.3, 0.5, 1.0):
        whole = joined([a, resting(at), resting(0.5)])
        assert whole.x.tolist() == [0.0, 0.3, 1.0]
        assert np.allclose(whole([0.4, 1.0]), [[0.2, 7.0, 7.0], [-0.4, 7.0, 7.0]])
    assert joined([resting(-1.0), a, resting(2.0)]).x.tolist() == [-1.0, 0.0, 0.3, 1.0, 2.0]
    assert joined([resting(3.0), resting(5.0)]).x.tolist() == [3.0, 5.0]
    assert joined([resting(3.0), resting(3.0)]).x.tolist() == [3.0, 3.0 + REST]


def test_breakpoints_that_differ_by_rounding_become_one():
    a = PPoly(np.array([[[1.0], [-1.0]], [[0.0], [0.3]]]), np.array([0.0, 0.3, 1.0]))
    b = PPoly(a.c, np.array([0.0, 0.1 + 0.2, 1.0]))
    whole = joined([a, b])
    assert whole.x.tolist() == [0.0, 0.3, 1.0]
    assert np.allclose(whole([0.4, 1.0]), [[0.2, 0.2], [-0.4, -0.4]])
