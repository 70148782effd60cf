# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Poses in windows, against 4 x 4 matrices."""

import numpy as np
from support.geometry.mesh_cases import random_pose

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel
from collision_monitor.mesh_distance import poses


@kernel
def _all(numbers):
    """Rows of 7: p, q, then what the kernels make of them."""
    p, q = borrow(numbers, 0, 7, 3), borrow(numbers, 21, 7, 3)
    poses.compose(p, q, borrow(numbers, 42, 7, 3))
    poses.compose_inverse(p, q, borrow(numbers, 63, 7, 3))
    poses.invert(p, borrow(numbers, 84, 7, 3))
    poses.fill_absolute(p)
    points = borrow(numbers, 105, 2, 3)
    poses.move_points(p, points)
    return poses.to_inner(p, points[0, 0], points[0, 1], points[0, 2])


@kernel
def _take(rows, k, out):
    poses.take_pose(borrow(rows, 0, 3, 12), k, borrow(out, 0, 7, 3))


def matrix(rows):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rows[:3], rows[3]
    return pose


def test_poses_are_composed_inverted_and_applied():
    rng = np.random.default_rng(0)
    for _ in range(20):
        numbers = np.zeros((37, 3))
        for k in (0, 7):
            numbers[k : k + 3], numbers[k + 3] = random_pose(rng, 1.0)
        points = rng.normal(size=(2, 3))
        numbers[35:] = points
        p, q = matrix(numbers[0:4]), matrix(numbers[7:11])
        back = _all(numbers.reshape(-1))
        np.testing.assert_allclose(matrix(numbers[14:18]), p @ q, atol=1e-14)
        np.testing.assert_allclose(matrix(numbers[21:25]), np.linalg.inv(p) @ q, atol=1e-14)
        np.testing.assert_allclose(matrix(numbers[28:32]), np.linalg.inv(p), atol=1e-14)
        np.testing.assert_allclose(numbers[4:7], np.abs(p[:3, :3]))
        np.testing.assert_allclose(numbers[35:], points @ p[:3, :3].T + p[:3, 3], atol=1e-14)
        np.testing.assert_allclose(back, points[0], atol=1e-14)


def test_rows_of_twelve_are_taken():
    rng = np.random.default_rng(1)
    rows, out = rng.normal(size=36), np.zeros((7, 3))
    _take(rows, 1, out.reshape(-1))
    np.testing.assert_array_equal(out[:3].ravel(), rows[12:21])
    np.testing.assert_array_equal(out[3], rows[21:24])
