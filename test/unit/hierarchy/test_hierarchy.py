# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trees: every leaf once, balanced, level by level; bits of what is to be checked."""

import math

import numpy as np
import pytest

from collision_monitor.hierarchy.packed import build_tree


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
