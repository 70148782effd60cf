# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Axes of sets of triangles: principal ones, and those of a triangle alone."""

import numpy as np
import pytest
from support.geometry.mesh_cases import random_pose

from collision_monitor.mesh_distance.mesh_tree import boxes_along, frames, volume_rows


@pytest.mark.parametrize("kind", ["obb", "rss"])
def test_a_triangle_alone_is_flat_along_its_normal_and_long_along_its_longest_edge(kind):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50, 3, 3))
    starts = np.arange(50)
    axes = frames(points, starts, kind)
    low, high, _ = boxes_along(points, axes, starts)
    rows = volume_rows(kind, low, high, axes, np.abs(points).max())
    edges = np.linalg.norm(np.roll(points, -1, axis=1) - points, axis=2)
    area = 0.5 * np.linalg.norm(
        np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]), axis=1
    )
    np.testing.assert_allclose(2 * rows[:, 12], edges.max(axis=1), rtol=1e-12)
    np.testing.assert_allclose(4 * rows[:, 12] * rows[:, 13], 2 * area, rtol=1e-9)
    np.testing.assert_allclose(rows[:, 14], 0.0, atol=1e-13)


def test_a_slab_of_triangles_has_its_own_axes_whatever_its_pose():
    rng = np.random.default_rng(1)
    slab = rng.uniform(-1, 1, (200, 3, 3)) * [0.5, 2.0, 0.1]
    for _ in range(20):
        rotation, translation = random_pose(rng, 1.0)
        points = slab @ rotation.T + translation
        axes = frames(points, np.array([0]), "rss")
        low, high, _ = boxes_along(points, axes, np.array([0]))
        row = volume_rows("rss", low, high, axes, np.abs(points).max())[0]
        turned = np.abs(row[3:12].reshape(3, 3) @ rotation)
        np.testing.assert_allclose(turned[[0, 1, 2], [1, 0, 2]], 1.0, atol=0.03)
        np.testing.assert_allclose(row[12:15], [2.0, 0.5, 0.1], atol=0.12)


def test_points_and_segments_have_axes_too():
    points = np.zeros((3, 3, 3))
    points[1, :] = [1.0, 2.0, 3.0]
    points[2, 1:] = [4.0, 0.0, 0.0]
    axes = frames(points, np.arange(3), "obb")
    np.testing.assert_allclose(np.swapaxes(axes, 1, 2) @ axes, [np.eye(3)] * 3, atol=1e-12)
    np.testing.assert_allclose(np.abs(axes[2, :, 0]), [1.0, 0.0, 0.0], atol=1e-12)
