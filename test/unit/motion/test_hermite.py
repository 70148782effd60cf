# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Closed forms of polynomials between two ends, against scipy's construction from derivatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.interpolate import BPoly, PPoly

from collision_monitor.motion import hermite

ends = arrays(float, (3, 5, 2), elements=st.floats(-5, 5))


@pytest.mark.parametrize(
    ("function", "count"), [(hermite.linear, 1), (hermite.cubic, 2), (hermite.quintic, 3)]
)
@given(steps=arrays(float, 4, elements=st.floats(0.05, 3.0)), rows=ends)
def test_it_is_the_polynomial_that_scipy_finds(function, count, steps, rows):
    times = np.concatenate([[0.0], np.cumsum(steps)])
    rows = rows[:count]
    left, right = rows[:, :-1], rows[:, 1:]
    found = PPoly(function(np.diff(times), *left, *right), times)
    expected = BPoly.from_derivatives(times, np.stack(rows, axis=1))
    at = np.linspace(0.0, times[-1], 101)
    for order in range(count):
        size = 1.0 + np.abs(expected(at, order)).max()
        assert np.allclose(found(at, order), expected(at, order), atol=1e-8 * size)


def test_a_polynomial_raised_is_the_same():
    low = np.random.default_rng(0).normal(size=(2, 3, 4))
    high = hermite.raised(low, 6)
    assert high.shape == (6, 3, 4)
    at = np.linspace(0.0, 3.0, 31)
    assert np.array_equal(PPoly(low, np.arange(4.0))(at), PPoly(high, np.arange(4.0))(at))
