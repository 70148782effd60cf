# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Oriented boxes: enclosing, no larger than axis-aligned ones, and defined when flat."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from collision_monitor.errors import FitError
from collision_monitor.fitting.bounding_shapes import fit_box, hull_points


def inside(box, points, slack=1e-9):
    """Whether all points lie in the box."""
    local = (points - box.center) @ box.axes
    return (np.abs(local) <= 0.5 * box.extents + slack).all()


@given(st.integers(4, 60), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_box_encloses_its_points_and_is_a_rotation(count, seed):
    points = np.random.default_rng(seed).normal(size=(count, 3)) * [3.0, 1.0, 0.2]
    box = fit_box(points)
    assert inside(box, points)
    assert box.axes.T @ box.axes == pytest.approx(np.eye(3), abs=1e-9)
    assert list(box.extents) == sorted(box.extents)
    assert box.volume <= np.prod(np.ptp(points, axis=0)) * (1 + 1e-6)


def test_the_box_of_a_turned_box_is_that_box():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 5)], dtype=float)
    turn = Rotation.from_euler("xyz", [0.3, 1.1, -0.7]).as_matrix()
    box = fit_box(corners @ turn.T)
    assert box.extents == pytest.approx([1.0, 2.0, 5.0], abs=1e-6)
    assert abs(box.long_axis @ turn[:, 2]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    "points",
    [
        [[1, 2, 3]],
        [[0, 0, 0], [1, 1, 1]],
        [[0, 0, 0], [1, 1, 1], [2, 2, 2]],
        [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
        [[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0.5, 0.5, 1]],
        [[0, 0, 1]] * 8,
    ],
)
def test_flat_and_thin_point_sets_have_a_box(points):
    points = np.array(points, dtype=float)
    assert inside(fit_box(points), points)
    assert len(hull_points(points)) <= len(points)


@pytest.mark.parametrize("points", [np.empty((0, 3)), [[np.nan, 0, 0]], [[np.inf, 0, 0]]])
def test_nothing_to_fit_is_an_error(points):
    with pytest.raises(FitError, match="finite point"):
        fit_box(points)
