# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds of volumes: never above the distance, and 0 only where volumes meet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.box_cases import TwoBoxes, slow_distance, squared_bounds
from support.geometry.mesh_cases import random_pose

from collision_monitor.geometry.bounding_volumes import rectangle_distance_squared


def bounds_of(case, best=np.inf):
    return squared_bounds(case.rows(), best, case.margin)


@given(st.integers(0, 100_000), st.sampled_from([0.3, 1.0, 3.0]))
@settings(max_examples=150, deadline=None)
def test_bounds_never_exceed_the_distance_and_tell_apart_from_meeting(seed, reach):
    case = TwoBoxes(seed, reach)
    *bounds, near = bounds_of(case)
    aligned, oriented, swept = np.sqrt(bounds)
    true_aligned, true_oriented, true_swept = case.distances()
    assert aligned <= true_aligned + 1e-9
    assert oriented <= true_oriented + 1e-9
    assert swept == pytest.approx(true_swept, abs=1e-9)
    # 15 axes decide: a gap shows on one of them, if not always all of it.
    if true_aligned > 1e-6:
        assert aligned > 0.0
    if true_oriented > 1e-6:
        assert oriented > 0.0
    assert near or true_oriented > case.margin - 1e-9
    assert not near or oriented <= case.margin


@given(st.integers(0, 100_000))
@settings(max_examples=100, deadline=None)
def test_a_search_that_is_done_early_says_enough(seed):
    case = TwoBoxes(seed, 1.5)
    exact = bounds_of(case)[:3]
    for part in (0.2, 0.9, 1.1, 3.0):
        for k in range(3):
            best = part * exact[k]
            found = bounds_of(case, best)[k]
            if best < exact[k] * (1 - 1e-9):
                assert best <= found <= exact[k] * (1 + 1e-9) + 1e-15
            elif best > exact[k] * (1 + 1e-9):
                assert found == pytest.approx(exact[k], rel=1e-9, abs=1e-15)


def rectangle_distances(d, rotation, a, b):
    """Of |x| <= a0, |y| <= a1, z = 0 and one with centre d and axes rotation: ours, scipy's."""
    columns = np.column_stack([rotation[:, :2] * b, -np.eye(3)[:, :2] * a])
    rows = tuple(map(tuple, rotation))
    ours = np.sqrt(rectangle_distance_squared(tuple(d), rows, tuple(a), tuple(b)))
    return ours, slow_distance(columns, d)


@given(st.integers(0, 100_000), st.floats(-16, -1))
@settings(max_examples=150, deadline=None)
def test_nearly_parallel_rectangles_lose_no_digits(seed, exponent):
    rng = np.random.default_rng(seed)
    angle = 10.0**exponent
    axis = int(rng.integers(3))
    c, s = np.cos(angle), np.sin(angle)
    rotation = np.roll(np.array([[1.0, 0, 0], [0, c, -s], [0, s, c]]), (axis, axis), (0, 1))
    d = rng.normal(size=3) * [2.0, 2.0, rng.choice([1e-9, 1.0])]
    a, b = rng.uniform(0.1, 1.5, (2, 2))
    found, expected = rectangle_distances(d, rotation, a, b)
    assert found == pytest.approx(expected, abs=1e-8)


@given(st.integers(0, 100_000), st.sampled_from([0.2, 1.0, 3.0]))
@settings(max_examples=200, deadline=None)
def test_the_distance_of_rectangles_is_that_of_their_nearest_points(seed, reach):
    rng = np.random.default_rng(seed)
    rotation, d = random_pose(rng, reach)
    a, b = rng.uniform(0, 1.5, (2, 2)) * (rng.uniform(size=(2, 2)) > 0.15)
    if rng.uniform() < 0.3:  # numbers that make parallels, touching edges, common planes
        a, b, d = np.round(2 * a) / 2, np.round(2 * b) / 2, np.round(2 * d) / 2
    found, expected = rectangle_distances(d, rotation, a, b)
    back, _ = rectangle_distances(-rotation.T @ d, rotation.T, b, a)
    assert (found, back) == pytest.approx((expected, expected), abs=1e-9)


def test_rectangles_that_cross_without_a_corner_inside_are_not_apart():
    rotation = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])  # normal along x
    assert rectangle_distances(np.zeros(3), rotation, (1.0, 1.0), (0.5, 2.0))[0] == 0.0
    assert rectangle_distances(np.zeros(3), rotation, (1.0, 0.2), (0.5, 2.0))[0] == 0.0
    assert rectangle_distances(np.array([1.5, 0, 0]), rotation, (1.0, 1.0), (0.5, 2.0))[0] == 0.5
