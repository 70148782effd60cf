# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which triangles cross: against all pairs, one by one, and coal's yes or no."""

from functools import cache

import coal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.coal_shapes import coal_mesh
from support.geometry.mesh_cases import KIND_NAMES, mesh, random_pose, soup
from support.geometry.two_meshes import mesh_crossing, mesh_distance

from collision_monitor.geometry.triangles import squared_distance_below
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, corners_of, windows

NAMES = ("ball", "ring", "rod", "box", "cone", "base.stl")
PAIRS = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))


@cache
def trees(name):
    """All kinds of one mesh."""
    return [build_triangle_tree(*mesh(name), kind) for kind in KIND_NAMES]


def all_pairs(mesh_a, mesh_b, pose):
    """Pairs of numbers of triangles that touch, without any hierarchy."""
    a, b = corners_of(*mesh_a), corners_of(*mesh_b)
    rotation, t = pose
    placed = np.stack(
        [r[0] * b[..., 0] + r[1] * b[..., 1] + r[2] * b[..., 2] + s
         for r, s in zip(rotation, t, strict=True)],
        axis=-1,
    )  # fmt: skip
    low, high, pair, found = placed.min(axis=1), placed.max(axis=1), np.empty((6, 3)), set()
    for i, corners in enumerate(a):
        pair[:3] = corners
        # Triangles that are farther apart along an axis have nothing to decide.
        apart = (corners.max(axis=0) < low - 1e-6) | (high + 1e-6 < corners.min(axis=0))
        for j in np.flatnonzero(~apart.any(axis=1)).tolist():
            pair[3:] = placed[j]
            if squared_distance_below(pair, 0, 3, np.inf)[0] == 0.0:
                found.add((i, j))
    return found


def crossing(a, b, pose, room=1):
    """(count, rows in out)."""
    out = np.full((room, 2), -7, dtype=np.int64)
    return mesh_crossing(a.numbers, a.index, b.numbers, b.index, *pose, out), out


def named(a, b, rows):
    """Rows of corners as numbers of triangles in the mesh."""
    names_a, names_b = (windows(t.numbers, t.index).names[:, 0] for t in (a, b))
    return [(int(names_a[i]), int(names_b[j])) for i, j in rows]


def check(trees_a, trees_b, pose, expected):
    """Every kind finds these pairs, each once; and stops where it is told to."""
    for a, b in zip(trees_a, trees_b, strict=True):
        count, out = crossing(a, b, pose, room=len(expected) + 3)
        assert count == len(expected), a.kind
        assert (out[count:] == -7).all()
        found = named(a, b, out[:count])
        assert len(set(found)) == count
        assert set(found) == expected
        assert crossing(a, b, pose)[0] == (len(expected) > 0)
        room = len(expected) // 2
        count, out = crossing(a, b, pose, room=room)
        assert count == room
        assert set(named(a, b, out)) <= expected
        distance = mesh_distance(a.numbers, a.index, b.numbers, b.index, *pose, -1, -1, np.inf)[0]
        assert (distance == 0.0) == (len(expected) > 0)


@given(PAIRS, st.integers(0, 100_000))
@settings(max_examples=25, deadline=None)
def test_all_kinds_find_what_all_pairs_have(names, seed):
    pose = random_pose(np.random.default_rng(seed), 0.3)
    expected = all_pairs(mesh(names[0]), mesh(names[1]), pose)
    check(trees(names[0]), trees(names[1]), pose, expected)


@given(st.integers(0, 100_000))
@settings(max_examples=50, deadline=None)
def test_triangles_without_order_and_without_area(seed):
    rng = np.random.default_rng(seed)
    meshes = [soup(rng, int(rng.integers(1, 60))) for _ in range(2)]
    if rng.uniform() < 0.3:  # what is the same twice, and touches itself
        meshes[1] = meshes[0]
    pose = (np.eye(3), np.zeros(3)) if rng.uniform() < 0.3 else random_pose(rng, 0.5)
    built = [[build_triangle_tree(*m, kind) for kind in KIND_NAMES] for m in meshes]
    check(*built, pose, all_pairs(*meshes, pose))


@given(PAIRS, st.integers(0, 100_000))
@settings(max_examples=25, deadline=None)
def test_touching_within_rounding(names, seed):
    """A vertex, or the middle of an edge, of one put on a vertex of the other."""
    rng = np.random.default_rng(seed)
    rotation = random_pose(rng, 1.0)[0]
    first, second = (corners_of(*mesh(name)) for name in names)
    p = first[rng.integers(len(first)), 0]
    q = second[rng.integers(len(second))]
    q = q[0] if rng.uniform() < 0.5 else 0.5 * (q[0] + q[1])
    pose = (rotation, p - rotation @ q)
    check(trees(names[0]), trees(names[1]), pose, all_pairs(mesh(names[0]), mesh(names[1]), pose))


@pytest.mark.parametrize("name", ["box", "cone", "rod"])
def test_a_mesh_crosses_itself_in_every_triangle(name):
    pose = (np.eye(3), np.zeros(3))
    expected = all_pairs(mesh(name), mesh(name), pose)
    assert {(k, k) for k in range(len(mesh(name)[1]))} < expected
    check(trees(name), trees(name), pose, expected)


def test_faces_in_one_plane_meet():
    half = np.array([0.3, 0.2, 0.5])  # sides of the box
    for axis in range(3):
        for shift in (0.0, 0.01, 0.5 * half[axis - 1]):
            t = np.zeros(3)
            t[axis], t[axis - 1] = half[axis], shift
            pose = (np.eye(3), t)
            expected = all_pairs(mesh("box"), mesh("box"), pose)
            assert len(expected) >= 8
            check(trees("box"), trees("box"), pose, expected)
            t[axis] += 1e-9
            check(trees("box"), trees("box"), (np.eye(3), t), set())


def test_a_mesh_inside_another_one_crosses_nothing():
    small = mesh("ball")[0] * 0.1, mesh("ball")[1]
    built = [build_triangle_tree(*small, kind) for kind in KIND_NAMES]
    for pose in ((np.eye(3), np.zeros(3)), random_pose(np.random.default_rng(4), 0.02)):
        check(trees("ball"), built, pose, set())


def test_nothing_wanted_is_nothing_found():
    for tree in trees("ball"):
        assert crossing(tree, tree, (np.eye(3), np.zeros(3)), room=0)[0] == 0


@cache
def coal_tree(name):
    return coal_mesh(*mesh(name))


@given(PAIRS, st.integers(0, 100_000))
@settings(max_examples=80, deadline=None)
def test_yes_or_no_is_that_of_coal(names, seed):
    pose = random_pose(np.random.default_rng(seed), 0.4)
    # Where right angles put faces into one plane, rounding is coal's answer.
    if np.abs(pose[0]).max() == 1.0:
        return
    expected = coal.collide(
        coal_tree(names[0]), coal.Transform3s(), coal_tree(names[1]), coal.Transform3s(*pose),
        coal.CollisionRequest(), coal.CollisionResult(),
    )  # fmt: skip
    for a, b in zip(trees(names[0]), trees(names[1]), strict=True):
        assert crossing(a, b, pose)[0] == bool(expected)
