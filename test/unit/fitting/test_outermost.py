# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A few points stand in for a hull of very many, and what is fitted to them encloses them all."""

import numpy as np
import pytest
import trimesh
from support.geometry.free_body import mesh_shape

from collision_monitor.fitting.body import MANY
from collision_monitor.fitting.enclosure import gap
from collision_monitor.fitting.shapes import fits_in_own_frame, leaf_rows


def egg(ball):
    return mesh_shape(np.asarray(ball.vertices) * [0.1, 0.15, 0.2], ball.faces)


def test_leaves_of_a_smooth_mesh_enclose_it():
    few = egg(trimesh.creation.icosphere(4))
    shape = egg(trimesh.creation.uv_sphere(count=(48, 48)))
    assert len(few.vertices) < MANY < len(shape.vertices)
    tight = fits_in_own_frame(few, 2, 0.002)
    fits = fits_in_own_frame(shape, 2, 0.002)
    for fit in fits:
        assert gap(shape, leaf_rows(fit.leaves), 1e-5) == 0.0
    one, other = fits[-1], tight[-1]
    assert one.stand_off <= 1.25 * other.stand_off
    assert one.volumes.hull >= one.volumes.shape == pytest.approx(other.volumes.shape, rel=0.01)
    assert one.volumes.obb == pytest.approx(other.volumes.obb, rel=0.01)
