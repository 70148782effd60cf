# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Triangles cut by cells, against points that are spread over them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.mesh_distance.mesh_tree import clip


def clipped(corners, cell):
    """(whether there is a part in the cell (2, 3), the box around it (2, 3))."""
    box = np.empty(6)
    there = clip(corners, cell.ravel(), np.empty((9, 3)), np.empty((9, 3)), box)
    return there, box.reshape(2, 3)


@given(st.integers(0, 100_000))
@settings(max_examples=400, deadline=None)
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


@pytest.mark.parametrize(("border", "expected"), [(0.9, False), (1.1, True)])
def test_what_a_cell_does_not_meet_is_not_there(border, expected):
    corners = np.array([[2.0, 0, 0], [0, 2, 0], [2, 2, 0]])
    there, box = clipped(corners, np.array([[-1.0, -1, -1], [border, border, 1]]))
    assert there == expected
    if there:
        np.testing.assert_allclose(box, [[0.9, 0.9, 0], [1.1, 1.1, 0]])


def test_segments_and_points_are_cut_as_well():
    cell = np.array([[0.0, 0, 0], [1, 1, 1]])
    there, box = clipped(np.array([[-1.0, 0.5, 0.5], [3, 0.5, 0.5], [1, 0.5, 0.5]]), cell)
    assert there
    np.testing.assert_array_equal(box, [[0, 0.5, 0.5], [1, 0.5, 0.5]])
    there, box = clipped(np.full((3, 3), 1.0), cell)  # a corner of the cell
    assert there
    np.testing.assert_array_equal(box, np.ones((2, 3)))
    assert not clipped(np.full((3, 3), 1.1), cell)[0]
