# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The solid around a link holds all its leaves, and is not much larger than need be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.batch_clear.tables import link_solid
from collision_monitor.geometry.leaf import distances_to_segment


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.0, 1e-6, 0.2, 3.0]))
@settings(max_examples=150, deadline=None)
def test_leaves_lie_inside_capsule_and_ball(seed, count, spread):
    rng = np.random.default_rng(seed)
    p = rng.normal(size=(count, 3)) * rng.choice([0.0, 1.0, 10.0], size=3)
    ends = np.hstack([p, p + spread * rng.normal(size=(count, 3))])
    radii = rng.uniform(0.0, 0.5, count)
    center, half, radius, reach = link_solid(ends, radii)
    directions = rng.normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for leaf, r in zip(ends, radii, strict=True):
        t = rng.uniform(size=(200, 1))
        surface = leaf[:3] * (1 - t) + leaf[3:] * t + r * directions
        scale = 1e-12 * (1.0 + np.abs(surface).max())
        assert distances_to_segment(surface, center - half, center + half).max() <= radius + scale
        assert np.linalg.norm(surface - center, axis=1).max() <= reach + scale


def test_one_leaf_is_its_own_solid():
    ends, radii = np.array([[1.0, 2.0, 3.0, 1.0, 2.0, 5.0]]), np.array([0.25])
    center, half, radius, reach = link_solid(ends, radii)
    assert center == pytest.approx([1.0, 2.0, 4.0])
    assert np.abs(half) == pytest.approx([0.0, 0.0, 1.0])
    assert radius == pytest.approx(0.25)
    assert reach == pytest.approx(1.25)


def test_a_row_of_balls_becomes_a_slim_capsule_and_a_heap_a_ball():
    direction = np.array([1.0, 2.0, -2.0]) / 3.0
    row = np.arange(6.0)[:, None] * direction
    _, half, radius, _ = link_solid(np.hstack([row, row]), np.full(6, 0.1))
    assert radius == pytest.approx(0.1, abs=1e-6)
    assert np.linalg.norm(half) == pytest.approx(2.5, abs=1e-6)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    _, half, radius, _ = link_solid(np.hstack([corners, corners]), np.zeros(8))
    assert radius + np.linalg.norm(half) < 1.05 * 3**0.5
