# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Winding numbers by rays, against those by solid angles."""

import numpy as np
import pytest
import trimesh
from support.geometry.mesh_cases import mesh, random_pose

from collision_monitor.fitting.coverage import winding_numbers
from collision_monitor.robot.insides import ray_winding_number


def both(points, triangles):
    by_rays = [ray_winding_number(point, triangles) for point in points]
    return np.array(by_rays), winding_numbers(points, triangles)


@pytest.mark.parametrize("name", ["ball", "ring", "rod", "cone", "station_node.stl"])
def test_rays_and_solid_angles_agree(name):
    vertices, triangles = mesh(name)
    rng = np.random.default_rng(len(vertices))
    rotation, _ = random_pose(rng, 0.0)
    corners = np.ascontiguousarray((vertices @ (rotation @ random_pose(rng, 0.0)[0]).T)[triangles])
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    points = rng.uniform(low - 0.1, high + 0.1, (800, 3))
    by_rays, angles = both(points, corners)
    assert np.abs(by_rays - angles).max() < 1e-6
    assert 0 < (by_rays != 0).sum() < len(points)


def test_what_is_nested_or_turned_inside_out_is_counted():
    outer, inner = trimesh.creation.icosphere(2, 1.0), trimesh.creation.icosphere(2, 0.5)
    points = np.array([[0.01, 0.02, 0.03], [0.71, 0.03, 0.02], [2.0, 0.01, 0.02]])
    twice = np.concatenate([outer.triangles, inner.triangles])
    hollow = np.concatenate([outer.triangles, inner.triangles[:, ::-1]])
    for triangles, expected in (
        (twice, [2, 1, 0]), (hollow, [0, 1, 0]), (hollow[:, ::-1], [0, -1, 0]),
    ):  # fmt: skip
        by_rays, angles = both(points, np.ascontiguousarray(triangles))
        assert by_rays.tolist() == expected
        np.testing.assert_allclose(angles, expected, atol=1e-9)


def test_nothing_is_inside_of_nothing():
    below = np.array([0.0, 0.0, -1.0])
    assert ray_winding_number(below, np.zeros((0, 3, 3))) == 0
    assert ray_winding_number(below, np.zeros((4, 3, 3))) == 0  # no areas
