# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Triangles cut by cells, against points that are spread over them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.bounding.triangle_octree import clipped_boxes


@given(st.integers(0, 100_000))
@settings(max_examples=100, deadline=None)
def test_a_clipped_box_is_that_of_the_points_inside(seed):
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(8, 3, 3))
    low = rng.normal(size=(8, 3)) - 0.5
    cells = np.stack([low, low + rng.uniform(0.1, 2.0, (8, 3))], axis=1)
    boxes, there = clipped_boxes(corners, cells)
    # A grid over each triangle: its box can only be a little smaller.
    steps = 120
    s, t = np.divmod(np.arange((steps + 1) ** 2), steps + 1)
    s, t = s[s + t <= steps] / steps, t[s + t <= steps] / steps
    for k in range(8):
        a, b, c = corners[k]
        points = a + s[:, None] * (b - a) + t[:, None] * (c - a)
        within = points[((points >= cells[k, 0]) & (points <= cells[k, 1])).all(axis=1)]
        if len(within) == 0:
            continue
        assert there[k]
        assert (within >= boxes[k, 0] - 1e-12).all() and (within <= boxes[k, 1] + 1e-12).all()
        if len(within) > 200:
            spacing = 3.0 * np.ptp(corners[k], axis=0).max() / steps
            corner_room = 10 * spacing  # a thin corner of the cut may hold no point of the grid
            assert (within.min(axis=0) - boxes[k, 0] < corner_room).all()
            assert (boxes[k, 1] - within.max(axis=0) < corner_room).all()


def test_what_a_cell_does_not_meet_is_not_there():
    corners = np.array([[[2.0, 0, 0], [0, 2, 0], [2, 2, 0]]] * 2)
    cells = np.array([[[-1.0, -1, -1], [0.9, 0.9, 1]], [[-1, -1, -1], [1.1, 1.1, 1]]])
    boxes, there = clipped_boxes(corners, cells)
    assert there.tolist() == [False, True]
    np.testing.assert_allclose(boxes[1], [[0.9, 0.9, 0], [1.1, 1.1, 0]])
