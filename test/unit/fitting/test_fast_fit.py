# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves made in one pass enclose what they are made for."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.shape_fit import outside
from support.ros.live_cases import KINDS, points_of, shape_of

from collision_monitor.fitting.fast_fit import cover, cover_bounds, cover_box, cover_triangles


@settings(max_examples=60, deadline=None)
@given(kind=KINDS, seed=st.integers(0, 10**6), most=st.integers(1, 20))
def test_leaves_enclose_the_shape(kind, seed, most):
    rng = np.random.default_rng(seed)
    shape = shape_of(kind, rng)
    rows = cover(shape, most)
    assert 1 <= len(rows) <= most
    assert outside(rows, points_of(shape, rng)) <= 1e-12


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), count=st.integers(1, 60),
    flat=st.tuples(*[st.sampled_from([0.0, 1e-9, 1.0, 30.0])] * 3),
)  # fmt: skip
def test_triangles_of_any_kind_are_enclosed(seed, count, flat):
    """Planes, wires and points among them, far from the origin too."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-1, 1, (count, 3, 3)) * flat + rng.uniform(-5, 5, 3)
    weights = rng.dirichlet(np.full(3, 0.5), (50, count))
    points = np.einsum("ntk,tkd->ntd", weights, corners).reshape(-1, 3)
    for rows in (cover_triangles(corners, 12), cover_bounds(corners.reshape(-1, 3), 12)):
        assert np.isfinite(rows).all()
        assert len(rows) <= 12
        assert outside(rows, np.vstack([points, corners.reshape(-1, 3)])) <= 1e-9


def test_more_leaves_are_tighter():
    """A bent plate: one leaf is a ball around it, many follow it."""
    turn = np.linspace(0.0, np.pi, 40)
    edge = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(40)])
    up = edge + [0.0, 0.0, 0.1]
    corners = np.concatenate(
        [np.stack([edge[:-1], edge[1:], up[1:]], 1), np.stack([edge[:-1], up[1:], up[:-1]], 1)]
    )
    radii = [cover_triangles(corners, most)[:, 6].max() for most in (1, 4, 16)]
    assert radii[0] > 0.4
    assert radii[2] < 0.1
    assert radii[0] > radii[1] > radii[2]


def test_one_leaf_is_enough_for_a_wire():
    ends = np.linspace([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], 20)
    wire = np.stack([ends[:-1], ends[1:], ends[1:]], axis=1)
    assert len(cover_triangles(wire, 16)) == 1


def test_triangles_apart_get_leaves_of_their_own():
    """Slivers at the corners of a large tetrahedron: one leaf around all is as large as that."""
    corners = 5.0 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    sliver = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.1, 0.0]])
    rows = cover_triangles(corners[:, None] + sliver, 8)
    assert rows[:, 6].max() < 0.16 and len(rows) >= 4


def test_fewer_leaves_are_taken_where_they_are_good_enough():
    few, off = cover_box((0.02, 0.03, 0.8), 8, 0.02)
    assert len(few) == 1 and off <= 0.02
    many, _ = cover_box((0.02, 0.4, 0.8), 8, 0.001)
    assert len(many) == 8
