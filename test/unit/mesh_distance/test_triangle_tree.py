# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Hierarchies over triangles: complete, enclosing, and errors for what cannot be one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.mesh_cases import KIND_NAMES, mesh, soup

from collision_monitor.errors import FitError
from collision_monitor.mesh_distance.mesh_tree import (
    Hierarchy,
    build_triangle_tree,
    clip,
    corners_of,
    octree,
    windows,
)


def outside(kind, row, points):
    """How far points (n, 3) are outside the volume of a row, metres."""
    if kind in ("aabb", "octree"):
        return np.linalg.norm(np.maximum(np.abs(points - row[:3]) - row[3:6], 0.0), axis=1)
    axes = row[3:12].reshape(3, 3)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    local = np.abs((points - row[:3]) @ axes.T)
    half = row[12:15].copy()
    if kind == "rss":
        half[2] = 0.0
        return np.linalg.norm(np.maximum(local - half, 0.0), axis=1) - row[14]
    return np.linalg.norm(np.maximum(local - half, 0.0), axis=1)


def below(tree, node):
    """Slots of all leaves below a node."""
    first, count = tree.nodes[node]
    if count < 0:
        return list(range(first, first - count))
    return [slot for child in range(first, first + count) for slot in below(tree, child)]


def check(vertices, triangles, kind):
    corners = corners_of(vertices, triangles)
    built = build_triangle_tree(vertices, triangles, kind)
    tree = windows(built.numbers, built.index)
    names = tree.names[:, 0]
    assert sorted(names) == list(range(len(triangles)))
    np.testing.assert_array_equal(tree.corners.reshape(-1, 3, 3), corners[names])
    # Every node but the root is the child of exactly one before it, every slot in one leaf.
    inner = np.flatnonzero(tree.nodes[:, 1] > 0)
    children = [c for i in inner for c in range(tree.nodes[i, 0], tree.nodes[i].sum())]
    assert sorted(children) == list(range(1, len(tree.nodes)))
    assert (tree.nodes[inner, 0] > inner).all()
    assert sorted(below(tree, 0)) == list(range(len(tree.slots)))
    assert set(tree.slots[:, 0]) == set(range(len(triangles)))
    return tree


def encloses(tree, kind):
    """Each volume holds all triangles below its node."""
    for node in range(len(tree.nodes)):
        points = tree.corners[tree.slots[below(tree, node), 0]].reshape(-1, 3)
        assert outside(kind, tree.volumes[node], points).max() <= 0.0


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_leaves_hold_as_many_triangles_as_asked_for(kind):
    vertices, triangles = mesh("ring")
    held = {}
    for most in (None, 1, 8):
        built = build_triangle_tree(vertices, triangles, f"{kind}:leaf={most}" if most else kind)
        tree = windows(built.numbers, built.index)
        assert sorted(tree.names[:, 0]) == list(range(len(triangles)))
        held[most] = -tree.nodes[tree.nodes[:, 1] < 0, 1]
    np.testing.assert_array_equal(held[None], held[8 if kind == "octree" else 1])
    assert held[1].mean() < held[8].mean()
    if kind != "octree":  # its cells may hold more, where dividing them is of no use
        assert held[1].max() == 1 and 1 < held[8].max() <= 8


@pytest.mark.parametrize("kind", ["aabb", "obb", "rss"])
@given(st.integers(0, 100_000))
@settings(max_examples=25, deadline=None)
def test_every_volume_encloses_the_triangles_below_it(kind, seed):
    rng = np.random.default_rng(seed)
    encloses(check(*soup(rng, int(rng.integers(1, 60))), kind), kind)


def slivers():
    rng = np.random.default_rng(5)
    ends = rng.normal(size=(200, 2, 3))
    middle = ends.mean(axis=1) + 3e-9 * rng.normal(size=(200, 3))
    corners = np.concatenate([ends, middle[:, None]], axis=1)
    return corners.reshape(-1, 3), np.arange(600).reshape(-1, 3)


