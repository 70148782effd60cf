# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes and solids, against coal; and which triangles meet a solid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.coal_shapes import coal_distance, coal_mesh
from support.geometry.mesh_cases import KIND_NAMES, mesh, random_pose
from support.geometry.solid_cases import SOLIDS, solid_cases

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, unpack_tree, windows
from collision_monitor.mesh_distance.part_distance import nearest_to_solid, touching_rows
from collision_monitor.mesh_distance.parts import parts_of
from unit.geometry.test_convex import distance


@kernel
def _nearest(numbers, index, solid_numbers, solid_index, solids, pose, guess, limit, points):
    tree, volume = unpack_tree(numbers, index, 0, 0), unpack_tree(solid_numbers, solid_index, 0, 0)
    return nearest_to_solid(
        tree, volume, borrow(solids, 0, 1, 5), 0, borrow(pose, 0, 4, 3), guess, limit, True,
        borrow(points, 0, 2, 3),
    )  # fmt: skip


@kernel
def _touching(numbers, index, solid_numbers, solid_index, solids, pose, out):
    tree, volume = unpack_tree(numbers, index, 0, 0), unpack_tree(solid_numbers, solid_index, 0, 0)
    return touching_rows(
        tree, volume, borrow(solids, 0, 1, 5), 0, borrow(pose, 0, 4, 3),
        borrow(out, 0, len(out), 1), 0,
    )  # fmt: skip


def posed(rotation, translation):
    return np.vstack([rotation, translation]).reshape(-1)


@pytest.mark.parametrize("kind", KIND_NAMES)
@given(
    st.sampled_from(["ball", "ring", "cone", "arm_link_2.stl"]),
    st.sampled_from(SOLIDS),
    st.integers(0, 2**31),
)
@settings(max_examples=25, deadline=None)
def test_distances_are_coals_whatever_the_guess(kind, name, solid_name, seed):
    rng = np.random.default_rng(seed)
    solid = solid_cases(solid_name, rng)
    tree = build_triangle_tree(*mesh(name), kind)
    volume = parts_of([solid.shape], kind)[0].tree
    rotation, translation = random_pose(rng, 0.5)
    arrays = (tree.numbers, tree.index, *volume, solid.row, posed(rotation, translation))
    expected = coal_distance(coal_mesh(*mesh(name)), solid.geometry, rotation, translation)
    points = np.full((2, 3), np.nan)
    found, row = _nearest(*arrays, -1, np.inf, points.reshape(-1))
    if found <= solid.row[4]:
        assert expected <= 1e-8
    else:
        assert found - solid.row[4] == pytest.approx(expected, abs=1e-8)
    if found == 0.0:
        return
    assert np.linalg.norm(points[1] - points[0]) == pytest.approx(found, abs=1e-9)
    for guess in (row, 0, 10**9):
        again, _ = _nearest(*arrays, guess, np.inf, points.reshape(-1))
        assert again == pytest.approx(found, abs=1e-9)
    assert _nearest(*arrays, -1, 0.9 * found, points.reshape(-1)) == (0.9 * found, -1)


@pytest.mark.parametrize("kind", KIND_NAMES)
@pytest.mark.parametrize("solid_name", SOLIDS)
def test_triangles_that_meet_a_solid_are_those_found_one_by_one(kind, solid_name):
    tree = build_triangle_tree(*mesh("ring"), kind)
    corners = windows(tree.numbers, tree.index).corners.reshape(-1, 3, 3)
    some = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        solid = solid_cases(solid_name, rng)
        rotation, translation = random_pose(rng, 0.2)
        volume = parts_of([solid.shape], kind)[0].tree
        out = np.empty(len(corners), dtype=np.int64)
        count = _touching(
            tree.numbers, tree.index, *volume, solid.row, posed(rotation, translation), out
        )
        local = (corners - translation) @ rotation
        expected = [
            k
            for k, t in enumerate(local)
            if distance([solid.row], np.vstack([t, np.zeros(3)]), True)[0] <= solid.row[4]
        ]
        assert sorted(out[:count].tolist()) == expected
        some += count
    assert some > 0
