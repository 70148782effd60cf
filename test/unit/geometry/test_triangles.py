# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether triangles share a point: against a linear program in fractions, and coal."""


import coal
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.coal_shapes import coal_mesh
from support.geometry.exact_geometry import share_a_point

from collision_monitor.geometry.triangles import triangles_intersect

coordinate = st.integers(0, 3).map(float)
point = st.tuples(coordinate, coordinate, coordinate)
six_points = st.lists(point, min_size=6, max_size=6).map(np.array)
EASY = [[0, 0, 0], [4, 0, 0], [0, 4, 0]]


def meets(first, second):
    """Ours, whichever of the two is named first."""
    p = np.array([*first, *second], dtype=float)
    there, back = triangles_intersect(p, 0, 3), triangles_intersect(p, 3, 0)
    assert there == back
    return there


@given(six_points)
@settings(max_examples=200, deadline=None)
def test_triangles_of_a_small_grid(p):
    assert meets(p[:3], p[3:]) == share_a_point(p[:3], p[3:])


@given(six_points, st.integers(0, 2), st.booleans())
@settings(max_examples=150, deadline=None)
def test_triangles_of_one_plane(p, axis, slanted):
    p[:, axis] = p[:, axis - 1] + p[:, axis - 2] if slanted else 1.0
    assert meets(p[:3], p[3:]) == share_a_point(p[:3], p[3:])


step = st.tuples(*[st.integers(-1, 1).map(float)] * 3)


@given(point, step, st.tuples(*[st.integers(-2, 2)] * 3), six_points, st.booleans())
@settings(max_examples=200, deadline=None)
def test_segments_and_points(start, direction, places, p, on_the_same_line):
    """A triangle without area, against any, and against another on the same line."""
    first = [np.add(start, k * np.array(direction)) for k in places]
    second = [np.add(p[3], np.floor(x[0]) * np.array(direction)) for x in p[:3]]
    if on_the_same_line:
        second = [np.add(start, (x[1] - x[0]) * np.array(direction)) for x in p[:3]]
    for other in (p[:3], second):
        assert meets(first, other) == share_a_point(first, other)


@given(six_points, st.sampled_from([1e-70, 1e-9, 1e60]), st.tuples(*[st.integers(-9, 9)] * 3))
@settings(max_examples=100, deadline=None)
def test_any_scale_and_place(p, scale, offset):
    moved = (p + np.array(offset)) * scale
    assert meets(moved[:3], moved[3:]) == share_a_point(moved[:3], moved[3:])


def test_a_float_more_or_less_decides():
    z = np.nextafter(0.0, 1.0) * 2.0**800  # about 1e-83
    for height in (1e-16, 1e-60, z * 1e4):
        above = [[1, 1, height], [1, 1, 1], [2, 1, 1]]
        assert not meets(EASY, above)
        above[0][2] = 0.0
        assert meets(EASY, above)


def test_nearly_coplanar_triangles():
    """Both of one plane but for rounding: their planes cross at will."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        p = rng.normal(size=(6, 3))
        u, v = rng.normal(scale=0.7, size=(2, 3, 1))
        p[3:] = p[0] + u * (p[1] - p[0]) + v * (p[2] - p[0])
        expected = share_a_point(p[:3], p[3:])
        assert meets(p[:3], p[3:]) == expected
        hits += expected
    assert 20 < hits < 180


def test_touching_within_rounding():
    """A vertex put on a face, on an edge, on a vertex as well as floats can."""
    rng = np.random.default_rng(2)
    hits = 0
    for k in range(450):
        p = rng.normal(size=(6, 3))
        weights = rng.dirichlet([1.0, 1.0, 1.0][: 3 - k % 3])
        p[3] = weights @ p[: len(weights)]
        expected = share_a_point(p[:3], p[3:])
        assert meets(p[:3], p[3:]) == expected
        hits += expected
    assert 100 < hits < 400


def test_against_coal_on_random_triangles():
    """Six hundred, and none so near to touching that floats could mistake it."""
    rng = np.random.default_rng(3)
    here, hits = coal.Transform3s(), 0
    for k in range(600):
        p = rng.normal(size=(6, 3))
        p[3:] += rng.normal(size=3) * (k % 3)
        expected = coal.collide(
            coal_mesh(p[:3], [[0, 1, 2]]), here, coal_mesh(p[3:], [[0, 1, 2]]), here,
            coal.CollisionRequest(), coal.CollisionResult(),
        )  # fmt: skip
        hits += expected
        assert meets(p[:3], p[3:]) == bool(expected), p.tolist()
    assert 60 < hits < 400
