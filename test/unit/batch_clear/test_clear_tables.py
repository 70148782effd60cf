# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of `clear` hold every pair once: as a row, or under the tree."""

import numpy as np
import pytest

from collision_monitor.batch_clear import clear
from collision_monitor.batch_clear.simd import LANES
from collision_monitor.hierarchy.packed import windows
from unit.batch_clear.test_clear import Cell


def links_of(cell):
    """Index of the link in the model of every link in the tables, by its leaves."""
    tables, view = cell.tables(), windows(*cell.arrays)
    first = {int(start): link for link, start in enumerate(view.links[:, 0])}
    return [first[int(start) - len(tables.links)] for start in tables.links[:, 1]]


@pytest.mark.parametrize("static", [0, 12, 60])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_rows_or_bits_of_the_tree(static, seed):
    cell = Cell(seed, 12, static, 0.5)
    tables, view, link = cell.tables(), windows(*cell.arrays), links_of(cell)
    found = {
        tuple(sorted((link[a], link[b])))
        for a, b in zip(tables.first.tolist(), tables.second.tolist(), strict=True)
    }
    assert len(found) == len(tables.first)
    owner = np.repeat(np.arange(len(view.links)), np.diff(view.links, axis=1).ravel())
    for k, row in enumerate(tables.links[:, 3].tolist()):
        if row < 0:
            continue
        for node, (left, leaf) in enumerate(tables.nodes.tolist()):
            if left < 0 and tables.partners[row, node >> 6] >> (node & 63) & 1:
                found.add((link[k], int(owner[view.moving_leaves + leaf])))
    assert found == set(cell.pairs)
    assert (tables.links[:, 3] >= 0).any() == (static > 32)


def test_inner_nodes_of_the_tree_have_the_bits_of_their_children():
    tables = Cell(2, 12, 60, 0.2).tables()

    def bit(row, node):
        return tables.partners[row, node >> 6] >> (node & 63) & 1

    for row in tables.links[tables.links[:, 3] >= 0, 3]:
        for node, (left, right) in enumerate(tables.nodes.tolist()):
            if left >= 0:
                assert bit(row, node) == bit(row, left) | bit(row, right)


def test_joints_that_carry_nothing_of_interest_are_left_out():
    cell = Cell(2, 12, 5, 0.05)
    tables, view = cell.tables(), windows(*cell.arrays)
    needed = set(tables.links[:, 0].tolist()) - {0}
    for body in sorted(needed, reverse=True):
        while (body := int(view.joint_table[body - 1, 0])) > 0:
            needed.add(body)
    assert tables.joints[:, 0].tolist() == sorted(needed)
    assert np.array_equal(tables.joints[:, 1:], view.joint_table[tables.joints[:, 0] - 1])
    assert len(needed) < len(view.joint_table)


def test_lanes_begin_at_a_cache_line_and_leaves_keep_their_shapes():
    cell = Cell(2, 12, 5, 1.0)
    tables, view = cell.tables(), windows(*cell.arrays)
    for array in (tables.positions, tables.poses, tables.places):
        assert array.ctypes.data % 64 == 0 and array.shape[1] == LANES
    solids = tables.solids[len(tables.links) : -1]
    assert solids[:, :3] - solids[:, 3:6] == pytest.approx(view.leaf_ends[:, :3])
    assert solids[:, :3] + solids[:, 3:6] == pytest.approx(view.leaf_ends[:, 3:])
    assert np.array_equal(solids[:, clear.RADIUS], view.radii[:, 0])
