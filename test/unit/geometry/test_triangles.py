# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether triangles touch: against a linear program in fractions, and coal."""

import coal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.coal_shapes import coal_mesh
from support.geometry.exact_geometry import share_a_point, squared_distance

from collision_monitor.geometry.segments import RELATIVE_ROUNDING
from collision_monitor.geometry.triangles import squared_distance_below, triangles_touch

coordinate = st.integers(0, 3).map(float)
point = st.tuples(coordinate, coordinate, coordinate)
six_points = st.lists(point, min_size=6, max_size=6).map(np.array)
EASY = [[0, 0, 0], [4, 0, 0], [0, 4, 0]]


def meets(first, second):
    """Whether they touch, whichever of the two is named first.

    They do if they share a point, and only if they are nearer than rounding can tell.
    """
    p = np.array([*first, *second], dtype=float)
    there, back = (squared_distance_below(p, *rows, np.inf)[0] == 0.0 for rows in ((0, 3), (3, 0)))
    assert there or not share_a_point(first, second)
    assert back or not share_a_point(first, second)
    assert triangles_touch(p, 0, 3, 1e-14) == there
    if there or back:
        extent = np.abs(p[1:] - p[0]).sum() + np.abs(p[3] - p[1:]).sum()
        assert float(squared_distance(first, second)) ** 0.5 <= RELATIVE_ROUNDING * extent
    return there


@given(six_points)
@settings(max_examples=100, deadline=None)
def test_triangles_of_a_small_grid(p):
    meets(p[:3], p[3:])


@given(six_points, st.integers(0, 2), st.booleans())
@settings(max_examples=75, deadline=None)
def test_triangles_of_one_plane(p, axis, slanted):
    p[:, axis] = p[:, axis - 1] + p[:, axis - 2] if slanted else 1.0
    meets(p[:3], p[3:])


step = st.tuples(*[st.integers(-1, 1).map(float)] * 3)


@given(point, step, st.tuples(*[st.integers(-2, 2)] * 3), six_points, st.booleans())
@settings(max_examples=100, deadline=None)
def test_segments_and_points(start, direction, places, p, on_the_same_line):
    """A triangle without area, against any, and against another on the same line."""
    first = [np.add(start, k * np.array(direction)) for k in places]
    second = [np.add(p[3], np.floor(x[0]) * np.array(direction)) for x in p[:3]]
    if on_the_same_line:
        second = [np.add(start, (x[1] - x[0]) * np.array(direction)) for x in p[:3]]
    for other in (p[:3], second):
        meets(first, other)


@given(six_points, st.sampled_from([1e-9, 1e-3, 1e9]), st.tuples(*[st.integers(-9, 9)] * 3))
@settings(max_examples=50, deadline=None)
def test_any_scale_and_place(p, scale, offset):
    moved = (p + np.array(offset)) * scale
    meets(moved[:3], moved[3:])


@pytest.mark.parametrize(("height", "touches"), [(1e-14, True), (0.0, True), (1e-9, False)])
def test_a_gap_above_rounding_is_a_distance(height, touches):
    assert meets(EASY, [[1, 1, height], [1, 1, 1], [2, 1, 1]]) == touches


def test_nearly_coplanar_triangles():
    """Both of one plane but for rounding: their planes cross at will."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(80):
        p = rng.normal(size=(6, 3))
        u, v = rng.normal(scale=0.7, size=(2, 3, 1))
        p[3:] = p[0] + u * (p[1] - p[0]) + v * (p[2] - p[0])
        hits += meets(p[:3], p[3:])
    assert 8 < hits < 72


def test_touching_within_rounding():
    """A vertex put on a face, on an edge, on a vertex as well as floats can."""
    rng = np.random.default_rng(2)
    for k in range(60):
        p = rng.normal(size=(6, 3))
        weights = rng.dirichlet([1.0, 1.0, 1.0][: 3 - k % 3])
        p[3] = weights @ p[: len(weights)]
        assert meets(p[:3], p[3:])


def test_against_coal_on_random_triangles():
    """Two hundred, and none so near to touching that floats could mistake it."""
    rng = np.random.default_rng(3)
    here, hits = coal.Transform3s(), 0
    for k in range(200):
        p = rng.normal(size=(6, 3))
        p[3:] += rng.normal(size=3) * (k % 3)
        expected = coal.collide(
            coal_mesh(p[:3], [[0, 1, 2]]), here, coal_mesh(p[3:], [[0, 1, 2]]), here,
            coal.CollisionRequest(), coal.CollisionResult(),
        )  # fmt: skip
        hits += expected
        assert meets(p[:3], p[3:]) == bool(expected), p.tolist()
    assert 20 < hits < 140
