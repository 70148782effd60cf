# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The 15 axes: apart if and only if least squares, or whole numbers, say so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.box_cases import TwoBoxes
from support.geometry.mesh_cases import random_pose

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.bounding_volumes import (
    aligned_apart,
    oriented_apart,
    place,
    rounding,
)


@kernel
def _apart(numbers, rotation, translation, reach):
    """For the rows in numbers: whether the aligned boxes are apart, and the oriented ones."""
    pose = borrow(numbers, 48, 7, 3)
    place(pose, rotation, translation)
    aligned, oriented = borrow(numbers, 0, 2, 8), borrow(numbers, 16, 2, 16)
    margin = rounding(reach, reach, pose)
    return (
        aligned_apart(aligned, 0, aligned, 1, pose, margin),
        oriented_apart(oriented, 0, oriented, 1, pose, margin),
        margin,
    )


def apart(case):
    """Answers for the aligned and the oriented boxes; the same with links the other way round."""
    reach = np.abs(case.centers).sum(axis=1).max() + np.linalg.norm(case.half, axis=1).max()
    found = _apart(case.rows(), *case.pose, reach)
    rotation, translation = case.pose
    rows = case.rows()
    rows[:16] = np.roll(rows[:16], 8)
    rows[16:48] = np.roll(rows[16:48], 16)
    back = np.ascontiguousarray(rotation.T)
    assert _apart(rows, back, -back @ translation, reach)[:2] == found[:2]
    return found


@given(st.integers(0, 100_000), st.sampled_from([0.3, 1.0, 1.5, 3.0]))
@settings(max_examples=400, deadline=None)
def test_boxes_are_apart_if_least_squares_find_a_distance(seed, reach):
    case = TwoBoxes(seed, reach)
    aligned, oriented, margin = apart(case)
    true_aligned, true_oriented, _ = case.distances()
    assert margin < 1e-12
    for found, true in ((aligned, true_aligned), (oriented, true_oriented)):
        assert not found or true > 0.0
        assert found or true < 1e-7


whole = st.tuples(*[st.integers(-4, 4)] * 3)
sides = st.tuples(*[st.integers(0, 3)] * 3)


@given(whole, sides, whole, sides, st.integers(0, 1000))
@settings(max_examples=300, deadline=None)
def test_boxes_of_whole_numbers_that_touch_are_not_apart(center_a, half_a, center_b, half_b, seed):
    case = TwoBoxes(seed, 1.0)
    rng = np.random.default_rng(seed)
    rotation = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)
    case.centers = np.array([center_a, center_b], dtype=float)
    case.half = np.array([half_a, half_b], dtype=float)
    case.axes = [np.eye(3), np.eye(3)]
    case.pose = (np.ascontiguousarray(rotation), rng.integers(-3, 4, 3).astype(float))
    gaps = np.abs(rotation @ case.centers[1] + case.pose[1] - case.centers[0])
    gaps -= case.half[0] + np.abs(rotation) @ case.half[1]
    expected = bool((gaps > 0).any())
    assert apart(case)[:2] == (expected, expected)


@given(st.integers(0, 100_000), st.sampled_from([0.0, 1e-12, 1e-7, 1e-4]))
@settings(max_examples=200, deadline=None)
def test_what_shares_a_point_is_never_told_apart(seed, skew):
    """Also where axes are nearly parallel and the rotation is good to a few digits only."""
    rng = np.random.default_rng(seed)
    case = TwoBoxes(seed, 1.0)
    rotation = random_pose(rng, 1.0)[0]
    if rng.uniform() < 0.5:
        turn = rng.normal(size=3) * 10.0 ** rng.uniform(-16, -3)
        x, y, z = turn
        rotation = np.eye(3) + np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    rotation = rotation + skew * rng.normal(size=(3, 3))
    # Corners of both boxes at one place.
    corner_a = case.centers[0] + rng.choice([-1.0, 1.0], 3) * case.half[0]
    corner_b = case.centers[1] + rng.choice([-1.0, 1.0], 3) * case.half[1]
    case.pose = (rotation, corner_a - rotation @ corner_b)
    reach = np.abs(case.centers).sum(axis=1).max() + np.linalg.norm(case.half, axis=1).max()
    assert not _apart(case.rows(), *case.pose, reach)[0]


def _farthest(case, way):
    """Points in frame A of the box of A farthest along ``way``, and of B farthest against it."""
    rotation, _ = case.pose
    first = case.centers[0] + np.sign(way) * case.half[0] * (np.abs(way) > 1e-9)
    local = way @ rotation
    second = case.centers[1] - np.sign(local) * case.half[1] * (np.abs(local) > 1e-9)
    return first, rotation @ second


@pytest.mark.parametrize("i", range(3))
@pytest.mark.parametrize("j", range(3))
@given(seed=st.integers(0, 100_000))
@settings(max_examples=30, deadline=None)
def test_edges_that_face_each_other_are_told_apart_by_their_product(i, j, seed):
    rng = np.random.default_rng(seed)
    case = TwoBoxes(seed, 1.0)
    case.half = rng.uniform(0.1, 0.8, (2, 3))
    case.pose = random_pose(rng, 1.0)
    rotation = case.pose[0]
    product = np.cross(np.eye(3)[i], rotation[:, j])
    if np.linalg.norm(product) < 0.05:
        return
    way = product / np.linalg.norm(product) * rng.choice([-1.0, 1.0])
    first, second = _farthest(case, way)
    for gap in (1e-10, 1e-3, -1e-10, -1e-3):
        case.pose = (rotation, first + gap * way - second)
        assert apart(case)[0] == (gap > 0.0)
