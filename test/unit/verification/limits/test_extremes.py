# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Extremes of piecewise polynomials against dense sampling, and against closed forms."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.interpolate import PPoly

from collision_monitor.verification.joint_limits_check import extremes

DENSE = 4001


@st.composite
def polynomials(draw):
    """Up to degree 5, 4 pieces and 2 columns; coefficients of many sizes, zeros among them."""
    order, pieces = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    numbers = st.one_of(
        st.just(0.0), st.floats(-4, 4), st.sampled_from([1e-200, 1e-13, 1e-9, 1e-4, 50.0])
    )
    c = draw(arrays(float, (order, pieces, 2), elements=numbers))
    steps = draw(arrays(float, pieces, elements=st.floats(0.002, 3.0)))
    return PPoly(c, np.append(0.0, np.cumsum(steps)))


def dense(polynomial):
    """Times and values (pieces, n, columns) of every piece, both its ends included."""
    x = polynomial.x
    local = np.linspace(0.0, np.diff(x), DENSE, axis=1)
    values = np.zeros((*local.shape, polynomial.c.shape[2]))
    for row in polynomial.c:
        values = values * local[:, :, None] + row[:, None, :]
    return x[:-1, None] + local, values


def highest(polynomial):
    """Largest value of each column, and its time."""
    columns = extremes(polynomial)
    best = [(column, column.values.argmax()) for column in columns]
    return [c.values[k] for c, k in best], [c.times[k] for c, k in best]


@given(polynomials())
@example(PPoly(np.tile([[[1e-200]], [[-2.0]], [[1.0]], [[1.0]], [[1.0]]], 2), [0.0, 1.0]))
def test_no_sample_is_higher_and_what_is_highest_is_reached(polynomial):
    times, values = dense(polynomial)
    found, at = highest(polynomial)
    scale = np.abs(values).max() + 1e-300
    for j in range(2):
        assert found[j] >= values[:, :, j].max() - 1e-12 * scale
        # A parabola through three samples is off by a part of their distance squared at most.
        assert found[j] <= values[:, :, j].max() + 1e-4 * scale
        piece = np.searchsorted(polynomial.x, at[j]) - 1
        near = [k for k in (piece - 1, piece, piece + 1) if 0 <= k < len(polynomial.x) - 1]
        there = [np.polyval(polynomial.c[:, k, j], at[j] - polynomial.x[k]) for k in near]
        assert np.isclose(there, found[j], atol=1e-9 * scale, rtol=1e-9).any()


@given(polynomials(), st.floats(-0.1, 1.1))
def test_the_first_time_above_is_the_first_sample_above(polynomial, share):
    times, values = dense(polynomial)
    low, high = values.min(axis=(0, 1)), values.max(axis=(0, 1))
    limits = low + share * (high - low)
    columns = extremes(polynomial)
    found = [column.first_above(limit) for column, limit in zip(columns, limits, strict=True)]
    for j, limit in enumerate(limits):
        above = (values[:, :, j] > limit + 1e-9 * (1.0 + abs(limit))).ravel()
        if above.any():
            assert found[j] <= times.ravel()[above.argmax()] + 1e-9
        if not np.isnan(found[j]):
            before = values[:, :, j].ravel()[times.ravel() < found[j] - 1e-6]
            assert (before <= limit + 1e-6 * (1.0 + abs(limit))).all()
            value = max(highest_near(polynomial, found[j], j))
            assert value >= limit - 1e-6 * (1.0 + abs(limit))


def highest_near(polynomial, time, column):
    """Values of the pieces that touch a time."""
    for k in range(len(polynomial.x) - 1):
        if polynomial.x[k] - 1e-9 <= time <= polynomial.x[k + 1] + 1e-9:
            yield np.polyval(polynomial.c[:, k, column], time - polynomial.x[k])


def test_columns_that_are_extreme_at_the_same_time_all_have_their_peaks():
    velocity = np.array([-6.0, 6.0, 0.0])  # from rest to rest in 1 s
    c = np.outer(velocity, [1.0, 0.5, 2.0, 0.0, -1.0]).reshape(3, 1, 5)
    columns = extremes(PPoly(c, [0.0, 1.0]))
    peaks = [max(abs(column.values)) for column in columns]
    assert peaks == pytest.approx([1.5, 0.75, 3.0, 0.0, 1.5])


def test_a_quintic_peak_that_touches_a_limit_does_not_pass_it():
    # (t - 1/2)^4 turned over: four turning points in one.
    c = np.array([-1.0, 2.0, -1.5, 0.5, -1.0 / 16.0]).reshape(5, 1, 1)
    value, at = highest(PPoly(c, [0.0, 1.0]))
    assert value[0] == pytest.approx(0.0, abs=1e-15)
    assert at[0] == pytest.approx(0.5, abs=1e-3)
    assert np.isnan(extremes(PPoly(c, [0.0, 1.0]))[0].first_above(1e-15))


def test_a_small_leading_coefficient_does_not_blur_the_peak():
    c = np.array([1e-13, -1.5, 3.5, -0.5]).reshape(4, 1, 1)
    value, at = highest(PPoly(c, [0.0, 2.0]))
    assert at[0] == pytest.approx(3.5 / 3.0, abs=1e-9)
    assert value[0] == pytest.approx(3.5**2 / 6.0 - 0.5, rel=1e-12)
