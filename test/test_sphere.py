# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published sphere fit."""

import numpy as np
import pytest
import trimesh

from collision_monitor.bounding.obb import fit_box
from collision_monitor.bounding.sphere import fit_sphere


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
