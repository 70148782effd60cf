# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Properties of the kinds of shapes: surfaces enclose, balls enclose."""

import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull
from support.ros.live_cases import points_of

from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import (
    bounding_ball,
    enclosing_surface,
    radius_and_length,
    sizes_by_key,
    solid_row,
)

SIZES = {
    "box": [(0.1, 0.2, 0.3), (1e-6, 2.0, 0.5)],
    "sphere": [(0.2,), (1e-6,)],
    "cylinder": [(0.1, 0.5), (1e-7, 1.0), (0.5, 1e-6)],
    "capsule": [(0.1, 0.5), (0.1, 0.0), (1e-6, 1.0)],
}
SHAPES = [Shape(kind, np.eye(4), size) for kind, sizes in SIZES.items() for size in sizes]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.kind} {shape.size}")
def test_surfaces_and_balls_enclose(shape):
    points = points_of(shape, np.random.default_rng(0), 2000)
    center, reach = bounding_ball(shape)
    assert np.linalg.norm(points - center, axis=1).max() <= reach * (1.0 + 1e-12)
    vertices, triangles, radius = enclosing_surface(shape, 48)
    if radius == 0.0:
        hull = ConvexHull(vertices / vertices.max(axis=0))
        heights = hull.equations[:, :3] @ (points / vertices.max(axis=0)).T
        assert (heights + hull.equations[:, 3:]).max() < 1e-12
        mesh = trimesh.Trimesh(vertices, triangles, process=False)
        assert mesh.is_watertight and mesh.volume > 0.0
    else:
        heights = np.clip(points[:, 2], vertices[:, 2].min(), vertices[:, 2].max())
        axis = np.column_stack([0.0 * heights, 0.0 * heights, heights])
        assert np.linalg.norm(points - axis, axis=1).max() <= radius * (1.0 + 1e-12) + 1e-15


def test_sizes_by_key():
    assert sizes_by_key(Shape("box", np.eye(4), (1, 2, 3))) == {"size": [1.0, 2.0, 3.0]}
    assert sizes_by_key(Shape("sphere", np.eye(4), (1,))) == {"radius": 1.0}
    assert sizes_by_key(Shape("capsule", np.eye(4), (1, 2))) == {"radius": 1.0, "length": 2.0}
    assert solid_row(Shape("capsule", np.eye(4), (1, 2))).tolist() == [0.0, 0.0, 1.0, 0.0, 1.0]


def test_a_property_that_a_kind_lacks_is_an_error():
    with pytest.raises(ValueError, match="'box' is not supported; use sphere, cylinder, capsule"):
        radius_and_length(Shape("box", np.eye(4), (0.1, 0.2, 0.3)))
    with pytest.raises(ValueError, match="'mesh' is not supported; use box"):
        solid_row(Shape("mesh", np.eye(4)))
