# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of convex solids, against coal's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.coal_shapes import coal_distance, coal_mesh
from support.geometry.mesh_cases import random_pose
from support.geometry.solid_cases import SOLIDS, solid_cases

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.convex import SOLID_COLUMNS, solid_distance


@kernel
def _distance(solids, other, is_triangle, limit, points):
    return solid_distance(
        borrow(solids, 0, 2, 5), 0, borrow(other, 0, 4, 3), is_triangle, 1, limit,
        borrow(points, 0, 2, 3),
    )  # fmt: skip


def distance(solids, other, is_triangle=False, limit=np.inf):
    """(distance, points) of the first solid and what ``other`` (4, 3) places."""
    points = np.full((2, 3), np.nan)
    rows = np.zeros((2, SOLID_COLUMNS))
    rows[: len(solids)] = solids
    found = _distance(rows.ravel(), other.ravel().copy(), is_triangle, limit, points.reshape(-1))
    return found, points


def is_in(solid, point):
    """Whether a point is in a solid, its radius left out, to 1e-9 m."""
    x, y, z = point
    hx, hy, hz, is_round, _ = solid
    if abs(z) > hz + 1e-9:
        return False
    if is_round:
        return np.hypot(x, y) <= hx + 1e-9
    return abs(x) <= hx + 1e-9 and abs(y) <= hy + 1e-9


@given(st.sampled_from(SOLIDS), st.sampled_from(SOLIDS), st.integers(0, 2**31))
@settings(max_examples=200, deadline=None)
def test_solids_have_coals_distance_and_points_on_them(first, second, seed):
    rng = np.random.default_rng(seed)
    one, other = solid_cases(first, rng), solid_cases(second, rng)
    rotation, translation = random_pose(rng, 0.4)
    found, points = distance([one.row, other.row], np.vstack([rotation, translation]))
    expected = coal_distance(one.geometry, other.geometry, rotation, translation)
    radii = one.row[4] + other.row[4]
    if found > 0.0:
        assert found - radii == pytest.approx(expected, abs=1e-8)
        assert np.linalg.norm(points[1] - points[0]) == pytest.approx(found, abs=1e-9)
        assert is_in(one.row, points[0])
        assert is_in(other.row, rotation.T @ (points[1] - translation))
    else:
        assert expected <= 1e-8


@given(st.sampled_from(SOLIDS), st.integers(0, 2**31))
@settings(max_examples=120, deadline=None)
def test_triangles_have_coals_distance(name, seed):
    rng = np.random.default_rng(seed)
    solid = solid_cases(name, rng)
    corners = rng.normal(size=3) * 0.5 + rng.normal(size=(3, 3)) * 10 ** rng.uniform(-2, 0)
    found, points = distance([solid.row], np.vstack([corners, np.zeros(3)]), True)
    triangle = coal_mesh(corners, [[0, 1, 2]])
    expected = coal_distance(triangle, solid.geometry, np.eye(3), np.zeros(3))
    if found > 0.0:
        assert found - solid.row[4] == pytest.approx(expected, abs=1e-8)
        assert is_in(solid.row, points[0])
    else:
        assert expected <= 1e-8


@given(st.sampled_from(SOLIDS), st.sampled_from(SOLIDS), st.integers(0, 2**31))
@settings(max_examples=100, deadline=None)
def test_a_limit_is_never_below_the_truth(first, second, seed):
    rng = np.random.default_rng(seed)
    rows = [solid_cases(first, rng).row, solid_cases(second, rng).row]
    other = np.vstack(random_pose(rng, 0.8))
    true, _ = distance(rows, other)
    for share in (0.3, 0.9, 1.1):
        found, _ = distance(rows, other, limit=share * true + 1e-9)
        if share > 1.0:
            assert found == true
        else:
            assert share * true <= found <= true + 1e-9


def test_faces_and_rims_that_lie_flat_upon_each_other_are_settled():
    box, cylinder = np.array([0.2, 0.3, 0.1, 0, 0]), np.array([0.15, 0.15, 0.2, 1, 0])
    upright = np.vstack([np.eye(3), [0.01, -0.02, 0.35]])
    assert distance([box, cylinder], upright)[0] == pytest.approx(0.05, abs=1e-10)
    assert distance([cylinder, cylinder], np.vstack([np.eye(3), [0.5, 0.0, 0.1]]))[
        0
    ] == pytest.approx(0.2, abs=1e-10)
    assert distance([box, box], np.vstack([np.eye(3), [0.0, 0.0, 0.0]]))[0] == 0.0
