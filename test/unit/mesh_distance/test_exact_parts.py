# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Links as parts: one hierarchy for all meshes, a solid for every other shape."""

import numpy as np
import pytest
from support.geometry.free_body import at, mesh_shape
from support.geometry.mesh_cases import KIND_NAMES, mesh

from collision_monitor.mesh_distance.mesh_tree import windows
from collision_monitor.mesh_distance.parts import MESH, SOLID, merged, parts_of
from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import solid_row

SHAPES = (
    Shape("box", at(1.0), (0.2, 0.4, 0.6)),
    mesh_shape(*mesh("ball")),
    Shape("sphere", at(0.0, 1.0), (0.1,)),
    mesh_shape(*mesh("cone"), at(0.0, 0.0, 2.0)),
)


def test_solids_are_cores_and_radii():
    assert solid_row(Shape("box", np.eye(4), (0.2, 0.4, 0.6))).tolist() == [0.1, 0.2, 0.3, 0, 0]
    assert solid_row(Shape("cylinder", np.eye(4), (0.1, 0.6))).tolist() == [0.1, 0.1, 0.3, 1, 0]
    assert solid_row(Shape("capsule", np.eye(4), (0.1, 0.6))).tolist() == [0, 0, 0.3, 0, 0.1]
    assert solid_row(Shape("sphere", np.eye(4), (0.1,))).tolist() == [0, 0, 0, 0, 0.1]


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_meshes_are_one_part_and_come_first(kind):
    parts = parts_of(SHAPES, kind)
    assert [part.kind for part in parts] == [MESH, SOLID, SOLID]
    vertices, triangles = merged([SHAPES[1], SHAPES[3]])
    tree = windows(*parts[0].tree)
    assert sorted(tree.names[:, 0]) == list(range(len(triangles)))
    corners = vertices[triangles[tree.names[:, 0]]].reshape(-1, 9)
    np.testing.assert_array_equal(tree.corners, corners)
    assert parts[0].closed.all()
    assert len(parts[0].probes) == 2  # two pieces
    np.testing.assert_allclose(parts[0].box[:3], vertices.min(axis=0))
    np.testing.assert_allclose(parts[0].box[3:], vertices.max(axis=0))


def test_balls_hold_their_parts():
    mesh_part, box, sphere = parts_of(SHAPES, "obb")
    vertices, _ = merged([SHAPES[1], SHAPES[3]])
    corners = at(1.0)[:3, 3] + np.array([0.1, 0.2, 0.3]) * [[1, 1, 1], [-1, -1, -1], [1, -1, 1]]
    for part, points in ((mesh_part, vertices), (box, corners)):
        distances = np.linalg.norm(points - part.ball[:3], axis=1)
        assert (distances <= part.ball[3]).all()
        assert part.ball[3] <= 1.01 * distances.max()
    assert sphere.ball == pytest.approx([0.0, 1.0, 0.0, 0.1])


def test_only_triangles_of_closed_pieces_count_as_closed():
    ball, cone = mesh("ball"), mesh("cone")
    part = parts_of([mesh_shape(*ball), mesh_shape(cone[0], cone[1][1:])], "obb")[0]
    names = windows(*part.tree).names[:, 0]
    assert (part.closed == (names < len(ball[1]))).all()
    np.testing.assert_allclose(part.box[3:], ball[0].max(axis=0))
