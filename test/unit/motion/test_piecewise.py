# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Polynomials written about other instants are the same polynomials."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import PPoly

from collision_monitor.motion.hermite import joined


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


def test_breakpoints_that_differ_by_rounding_become_one():
    a = PPoly(np.array([[[1.0], [-1.0]], [[0.0], [0.3]]]), np.array([0.0, 0.3, 1.0]))
    b = PPoly(a.c, np.array([0.0, 0.1 + 0.2, 1.0]))
    whole = joined([a, b])
    assert whole.x.tolist() == [0.0, 0.3, 1.0]
    assert np.allclose(whole([0.4, 1.0]), [[0.2, 0.2], [-0.4, -0.4]])
