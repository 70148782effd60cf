# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Windows against numpy's own views of the same numbers."""

import numba
import numpy as np
import pytest
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


@numba.njit
def last_of_the_first_two_rows(array):
    """Constant places, and a window as an argument's part."""
    window = borrow(array, 1, 2, 3)
    window[0, 0] += 1.0
    return window[0, 2], window[1, 2]


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


def test_constant_places_are_found():
    array = np.arange(8.0)
    assert last_of_the_first_two_rows(array) == (3.0, 6.0)
    assert array.tolist() == [0.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_a_window_has_two_indices_and_no_slices():
    @numba.njit
    def row(array):
        return borrow(array, 0, 2, 2)[0]

    @numba.njit
    def part(array):
        return borrow(array, 0, 2, 2)[0:1, 1]

    for wrong in (row, part):
        with pytest.raises(numba.TypingError):
            wrong(np.zeros(4))


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


def test_a_work_space_has_a_constant_size():
    @numba.njit
    def any_size(n):
        return len(work_space(n, n, 2))

    with pytest.raises(numba.TypingError):
        any_size(3)


@numba.njit
def _kept_in_a_work_space_like(like, value):
    space = work_space(like, 2, 1)
    space[1, 0] = value
    return space[1, 0]


@numba.njit
def _kept_by_a_caller_with_a_literal(value):
    return _kept_in_a_work_space_like(0, value)


def test_a_work_space_like_a_literal_holds_other_numbers_too():
    assert _kept_in_a_work_space_like(0, 7) == 7
    assert _kept_by_a_caller_with_a_literal(7) == 7
