# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Segment and capsule kernels against brute force, exact optimality and coal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.coal_shapes import coal_capsule, least
from support.geometry.segment_distance import segment_distance as slow_segment_distance

from collision_monitor.geometry.segments import (
    capsule_distance,
    capsule_witness,
    nearest_parameters,
)

coordinate = st.floats(-10.0, 10.0, allow_nan=False).map(lambda x: round(x, 6))
point = st.tuples(coordinate, coordinate, coordinate).map(np.array)
radius = st.floats(0.0, 2.0).map(lambda x: round(x, 6))


def segment_distance(p0, p1, q0, q1):
    """Distance by the kernel, from two segments' end points."""
    u, v = p1 - p0, q1 - q0
    s, t = nearest_parameters(*p0, *u, *q0, *v)
    assert 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0
    return np.linalg.norm(p0 + s * u - q0 - t * v)


@given(point, point, point, point)
@settings(max_examples=200, deadline=None)
def test_segment_distance_is_the_constrained_least_squares_solution(p0, p1, q0, q1):
    expected = slow_segment_distance(np.array([p0, p1]), np.array([q0, q1]))
    assert segment_distance(p0, p1, q0, q1) == pytest.approx(expected, abs=1e-9)


@given(point, point, point, st.floats(1e-13, 1e-3), st.floats(0.0, 1.0))
@settings(max_examples=200, deadline=None)
def test_nearly_parallel_segments_that_cross_are_found_to_touch(p0, p1, direction, angle, where):
    u = p1 - p0
    side = np.cross(u, direction)
    if np.linalg.norm(u) < 1e-2 or np.linalg.norm(side) < 1e-2:
        return
    length = np.linalg.norm(u)
    v = u + angle * length * side / np.linalg.norm(side)
    crossing = p0 + where * u
    assert segment_distance(p0, p1, crossing - 0.5 * v, crossing + 0.5 * v) < 1e-11 * (1 + length)


@pytest.mark.parametrize(
    ("p0", "p1", "q0", "q1", "expected"),
    [
        ([0, 0, 0], [0, 0, 0], [3, 4, 0], [3, 4, 0], 5.0),  # two points
        ([0, 0, 0], [0, 0, 0], [-1, 2, 0], [1, 2, 0], 2.0),  # point beside a segment
        ([-1, 0, 0], [1, 0, 0], [4, 4, 0], [4, 4, 0], 5.0),  # segment, point past its end
        ([0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], 1.0),  # parallel, side by side
        ([0, 0, 0], [1, 0, 0], [3, 0, 0], [4, 0, 0], 2.0),  # on one line, apart
        ([0, 0, 0], [2, 0, 0], [1, 0, 0], [3, 0, 0], 0.0),  # on one line, overlapping
        ([0, 0, 0], [1, 0, 0], [4, 4, 0], [5, 4, 0], 5.0),  # parallel, end against end
        ([-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], 0.0),  # crossing
        ([-1, 0, 0], [1, 0, 0], [0, -1, 3], [0, 1, 3], 3.0),  # crossing above
        ([0, 0, 0], [1, 0, 0], [1, 0, 0], [2, 5, 0], 0.0),  # sharing an end point
    ],
)
def test_the_classic_cases(p0, p1, q0, q1, expected):
    points = [np.array(p, dtype=float) for p in (p0, p1, q0, q1)]
    assert segment_distance(*points) == pytest.approx(expected, abs=1e-15)
    assert segment_distance(*points[2:], *points[:2]) == pytest.approx(expected, abs=1e-15)


@given(point, point, point, point, radius, radius)
@settings(max_examples=200, deadline=None)
def test_witness_points_lie_at_the_distance_along_a_unit_normal(p0, p1, q0, q1, r0, r1):
    ends = np.array([[*p0, *p1], [*q0, *q1]])
    radii = np.array([[r0], [r1]])
    result = np.array(capsule_witness(ends, radii, 0, 1))
    distance, a, b, normal = result[0], result[1:4], result[4:7], result[7:]
    assert np.isfinite(result).all()
    assert distance == pytest.approx(capsule_distance(ends, radii, 0, 1), abs=1e-14)
    assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-12)
    assert b - a == pytest.approx(distance * normal, abs=1e-9)


@given(point, point, point, point, radius, radius)
@settings(max_examples=150, deadline=None)
def test_moving_out_along_the_normal_by_the_depth_parts_the_capsules(p0, p1, q0, q1, r0, r1):
    ends = np.array([[*p0, *p1], [*q0, *q1]])
    radii = np.array([[r0], [r1]])
    result = np.array(capsule_witness(ends, radii, 0, 1))
    depth, normal = -result[0], result[7:]
    if depth <= 0.0:
        return
    moved = ends.copy()
    moved[1] += depth * np.tile(normal, 2)
    assert capsule_distance(moved, radii, 0, 1) == pytest.approx(0.0, abs=1e-9)
    moved[1] = ends[1] + 0.99 * depth * np.tile(normal, 2)
    assert capsule_distance(moved, radii, 0, 1) <= 1e-12


def test_capsules_agree_with_coal():
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(600):
        ends = rng.uniform(-1.0, 1.0, (2, 6))
        radii = rng.uniform(0.01, 0.3, (2, 1))
        leaves = [coal_capsule(e.reshape(2, 3), r) for e, (r,) in zip(ends, radii, strict=True)]
        expected = least(leaves[:1], leaves[1:])
        mine = capsule_distance(ends, radii, 0, 1)
        if expected > 0.0:
            worst = max(worst, abs(mine - expected))
        else:
            assert mine <= 1e-9
    assert worst < 1e-9
