# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the kernels read is what was packed: every window, row by row."""

import numba
import numpy as np
import pytest
from support.robots.toys import joint, link, robot

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy import packed
from collision_monitor.hierarchy.packed import pack_model
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.urdf import load_robot

ROBOT = robot(
    *(link(name) for name in ("base", "arm", "rail", "hand", "finger")),
    joint("j1", "base", "arm", axis="0 1 0"),
    joint("j2", "arm", "rail", "prismatic", axis="1 0 0"),
    joint("j3", "rail", "hand", axis="0 0 1"),
    joint("j4", "hand", "finger", extra='<mimic joint="j3" multiplier="-2" offset="0.5"/>'),
)

# Links in packing order with their numbers of leaves: those that move first.
LINKS = {"arm": 3, "rail": 1, "hand": 2, "finger": 40, "base": 2, "shelf": 5}
PAIRS = [("arm", "hand"), ("finger", "arm"), ("base", "hand"), ("finger", "shelf")]
NAMES = list(LINKS)


@numba.njit
def copy_of(window, out):
    """Fill ``out`` with what a window shows."""
    for row in range(len(window)):
        for column in range(out.shape[1]):
            out[row, column] = window[row, column]
    return out


@numba.njit
def windows(numbers, index):
    """Copies of the windows that a kernel sees."""
    v = packed.unpack(numbers, index)
    words = index[17]
    integers = (
        copy_of(v.joint_table, np.empty((len(v.joint_table), 3), np.int64)),
        copy_of(v.leaf_bodies, np.empty((len(v.leaf_bodies), 1), np.int64)),
        copy_of(v.nodes, np.empty((len(v.nodes), 2), np.int64)),
        copy_of(v.open_bits, np.empty((len(v.open_bits), words), np.int64)),
        copy_of(v.links, np.empty((len(v.links), 2), np.int64)),
        copy_of(v.pairs, np.empty((len(v.pairs), 2), np.int64)),
        copy_of(v.warm_start, np.empty((len(v.warm_start), 2), np.int64)),
    )
    floats = (
        copy_of(v.joint_motion, np.empty((len(v.joint_motion), 2))),
        copy_of(v.placements, np.empty((len(v.placements), 12))),
        copy_of(v.poses, np.empty((len(v.poses), 12))),
        copy_of(v.leaf_ends, np.empty((len(v.leaf_ends), 6))),
        copy_of(v.radii, np.empty((len(v.radii), 1))),
        copy_of(v.ends, np.empty((len(v.ends), 6))),
        copy_of(v.boxes, np.empty((len(v.boxes), 6))),
    )
    return integers, floats, (v.moving_leaves, v.moving_nodes)


def seen(numbers, index):
    """The View as the kernels see it."""
    integers, floats, sizes = windows(numbers, index)
    return packed.View(*integers, *floats, *sizes)


@pytest.fixture(scope="module")
def cell():
    """(bodies, leaves, first and last leaf of each link, arrays, View)."""
    bodies = rigid_bodies(load_robot(ROBOT))
    rng = np.random.default_rng(0)
    names = [name for name, count in LINKS.items() for _ in range(count)]
    leaves = [Leaf(n, *rng.normal(size=(2, 3)), float(rng.uniform(0.01, 0.1))) for n in names]
    body = np.array([bodies.link_bodies.get(name, 0) for name in names])
    stops = np.cumsum(list(LINKS.values()))
    ranges = np.column_stack([np.r_[0, stops[:-1]], stops])
    pairs = np.array([[NAMES.index(a), NAMES.index(b)] for a, b in PAIRS])
    arrays = pack_model(bodies, leaves, body, ranges, pairs)
    return bodies, leaves, ranges, arrays, seen(*arrays)


