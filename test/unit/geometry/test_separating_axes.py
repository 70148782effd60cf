# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The 15 axes: apart if and only if whole numbers, or the faces and edges, say so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.geometry.box_cases import TwoBoxes, squared_bounds
from support.geometry.mesh_cases import random_pose

# Metres that a search through hierarchies allows for, where edges are nearly parallel.
ROUNDING = 1e-7


def bounds(case):
    """Of the aligned and the oriented boxes; with links the other way round they are apart, too."""
    found = np.sqrt(squared_bounds(case.rows(), np.inf, 0.0)[:2])
    rotation, translation = case.pose
    rows = case.rows()
    rows[:16] = np.roll(rows[:16], 8)
    rows[16:48] = np.roll(rows[16:48], 16)
    rows[48:] = np.vstack([rotation.T, -rotation.T @ translation]).ravel()
    turned = np.sqrt(squared_bounds(rows, np.inf, 0.0)[:2])
    assert ((turned > ROUNDING) == (found > ROUNDING)).all()
    return found


whole = st.tuples(*[st.integers(-4, 4)] * 3)
sides = st.tuples(*[st.integers(0, 3)] * 3)


@given(whole, sides, whole, sides, st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
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
    assert (bounds(case) > 0.0).tolist() == [expected, expected]


@given(st.integers(0, 100_000), st.sampled_from([0.0, 1e-16, 1e-14]))
@settings(max_examples=150, deadline=None)
def test_what_shares_a_point_is_never_told_apart(seed, skew):
    """Also where axes are nearly parallel and the rotation has lost digits."""
    rng = np.random.default_rng(seed)
    case = TwoBoxes(seed, 1.0)
    rotation = random_pose(rng, 1.0)[0]
    if rng.uniform() < 0.5:
        turn = rng.normal(size=3) * 10.0 ** rng.uniform(-16, -3)
        rotation = Rotation.from_rotvec(turn).as_matrix()
    rotation = rotation + skew * rng.normal(size=(3, 3))
    # Corners of both boxes at one place.
    corner_a = case.centers[0] + rng.choice([-1.0, 1.0], 3) * case.half[0]
    corner_b = case.centers[1] + rng.choice([-1.0, 1.0], 3) * case.half[1]
    case.pose = (rotation, corner_a - rotation @ corner_b)
    assert squared_bounds(case.rows(), np.inf, 0.0)[0] <= (0.1 * ROUNDING) ** 2


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
        assert (bounds(case)[0] > 0.0) == (gap > 0.0)
