# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Connected pieces of a mesh, and which of them are closed."""

import numpy as np
import pytest
import trimesh
from support.geometry.free_body import free_body, mesh_shape
from support.geometry.mesh_cases import mesh

from collision_monitor.geometry.closed_surfaces import closed_surfaces
from collision_monitor.robot.insides import Inside


def outside_in(triangles):
    return triangles[:, ::-1]


def volume(vertices, found):
    return np.linalg.det(vertices[found.triangles[found.closed]]).sum() / 6.0


FLAWS = {
    "none": lambda t: t,
    "a triangle without area": lambda t: np.vstack([t, [[t[0, 0], t[0, 0], t[0, 1]]], [[4, 4, 4]]]),
    "a triangle twice": lambda t: np.vstack([t, t[3:4]]),
    "a triangle twice, once turned": lambda t: np.vstack([t, outside_in(t[3:4])]),
    "all of it twice": lambda t: np.vstack([t, t]),
    "both sides": lambda t: np.vstack([t, outside_in(t)]),
    "some turned": lambda t: np.vstack([outside_in(t[:9]), t[9:]]),
    "nearly all turned": lambda t: np.vstack([t[:3], outside_in(t[3:])]),
    "turned at random": lambda t: np.array([row[::k] for row, k in zip(
        t, np.random.default_rng(0).choice([-1, 1], len(t)), strict=True)]),
    "all of that": lambda t: np.vstack([outside_in(t[:9]), t[9:], t[:4], [[5, 7, 7]]]),
}  # fmt: skip


@pytest.mark.parametrize("flaw", FLAWS)
@pytest.mark.parametrize("name", ["ring", "cone"])
def test_what_is_closed_but_for_flaws_of_the_file_is_closed(flaw, name):
    vertices, triangles = mesh(name)
    given = FLAWS[flaw](triangles)
    kept = given.copy()
    found = closed_surfaces(vertices, given)
    expected = trimesh.Trimesh(vertices, triangles).volume
    assert volume(vertices, found) == pytest.approx(expected)
    assert (given == kept).all()
    assert (np.sort(found.triangles, axis=1) == np.sort(given, axis=1)).all()


@pytest.mark.parametrize("flaw", ["a triangle twice", "turned at random", "all of that"])
def test_what_a_flawed_mesh_holds_is_in_contact(flaw):
    vertices, triangles = mesh("box")
    inner = mesh_shape(0.1 * mesh("ball")[0], mesh("ball")[1])
    model = free_body([mesh_shape(vertices, FLAWS[flaw](triangles))], [inner])
    found = model.distance([0.03, 0.0, 0.0, 0.0, 0.0, 0.0], exact=True)
    assert found.distance <= -0.119
    assert Inside(model.robot.links["fixed"].shapes).holds_any(np.array([[0.03, 0.0, 0.0]]))


@pytest.mark.parametrize("turned_round", [False, True])
@pytest.mark.parametrize("whole", [1, 2, 3])
def test_any_piece_of_either_link_may_be_the_one_that_is_held(whole, turned_round):
    """A link in three pieces, of which one is in the other link's box."""
    vertices, triangles = mesh("ball")
    box = [mesh_shape(*mesh("box"))]
    pieces = [mesh_shape(0.1 * vertices + [float(k), 0.0, 0.0], triangles) for k in (1, 2, 3)]
    links = (pieces, box) if turned_round else (box, pieces)
    model = free_body(*links)
    way = float(whole) if turned_round else -float(whole)
    found = model.distance([way, 0.0, 0.0, 0.0, 0.0, 0.0], exact=True)
    assert found.distance < -0.1
    assert model.distances([way, 0.0, 0.0, 0.0, 0.0, 0.0], exact=True)[0] < -0.1
    between = model.distance([way - 0.5, 0.0, 0.0, 0.0, 0.0, 0.0], exact=True)
    assert between.distance == pytest.approx(0.5 - 0.15 - 0.02, abs=1e-3)


def test_closed_and_inside_out_stays_as_it_is():
    """It may be a cavity of what is around it."""
    vertices, triangles = mesh("ball")
    found = closed_surfaces(vertices, outside_in(triangles))
    assert found.closed.all()
    assert (found.triangles == outside_in(triangles)).all()


def test_a_hole_opens_its_own_piece_alone_whatever_else_is_wrong():
    vertices, triangles = mesh("ring")
    count = len(triangles)
    broken = np.vstack([outside_in(triangles[1:9]), triangles[9:], triangles[20:22]])
    both = np.vstack([triangles[:5], outside_in(triangles[5:]), broken + len(vertices)])
    found = closed_surfaces(np.vstack([vertices, vertices + 1.0]), both)
    assert found.closed[:count].all()
    assert not found.closed[count:].any()


def test_a_sheet_with_two_sides_and_a_strip_of_moebius_are_not_closed():
    triangle = np.array([[0, 1, 2], [2, 1, 0]])
    found = closed_surfaces(np.eye(3), triangle)
    assert volume(np.eye(3), found) == pytest.approx(0.0)
    strip = np.array([[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4], [4, 5, 1], [5, 0, 1]])
    points = np.random.default_rng(0).normal(size=(6, 3))
    assert not closed_surfaces(points, strip).closed.any()