def test_the_arrays_hold_what_was_given(cell):
    bodies, leaves, ranges, _, view = cell
    assert view.joint_table[:, 0].tolist() == [0, 1, 2, 3]
    assert view.joint_table[:, 1].tolist() == [packed.REVOLUTE, packed.PRISMATIC] + [
        packed.REVOLUTE
    ] * 2
    assert view.joint_table[:, 2].tolist() == [0, 1, 2, 2]  # the mimic reads its leader's column
    assert view.joint_motion.tolist() == [[1.0, 0.0]] * 3 + [[-2.0, 0.5]]
    for row, placement in zip(view.placements, bodies.placements, strict=True):
        assert row[:9].reshape(3, 3).tolist() == placement[:3, :3].tolist()
        assert row[9:].tolist() == placement[:3, 3].tolist()
    assert view.leaf_bodies.ravel().tolist() == [1] * 3 + [2] + [3] * 2 + [4] * 40 + [0] * 7
    assert view.leaf_ends.tolist() == [[*leaf.p0, *leaf.p1] for leaf in leaves]
    assert view.radii.ravel().tolist() == [leaf.radius for leaf in leaves]
    assert view.links.tolist() == ranges.tolist()
    assert view.pairs.tolist() == [[NAMES.index(a), NAMES.index(b)] for a, b in PAIRS]
    assert view.moving_leaves == 46


def test_the_base_stands_still_and_no_answer_is_left_from_before(cell):
    view = cell[-1]
    assert view.poses.shape == (5, 12)
    assert view.poses[0].tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    assert view.warm_start.tolist() == [[-1, -1]]
    assert view.ends.shape == (53, 6)
    assert view.boxes.shape == (len(view.nodes), 6)


def below(nodes, node):
    """Leaves under a node."""
    first, second = nodes[node]
    return [int(second)] if first < 0 else below(nodes, first) + below(nodes, second)


def test_two_trees_hold_every_leaf_once_and_children_come_after_their_parents(cell):
    view = cell[-1]
    assert sorted(below(view.nodes, 0)) == list(range(46))
    assert sorted(below(view.nodes, view.moving_nodes)) == list(range(46, 53))
    assert len(view.nodes) == (2 * 46 - 1) + (2 * 7 - 1)
    for k, (first, second) in enumerate(view.nodes.tolist()):
        if first >= 0:
            assert k < first and k < second
            assert (first < view.moving_nodes) == (k < view.moving_nodes)


def test_nodes_are_open_to_each_other_where_a_pair_below_them_is_checked(cell):
    view = cell[-1]
    link_of = [name for name, count in LINKS.items() for _ in range(count)]
    checked = {frozenset(pair) for pair in PAIRS}
    links = [{link_of[leaf] for leaf in below(view.nodes, k)} for k in range(len(view.nodes))]
    bits = np.ascontiguousarray(view.open_bits).view(np.uint64)
    assert bits.shape == (view.moving_nodes, 2)  # 104 nodes in words of 64
    for i in range(view.moving_nodes):
        for j in range(len(view.nodes)):
            is_open = bool(int(bits[i, j // 64]) >> (j % 64) & 1)
            wanted = any(frozenset((a, b)) in checked for a in links[i] for b in links[j])
            assert is_open == wanted, (i, j)


def test_the_order_within_a_pair_makes_no_difference(cell):
    bodies, leaves, ranges, arrays, view = cell
    turned = view.pairs[:, ::-1].copy()
    numbers, index = pack_model(bodies, leaves, view.leaf_bodies.ravel(), ranges, turned)
    assert np.array_equal(numbers, arrays[0])
    other = seen(numbers, index)
    assert np.array_equal(other.open_bits, view.open_bits)
    assert np.array_equal(other.pairs, turned)


@pytest.mark.parametrize("moving", [True, False], ids=["nothing stands", "nothing moves"])
def test_a_model_may_have_one_tree_alone(moving):
    bodies = rigid_bodies(load_robot(ROBOT))
    leaves = [Leaf("x", np.zeros(3), np.full(3, k), 0.1) for k in range(1, 4)]
    body = np.full(3, 1 if moving else 0)
    nothing = np.empty((0, 2), dtype=np.int64)
    view = seen(*pack_model(bodies, leaves, body, np.array([[0, 3]]), nothing))
    assert (view.moving_leaves, view.moving_nodes) == ((3, 5) if moving else (0, 0))
    assert sorted(below(view.nodes, 0)) == [0, 1, 2]
    assert not view.open_bits.any()
    assert len(view.pairs) == 0


def test_a_robot_without_joints_or_leaves_can_be_packed():
    bodies = rigid_bodies(load_robot(robot(link("alone"))))
    nothing = np.empty((0, 2), dtype=np.int64)
    view = seen(*pack_model(bodies, [], np.empty(0, dtype=np.int64), nothing, nothing))
    assert len(view.joint_table) == len(view.radii) == len(view.nodes) == 0
    assert view.poses.shape == (1, 12)
