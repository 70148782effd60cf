# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What stands for a link in proofs encloses it."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from support.robots.toys import link, robot

from collision_monitor import CollisionModel
from collision_monitor.acm.link_pair import PairGeometries, as_triangles, link_geometry
from collision_monitor.mesh_distance.mesh_tree import HEADER, KINDS
from collision_monitor.robot.description import Shape

POSE = np.eye(4)


def shape(kind, *size):
    return Shape(kind, POSE, size)


def test_a_prism_encloses_its_cylinder_closely():
    vertices, triangles, skin = as_triangles(shape("cylinder", 0.3, 1.0))
    assert skin == 0.0
    hull = ConvexHull(vertices)
    angle = np.linspace(0.0, 2.0 * np.pi, 1000)
    rims = [np.column_stack([0.3 * np.cos(angle), 0.3 * np.sin(angle), np.full(1000, z)])
            for z in (-0.5, 0.5)]  # fmt: skip
    beyond = np.concatenate(rims) @ hull.equations[:, :3].T + hull.equations[:, 3]
    assert beyond.max() < 1e-9
    assert np.linalg.norm(vertices[:, :2], axis=1).max() < 0.3 * 1.0006
    assert len(triangles) > 100


@pytest.mark.parametrize(("kind", "size"), [("sphere", (0.2,)), ("capsule", (0.2, 0.6))])
def test_round_shapes_are_exact(kind, size):
    vertices, triangles, skin = as_triangles(shape(kind, *size))
    assert skin == 0.2
    assert vertices[triangles].reshape(-1, 3)[:, 2].max() == pytest.approx(
        size[1] / 2 if len(size) > 1 else 0.0
    )


def test_boxes_have_their_corners():
    vertices, triangles, _ = as_triangles(shape("box", 1.0, 2.0, 3.0))
    assert sorted(map(tuple, np.abs(vertices))) == [(0.5, 1.0, 1.5)] * 8
    assert len(triangles) == 12


def test_shapes_of_one_skin_share_a_tree():
    model = CollisionModel.from_urdf(
        robot(
            '<link name="base">'
            '<collision><geometry><box size="1 1 1"/></geometry></collision>'
            '<collision><geometry><cylinder radius="0.1" length="2"/></geometry></collision>'
            '<collision><geometry><sphere radius="0.7"/></geometry></collision></link>'
        )
    )
    made = PairGeometries(model)["base"]
    assert len(made.pieces) == 2
    assert sorted(made.skins) == [0.0, 0.7]
    assert made.thick == 0.7
    for _, first in made.pieces:
        assert made.index[first] == KINDS["obb"]
        assert made.index[first + 3] > 0 and HEADER == 4
    # The middle of the box is inside, and so is that of the cylinder outside of the box.
    assert made.inside.holds_any(np.array([[0.1, 0.2, 0.3]]))
    assert made.inside.holds_any(np.array([[0.01, 0.02, 0.9]]))
    assert not made.inside.holds_any(np.array([[0.4, 0.4, 0.9]]))


def test_a_link_is_posed_in_its_body():
    model = CollisionModel.from_urdf(robot(link("base", '<box size="1 1 1"/>', "0 0 2")))
    pose = np.eye(4)
    pose[:3, 3] = 5.0, 0.0, 0.0
    made = link_geometry(model.robot.links["base"].shapes, model.leaves, pose)
    assert made.hull.mean(axis=0) == pytest.approx([5.0, 0.0, 2.0])
    assert made.ends.reshape(-1, 3)[:, 0].min() > 4.0
