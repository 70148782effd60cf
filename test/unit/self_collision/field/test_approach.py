# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The common normal at every distance, and what part of a push each arm takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.dual_arm_cases import LAGGING, PAPER

from collision_monitor.self_collision.field.nine_cases import control_points
from collision_monitor.self_collision.field.pushing import Clearing, direction, share

coordinate = st.floats(-2.0, 2.0).map(lambda x: round(x, 3))
point = st.tuples(coordinate, coordinate, coordinate).map(np.array)
segment = st.tuples(point, point).map(np.array)
rate = st.floats(-1.0, 1.0)
BOTH = (True, True)


@given(segment, segment, point)
@settings(max_examples=300, deadline=None)
def test_the_normal_is_a_unit_vector_from_first_to_second(first, second, approach):
    n = direction(first, second, approach)
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
    found = control_points(first, second)
    if found.distance > 1e-9:
        assert found.distance * n == pytest.approx(found.second - found.first, abs=1e-9)


@given(point, point, point, st.floats(0.0, 1.0), point)
@settings(max_examples=300, deadline=None)
def test_segments_that_cross_part_along_it_and_back_where_they_came_from(p, u, v, s, approach):
    first = np.array([p, p + u])
    second = np.array([p + s * u, p + s * u + v])
    n = direction(first, second, approach)
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
    found = control_points(first, second)
    if found.distance <= 1e-12:
        assert approach @ n >= 0.0
        if np.linalg.norm(np.cross(u, v)) > 1e-2:
            moved = control_points(first - 0.1 * n, second)
            assert moved.distance == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([[0, 0, 0], [1, 0, 0]], [[0.5, 0, 0], [2, 0, 0]]),  # on one line
        ([[0, 0, 0], [1, 0, 0]], [[0.5, 0, 0], [0.5, 0, 0]]),  # a point on a segment
        ([[1, 1, 1], [1, 1, 1]], [[1, 1, 1], [1, 1, 1]]),  # one point
    ],
)
@pytest.mark.parametrize("approach", [[0.0, 0.0, 0.0], [0.3, -0.5, 0.1], [1.0, 0.0, 0.0]])
def test_where_touching_segments_tell_no_normal_there_is_one(first, second, approach):
    first, second = np.array(first, dtype=float), np.array(second, dtype=float)
    n = direction(first, second, np.array(approach))
    assert np.linalg.norm(n) == pytest.approx(1.0)
    assert control_points(first - 0.1 * n, second).distance == pytest.approx(0.1)
    assert np.array(approach) @ n >= 0.0


@pytest.mark.parametrize(
    ("right", "left", "expected"),
    [
        (0.3, -0.1, 0.75),
        (0.2, -0.2, 0.5),
        (0.2, 0.0, 1.0),
        (0.2, 0.2, 1.0),  # the left one runs away, as fast: 0/0 as printed
        (0.2, 0.1, 1.0),  # 2 as printed
        (-0.1, -0.2, 0.0),  # -1 as printed
        (-0.1, 0.1, 0.5),  # nobody approaches
        (0.0, 0.0, 0.5),
    ],
)
def test_shares(right, left, expected):
    assert share(right, left, BOTH) == pytest.approx(expected)
    assert share(-left, -right, BOTH) == pytest.approx(1.0 - expected)
    assert share(right, left, (True, False)) == 1.0
    assert share(right, left, (False, True)) == 0.0


@given(rate, rate)
def test_a_share_is_a_part(right, left):
    assert 0.0 <= share(right, left, BOTH) <= 1.0


def shares_of(case):
    problem = case.problem()
    clearing = Clearing(problem)
    pairs = clearing.pairs
    links = [problem.model.leaves[i].link for i in pairs.right]
    others = [problem.model.leaves[i].link for i in pairs.left]
    hands = list(zip(links, others, strict=True)).index(("right_link_7", "left_link_7"))
    return clearing, hands


def test_arms_that_mirror_each_other_share_alike():
    shares, hands = shares_of(PAPER)
    found = [shares.share(k, hands) for k in range(35, 63)]
    assert found == pytest.approx([0.5] * len(found), abs=1e-6)


def test_the_arm_that_waits_has_no_share():
    shares, hands = shares_of(LAGGING)
    # The left arm stands still for four seconds; both spread out, the right hand comes on.
    gaps = [float(np.linalg.norm(LAGGING.desired[k, 7:])) for k in range(5)]
    assert gaps == [0.0] * 5
    assert {shares.share(k, hands) for k in (1, 2, 3, 4)} <= {0.5, 1.0}
    # and at the end the right one is done, while the left hand withdraws
    assert shares.share(66, hands) in (0.0, 0.5)
