# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The distance of two rectangles, against the least of a convex function."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from support.geometry.mesh_cases import random_pose

from collision_monitor.geometry.bounding_volumes import rectangle_distance_squared


def slow_distance(d, rotation, a, b):
    """Distance of |x| <= a0, |y| <= a1, z = 0 and one with centre d and axes rotation."""
    sides = np.column_stack([rotation[:, :2] * b, -np.eye(3)[:, :2] * a])
    return np.sqrt(2 * lsq_linear(sides, -d, (-1.0, 1.0), "bvls", tol=1e-15).cost)


def distance(d, rotation, a, b):
    return np.sqrt(rectangle_distance_squared(*d, tuple(rotation.ravel()), *a, *b))


@given(st.integers(0, 100_000), st.sampled_from([0.2, 1.0, 3.0]))
@settings(max_examples=500, deadline=None)
def test_the_distance_is_that_of_the_nearest_points(seed, reach):
    rng = np.random.default_rng(seed)
    rotation, d = random_pose(rng, reach)
    a, b = rng.uniform(0, 1.5, (2, 2)) * (rng.uniform(size=(2, 2)) > 0.15)
    if rng.uniform() < 0.3:  # numbers that make parallels, touching edges, common planes
        a, b, d = np.round(2 * a) / 2, np.round(2 * b) / 2, np.round(2 * d) / 2
    expected = slow_distance(d, rotation, a, b)
    assert distance(d, rotation, a, b) == pytest.approx(expected, abs=1e-9)
    back = distance(-rotation.T @ d, rotation.T, b, a)
    assert back == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 100_000), st.floats(-16, -1))
@settings(max_examples=300, deadline=None)
def test_nearly_parallel_rectangles_lose_no_digits(seed, exponent):
    rng = np.random.default_rng(seed)
    angle = 10.0**exponent
    axis = int(rng.integers(3))
    c, s = np.cos(angle), np.sin(angle)
    rotation = np.roll(np.array([[1.0, 0, 0], [0, c, -s], [0, s, c]]), (axis, axis), (0, 1))
    d = rng.normal(size=3) * [2.0, 2.0, rng.choice([1e-9, 1.0])]
    a, b = rng.uniform(0.1, 1.5, (2, 2))
    expected = slow_distance(d, rotation, a, b)
    assert distance(d, rotation, a, b) == pytest.approx(expected, abs=1e-8)


def test_rectangles_that_cross_without_a_corner_inside_are_not_apart():
    rotation = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])  # normal along x
    assert distance(np.zeros(3), rotation, (1.0, 1.0), (0.5, 2.0)) == 0.0
    assert distance(np.zeros(3), rotation, (1.0, 0.2), (0.5, 2.0)) == 0.0
    assert distance(np.array([1.5, 0, 0]), rotation, (1.0, 1.0), (0.5, 2.0)) == 0.5
