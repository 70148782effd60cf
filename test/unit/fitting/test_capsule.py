# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published capsule fit: enclosing, and its bisection against the closed form."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.fitting.bounding_shapes import (
    capsule_along,
    fit_box,
    fit_capsule,
    innermost_center,
    innermost_center_exact,
)

Z = np.array([0.0, 0.0, 1.0])


def cloud(seed, count=50):
    """Points of very different proportions."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 3)) * rng.uniform(0.05, 2.0, 3) + rng.normal(size=3)


@given(st.integers(0, 100_000), st.integers(3, 80), st.sampled_from([1e-2, 1e-4, 1e-8]))
@settings(max_examples=150, deadline=None)
def test_a_capsule_encloses_its_points_whatever_the_tolerance(seed, count, tolerance):
    points = cloud(seed, count)
    assert fit_capsule(points, tolerance=tolerance).distances_to(points).max() <= 0.0


@given(st.integers(0, 100_000))
@settings(max_examples=150, deadline=None)
def test_the_bisection_finds_the_closed_form_from_the_safe_side(seed):
    points = cloud(seed)
    x, rho = points[:, 2], np.hypot(points[:, 0], points[:, 1])
    radius = rho.max()
    exact = min(innermost_center_exact(x, rho, radius), x.min() + radius)
    for tolerance in (1e-3, 1e-6, 1e-10):
        found = innermost_center(x, rho, radius, tolerance)
        # rho^2 + dx^2 == rho^2 in floating point while dx < 1.5e-8 rho
        assert exact - tolerance - 1e-12 <= found <= exact + 1e-7 * radius


def test_a_capsule_mesh_gets_its_own_capsule_back():
    mesh = trimesh.creation.capsule(height=0.8, radius=0.1, count=[64, 64])
    leaf = fit_capsule(mesh.vertices)
    assert leaf.radius == pytest.approx(0.1, rel=1e-2)
    assert leaf.length == pytest.approx(0.8, rel=1e-2)


def test_a_cylinder_gets_hemispheres_through_its_rims():
    mesh = trimesh.creation.cylinder(radius=0.1, height=1.0, sections=64)
    leaf = fit_capsule(mesh.vertices)
    # the rims are at the full radius already: no centre can move inwards of them
    assert leaf.radius == pytest.approx(0.1, rel=1e-3)
    assert leaf.length == pytest.approx(1.0, rel=1e-3)


def test_centres_that_meet_give_a_sphere_that_encloses():
    angles = np.arange(0.0, 6.28, 0.1)
    ring = np.column_stack([0 * angles, np.cos(angles), np.sin(angles)])
    points = np.vstack([ring, [[0.9, 0.0, 0.0], [-0.9, 0.0, 0.0]]])
    leaf = capsule_along(points, np.zeros(3), np.array([1.0, 0.0, 0.0]), 1e-9)
    assert leaf.kind == "sphere"
    assert leaf.radius == pytest.approx(1.0)
    assert leaf.distances_to(points).max() <= 0.0


def test_the_axis_is_the_longest_side_of_the_box():
    points = cloud(5)
    box = fit_box(points)
    leaf = fit_capsule(points, box)
    if leaf.kind == "capsule":
        direction = (leaf.p1 - leaf.p0) / leaf.length
        assert abs(direction @ box.long_axis) == pytest.approx(1.0)
