# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The capsule of least volume."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.robots import robots

from collision_monitor.fitting.bounding_shapes import fit_capsule, fit_least_capsule, hull_points
from collision_monitor.robot.urdf import load_robot


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_it_encloses_and_is_never_larger_than_the_published_one(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(30, 3)) * rng.uniform(0.05, 1.0, 3)
    leaf = fit_least_capsule(points)
    assert leaf.distances_to(points).max() <= 0.0
    assert leaf.volume <= fit_capsule(points).volume


@pytest.mark.parametrize("seed", range(5))
def test_a_capsule_gets_itself_back_however_it_lies(seed):
    mesh = trimesh.creation.capsule(height=0.5, radius=0.1, count=[24, 24])
    turn = Rotation.random(random_state=seed).as_matrix()
    leaf = fit_least_capsule(mesh.vertices @ turn.T + [0.3, 0.2, -0.1])
    exact = np.pi * 0.01 * (0.5 + 0.4 / 3)
    assert leaf.volume == pytest.approx(exact, rel=0.02)


def test_it_is_much_smaller_than_the_published_one_on_a_real_arm():
    files = robots.require("panda")
    robot = load_robot(files.urdf, files.package_dirs)
    clouds = [
        hull_points(shape.vertices)
        for link in robot.links.values()
        for shape in link.shapes
        if shape.kind == "mesh"
    ]
    least = sum(fit_least_capsule(points).volume for points in clouds)
    published = sum(fit_capsule(points).volume for points in clouds)
    assert least < 0.8 * published


def test_points_on_a_line_and_a_single_point_are_enclosed():
    line = np.outer(np.linspace(0.0, 1.0, 5), [1.0, 1.0, 0.0])
    assert fit_least_capsule(line).distances_to(line).max() <= 0.0
    point = np.array([[1.0, 2.0, 3.0]])
    assert fit_least_capsule(point).distances_to(point).max() <= 0.0
