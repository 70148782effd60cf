# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trees: every leaf once, balanced, level by level; bits of what is to be checked."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.hierarchy.packed import build_tree, open_bits


def depth(nodes, k=0):
    """Levels of the tree below node k, itself included."""
    first, second = nodes[k]
    return 1 if first < 0 else 1 + max(depth(nodes, first), depth(nodes, second))


def below(nodes, k):
    """Leaves below node k, in order."""
    first, second = nodes[k]
    return [second] if first < 0 else below(nodes, first) + below(nodes, second)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 13, 31, 64, 100])
def test_a_chain_of_m_leaves_has_ceil_log2_m_plus_1_levels_in_chain_order(count):
    nodes = build_tree(np.arange(count))
    assert len(nodes) == 2 * count - 1
    assert depth(nodes) == math.ceil(math.log2(count)) + 1
    assert below(nodes, 0) == list(range(count))
    inner = nodes[:, 0] >= 0
    assert (nodes[inner] > np.arange(len(nodes))[inner, None]).all()


def test_the_published_arm_has_13_leaves_on_5_levels():
    assert depth(build_tree(np.arange(13))) == 5


def test_no_leaves_no_nodes():
    assert build_tree(np.arange(0)).shape == (0, 2)


def test_with_centres_a_node_is_split_across_its_longest_side():
    centers = np.array([[0, 0, 0], [5, 0, 0], [0.1, 1, 0], [5.1, 1, 0]])
    nodes = build_tree(np.arange(4), centers)
    assert {frozenset(below(nodes, 1)), frozenset(below(nodes, 2))} == {
        frozenset({0, 2}),
        frozenset({1, 3}),
    }


@given(st.integers(1, 20), st.integers(0, 90), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_a_node_pair_is_open_exactly_where_a_checked_leaf_pair_lies_below(moving, static, seed):
    rng = np.random.default_rng(seed)
    checked = rng.random((moving, moving + static)) < 0.05
    square = checked[:, :moving]
    checked[:, :moving] = square | square.T
    tree = build_tree(np.arange(moving))
    fixed = build_tree(np.arange(moving, moving + static), rng.normal(size=(moving + static, 3)))
    fixed[fixed[:, 0] >= 0] += len(tree)
    nodes = np.vstack([tree, fixed])
    bits = open_bits(tree, nodes, checked)
    assert bits.dtype == np.int64
    for i in range(len(tree)):
        for j in range(len(nodes)):
            expected = checked[np.ix_(below(nodes, i), below(nodes, j))].any()
            assert (int(bits[i, j >> 6]) >> (j & 63)) & 1 == expected


@pytest.mark.parametrize("seed", range(10))
def test_with_groups_every_link_is_one_subtree(seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(6), rng.integers(1, 6, 6))
    centers = rng.normal(size=(len(groups), 3))
    nodes = build_tree(np.arange(len(groups)), centers, groups)
    below = {}
    for k in range(len(nodes) - 1, -1, -1):
        first, second = nodes[k]
        below[k] = {int(second)} if first < 0 else below[first] | below[second]
    for group in range(6):
        assert set(np.flatnonzero(groups == group)) in below.values()
