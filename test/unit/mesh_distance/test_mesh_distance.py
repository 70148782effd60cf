# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The distance of two meshes, against coal's on the very same triangles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.coal_shapes import coal_distance, coal_mesh
from support.geometry.mesh_cases import KIND_NAMES, mesh, random_pose, soup
from support.geometry.two_meshes import mesh_distance

from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, windows

NAMES = (
    "ball", "ring", "rod", "box", "cone", "dented", "arm_link_2.stl", "torso_head.stl", "base.stl",
)  # fmt: skip
PAIRS = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))
_kept = {}


def tree(name, kind):
    if (name, kind) not in _kept:
        _kept[name, kind] = build_triangle_tree(*mesh(name), kind)
    return _kept[name, kind]


def by_coal(name_a, name_b, pose):
    for name in (name_a, name_b):
        if (name, "coal") not in _kept:
            _kept[name, "coal"] = coal_mesh(*mesh(name))
    return max(coal_distance(_kept[name_a, "coal"], _kept[name_b, "coal"], *pose), 0.0)


def query(a, b, pose, guess=(-1, -1), limit=np.inf, enough=np.inf):
    return mesh_distance(a.numbers, a.index, b.numbers, b.index, *pose, *guess, limit, enough)


def distance_to(corners, point):
    """Distance of a point from a triangle (3, 3)."""
    best = np.inf
    a, b, c = corners
    for p, q in ((a, b), (b, c), (c, a)):
        e = q - p
        s = np.clip((point - p) @ e / max(e @ e, 1e-300), 0.0, 1.0)
        best = min(best, np.linalg.norm(p + s * e - point))
    weights = np.linalg.lstsq(np.column_stack([b - a, c - a]), point - a, rcond=None)[0]
    if weights.min() >= 0.0 and weights.sum() <= 1.0:
        best = min(best, np.linalg.norm(a + weights @ [b - a, c - a] - point))
    return best


def check_points(a, b, pose, answer):
    """The points lie on the triangles named, as far apart as the answer says; none in contact."""
    distance, row_a, row_b = answer[:3]
    if distance == 0.0:
        return
    first, second = np.array(answer[3:6]), np.array(answer[6:9])
    assert np.linalg.norm(second - first) == pytest.approx(distance, abs=1e-9)
    corners_a = windows(a.numbers, a.index).corners[row_a].reshape(3, 3)
    corners_b = windows(b.numbers, b.index).corners[row_b].reshape(3, 3) @ pose[0].T + pose[1]
    assert distance_to(corners_a, first) < 1e-9
    assert distance_to(corners_b, second) < 1e-9


@pytest.mark.parametrize("kind", KIND_NAMES)
@given(PAIRS, st.integers(0, 100_000))
@settings(max_examples=50, deadline=None)
def test_distances_are_those_of_coal(kind, names, seed):
    rng = np.random.default_rng(seed)
    pose = random_pose(rng, 0.6)
    a, b = tree(names[0], kind), tree(names[1], kind)
    answer = query(a, b, pose)
    expected = by_coal(*names, pose)
    assert answer[0] == pytest.approx(expected, abs=1e-6)
    assert (answer[0] == 0.0) == (expected == 0.0)
    check_points(a, b, pose, answer)
    # Any guess gives the same, also a wrong one, and one that is no triangle.
    for guess in (answer[1:3], tuple(rng.integers(0, 12, 2)), (0, 10**9), (-5, 3)):
        assert query(a, b, pose, guess)[0] == pytest.approx(answer[0], abs=1e-12)


@pytest.mark.parametrize("kind", KIND_NAMES)
@given(st.integers(0, 100_000))
@settings(max_examples=20, deadline=None)
def test_triangles_without_order_and_without_area_have_coals_distance(kind, seed):
    rng = np.random.default_rng(seed)
    meshes = [soup(rng, int(rng.integers(1, 40))) for _ in range(2)]
    pose = random_pose(rng, 3.0)
    a, b = (build_triangle_tree(*m, kind) for m in meshes)
    answer = query(a, b, pose)
    least = min(
        # one by one: coal's own hierarchy has no say in this
        coal_distance(one, other, *pose)
        for one in (coal_mesh(meshes[0][0], t[None]) for t in meshes[0][1])
        for other in (coal_mesh(meshes[1][0], t[None]) for t in meshes[1][1])
    )
    assert answer[0] == pytest.approx(max(least, 0.0), abs=1e-6)
    check_points(a, b, pose, answer)


@pytest.mark.parametrize("kind", KIND_NAMES)
@given(PAIRS, st.integers(0, 100_000), st.floats(0.0, 1.5))
@settings(max_examples=40, deadline=None)
def test_beyond_what_is_enough_a_distance_is_a_lower_bound(kind, names, seed, part):
    rng = np.random.default_rng(seed)
    pose = random_pose(rng, 0.6)
    a, b = tree(names[0], kind), tree(names[1], kind)
    exact = query(a, b, pose)
    enough = part * exact[0]
    for guess in ((-1, -1), exact[1:3], tuple(rng.integers(0, 12, 2))):
        distance = query(a, b, pose, guess, enough=enough)[0]
        assert distance <= exact[0] + 1e-12
        assert distance >= min(exact[0], 0.5 * (exact[0] + enough)) - 1e-12
        assert (distance == 0.0) == (exact[0] == 0.0)


def test_less_is_searched_beyond_what_is_enough():
    a, b = tree("ring", "aabb"), tree("arm_link_2.stl", "aabb")
    turn, _ = random_pose(np.random.default_rng(3), 1.0)
    pose = turn, np.array([1.0, 0.1, 0.05])
    assert query(a, b, pose, enough=0.01)[0] < 0.99 * query(a, b, pose)[0]


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_along_a_motion_the_last_nearest_triangles_are_a_good_guess(kind):
    a, b = tree("ring", kind), tree("arm_link_2.stl", kind)
    guess = (-1, -1)
    turn, _ = random_pose(np.random.default_rng(3), 1.0)
    for x in np.linspace(1.0, 0.0, 60):
        pose = (turn, np.array([x, 0.1, 0.05]))
        answer = query(a, b, pose, guess)
        assert answer[0] == pytest.approx(by_coal("ring", "arm_link_2.stl", pose), abs=1e-6)
        guess = answer[1:3]


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_beyond_the_limit_nothing_is_named(kind):
    a = tree("ball", kind)
    pose = (np.eye(3), np.array([1.0, 0.0, 0.0]))
    true = query(a, a, pose)[0]
    assert 0.59 < true < 0.61
    for limit in (0.1, true - 1e-9):
        answer = query(a, a, pose, limit=limit)
        assert answer[0] == pytest.approx(limit, rel=1e-12)
        assert answer[1:3] == (-1, -1)
        assert np.isnan(answer[3:]).all()
    assert query(a, a, pose, limit=true + 1e-9)[0] == true
