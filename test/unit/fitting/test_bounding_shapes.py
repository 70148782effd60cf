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
    fit_box,
    fit_leaf,
    fit_parts,
    hull_points,
    volumes,
)
from collision_monitor.geometry.leaf import Leaf


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
    assert abs(box.axes[:, 2] @ turn[:, 2]) == pytest.approx(1.0, abs=1e-6)


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
def test_a_leaf_encloses_its_points(seed, count):
    points = cloud(seed, count)
    assert fit_leaf(points).distances_to(points).max() <= 0.0


@given(st.integers(0, 100_000), st.integers(1, 60))
@settings(max_examples=80, deadline=None)
def test_it_is_no_larger_than_the_sphere_about_the_centre_of_the_box(seed, count):
    points = cloud(seed, count)
    leaf = fit_leaf(points)
    radius = np.linalg.norm(points - fit_box(points).center, axis=1).max()
    assert leaf.volume <= 4.0 / 3.0 * np.pi * radius**3 * (1 + 1e-9) + 1e-30
    if leaf.kind == "sphere":
        assert leaf.radius == pytest.approx(radius, abs=1e-9)


@given(st.integers(0, 100_000))
@settings(max_examples=40, deadline=None)
def test_the_ends_of_a_capsule_cannot_move_inwards(seed):
    points = cloud(seed) * [0.1, 0.1, 3.0]
    leaf = fit_leaf(points)
    assert leaf.kind == "capsule"
    inwards = 1e-6 * (leaf.p1 - leaf.p0)
    for shorter in (
        Leaf("", leaf.p0 + inwards, leaf.p1, leaf.radius),
        Leaf("", leaf.p0, leaf.p1 - inwards, leaf.radius),
    ):
        assert shorter.distances_to(points).max() > 0.0


@given(st.integers(0, 100_000), st.lists(st.integers(1, 30), min_size=1, max_size=9))
@settings(max_examples=40, deadline=None)
def test_parts_that_are_fitted_at_once_have_the_leaves_of_each_alone(seed, counts):
    clouds = [cloud(seed + k, count) for k, count in enumerate(counts)]
    boxes = [fit_box(points) for points in clouds]
    starts = np.cumsum([0, *counts[:-1]])
    rows, _ = fit_parts(np.vstack(clouds), starts, np.array([box.axes for box in boxes]))
    alone = [fit_leaf(points, box) for points, box in zip(clouds, boxes, strict=True)]
    assert volumes(rows) == pytest.approx([leaf.volume for leaf in alone], rel=1e-6, abs=1e-18)


def test_a_capsule_mesh_gets_its_own_capsule_back():
    mesh = trimesh.creation.capsule(height=0.8, radius=0.1, count=[64, 64])
    leaf = fit_leaf(mesh.vertices)
    assert leaf.radius == pytest.approx(0.1, rel=1e-2)
    assert leaf.length == pytest.approx(0.8, rel=1e-2)


def test_a_ball_gets_itself_back():
    leaf = fit_leaf(trimesh.creation.icosphere(3, 0.7).vertices + [1.0, 2.0, 3.0])
    assert leaf.radius == pytest.approx(0.7, rel=1e-2)
    assert leaf.length <= 1e-2


def test_points_on_a_line_and_a_single_point_are_enclosed():
    line = np.outer(np.linspace(0.0, 1.0, 5), [1.0, 1.0, 0.0])
    point = np.array([[1.0, 2.0, 3.0]])
    for points in (line, point):
        leaf = fit_leaf(points)
        assert leaf.distances_to(points).max() <= 0.0
        assert leaf.radius < 1e-9