@pytest.mark.parametrize("kind", ["aabb", "obb", "rss"])
@pytest.mark.parametrize("name", ["ring", "arm_link_3.stl", "slivers"])
def test_volumes_of_meshes_and_slivers_enclose_too(kind, name):
    encloses(check(*(slivers() if name == "slivers" else mesh(name)), kind), kind)


@given(st.integers(0, 100_000))
@settings(max_examples=25, deadline=None)
def test_every_point_is_in_an_octree_leaf_that_knows_its_triangle(seed):
    rng = np.random.default_rng(seed)
    tree = check(*soup(rng, int(rng.integers(1, 60))), "octree")
    weights = rng.dirichlet([0.5, 0.5, 0.5], 20)
    held = np.zeros((len(tree.corners), len(weights)), dtype=bool)
    for node in np.flatnonzero(tree.nodes[:, 1] < 0):
        for slot in below(tree, node):
            row = tree.slots[slot, 0]
            points = weights @ tree.corners[row].reshape(3, 3)
            held[row] |= outside("octree", tree.volumes[node], points) <= 1e-15
    assert held.all()


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_many_equal_triangles_are_no_endless_division(kind):
    vertices, triangles = mesh("box")
    check(vertices, np.repeat(triangles[:1], 200, axis=0), kind)


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_one_far_off_does_not_make_a_tree_that_is_too_deep(kind):
    # Distances that grow by powers of two: halving at the mean takes off one at a time.
    corners = (2.0 ** np.arange(60))[:, None, None] * np.ones((60, 3, 3))
    corners += np.eye(3)
    check(corners.reshape(-1, 3), np.arange(180).reshape(-1, 3), kind)


@pytest.mark.parametrize(
    ("vertices", "triangles", "kind", "words"),
    [
        (np.eye(3), [[0, 1, 2]], "sphere", "unknown hierarchy 'sphere': choose from aabb"),
        (np.eye(3), np.empty((0, 3), int), "obb", "over no triangles"),
        (np.eye(3), [[0, 1, 3]], "obb", "name vertices 0 to 3, but the mesh has vertices 0 to 2"),
        (np.eye(3), [[0, 1, -1]], "obb", "name vertices -1 to 1"),
        (np.diag([1.0, np.nan, 1.0]), [[0, 1, 2]], "rss", "triangle 0 has a corner that is not"),
        (np.diag([1.0, np.inf, 1.0]), [[0, 1, 2]], "octree", "triangle 0 has a corner that is not"),
    ],
)
def test_errors_say_what_is_wrong(vertices, triangles, kind, words):
    with pytest.raises(FitError, match=words):
        build_triangle_tree(vertices, np.asarray(triangles), kind)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("octree:depht=3", "'depht=3' is not a setting of octree: leaf=1 to 1000, depth=1 to 20"),
        ("octree:depth=0", "'depth=0' is not"),
        ("octree:depth=21", "'depth=21' is not"),
        ("octree:leaf=2.5", "'leaf=2.5' is not"),
        ("octree:", "'' is not a setting"),
        ("aabb:depth=3", "'depth=3' is not a setting of aabb: leaf=1 to 1000$"),
        (":leaf=2", "unknown hierarchy ':leaf=2'"),
    ],
)
def test_settings_that_are_none_are_told(text, words):
    with pytest.raises(FitError, match=words):
        Hierarchy.parse(text)


def test_the_depth_and_the_leaves_of_an_octree_are_settings():
    assert Hierarchy.parse("octree") == ("octree", 8, 6)
    assert Hierarchy.parse("octree:depth=2,leaf=4") == ("octree", 4, 2)
    vertices, triangles = mesh("ball")
    nodes = []
    for depth in (1, 2, 20):
        tree = check(vertices, triangles, f"octree:leaf=1,depth={depth}")
        nodes.append(len(tree.nodes))
        reach = 0
        row = np.array([0])
        while len(row := row[tree.nodes[row, 1] > 0]):
            reach += 1
            row = np.concatenate([np.arange(a, a + n) for a, n in tree.nodes[row].tolist()])
        assert reach <= depth
    assert nodes[0] <= 9 and nodes == sorted(nodes)


