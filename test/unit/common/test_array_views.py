# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Windows against numpy's own views of the same numbers."""

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.common.array_views import borrow, work_space


@numba.njit
def copied(array, offset, rows, columns, out):
    """Copy a window number by number; its number of rows."""
    window = borrow(array, offset, rows, columns)
    for i in range(len(window)):
        for j in range(columns):
            out[i, j] = window[i, j]
    return len(window)


@numba.njit
def written(array, offset, rows, columns):
    """Write 10 * row + column to every place; an unsigned row, and integers into floats."""
    window = borrow(array, offset, rows, columns)
    for i in range(rows):
        for j in range(columns):
            window[np.uint32(i), j] = 10 * i + j


@given(
    st.sampled_from([np.float64, np.int64]),
    st.integers(0, 5),
    st.integers(0, 6),
    st.integers(1, 6),
)
@settings(deadline=None, max_examples=50)
def test_a_window_shows_and_changes_the_rows_of_the_array(dtype, offset, rows, columns):
    array = np.random.default_rng(rows).integers(-9, 9, 60).astype(dtype)
    expected = array[offset : offset + rows * columns].reshape(rows, columns)
    out = np.empty((rows, columns), dtype)
    assert copied(array, offset, rows, columns, out) == rows
    assert (out == expected).all()
    before = array.copy()
    written(array, offset, rows, columns)
    assert (expected == 10 * np.arange(rows)[:, None] + np.arange(columns)).all()
    outside = np.r_[0:offset, offset + rows * columns : 60]
    assert (array[outside] == before[outside]).all()


@numba.njit
def reversed_by_a_stack(values, out):
    """Through work spaces of both kinds of numbers."""
    one = 1.0
    places = work_space(len(values), 64, 2)
    numbers = work_space(one, 64, 1)
    for k in range(len(values)):
        places[k, 0], places[k, 1] = k, -k
        numbers[k, 0] = values[k]
    for k in range(len(values)):
        last = len(values) - 1 - k
        out[places[k, 0]] = numbers[last, 0] + places[last, 1]
    return len(places), len(numbers)


def test_a_work_space_holds_what_is_put_in():
    values = np.random.default_rng(0).normal(size=64)
    out = np.empty(64)
    assert reversed_by_a_stack(values, out) == (64, 64)
    assert (out == (values - np.arange(64))[::-1]).all()
