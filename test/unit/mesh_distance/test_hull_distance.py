# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The gap of the hulls of two meshes, against coal's distance of the hulls that scipy finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from support.geometry.coal_shapes import coal_distance, coal_mesh
from support.geometry.mesh_cases import KIND_NAMES, mesh, random_pose

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.bounding_volumes import place
from collision_monitor.mesh_distance.hull_distance import hull_gap, rows_as_far
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, unpack_tree

NAMES = st.sampled_from(("ball", "ring", "rod", "box", "dented", "arm_link_2.stl"))
_ROOM = 50  # for triangles


@kernel
def gap_of(numbers_a, index_a, numbers_b, index_b, rotation, translation, limit, way, rows):
    """The result of `hull_gap`, and how many triangles of a are at the end of its hull."""
    a, b = unpack_tree(numbers_a, index_a, 0, 0), unpack_tree(numbers_b, index_b, 0, 0)
    pose = work_space(limit, 7, 3)
    place(pose, rotation, translation)
    gap, reach_a, reach_b = hull_gap(a, b, pose, limit, way)
    count = rows_as_far(a, way[0, 0], way[0, 1], way[0, 2], reach_a - 1e-9, rows)
    for k in range(count):
        rows[k, 0] = a.names[rows[k, 0], 0]
    return gap, reach_a, reach_b, count


def found(names, kind, pose, way, limit=np.inf):
    trees = [build_triangle_tree(*mesh(name), kind) for name in names]
    arrays = [array for tree in trees for array in (tree.numbers, tree.index)]
    normal, rows = np.array([way], dtype=float), np.zeros((_ROOM, 1), dtype=np.int64)
    gap, *reaches, count = gap_of(*arrays, *pose, limit, normal, rows)
    return gap, reaches, normal[0], rows[:count, 0]


def hull(name):
    vertices = mesh(name)[0]
    return coal_mesh(vertices, ConvexHull(vertices).simplices)


@pytest.mark.parametrize("kind", KIND_NAMES)
@given(NAMES, NAMES, st.integers(0, 100_000))
@settings(max_examples=60, deadline=None)
def test_the_gap_is_the_distance_of_the_hulls(kind, first, second, seed):
    rng = np.random.default_rng(seed)
    rotation, translation = random_pose(rng, 0.6)
    gap, reaches, normal, rows = found(
        (first, second), kind, (rotation, translation), rng.normal(size=3)
    )
    expected = coal_distance(hull(first), hull(second), rotation, translation)
    assert max(gap, 0.0) <= max(expected, 0.0) + 1e-9
    heights = mesh(first)[0] @ normal
    other = (mesh(second)[0] @ rotation.T + translation) @ normal
    assert gap == pytest.approx(other.min() - heights.max(), abs=1e-12)
    assert reaches[0] == pytest.approx(heights.max(), abs=1e-12)
    if expected > 0.0:
        assert gap == pytest.approx(expected, abs=1e-6)  # the tolerance of coal
    is_at_end = (heights[mesh(first)[1]] >= heights.max() - 1e-9).any(axis=1)
    at_end = set(np.flatnonzero(is_at_end))
    assert set(rows) == at_end if len(rows) < _ROOM else set(rows) <= at_end


def test_the_search_ends_at_the_limit():
    pose = (np.eye(3), np.array([1.0, 0.1, 0.0]))
    gap, _, normal, _ = found(("ball", "ball"), "obb", pose, (1.0, 0.0, 0.0))
    early, _, coarse, _ = found(("ball", "ball"), "obb", pose, (1.0, 0.0, 0.0), limit=0.5)
    assert 0.5 <= early < gap < 0.61
    assert coarse == pytest.approx((1.0, 0.0, 0.0))
    assert normal[1] > 0.0
