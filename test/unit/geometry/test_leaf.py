# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves: volumes and distances."""

import numpy as np
import pytest

from collision_monitor.geometry.leaf import Leaf

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
