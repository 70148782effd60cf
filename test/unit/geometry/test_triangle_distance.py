# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of triangles against rational arithmetic and coal."""

import math

import coal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.coal_shapes import coal_mesh
from support.geometry.exact_geometry import squared_distance

from collision_monitor.geometry.triangles import squared_distance_below

coordinate = st.integers(0, 3).map(float)
point = st.tuples(coordinate, coordinate, coordinate)
six_points = st.lists(point, min_size=6, max_size=6).map(np.array)


def triangle_distance(p, i, j):
    square, *points = squared_distance_below(p, i, j, math.inf)
    return math.sqrt(square), *points


def unit_normal(p):
    normal = np.cross(p[1] - p[0], p[2] - p[0])
    return normal / np.linalg.norm(normal)


def apart(rng):
    p = rng.normal(size=(6, 3))
    p[3:] += rng.normal(size=3) * 3.0
    return p


def anywhere(rng):
    return rng.normal(size=(6, 3))


def narrow(rng):
    """The third vertex close to the line of the first two: down to no area at all."""
    p = rng.normal(size=(6, 3))
    for i in (0, 3):
        share, width = rng.uniform(-0.2, 1.2), 10.0 ** rng.uniform(-15, -1)
        p[i + 2] = p[i] + share * (p[i + 1] - p[i]) + width * rng.normal(size=3)
    return p


def vertex_over_a_narrow_face(rng):
    p = narrow(rng)
    p[3] = rng.dirichlet([1, 1, 1]) @ p[:3]
    p[3] += 10.0 ** rng.uniform(-16, -1) * unit_normal(p)
    return p


def vertex_close_to_a_face(rng):
    p = rng.normal(size=(6, 3))
    normal, foot = unit_normal(p), rng.dirichlet([1, 1, 1]) @ p[:3]
    for k in range(3, 6):
        away = rng.normal(size=3)
        p[k] = foot + away * np.sign(away @ normal)
    p[3] = foot
    p[3:] += 10.0 ** rng.uniform(-17, -3) * normal
    return p


def nearly_parallel_edges(rng):
    p = rng.normal(size=(6, 3))
    p[3:5] = p[:2] + 10.0 ** rng.uniform(-15, -1) * rng.normal(size=(2, 3))
    return p


def nearly_in_one_plane(rng):
    p = rng.normal(size=(6, 3))
    p[:, 2] = 10.0 ** rng.uniform(-17, -3) * rng.normal(size=6)
    return p @ np.linalg.qr(rng.normal(size=(3, 3)))[0]


def parallel_faces(rng):
    p = rng.normal(size=(6, 3))
    p[:3, 2], p[3:, 2] = 0.0, 10.0 ** rng.uniform(-9, 0)
    return p @ np.linalg.qr(rng.normal(size=(3, 3)))[0]


def small_and_large(rng):
    p = rng.normal(size=(6, 3))
    p[3:] = p[3:] * 10.0 ** rng.uniform(-9, -1) + rng.normal(size=3)
    return p


def far_from_the_origin(rng):
    return rng.normal(size=(6, 3)) + 1e3


FAMILIES = [
    apart, anywhere, narrow, vertex_over_a_narrow_face, vertex_close_to_a_face,
    nearly_parallel_edges, nearly_in_one_plane, parallel_faces, small_and_large,
    far_from_the_origin,
]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_distance_and_points_against_rational_arithmetic(family):
    rng = np.random.default_rng(11)
    for _ in range(20):
        p = family(rng)
        scale = np.ptp(p, axis=0).max()
        distance, *points = triangle_distance(p, 0, 3)
        a, b = np.array(points[:3]), np.array(points[3:])
        expected = squared_distance(p[:3], p[3:])
        if distance == 0.0:  # without points
            assert float(expected) ** 0.5 <= 2e-11 * scale
            continue
        if expected == 0:  # an edge through a narrow face: less than its width
            assert family in (narrow, vertex_over_a_narrow_face)
            assert distance <= 1e-8 * scale
            continue
        assert distance == pytest.approx(float(expected) ** 0.5, rel=1e-12, abs=1e-13 * scale)
        assert np.linalg.norm(a - b) == pytest.approx(distance, rel=1e-12, abs=1e-13 * scale)
        # The points may be rounded where they are large.
        rounding = 1e-13 * scale + 4e-16 * np.abs(p).max()
        assert float(squared_distance([a], p[:3])) ** 0.5 < rounding
        assert float(squared_distance([b], p[3:])) ** 0.5 < rounding


