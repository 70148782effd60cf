# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves: volumes, distances, and growing until they enclose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collision_monitor.geometry.leaf import Leaf, distances_to_segment, enclosing

ORIGIN = np.zeros(3)
X = np.array([1.0, 0.0, 0.0])


def test_volume_is_that_of_a_cylinder_and_two_half_spheres():
    assert Leaf("a", ORIGIN, ORIGIN, 0.5).volume == pytest.approx(4 / 3 * np.pi * 0.125)
    capsule = Leaf("a", ORIGIN, 2 * X, 0.5)
    assert capsule.volume == pytest.approx(np.pi * 0.25 * 2 + 4 / 3 * np.pi * 0.125)
    assert (capsule.kind, Leaf("a", X, X, 0.5).kind) == ("capsule", "sphere")


def test_distances_are_signed():
    leaf = Leaf("a", ORIGIN, 2 * X, 0.5)
    points = np.array([[1, 0, 0], [1, 2, 0], [-1, 0, 0], [3, 0, 0], [2, 0.5, 0]], dtype=float)
    assert leaf.distances_to(points) == pytest.approx([-0.5, 1.5, 0.5, 0.5, 0.0])


def test_moving_keeps_distances():
    leaf = Leaf("a", ORIGIN, 2 * X, 0.5)
    pose = np.eye(4)
    pose[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    pose[:3, 3] = 1, 2, 3
    points = np.random.default_rng(0).normal(size=(20, 3))
    moved = leaf.moved(pose, "b")
    assert moved.link == "b"
    there = points @ pose[:3, :3].T + pose[:3, 3]
    assert moved.distances_to(there) == pytest.approx(leaf.distances_to(points))


@given(st.integers(1, 30), st.integers(0, 10_000))
def test_enclosing_grows_until_no_point_is_outside(count, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3)) * 10.0 ** rng.integers(-3, 3)
    leaf = enclosing(points[0], points[-1], 0.0, points)
    assert leaf.distances_to(points).max() <= 0.0
    farthest = distances_to_segment(points, points[0], points[-1]).max()
    assert leaf.radius <= farthest * (1 + 1e-9) + 1e-9
