# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The AABB tree: balanced, every leaf once; its traversals against all pairs of leaves."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.geometry.segments import capsule_distance
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.aabb_tree import box_gap
from collision_monitor.hierarchy.packed import build_tree, pack_model, windows
from collision_monitor.robot.bodies import Bodies


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


@pytest.mark.parametrize("seed", range(3))
def test_with_groups_every_link_is_one_subtree(seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(6), rng.integers(1, 6, 6))
    nodes = build_tree(np.arange(len(groups)), rng.normal(size=(len(groups), 3)), groups)
    subtrees = [set(below(nodes, k)) for k in range(len(nodes))]
    for group in range(6):
        assert set(np.flatnonzero(groups == group)) in subtrees


class Cloud:
    """Random leaves: one link and one body a leaf, bodies on a random tree of joints."""

    def __init__(self, seed, moving, static, share):
        rng = np.random.default_rng(seed)
        self.joints = moving
        count = moving + static
        placements = np.tile(np.eye(4), (moving, 1, 1))
        placements[:, :3, 3] = rng.normal(size=(moving, 3))
        bodies = Bodies(
            joints=(),
            parents=np.array([rng.integers(0, k + 1) for k in range(moving)], dtype=np.int64),
            slides=rng.random(moving) < 0.3,
            columns=np.arange(moving),
            gains=np.ones(moving),
            offsets=np.zeros(moving),
            placements=placements,
            link_bodies={},
            link_poses={},
        )
        self.leaves = [
            Leaf(str(k), p, p + rng.normal(size=3) * rng.choice([0.0, 0.5]), rng.uniform(0, 0.3))
            for k, p in enumerate(rng.normal(size=(count, 3)) * 2.0)
        ]
        leaf_bodies = np.r_[np.arange(1, moving + 1), np.zeros(static, dtype=np.int64)]
        order = [(i, j) for i in range(moving) for j in range(i + 1, count)]
        self.pairs = [pair for pair in order if rng.random() < share]
        self.numbers, self.index = pack_model(
            bodies,
            self.leaves,
            leaf_bodies,
            np.column_stack([np.arange(count), np.arange(count) + 1]),
            np.array(self.pairs, dtype=np.int64).reshape(-1, 2),
        )
        query.place_all(self.numbers, self.index)

    def all_distances(self, q):
        """Every checked pair's distance, one by one, without a tree."""
        ends = np.empty((len(self.leaves), 6))
        query.leaf_segments(self.numbers, self.index, q, ends)
        radii = np.array([[leaf.radius] for leaf in self.leaves])
        return np.array([capsule_distance(ends, radii, i, j) for i, j in self.pairs])


clouds = st.builds(
    Cloud, st.integers(0, 100_000), st.integers(1, 25), st.integers(0, 70),
    st.sampled_from([0.02, 0.3, 1.0]),
)  # fmt: skip


@given(clouds)
@settings(max_examples=100, deadline=None)
def test_branch_and_bound_finds_the_nearest_of_all_pairs(cloud):
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.0, 1.0, 3.0):  # consecutive queries start from the last answer
        q = rng.normal(size=cloud.joints) * scale
        result = query.distance(cloud.numbers, cloud.index, q)
        if not cloud.pairs:
            assert result[0] == -1
            continue
        expected = cloud.all_distances(q)
        assert result[2] == pytest.approx(expected.min(), abs=1e-12)
        assert tuple(sorted(result[:2])) in cloud.pairs
        rows = np.empty((1, len(cloud.pairs)))
        pairs = windows(cloud.numbers, cloud.index).pairs
        bad = query.pair_distances(cloud.numbers, cloud.index, q.reshape(1, -1), pairs, rows)
        assert bad == -1
        assert rows[0] == pytest.approx(expected, abs=1e-12)


@given(clouds, st.sampled_from([0.0, 0.05, 0.5]))
@settings(max_examples=100, deadline=None)
def test_every_touching_pair_is_found_once(cloud, margin):
    q = np.random.default_rng(1).normal(size=cloud.joints)
    found = np.empty((5000, 2), dtype=np.int64)
    count = query.contacts(cloud.numbers, cloud.index, q, margin, found)
    mine = sorted(tuple(sorted(pair)) for pair in found[:count].tolist())
    near = cloud.all_distances(q) < margin if cloud.pairs else []
    assert mine == [pair for pair, is_near in zip(cloud.pairs, near, strict=True) if is_near]


@pytest.mark.parametrize("rows", [1, 8, 60, 66, 67, 199])
def test_pairs_without_room_are_counted_and_nothing_is_overwritten(rows):
    cloud = Cloud(3, 12, 0, 1.0)
    found = np.full((rows + 1, 2), -7, dtype=np.int64)
    count = query.contacts(cloud.numbers, cloud.index, np.zeros(12), 100.0, found[:rows])
    assert count == len(cloud.pairs)
    assert set(map(tuple, found[: min(rows, count)].tolist())) <= set(cloud.pairs)
    assert (found[rows:] == -7).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named_by_their_index(bad):
    cloud = Cloud(3, 5, 5, 1.0)
    q = np.zeros(5)
    q[3] = bad
    assert query.distance(cloud.numbers, cloud.index, q)[0] == -2 - 3
    out = np.empty(2)
    assert query.min_distances(cloud.numbers, cloud.index, np.stack([np.zeros(5), q]), out) == 1
    assert query.contacts(cloud.numbers, cloud.index, q, 0.0, np.empty((1, 2), np.int64)) == -5


@given(st.integers(0, 100_000))
@settings(max_examples=150, deadline=None)
def test_the_gap_is_never_above_the_signed_distance_of_enclosed_capsules(seed):
    rng = np.random.default_rng(seed)
    ends = rng.normal(size=(2, 6))
    radii = rng.uniform(0, 1.5, (2, 1))
    low = np.minimum(ends[:, :3], ends[:, 3:]) - radii
    high = np.maximum(ends[:, :3], ends[:, 3:]) + radii
    boxes = np.hstack([low, high])
    assert box_gap(boxes, 0, 1) <= capsule_distance(ends, radii, 0, 1) + 1e-12
