# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Winding numbers, against those by solid angles, and on rays that hit edges and corners."""

import numpy as np
import pytest
import trimesh
from support.geometry.free_body import mesh_shape
from support.geometry.mesh_cases import KIND_NAMES, mesh

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel
from collision_monitor.fitting.coverage import winding_numbers
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, unpack_tree, windows
from collision_monitor.mesh_distance.part_distance import winding_number
from collision_monitor.mesh_distance.parts import parts_of


@kernel
def _wind(numbers, index, closed, x, y, z):
    tree = unpack_tree(numbers, index, 0, 0)
    return winding_number(tree, borrow(closed, 0, len(closed), 1), 0, x, y, z)


def winding(built, points, closed=None):
    closed = np.ones(len(built.index), dtype=np.int64) if closed is None else closed
    return np.array([_wind(built.numbers, built.index, closed, *p) for p in points])


@pytest.mark.parametrize("kind", KIND_NAMES)
@pytest.mark.parametrize("name", ["ball", "ring", "cone", "arm_link_2.stl"])
def test_points_in_and_around_closed_meshes(kind, name):
    vertices, triangles = mesh(name)
    built = build_triangle_tree(vertices, triangles, kind)
    rng = np.random.default_rng(1)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    points = rng.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low), (150, 3))
    expected = winding_numbers(points, np.ascontiguousarray(vertices[triangles]))
    whole = np.round(expected).astype(int)
    assert np.abs(expected - whole).max() < 1e-6  # the mesh is closed
    assert set(whole) > {0}
    assert winding(built, points).tolist() == whole.tolist()


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_rays_through_edges_and_corners_count_once(kind):
    # A grid of cubes' corners: every ray along x from a grid point hits edges or corners.
    box = trimesh.creation.box((2.0, 2.0, 2.0)).subdivide().subdivide()
    vertices, triangles = np.asarray(box.vertices), np.asarray(box.faces)
    built = build_triangle_tree(vertices, triangles, kind)
    steps = np.array([-1.5, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 1.5])
    points = np.array(np.meshgrid(steps, steps, steps)).reshape(3, -1).T
    inside = (np.abs(points) < 1.0).all(axis=1)
    assert winding(built, points).tolist() == inside.astype(int).tolist()


def test_only_triangles_of_closed_pieces_count_as_closed():
    ball, cone = mesh("ball"), mesh("cone")
    part = parts_of([mesh_shape(*ball), mesh_shape(cone[0], cone[1][1:])], "obb")[0]
    names = windows(*part.tree).names[:, 0]
    assert (part.closed == (names < len(ball[1]))).all()
