# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Hollows between leaves: found in every kind of shape, and none where a leaf fills it."""

import numpy as np
import pytest
import trimesh
from support.geometry.free_body import at, mesh_shape, turned
from support.robots.robots import load_model
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import LeavesError
from collision_monitor.fitting.enclosure import hollow
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Shape

TILTED = at(0.3, -0.2, 0.1)
TILTED[:3, :3] = turned(np.array([0, 0, 0, 0.5, -0.4, 1.0]))[0]
CUBE = trimesh.creation.box((2.0, 2.0, 2.0))
SOLIDS = [
    Shape("box", TILTED, (2.0, 2.0, 2.0)),
    Shape("cylinder", TILTED, (1.0, 2.0)),
    Shape("capsule", TILTED, (1.0, 1.0)),
    Shape("sphere", TILTED, (1.0,)),
    mesh_shape(CUBE.vertices, CUBE.faces, TILTED),
]


def shell(shape, hole):
    """Balls about points near the surface, none of which reaches within ``hole`` of the middle."""
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(1500, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    middle = shape.pose[:3, 3]
    centers = middle + directions * rng.uniform(hole + 0.25, 1.8, (1500, 1))
    return [Leaf("part", tuple(c), tuple(c), 0.25) for c in centers]


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda shape: shape.kind)
def test_a_hollow_in_the_middle_is_found_and_filled(shape):
    leaves = shell(shape, 0.4)
    point = hollow(shape, leaves)
    assert np.linalg.norm(point - shape.pose[:3, 3]) < 2.0
    assert all(np.linalg.norm(point - leaf.p0) > leaf.radius for leaf in leaves)
    middle = tuple(shape.pose[:3, 3])
    assert hollow(shape, [Leaf("part", middle, middle, 2.0)]) is None
    # What is outside of the shape alone is no hollow.
    reach = {"box": 3**0.5, "mesh": 3**0.5, "cylinder": 2**0.5, "capsule": 1.5}
    around = reach.get(shape.kind, 1.0) + 1e-9
    assert hollow(shape, [Leaf("part", middle, middle, around)]) is None


def test_an_open_mesh_has_no_inside():
    assert hollow(mesh_shape(CUBE.vertices, CUBE.faces[2:]), []) is None


def test_a_model_with_hollow_leaves_is_refused_with_a_point():
    """The leaves enclose all surfaces of the box; a ball in its middle would be apart from it."""
    urdf = robot(
        link("hall", '<box size="2 2 2"/>'), link("part"),
        joint("j", "hall", "part", "prismatic", "0 0 0", "1 0 0"),
    )  # fmt: skip
    grid = np.linspace(-0.9, 0.9, 7)
    centers = [
        (x, y, z) for x in grid for y in grid for z in grid if max(abs(x), abs(y), abs(z)) > 0.8
    ]
    hall = [{"center": [float(v) for v in center], "radius": 0.3} for center in centers]
    leaves = {"links": {"hall": hall, "part": [{"center": [0, 0, 0], "radius": 0.1}]}}
    with pytest.raises(LeavesError, match=r"'hall': \(.*\) mm is inside .* in none of its leaves"):
        CollisionModel.from_urdf(urdf, leaves=leaves)
    hall.append({"center": [0, 0, 0], "radius": 1.2})
    CollisionModel.from_urdf(urdf, leaves=leaves)


@pytest.mark.parametrize("robot_name", ["ur5", "panda"])
def test_fitted_leaves_of_real_robots_have_none(robot_name):
    model = load_model(robot_name)
    of_links = {}
    for leaf in model.leaves:
        of_links.setdefault(leaf.link, []).append(leaf)
    for name, leaves in of_links.items():
        for shape in model.robot.links[name].shapes:
            assert hollow(shape, leaves) is None
