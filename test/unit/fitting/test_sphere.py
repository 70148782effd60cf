# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published sphere fit, and the smallest sphere."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from collision_monitor.fitting.bounding_shapes import fit_box, fit_least_sphere, fit_sphere


def test_a_sphere_encloses_and_touches_its_farthest_point():
    for seed in range(50):
        points = np.random.default_rng(seed).normal(size=(30, 3)) * [1.0, 2.0, 0.5]
        leaf = fit_sphere(points)
        distances = leaf.distances_to(points)
        assert distances.max() <= 0.0
        assert distances.max() == pytest.approx(0.0, abs=1e-9)
        assert leaf.p0 == pytest.approx(fit_box(points).center)


def test_a_ball_gets_itself_back():
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.3)
    assert fit_sphere(mesh.vertices).radius == pytest.approx(0.3, rel=0.05)


@given(st.integers(0, 100_000), st.integers(1, 60))
@settings(max_examples=150, deadline=None)
def test_the_least_sphere_encloses_and_is_no_larger_than_the_published(seed, count):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3)) * rng.uniform(0.01, 2.0, 3) + rng.normal(size=3)
    leaf = fit_least_sphere(points)
    assert leaf.kind == "sphere"
    assert leaf.distances_to(points).max() <= 0.0
    assert leaf.radius <= fit_sphere(points).radius


@given(st.integers(0, 100_000))
@settings(max_examples=60, deadline=None)
def test_no_sphere_about_another_centre_is_smaller(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(25, 3)) * rng.uniform(0.2, 2.0, 3)
    leaf = fit_least_sphere(points)

    def radius(center):
        return np.linalg.norm(points - center, axis=1).max()

    # The radius is a convex function of the centre: where no step helps, it is least.
    for step in rng.normal(size=(40, 3)):
        assert radius(leaf.p0 + 1e-3 * step) >= leaf.radius - 1e-9
    found = minimize(radius, points.mean(axis=0), method="Nelder-Mead")
    assert leaf.radius <= found.fun + 1e-9


def test_a_ball_has_its_own_radius_and_a_cube_half_its_diagonal():
    ball = trimesh.creation.icosphere(3, 0.3)
    assert fit_least_sphere(ball.vertices).radius == pytest.approx(0.3, rel=1e-6)
    cube = trimesh.creation.box((2.0, 2.0, 2.0)).vertices
    assert fit_least_sphere(cube).radius == pytest.approx(np.sqrt(3.0), rel=1e-9)


def test_points_in_one_plane_or_on_one_line_have_a_sphere_too():
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    assert fit_least_sphere(square).radius == pytest.approx(np.sqrt(0.5), rel=1e-6)
    line = np.linspace(0, 1, 5)[:, None] * [1.0, 2.0, 2.0]
    assert fit_least_sphere(line).radius == pytest.approx(1.5, rel=1e-6)
