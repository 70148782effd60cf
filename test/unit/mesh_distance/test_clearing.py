# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Ways out along a direction, against steps that are tried one after another."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.mesh_cases import KIND_NAMES, mesh

from collision_monitor.common.array_views import borrow, work_space
from collision_monitor.common.compiled import kernel
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, unpack_tree
from collision_monitor.mesh_distance.separation import fill_axes, turn_axes, way_out
from unit.mesh_distance.test_mesh_distance import coal_distance, coal_tree


@kernel
def _way_out(numbers_a, index_a, numbers_b, index_b, pose, none, x, y, z, way, anywhere, limit):
    a, b = unpack_tree(numbers_a, index_a, 0, 0), unpack_tree(numbers_b, index_b, 0, 0)
    axes, turned = work_space(way, 5, 4), work_space(way, 5, 4)
    fill_axes(x, y, z, axes)
    turn_axes(axes, borrow(pose, 0, 7, 3), turned)
    nothing = borrow(none, 0, 2, 5)
    found, _ = way_out(
        a, b, True, True, nothing, 0, 0, axes, turned, nothing, way, anywhere, limit, 10**9
    )  # fmt: skip
    return found


def ask(first, second, rotation, translation, n, way=0.0, anywhere=False, limit=np.inf):
    pose = np.zeros((7, 3))
    pose[:3], pose[3] = rotation, translation
    return _way_out(
        first.numbers, first.index, second.numbers, second.index, pose.reshape(-1), np.zeros(10),
        *map(float, n), way, anywhere, limit,
    )  # fmt: skip


def built(name, kind="obb"):
    return build_triangle_tree(*mesh(name), kind)


@given(
    st.sampled_from(["ball", "ring", "box", "cone"]),
    st.sampled_from(["ball", "rod", "box", "arm_link_2.stl"]),
    st.sampled_from(KIND_NAMES),
    st.integers(0, 2**31),
)
@settings(max_examples=60, deadline=None)
def test_at_its_end_nothing_meets_and_no_earlier_gap_was_wide(first, second, kind, seed):
    rng = np.random.default_rng(seed)
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    translation = 0.1 * rng.normal(size=3)
    way = ask(built(first, kind), built(second, kind), np.eye(3), translation, n)
    shapes = coal_tree(*mesh(first)), coal_tree(*mesh(second))

    def gap(at):
        return coal_distance(*shapes, np.eye(3), translation + at * n)

    assert gap(way + 1e-6) > 0.0
    beyond = ask(built(first, kind), built(second, kind), np.eye(3), translation, n, anywhere=True)
    assert beyond >= way - 1e-9
    for at in (0.0, 0.1, 1.0):
        assert gap(beyond + 1e-6 + at) > 0.0


def test_a_way_out_of_a_shelf_ends_before_the_next_board():
    """A ball that has sunk into a board is free between the boards, not only above them all."""
    boards = [trimesh.creation.box((1, 1, 0.02)).apply_translation((0, 0, z)) for z in (0, 0.5)]
    shelf = trimesh.util.concatenate(boards)
    a = build_triangle_tree(shelf.vertices, shelf.faces)
    b, height = built("ball"), mesh("ball")[0][:, 2].max()
    sunk = 0.01 + height - 0.03
    up = [0.0, 0.0, 1.0]
    found = ask(a, b, np.eye(3), [0.1, 0.2, sunk], up)
    assert found == pytest.approx(0.03, abs=1e-6)
    assert ask(a, b, np.eye(3), [0.1, 0.2, sunk], up, anywhere=True) == pytest.approx(
        0.51 + height - sunk, abs=1e-6
    )
    assert ask(a, b, np.eye(3), [0.1, 0.2, sunk], up, limit=0.01) >= 0.01
