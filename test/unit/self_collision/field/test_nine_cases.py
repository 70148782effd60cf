# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The nine cases of two segments, each against least squares."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.geometry.segment_distance import segment_distance

from collision_monitor.self_collision.field.nine_cases import control_points

coordinate = st.floats(-2.0, 2.0).map(lambda x: round(x, 6))
point = st.tuples(coordinate, coordinate, coordinate).map(np.array)
segment = st.tuples(point, point).map(np.array)
inside = st.floats(0.0, 1.0)
RANGES = (st.floats(-3.0, -1e-3), inside, st.floats(1.001, 4.0))


def check(first, second, tolerance=1e-9):
    """What holds for any two segments; returns the answer."""
    found = control_points(first, second)
    assert found.distance == pytest.approx(segment_distance(first, second), abs=tolerance)
    assert np.linalg.norm(found.second - found.first) == pytest.approx(found.distance, abs=1e-12)
    for at, (a, b) in ((found.first, first), (found.second, second)):
        assert np.linalg.norm(at - a) + np.linalg.norm(b - at) == pytest.approx(
            np.linalg.norm(b - a), abs=1e-7
        )
    turned = control_points(second, first)
    assert turned.distance == pytest.approx(found.distance, abs=tolerance)
    assert 1 <= found.case <= 9
    return found


@st.composite
def segments_of(draw, a, b):
    """Two segments whose lines come nearest at k1, k2 of the given sides, at a known height."""
    u, v = draw(point), draw(point)
    n = np.cross(u, v)
    assume(np.linalg.norm(n) > 0.05 * np.linalg.norm(u) * np.linalg.norm(v) > 1e-3)
    k1, k2, height = draw(RANGES[a]), draw(RANGES[b]), draw(st.floats(0.0, 1.0))
    foot = draw(point)
    p = foot - k1 * u
    q = foot + height * n / np.linalg.norm(n) - k2 * v
    return np.array([p, p + u]), np.array([q, q + v]), (k1, k2, height)


@pytest.mark.parametrize("b", range(3))
@pytest.mark.parametrize("a", range(3))
def test_each_case_is_exact_and_known_by_its_number(a, b):
    @given(segments_of(a, b))
    @settings(max_examples=40, deadline=None)
    def run(drawn):
        first, second, (k1, k2, height) = drawn
        found = check(first, second)
        # on the very border of [0, 1] rounding may tell otherwise
        if all(min(abs(k), abs(k - 1.0)) > 1e-9 for k in (k1, k2)):
            assert found.case == 1 + 3 * a + b
        if a == b == 1:
            assert found.distance == pytest.approx(height, abs=1e-9)
        else:
            assert found.distance >= height - 1e-9

    run()


@given(segment, segment)
@settings(max_examples=150, deadline=None)
def test_any_two_segments(first, second):
    check(first, second)


@given(segment, point, st.sampled_from([1.0, -1.0, 0.5, -2.0]), inside)
@settings(max_examples=80, deadline=None)
def test_parallel_and_anti_parallel(first, offset, stretch, along):
    u = first[1] - first[0]
    start = first[0] + along * u + offset
    check(first, np.array([start, start + stretch * u]), tolerance=1e-8)


@given(segment, st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
@settings(max_examples=80, deadline=None)
def test_on_one_line(first, start, end):
    u = first[1] - first[0]
    found = check(first, np.array([first[0] + start * u, first[0] + end * u]), tolerance=1e-8)
    gap = max(min(start, end) - 1.0, -max(start, end), 0.0)
    assert found.distance == pytest.approx(gap * np.linalg.norm(u), abs=1e-8)


@given(segment, point, st.floats(1e-13, 1e-3), inside)
@settings(max_examples=150, deadline=None)
def test_nearly_parallel_segments_that_cross_are_found_to_touch(first, direction, angle, where):
    u = first[1] - first[0]
    side = np.cross(u, direction)
    length = np.linalg.norm(u)
    assume(length > 1e-2 and np.linalg.norm(side) > 1e-2)
    v = u + angle * length * side / np.linalg.norm(side)
    meeting = first[0] + where * u
    found = control_points(first, [meeting - 0.5 * v, meeting + 0.5 * v])
    assert found.distance < 1e-11 * (1.0 + length)


@pytest.mark.parametrize(
    "bad", [np.zeros((2, 2)), np.zeros(3), [[0.0, 0.0, np.nan], [1.0, 0.0, 0.0]]]
)
def test_what_is_no_segment_is_refused(bad):
    good = np.eye(3)[:2]
    with pytest.raises(ValueError, match="second segment.*two finite points"):
        control_points(good, bad)
    with pytest.raises(ValueError, match="first segment.*two finite points"):
        control_points(bad, good)


@given(segment, point)
@settings(max_examples=80, deadline=None)
def test_one_or_both_of_no_length(first, at):
    found = check(first, np.array([at, at]))
    assert np.array_equal(found.second, at)
    both = check(first[[0, 0]], np.array([at, at]))
    assert both.distance == pytest.approx(np.linalg.norm(at - first[0]), abs=1e-15)
    assert both.case == 5
