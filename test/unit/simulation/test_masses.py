# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Masses that a physics engine can work with."""

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.robots import toys

from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.description import Shape
from collision_monitor.robot.inertials import Inertial
from collision_monitor.robot.urdf import load_robot
from collision_monitor.simulation.mujoco_model import convex_hull, estimate, link_masses, principal


@given(arrays(float, (3, 3), elements=st.floats(-1.0, 1.0)), st.floats(0.01, 100.0))
def test_principal_moments_are_those_of_a_solid_and_the_axes_are_right_handed(matrix, mass):
    found = principal(Inertial(mass, np.zeros(3), matrix + matrix.T))
    a, b, c = np.sort(found.moments)
    assert a > 0.0 and a + b >= c * (1.0 - 1e-12)
    assert np.linalg.det(found.axes) == pytest.approx(1.0)
    assert np.allclose(found.axes.T @ found.axes, np.eye(3))


@pytest.mark.parametrize(
    ("shape", "volume", "about_z"),
    [
        (Shape("box", np.eye(4), (0.1, 0.2, 0.3)), 0.006, (0.1**2 + 0.2**2) / 12),
        (Shape("sphere", np.eye(4), (0.1,)), 4 / 3 * np.pi * 1e-3, 0.4 * 0.01),
        (Shape("cylinder", np.eye(4), (0.1, 0.5)), np.pi * 0.005, 0.005),
        (Shape("capsule", np.eye(4), (0.1, 0.5)), np.pi * 0.005 + 4 / 3 * np.pi * 1e-3, None),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_shapes_weigh_what_water_does(shape, volume, about_z):
    pose = np.eye(4)
    pose[:3, 3] = (1.0, 2.0, 3.0)
    found = estimate((Shape(shape.kind, pose, shape.size),))
    assert found.mass == pytest.approx(1000.0 * volume, rel=0.02)
    assert np.allclose(found.centre, (1.0, 2.0, 3.0), atol=1e-9)
    if about_z is not None:
        assert found.inertia[2, 2] == pytest.approx(found.mass * about_z, rel=0.02)


def test_several_shapes_add_up_about_their_common_centre():
    left, right = np.eye(4), np.eye(4)
    left[0, 3], right[0, 3] = -1.0, 1.0
    found = estimate(tuple(Shape("box", pose, (0.1, 0.1, 0.1)) for pose in (left, right)))
    assert found.mass == pytest.approx(2.0)
    assert np.allclose(found.centre, 0.0)
    assert found.inertia[2, 2] == pytest.approx(2.0 * (1.0 + 0.01 / 6.0))


def masses(text, inertials):
    robot = load_robot(text)
    return link_masses(robot, rigid_bodies(robot), inertials)


def test_a_moving_body_without_mass_gets_one_and_a_warning_names_it():
    found, warnings = masses(toys.chain(3), {})
    assert found.keys() == {"l1", "l2"}  # the root does not move
    assert found["l1"].mass == pytest.approx(1000.0 * 4 / 3 * np.pi * 1e-3, rel=0.02)
    assert len(warnings) == 1 and "l1, l2: no mass is given" in warnings[0]


def test_a_body_is_heavy_enough_if_one_of_its_links_is():
    text = toys.robot(
        toys.link("a"), toys.link("b"), toys.link("c", ""), toys.joint("j", "a", "b"),
        toys.joint("f", "b", "c", "fixed"),
    )  # fmt: skip
    found, warnings = masses(text, {"c": Inertial(1.0, np.zeros(3), np.eye(3))})
    assert found.keys() == {"c"} and warnings == []


def test_a_frame_that_moves_alone_weighs_a_gram():
    text = toys.robot(
        toys.link("a"), toys.link("b", ""), toys.link("c"), toys.joint("j", "a", "b"),
        toys.joint("k", "b", "c"),
    )  # fmt: skip
    found, _ = masses(text, {})
    assert found["b"].mass == 1e-3


def test_an_inertia_of_no_solid_is_warned_of():
    unreal = Inertial(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))
    _, warnings = masses(toys.chain(2), {"l1": unreal})
    assert warnings == ["links l1: impossible inertia; it is increased"]


CLOUDS = arrays(float, st.tuples(st.integers(1, 30), st.just(3)), elements=st.floats(-1.0, 1.0))


@given(CLOUDS)
def test_a_hull_is_closed_convex_outward_and_holds_all_points(points):
    mesh = convex_hull(points)
    assert mesh.is_watertight and mesh.volume > 0.0
    corners = np.asarray(mesh.triangles)
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
    _, extents = trimesh.bounds.oriented_bounds(convex_hull(np.array(points)))
    assert min(extents) == pytest.approx(1e-4, rel=0.1)
