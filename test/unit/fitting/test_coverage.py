# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Cost, gradient, gaps and growth of capsules around a body."""

import numpy as np
import pytest
import trimesh
from scipy.spatial.distance import cdist

from collision_monitor.fitting.coverage import (
    Coverage,
    ball_radii,
    closest_points,
    coverage_cost,
    gaps_to_union,
    grow_to_enclose,
    winding_numbers,
)
from collision_monitor.fitting.enclosure import uncovered
from collision_monitor.geometry.leaf import distances_to_segment

RNG = np.random.default_rng(7)


def some_capsules(count, rng):
    return np.column_stack([rng.normal(size=(count, 6)), rng.uniform(0.1, 0.6, count)])


def test_gaps_are_those_of_plain_numpy():
    capsules, points = some_capsules(5, RNG), RNG.normal(size=(300, 3))
    plain = [distances_to_segment(points, c[:3], c[3:6]) - c[6] for c in capsules]
    assert gaps_to_union(points, capsules) == pytest.approx(np.min(plain, axis=0), abs=1e-12)


def test_the_gradient_is_that_of_finite_differences():
    capsules = some_capsules(3, RNG)
    wanted, unwanted = RNG.normal(size=(3, 200)), RNG.normal(size=(3, 300))
    weights = RNG.uniform(0.1, 1.0, 200)
    prices = RNG.uniform(0.1, 1.0, 300)
    watchers, looks = RNG.normal(size=(3, 50)), RNG.uniform(0.1, 1.0, 50)

    coverage = Coverage(
        wanted, weights, unwanted, prices, watchers, looks, width=0.3, penalty=3.0, thrift=0.2
    )

    def cost(x, gradient):
        return coverage_cost(x.reshape(3, 7), coverage, gradient)

    gradient, unused = np.empty((3, 7)), np.empty((3, 7))
    cost(capsules.ravel(), gradient)
    step = 1e-6 * np.eye(21)
    plain = [
        (cost(capsules.ravel() + h, unused) - cost(capsules.ravel() - h, unused)) / 2e-6
        for h in step
    ]
    assert gradient.ravel() == pytest.approx(plain, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("order", "CF")
def test_the_closest_points_are_those_of_scipy(order):
    a, b = RNG.normal(size=(70, 3)), RNG.normal(size=(90, 3)) + 2.0
    distance, i, j = closest_points(a, np.array(b, order=order))
    assert distance == pytest.approx(cdist(a, b).min(), abs=1e-12)
    assert np.linalg.norm(a[i] - b[j]) == pytest.approx(distance, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_after_growth_no_triangle_sticks_out(seed):
    rng = np.random.default_rng(seed)
    mesh = trimesh.convex.convex_hull(rng.normal(size=(30, 3)))
    triangles = np.ascontiguousarray(mesh.triangles)
    capsules = some_capsules(4, rng)
    before = capsules.copy()
    culprits = grow_to_enclose(triangles, capsules, 0.02)
    stuck_out = gaps_to_union(culprits, before)
    assert len(culprits) > 0 and stuck_out.min() > -0.02 and stuck_out.max() > 0.0
    assert np.array_equal(capsules[:, :6], before[:, :6])
    assert (capsules[:, 6] >= before[:, 6]).all()
    points = np.vstack([mesh.vertices, mesh.sample(5000, seed=seed)])
    assert gaps_to_union(points, capsules).max() <= 1e-12
    assert uncovered(triangles, capsules + np.r_[np.zeros(6), 1e-12], 0.001)[0] == 0.0


def test_winding_numbers_tell_inside_from_outside_even_of_an_open_mesh():
    mesh = trimesh.creation.torus(1.0, 0.3)
    points = RNG.uniform(-1.4, 1.4, (2000, 3))
    ring = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 1.0, points[:, 2])
    clear = np.abs(ring - 0.3) > 0.03
    points, inside = points[clear], ring[clear] < 0.3
    triangles = np.ascontiguousarray(mesh.triangles)
    assert ((winding_numbers(points, triangles) > 0.5) == inside).all()
    holed = winding_numbers(points, triangles[10:])
    assert ((holed > 0.5) == inside).mean() > 0.99


def test_balls_are_as_large_as_points_in_front_of_them_allow():
    rng = np.random.default_rng(3)
    surface, directions = rng.normal(size=(200, 3)), rng.normal(size=(40, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    points = surface[:40]
    centres = points + ball_radii(points, directions, surface, 0.7)[:, None] * directions
    for point, direction, centre in zip(points, directions, centres, strict=True):
        ahead = (surface - point) @ direction
        steep = ahead > 0.1 * np.linalg.norm(surface - point, axis=1)
        radius = np.linalg.norm(centre - point)
        # No point of those is in the ball; one is on it, unless it is the largest.
        gaps = np.linalg.norm(surface[(ahead > 1e-4) & steep] - centre, axis=1) - radius
        nearest = gaps.min(initial=np.inf)
        assert nearest > -1e-9
        assert radius == pytest.approx(0.7) or nearest == pytest.approx(0.0, abs=1e-9)
