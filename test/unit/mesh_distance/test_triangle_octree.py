# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The octree: cells by halves down to a depth, shrunk to what they hold; against recursion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.mesh_cases import mesh, soup

from collision_monitor.mesh_distance.mesh_tree import corners_of, octree


def cut(polygon, axis, border, sign):
    """What a plane leaves of a convex polygon, a list of points."""
    left = []
    for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        here, there = sign * (p[axis] - border), sign * (q[axis] - border)
        if here >= 0:
            left.append(p)
        if (here >= 0) != (there >= 0):
            left.append(p + here / (here - there) * (q - p))
    return left


def part(corners, low, high):
    """Points of a triangle's part in a cell."""
    polygon = list(corners)
    for axis in range(3):
        polygon = cut(polygon, axis, low[axis], 1.0)
        polygon = cut(polygon, axis, high[axis], -1.0)
    return polygon


def leaves(corners, held, low, high, in_a_leaf, depth, overlap):
    """[(depth left, triangles, least and largest coordinates of their parts)], by recursion."""
    eighths = []
    if len(held) > in_a_leaf and depth > 0:
        for number in range(8):
            upper = [bool(number >> axis & 1) for axis in range(3)]
            least = np.where(upper, 0.5 * (low + high), low)
            most = np.where(upper, high, 0.5 * (low + high))
            inside = [k for k in held if part(corners[k], least - overlap, most + overlap)]
            eighths.append((inside, least, most))
    pieces = sum(len(inside) for inside, _, _ in eighths)
    if not eighths or pieces > 3 * len(held):
        least, most = low - overlap, high + overlap
        points = np.array([p for k in held for p in part(corners[k], least, most)])
        return [(depth, frozenset(held), points.min(axis=0), points.max(axis=0))]
    return [
        leaf
        for inside, least, most in eighths
        if inside
        for leaf in leaves(corners, inside, least, most, in_a_leaf, depth - 1, overlap)
    ]


def levels_of(tree):
    """How many levels below the root each node is."""
    level = np.zeros(len(tree.nodes), dtype=int)
    for node, (first, count) in enumerate(tree.nodes):
        level[first : first + max(count, 0)] = level[node] + 1
    return level


def check(corners, in_a_leaf, depth):
    """The leaves are those of the recursion."""
    tree = octree(corners, in_a_leaf, depth)
    level = levels_of(tree)
    assert level.max() <= depth
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    overlap = 1e-12 * np.abs(corners).max()
    wanted = leaves(corners, list(range(len(corners))), low, high, in_a_leaf, depth, overlap)
    found = []
    for node in np.flatnonzero(tree.nodes[:, 1] < 0):
        first, count = tree.nodes[node]
        held = frozenset(tree.rows[tree.slots[first : first - count]].tolist())
        center, half = tree.volumes[node, :3], tree.volumes[node, 3:6]
        found.append((depth - level[node], held, center - half, center + half))

    def order(leaf):
        return leaf[0], sorted(leaf[1]), np.round(leaf[2], 9).tolist()

    assert len(found) == len(wanted)
    for one, other in zip(sorted(found, key=order), sorted(wanted, key=order), strict=True):
        assert one[:2] == other[:2]
        np.testing.assert_allclose(one[2], other[2], atol=1e-11)
        np.testing.assert_allclose(one[3], other[3], atol=1e-11)
    return tree


@given(st.integers(0, 100_000), st.integers(1, 8), st.integers(0, 6))
@settings(max_examples=30, deadline=None)
def test_leaves_are_those_of_a_recursion(seed, in_a_leaf, depth):
    rng = np.random.default_rng(seed)
    check(corners_of(*soup(rng, int(rng.integers(1, 50)))), in_a_leaf, depth)


@pytest.mark.parametrize("name", ["ball", "cone", "box"])
@pytest.mark.parametrize("depth", [1, 3])
def test_leaves_of_solids_are_too(name, depth):
    # Turned, since where faces lie on the borders of cells rounding decides.
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    tree = check(corners_of(*mesh(name)) @ turn, 8, depth)
    assert name != "ball" or levels_of(tree).max() == depth


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