def test_deeper_cells_hold_less():
    corners = corners_of(*mesh("ball"))
    most = []
    for depth in range(5):
        tree = octree(corners, 1, depth)
        most.append(-tree.nodes[:, 1].min())
    assert most[0] == len(corners)
    assert sorted(most, reverse=True) == most and most[-1] < 40


def test_large_triangles_in_small_cells_do_not_fill_the_memory():
    rng = np.random.default_rng(1)
    corners = rng.uniform(size=(3000, 1, 3)) + 0.1 * rng.normal(size=(3000, 3, 3))
    found = octree(corners, in_a_leaf=1, depth=9)
    assert 3000 < len(found.slots) <= 32 * 3000
    assert sorted(found.rows) == list(range(3000))
    assert set(found.slots) == set(range(3000))


def test_an_octrees_cells_lie_within_each_other():
    tree = check(*mesh("ring"), "octree")
    low = tree.volumes[:, :3] - tree.volumes[:, 3:6]
    high = tree.volumes[:, :3] + tree.volumes[:, 3:6]
    for node, (first, count) in enumerate(tree.nodes):
        for child in range(first, first + count):
            assert (low[child] >= low[node] - 1e-12).all()
            assert (high[child] <= high[node] + 1e-12).all()


def clipped(corners, cell):
    """(whether there is a part in the cell (2, 3), the box around it (2, 3))."""
    box = np.empty(6)
    there = clip(corners, cell.ravel(), np.empty((9, 3)), np.empty((9, 3)), box)
    return there, box.reshape(2, 3)


@given(st.integers(0, 100_000))
@settings(max_examples=150, deadline=None)
def test_a_clipped_box_is_that_of_the_points_inside(seed):
    rng = np.random.default_rng(seed)
    a, b, c = corners = rng.normal(size=(3, 3))
    low = rng.normal(size=3) - 0.5
    cell = np.stack([low, low + rng.uniform(0.1, 2.0, 3)])
    there, box = clipped(corners, cell)
    # A grid over the triangle: its box can only be a little smaller.
    steps = 120
    s, t = np.divmod(np.arange((steps + 1) ** 2), steps + 1)
    s, t = s[s + t <= steps] / steps, t[s + t <= steps] / steps
    points = a + s[:, None] * (b - a) + t[:, None] * (c - a)
    within = points[((points >= cell[0]) & (points <= cell[1])).all(axis=1)]
    if len(within) == 0:
        return
    assert there
    assert (within >= box[0] - 1e-12).all() and (within <= box[1] + 1e-12).all()
    if len(within) > 200:
        spacing = 3.0 * np.ptp(corners, axis=0).max() / steps
        corner_room = 10 * spacing  # a thin corner of the cut may hold no point of the grid
        assert (within.min(axis=0) - box[0] < corner_room).all()
        assert (box[1] - within.max(axis=0) < corner_room).all()


def test_all_six_planes_can_cut():
    """A triangle through the middle of a cube, across it: a hexagon is left."""
    corners = np.array([[3.0, 0, 0], [0, 3, 0], [0, 0, 3]]) * 2 - 1.0
    there, box = clipped(corners, np.array([[0.0, 0, 0], [2, 2, 2]]))
    assert there
    np.testing.assert_allclose(box, [[0, 0, 0], [2, 2, 2]], atol=1e-12)


def test_segments_and_points_are_cut_as_well():
    cell = np.array([[0.0, 0, 0], [1, 1, 1]])
    there, box = clipped(np.array([[-1.0, 0.5, 0.5], [3, 0.5, 0.5], [1, 0.5, 0.5]]), cell)
    assert there
    np.testing.assert_array_equal(box, [[0, 0.5, 0.5], [1, 0.5, 0.5]])
    there, box = clipped(np.full((3, 3), 1.0), cell)  # a corner of the cell
    assert there
    np.testing.assert_array_equal(box, np.ones((2, 3)))
    assert not clipped(np.full((3, 3), 1.1), cell)[0]
