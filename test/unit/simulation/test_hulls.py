# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Convex hulls, flat ones too."""

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from collision_monitor.simulation.masses import convex_hull

CLOUDS = arrays(float, st.tuples(st.integers(1, 30), st.just(3)), elements=st.floats(-1.0, 1.0))


@given(CLOUDS)
def test_a_hull_is_closed_convex_outward_and_holds_all_points(points):
    vertices, triangles = convex_hull(points)
    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    assert mesh.is_watertight and mesh.volume > 0.0
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    heights = np.einsum("tj,tpj->tp", normals, points[None] - corners[:, None, 0])
    lengths = np.linalg.norm(normals, axis=1)
    assert (heights <= 1e-7 * np.maximum(lengths, 1e-3)[:, None] + 1e-9).all()


@pytest.mark.parametrize(
    "points",
    [[[0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
     [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]],
    ids=["point", "line", "plate"],
)  # fmt: skip
def test_what_is_flat_becomes_a_tenth_of_a_millimetre_thick(points):
    vertices, triangles = convex_hull(np.array(points))
    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    _, extents = trimesh.bounds.oriented_bounds(mesh)
    assert min(extents) == pytest.approx(1e-4, rel=0.1)


def test_inner_points_are_left_out():
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    vertices, triangles = convex_hull(np.vstack([box.vertices, [[0.0, 0.0, 0.0], [0.1, 0.2, 0.3]]]))
    assert len(vertices) == 8 and len(triangles) == 12
    assert trimesh.Trimesh(vertices, triangles).volume == pytest.approx(6.0)
