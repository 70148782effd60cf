# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Reaches of nodes, against those of all triangles below."""

import numpy as np
import pytest
from support.geometry.mesh_cases import KIND_NAMES, mesh

from collision_monitor.common.compiled import kernel
from collision_monitor.mesh_distance.mesh_pair_distance import fill_reaches
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, unpack_tree, windows
from unit.mesh_distance.test_triangle_tree import below


@kernel
def _fill(numbers, index, column, x, y, z):
    fill_reaches(unpack_tree(numbers, index, 0, 0), column, x, y, z)


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_a_node_reaches_as_far_as_the_triangles_below(kind):
    built = build_triangle_tree(*mesh("cone"), kind)
    tree = windows(built.numbers, built.index)
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(2, 3))
    for column in range(2):
        _fill(built.numbers, built.index, column, *ways[column])
    for node in range(len(tree.nodes)):
        points = tree.corners[tree.slots[below(tree, node), 0]].reshape(-1, 3)
        np.testing.assert_allclose(tree.reaches[node], (points @ ways.T).max(axis=0), atol=1e-15)
