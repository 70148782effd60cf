# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Boxes, capsules and spheres around points: enclosing, small, and defined when flat."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from collision_monitor.errors import FitError
from collision_monitor.fitting.bounding_shapes import (
    capsule_along,
    fit_box,
    fit_capsule,
    fit_sphere,
    hull_points,
)


def inside(box, points, slack=1e-9):
    """Whether all points lie in the box."""
    local = (points - box.center) @ box.axes
    return (np.abs(local) <= 0.5 * box.extents + slack).all()


@given(st.integers(4, 60), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_box_encloses_its_points_and_is_a_rotation(count, seed):
    points = np.random.default_rng(seed).normal(size=(count, 3)) * [3.0, 1.0, 0.2]
    box = fit_box(points)
    assert inside(box, points)
    assert box.axes.T @ box.axes == pytest.approx(np.eye(3), abs=1e-9)
    assert list(box.extents) == sorted(box.extents)
    assert box.volume <= np.prod(np.ptp(points, axis=0)) * (1 + 1e-6)


def test_the_box_of_a_turned_box_is_that_box():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 5)], dtype=float)
    turn = Rotation.from_euler("xyz", [0.3, 1.1, -0.7]).as_matrix()
    box = fit_box(corners @ turn.T)
    assert box.extents == pytest.approx([1.0, 2.0, 5.0], abs=1e-6)
    assert abs(box.long_axis @ turn[:, 2]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    "points",
    [
        [[1, 2, 3]],
        [[0, 0, 0], [1, 1, 1]],
        [[0, 0, 0], [1, 1, 1], [2, 2, 2]],
        [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
        [[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0.5, 0.5, 1]],
        [[0, 0, 1]] * 8,
    ],
)
def test_flat_and_thin_point_sets_have_a_box(points):
    points = np.array(points, dtype=float)
    assert inside(fit_box(points), points)
    assert len(hull_points(points)) <= len(points)


@pytest.mark.parametrize("points", [np.empty((0, 3)), [[np.nan, 0, 0]], [[np.inf, 0, 0]]])
def test_nothing_to_fit_is_an_error(points):
    with pytest.raises(FitError, match="finite point"):
        fit_box(points)


def cloud(seed, count=50):
    """Points of very different proportions."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 3)) * rng.uniform(0.05, 2.0, 3) + rng.normal(size=3)


@given(st.integers(0, 100_000), st.integers(3, 80))
@settings(max_examples=150, deadline=None)
def test_a_capsule_encloses_its_points(seed, count):
    points = cloud(seed, count)
    assert fit_capsule(points).distances_to(points).max() <= 0.0


def test_a_capsule_mesh_gets_its_own_capsule_back():
    mesh = trimesh.creation.capsule(height=0.8, radius=0.1, count=[64, 64])
    leaf = fit_capsule(mesh.vertices)
    assert leaf.radius == pytest.approx(0.1, rel=1e-2)
    assert leaf.length == pytest.approx(0.8, rel=1e-2)


def test_centres_that_meet_give_a_sphere_that_encloses():
    angles = np.arange(0.0, 6.28, 0.1)
    ring = np.column_stack([0 * angles, np.cos(angles), np.sin(angles)])
    points = np.vstack([ring, [[0.9, 0.0, 0.0], [-0.9, 0.0, 0.0]]])
    leaf = capsule_along(points, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    assert leaf.kind == "sphere"
    assert leaf.radius == pytest.approx(1.0)
    assert leaf.distances_to(points).max() <= 0.0


def test_points_on_a_line_and_a_single_point_are_enclosed():
    line = np.outer(np.linspace(0.0, 1.0, 5), [1.0, 1.0, 0.0])
    assert fit_capsule(line).distances_to(line).max() <= 0.0
    point = np.array([[1.0, 2.0, 3.0]])
    assert fit_capsule(point).distances_to(point).max() <= 0.0


@given(st.integers(0, 100_000), st.integers(1, 60))
@settings(max_examples=80, deadline=None)
def test_a_sphere_is_about_the_centre_of_the_box_and_encloses(seed, count):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3)) * rng.uniform(0.01, 2.0, 3) + rng.normal(size=3)
    leaf = fit_sphere(points)
    assert leaf.kind == "sphere"
    assert leaf.distances_to(points).max() == pytest.approx(0.0, abs=1e-9)
    assert leaf.distances_to(points).max() <= 0.0
    assert leaf.p0 == pytest.approx(fit_box(points).center)


def test_points_in_one_plane_or_on_one_line_have_a_sphere_too():
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    assert fit_sphere(square).radius == pytest.approx(np.sqrt(0.5), rel=1e-6)
    line = np.linspace(0, 1, 5)[:, None] * [1.0, 2.0, 2.0]
    assert fit_sphere(line).radius == pytest.approx(1.5, rel=1e-6)
