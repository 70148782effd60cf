# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Capsules side by side around a box."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.fitting.coverage import gaps_to_union
from collision_monitor.fitting.fast_fit import cover_box

side = st.floats(0.001, 5.0)


@given(side, side, side, st.integers(1, 32), st.sampled_from([0.0, 0.002, 0.05]))
@settings(max_examples=300, deadline=None)
def test_every_box_is_enclosed_within_the_budget(a, b, c, most, tolerance):
    rows, stand_off = cover_box((a, b, c), most, tolerance)
    assert 1 <= len(rows) <= most
    grid = np.linspace(-0.5, 0.5, 9)
    points = np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(-1, 3) * [a, b, c]
    assert gaps_to_union(points, rows).max() <= 0.0
    assert stand_off > 0.0


def test_fewer_leaves_are_taken_where_they_are_good_enough():
    few, off = cover_box((0.02, 0.03, 0.8), 8, 0.02)
    assert len(few) == 1 and off <= 0.02
    many, _ = cover_box((0.02, 0.4, 0.8), 8, 0.001)
    assert len(many) == 8


@pytest.mark.parametrize("size", [(0.1, 0.5, 1.0), (0.3, 0.3, 0.3), (0.02, 0.4, 0.9)])
@pytest.mark.parametrize("most", [1, 4, 8])
def test_the_stand_off_is_about_the_volume_outside_over_the_surface(size, most):
    rows, stand_off = cover_box(size, most, 0.0)
    size = np.array(size)
    rng = np.random.default_rng(0)
    reach = size / 2 + rows[:, 6].max()
    points = rng.uniform(-1.0, 1.0, (400_000, 3)) * reach
    covered = gaps_to_union(points, rows) <= 0.0
    outside = covered & ~(np.abs(points) <= size / 2).all(axis=1)
    area = 2.0 * (size[0] * size[1] + size[1] * size[2] + size[2] * size[0])
    measured = outside.mean() * np.prod(2.0 * reach) / area
    # Heights above the faces leave out what lies around edges and corners.
    assert 0.5 * measured <= stand_off <= 1.5 * measured