@given(six_points)
@settings(max_examples=80, deadline=None)
def test_triangles_segments_and_points_of_a_grid(p):
    expected = squared_distance(p[:3], p[3:])
    distance, *points = triangle_distance(p, 0, 3)
    assert distance == pytest.approx(float(expected) ** 0.5, abs=1e-14)
    assert (distance == 0.0) == (expected == 0)
    if distance > 0.0:
        assert float(squared_distance([points[:3]], p[:3])) < 1e-28
        assert float(squared_distance([points[3:]], p[3:])) < 1e-28


@pytest.mark.parametrize("spread", [0.0, 2.0, 5.0])
def test_against_coal(spread):
    rng = np.random.default_rng(12)
    here = coal.Transform3s()
    for _ in range(300):
        p = rng.normal(size=(6, 3))
        p[3:] += rng.normal(size=3) * spread
        first, second = coal_mesh(p[:3], [[0, 1, 2]]), coal_mesh(p[3:], [[0, 1, 2]])
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        expected = coal.distance(first, here, second, here, request, result)
        assert triangle_distance(p, 0, 3)[0] == pytest.approx(max(expected, 0.0), abs=1e-9)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_a_bound_changes_nothing_below_it_and_is_reached_above(family):
    rng = np.random.default_rng(13)
    for _ in range(80):
        p = family(rng)
        distance, *points = triangle_distance(p, 0, 3)
        square = distance * distance
        slack = 1e-24 * np.ptp(p, axis=0).max() ** 2
        for factor in (0.0, 0.3, 0.999, 1.001, 2.0, 1e6):
            bound = square * factor + 4.0 * slack * (1.0 if factor > 1.0 else -1.0)
            if bound <= 0.0:
                continue
            below, *same = squared_distance_below(p, 0, 3, bound)
            if factor > 1.0:
                assert below == pytest.approx(square, rel=1e-10, abs=slack)
                assert np.linalg.norm(np.subtract(same[:3], same[3:])) == pytest.approx(
                    distance, rel=1e-10, abs=1e-12 * np.ptp(p)
                )
            else:
                assert below >= bound * (1.0 - 1e-12)


def vertex_on_face(rng):
    p = rng.normal(size=(6, 3))
    p[3] = rng.dirichlet([1, 1, 1]) @ p[:3]
    return p


def tip_on_edge(rng):
    """A tip put on an edge as well as floats can, the triangles on either side of it."""
    along, away, across = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    middle = rng.normal(size=3)
    first = [middle + along, middle - along, middle - away]
    return np.array([*first, middle, middle + away + 3 * across, middle + away - 3 * across])


@pytest.mark.parametrize("family", [vertex_on_face, tip_on_edge], ids=lambda f: f.__name__)
def test_a_bound_never_hides_that_triangles_touch(family):
    """Bounds below what rounding does to a gap."""
    rng = np.random.default_rng(14)
    touching = 0
    for _ in range(600):
        p = family(rng)
        if triangle_distance(p, 0, 3)[0] > 0.0:
            continue
        touching += 1
        for bound in (1e-60, 1e-40, 1e-34, 1e-32, 1e-30, 1e-3, math.inf):
            assert squared_distance_below(p, 0, 3, bound)[0] == 0.0
    assert touching > 60


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("row", range(6))
def test_what_is_not_finite_gives_nan(row, bad):
    p = np.random.default_rng(15).normal(size=(6, 3))
    p[row, row % 3] = bad
    assert all(math.isnan(x) for x in triangle_distance(p, 0, 3))
    assert math.isnan(squared_distance_below(p, 0, 3, 1e-9)[0])
