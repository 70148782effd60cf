# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Surfaces for drawing: of the right size, in the right place, with edges where there are some."""

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Shape
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.viewer.scene_nodes import leaf_surface, shape_surface

POSE = pose_from_xyz_rpy((0.3, -0.2, 0.5), (0.4, -1.0, 2.0))
LENGTH = st.floats(0.05, 2.0)
POINT = st.tuples(*[st.floats(-2.0, 2.0)] * 3).map(np.array)


def volume(surface):
    """Volume (m^3) and centre of a closed surface."""
    mesh = trimesh.Trimesh(*surface, process=True, validate=True)
    mesh.merge_vertices(merge_norm=True)
    assert mesh.is_watertight
    return abs(mesh.volume), mesh.center_mass


TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


@pytest.mark.parametrize(
    ("kind", "size", "expected"),
    [
        ("box", (0.2, 0.4, 0.6), 0.048),
        ("sphere", (0.3,), 4 / 3 * math.pi * 0.027),
        ("cylinder", (0.2, 0.5), math.pi * 0.04 * 0.5),
        ("capsule", (0.2, 0.5), math.pi * 0.04 * (0.5 + 4 / 3 * 0.2)),
    ],
)
def test_a_shape_has_its_volume_about_its_pose(kind, size, expected):
    found, centre = volume(shape_surface(Shape(kind, POSE, size)))
    assert found == pytest.approx(expected, rel=0.04)
    assert centre == pytest.approx(POSE[:3, 3], abs=1e-6)


def test_a_mesh_stays_what_it_is_with_its_edges_apart():
    vertices, triangles = shape_surface(Shape("mesh", POSE, (), TETRAHEDRON, FACES))
    assert len(triangles) == 4 and len(vertices) == 12  # no corner is shared over an edge
    placed = TETRAHEDRON @ POSE[:3, :3].T + POSE[:3, 3]
    assert vertices[triangles] == pytest.approx(placed[FACES])


@settings(deadline=None)
@given(POINT, POINT, LENGTH)
def test_a_leaf_is_drawn_around_itself_and_no_more_than_needed(p0, p1, radius):
    leaf = Leaf("l", p0, p1, radius)
    vertices, triangles = leaf_surface([leaf])
    middles = vertices[triangles].mean(axis=1)
    away = np.r_[leaf.distances_to(vertices), leaf.distances_to(middles)]
    assert away.min() > -1e-9
    assert away.max() < 0.02 * radius
