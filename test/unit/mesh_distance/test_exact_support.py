# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far meshes reach along a direction, against all their corners."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.mesh_cases import KIND_NAMES, mesh, soup

from collision_monitor.common.compiled import kernel
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, unpack_tree
from collision_monitor.mesh_distance.separation import mesh_reach


@kernel
def _reach(numbers, index, x, y, z, least):
    return mesh_reach(unpack_tree(numbers, index, 0, 0), x, y, z, least)


@given(st.sampled_from(KIND_NAMES), st.sampled_from(("soup", "ring", "arm_link_2.stl")),
       st.integers(0, 2**31))  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_a_mesh_reaches_as_far_as_its_farthest_corner(kind, name, seed):
    rng = np.random.default_rng(seed)
    vertices, triangles = soup(rng, int(rng.integers(1, 40))) if name == "soup" else mesh(name)
    tree = build_triangle_tree(vertices, triangles, kind)
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    farthest = (vertices[np.unique(triangles)] @ way).max()
    assert _reach(tree.numbers, tree.index, *way, -np.inf) == pytest.approx(farthest, abs=1e-12)
    assert _reach(tree.numbers, tree.index, *way, farthest + 1e-9) == farthest + 1e-9
    assert _reach(tree.numbers, tree.index, *way, farthest - 1e-3) == pytest.approx(
        farthest, abs=1e-12
    )
