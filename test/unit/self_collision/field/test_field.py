# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The linear repulsion field: its three zones, its index, and what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collision_monitor.self_collision.motion_clearance import LinearField

length = st.floats(0.0, 2.0)
FIELD = LinearField.of_arms(0.1, 0.1, 0.075, 0.075, slope=3.0)


def test_the_distances_of_two_arms_add_up():
    field = LinearField.of_arms(0.1, 0.2, 0.05, 0.125, 4.0)
    assert field.safe == pytest.approx(0.3)
    assert field.danger == pytest.approx(0.175)
    assert field.slope == 4.0


@pytest.mark.parametrize(
    ("distance", "force"),
    [(0.5, 0.0), (0.2, 0.0), (0.19, 0.03), (0.15, 0.15), (0.1499, math.inf), (0.0, math.inf)],
)
def test_the_zones(distance, force):
    assert FIELD.force(distance) == pytest.approx(force, abs=1e-15)
    assert isinstance(FIELD.force(distance), float)


def test_infinitely_far_is_safe_and_unknown_is_not():
    assert FIELD.force(math.inf) == 0.0
    assert FIELD.force(-math.inf) == math.inf
    assert FIELD.force(math.nan) == math.inf
    assert FIELD.index([1.0, math.nan]) == math.inf


def test_the_index_is_the_sum_of_all():
    distances = np.array([[0.3, 0.19], [0.17, 0.2]])
    assert FIELD.force(distances).shape == (2, 2)
    assert FIELD.index(distances) == pytest.approx(3.0 * (0.01 + 0.03))
    assert FIELD.index([]) == 0.0
    assert FIELD.index([0.3, 0.1]) == math.inf


@given(length, length, st.floats(1e-3, 1e3), length, length)
def test_nearer_never_repels_less(a, b, slope, d1, d2):
    field = LinearField(max(a, b), min(a, b), slope)
    near, far = sorted((d1, d2))
    assert field.force(near) >= field.force(far) >= 0.0
    assert (field.force(far) == 0.0) == (far >= field.safe)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((0.1, 0.2), ("danger", "0.2", "0.1")),
        ((math.nan, 0.0), ("safe", "nan")),
        ((0.2, math.nan), ("danger", "nan")),
        ((math.inf, 0.1), ("safe", "inf")),
        ((0.2, 0.1, 0.0), ("slope", "0.0")),
        ((0.2, 0.1, -1.0), ("slope", "-1.0")),
        ((0.2, 0.1, math.nan), ("slope", "nan")),
    ],
)
def test_what_means_nothing_is_refused_by_name(values, named):
    with pytest.raises(ValueError) as error:
        LinearField(*values)
    assert all(part in str(error.value) for part in named)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((0.1, 0.1, 0.2, 0.05), ("danger_right", "0.2", "0.1")),
        ((0.3, 0.1, 0.2, 0.15), ("danger_left", "0.15", "0.1")),  # though the sums are in order
        ((-0.1, 0.3, 0.0, 0.0), ("safe_right", "-0.1")),
        ((0.1, math.nan, 0.0, 0.0), ("safe_left", "nan")),
        ((0.1, 0.1, 0.0, -0.01), ("danger_left", "-0.01")),
    ],
)
def test_distances_of_one_arm_that_mean_nothing_are_refused_by_name(values, named):
    with pytest.raises(ValueError) as error:
        LinearField.of_arms(*values)
    assert all(part in str(error.value) for part in named)
