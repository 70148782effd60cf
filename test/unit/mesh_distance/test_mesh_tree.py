# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The packed layout: what goes in comes out, for numpy and for kernels, at any place."""

import numpy as np
import pytest
from support.geometry.mesh_cases import KIND_NAMES, mesh

from collision_monitor.common.compiled import kernel
from collision_monitor.mesh_distance.mesh_tree import (
    build_triangle_tree,
    pack,
    unpack_tree,
    windows,
)


@kernel
def _sums(numbers, index, first_number, first_index):
    tree = unpack_tree(numbers, index, first_number, first_index)
    nodes = slots = names = volumes = corners = 0.0
    for k in range(len(tree.nodes)):
        nodes += (k + 1) * (tree.nodes[k, 0] + 3 * tree.nodes[k, 1])
        volumes += (k + 1) * (tree.volumes[k, 0] + 3 * tree.volumes[k, 6])
    for k in range(len(tree.slots)):
        slots += (k + 1) * tree.slots[k, 0]
    for k in range(len(tree.names)):
        names += (k + 1) * tree.names[k, 0]
        corners += (k + 1) * (tree.corners[k, 0] + 3 * tree.corners[k, 8])
    return nodes, slots, names, volumes, corners, tree.kind


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_kernels_see_what_numpy_sees(kind):
    built = build_triangle_tree(*mesh("ring"), kind)
    tree = windows(built.numbers, built.index)
    numbers, index = pack(tree)
    np.testing.assert_array_equal(numbers, built.numbers)
    np.testing.assert_array_equal(index, built.index)

    def weighted(*columns):
        k = np.arange(1, len(columns[0]) + 1)
        return (k * (columns[0] + (3 * columns[1] if len(columns) > 1 else 0))).sum()

    expected = (
        weighted(tree.nodes[:, 0], tree.nodes[:, 1]),
        weighted(tree.slots[:, 0]),
        weighted(tree.names[:, 0]),
        weighted(tree.volumes[:, 0], tree.volumes[:, 6]),
        weighted(tree.corners[:, 0], tree.corners[:, 8]),
        tree.kind,
    )
    assert _sums(numbers, index, 0, 0) == pytest.approx(expected)
    moved = np.concatenate([np.full(7, np.nan), numbers]), np.concatenate([np.full(5, -9), index])
    assert _sums(*moved, 7, 5) == pytest.approx(expected)
