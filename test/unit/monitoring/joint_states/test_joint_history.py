# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recent joint positions by their stamps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collision_monitor.monitoring.joint_history import JointHistory


@given(
    st.lists(st.floats(1e-3, 0.1), min_size=2, max_size=30),
    st.lists(st.floats(-3.0, 3.0), min_size=30, max_size=30),
    st.floats(0.0, 1.0),
)
def test_it_is_on_the_line_between_two_joint_states(steps, values, share):
    times = 1e9 + np.cumsum(steps)
    history = JointHistory()
    rows = np.column_stack([values, values[::-1]])[: len(times)]
    for stamp, row in zip(times, rows, strict=True):
        history.add(stamp, row)
    stamp = times[0] + share * (times[-1] - times[0])
    expected = [np.interp(stamp, times, column) for column in rows.T]
    np.testing.assert_allclose(history.at(stamp), expected, atol=1e-4)


def test_what_is_newer_is_the_newest_and_what_is_older_is_not_known():
    history = JointHistory()
    assert history.at(5.0) is None and history.is_empty
    history.add(1.0, np.array([0.1]))
    assert not history.is_empty
    history.add(2.0, np.array([0.2]))
    assert history.at(9.0) == history.at(2.0) == pytest.approx([0.2])
    assert history.at(1.0) == pytest.approx([0.1])
    assert history.at(0.999) is None


def test_the_oldest_are_forgotten():
    history = JointHistory()
    for k in range(10_000):
        history.add(float(k), np.array([float(k)]))
    known = [k for k in range(7000, 10_000) if history.at(float(k)) is not None]
    assert 2000 <= len(known) < 3000 and known == list(range(known[0], 10_000))
    for stamp in (known[0], known[0] + 0.5, 9998.5):  # across the end of the memory too
        assert history.at(stamp) == pytest.approx([stamp])
    assert history.at(known[0] - 0.5) is None


def test_late_ones_are_passed_over_and_a_clock_that_was_set_back_begins_anew():
    history = JointHistory()
    history.add(10.0, np.array([1.0]))
    history.add(9.5, np.array([7.0]))
    history.add(11.0, np.array([2.0]))
    assert history.at(10.5) == pytest.approx([1.5])
    history.add(3.0, np.array([5.0]))
    assert history.at(10.5) == history.at(3.0) == pytest.approx([5.0])
    assert history.at(2.0) is None


def test_positions_that_were_not_known_are_not_known():
    history = JointHistory()
    history.add(1.0, np.array([0.0, math.nan]))
    history.add(2.0, np.array([0.0, 0.0]))
    assert history.at(1.0) is None and history.at(1.5) is None
    assert history.at(2.0) == pytest.approx([0.0, 0.0])
