# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Properties of the kinds of shapes: surfaces enclose, balls enclose."""

import numpy as np
import pytest
import trimesh
from scipy.spatial import ConvexHull

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


def surface_points(shape, count=2000):
    """Points (n, 3) on a primitive, farthest along random directions."""
    rng = np.random.default_rng(0)
    directions = np.vstack([rng.normal(size=(count, 3)), np.eye(3), -np.eye(3)])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    if shape.kind == "box":
        return np.sign(directions) * 0.5 * np.array(shape.size)
    radius, length = radius_and_length(shape)
    ends = np.sign(directions[:, 2:]) * 0.5 * length * np.array([0.0, 0.0, 1.0])
    if shape.kind == "cylinder":
        directions[:, 2] = 0.0
        lengths = np.linalg.norm(directions, axis=1)[:, None]
        directions /= np.where(lengths > 0.0, lengths, 1.0)
    return ends + radius * directions


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.kind} {shape.size}")
def test_surfaces_and_balls_enclose(shape):
    points = surface_points(shape)
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
