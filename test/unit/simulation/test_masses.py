# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Masses that a physics engine can work with."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import ConvexHull, QhullError
from support.robots import toys

from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.description import Shape
from collision_monitor.robot.inertials import Inertial
from collision_monitor.robot.urdf import load_robot
from collision_monitor.simulation.mujoco_model import link_masses, possible_inertia, simulated_robot


@given(arrays(float, (3, 3), elements=st.floats(-1.0, 1.0)), st.floats(0.01, 100.0))
@example(np.array([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [-1.0, -1.0, -1.0]]), 1.0)
def test_an_inertia_is_increased_to_that_of_a_solid(matrix, mass):
    inertia = matrix + matrix.T
    found = possible_inertia(Inertial(mass, np.zeros(3), inertia))
    a, b, c = np.linalg.eigvalsh(found)
    assert a > 0.0 and a + b >= c * (1.0 - 1e-12)
    more = found[0, 0] - inertia[0, 0]
    assert more >= 0.0 and np.allclose(found - inertia, more * np.eye(3))


@pytest.mark.parametrize(
    ("shape", "volume", "about_z"),
    [
        ('<box size="0.1 0.2 0.3"/>', 0.006, (0.1**2 + 0.2**2) / 12),
        ('<sphere radius="0.1"/>', 4 / 3 * np.pi * 1e-3, 0.4 * 0.01),
        ('<cylinder radius="0.1" length="0.5"/>', np.pi * 0.005, 0.005),
    ],
    ids=["box", "sphere", "cylinder"],
)
def test_shapes_without_a_mass_weigh_what_water_does(shape, volume, about_z):
    collision = f'<collision><origin xyz="1 2 3"/><geometry>{shape}</geometry></collision>'
    text = toys.robot(
        toys.link("a", ""), f'<link name="b">{collision}</link>', toys.joint("j", "a", "b"),
    )  # fmt: skip
    model = simulated_robot(load_robot(text), {}).model
    assert model.body("link:b").mass[0] == pytest.approx(1000.0 * volume)
    assert np.allclose(model.body("link:b").ipos, (1.0, 2.0, 3.0))
    # Its principal axes are in the order of MuJoCo.
    moments = model.body("link:b").inertia / model.body("link:b").mass
    assert np.abs(moments / about_z - 1.0).min() < 1e-6


def masses(text, inertials):
    robot = load_robot(text)
    return link_masses(robot, rigid_bodies(robot), inertials)


def test_a_moving_body_without_mass_gets_one_and_a_warning_names_it():
    found, filled, warnings = masses(toys.chain(3), {})
    assert not found and filled == {"l1", "l2"}  # the root does not move
    assert len(warnings) == 1 and "l1, l2: no mass is given" in warnings[0]


def test_a_body_is_heavy_enough_if_one_of_its_links_is():
    text = toys.robot(
        toys.link("a"), toys.link("b"), toys.link("c", ""), toys.joint("j", "a", "b"),
        toys.joint("f", "b", "c", "fixed"),
    )  # fmt: skip
    found, filled, warnings = masses(text, {"c": Inertial(1.0, np.zeros(3), np.eye(3))})
    assert found.keys() == {"c"} and not filled and not warnings


def test_a_frame_that_moves_alone_weighs_a_gram():
    text = toys.robot(
        toys.link("a"), toys.link("b", ""), toys.link("c"), toys.joint("j", "a", "b"),
        toys.joint("k", "b", "c"),
    )  # fmt: skip
    found, filled, _ = masses(text, {})
    assert found["b"].mass == 1e-3 and filled == {"c"}


def test_an_inertia_of_no_solid_is_warned_of():
    unreal = Inertial(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))
    *_, warnings = masses(toys.chain(2), {"l1": unreal})
    assert warnings == ["links l1: impossible inertia; it is increased"]


@pytest.mark.parametrize(
    ("mass", "inertia"),
    [
        (4.19e-15, np.diag([1.68e-27] * 3)),
        (0.05, [[0.01, -0.00002, 0.00001], [-0.00002, 0.0008, 0.0], [0.00001, 0.0, 0.001]]),
    ],
    ids=["a frame of Unitree's B2-W", "a finger of Robotiq"],
)
def test_inertias_of_vendors_are_accepted_by_mujoco(mass, inertia):
    text = toys.robot(
        toys.link("a"), toys.link("b"), toys.link("c"), toys.joint("j", "a", "b"),
        toys.joint("f", "b", "c", "fixed"),
    )  # fmt: skip
    given = {"b": Inertial(1.0, np.zeros(3), np.eye(3))}
    given["c"] = Inertial(mass, np.zeros(3), np.array(inertia))
    model = simulated_robot(load_robot(text), given).model
    assert model.body("link:c").mass[0] == mass


def mass_of_mesh(points):
    """Mass that a mesh of points (k, 3) adds to a ball, of a link without a mass."""
    robot = load_robot(toys.chain(2))
    ball = Shape("sphere", np.eye(4), (0.1,))
    mesh = Shape("mesh", np.eye(4), vertices=points, triangles=np.zeros((1, 3), dtype=int))
    link = replace(robot.links["l1"], shapes=(ball, mesh))
    model = simulated_robot(replace(robot, links={**robot.links, "l1": link}), {}).model
    return model.body("link:l1").mass[0] - 1000.0 * 4 / 3 * np.pi * 1e-3


CLOUDS = arrays(float, st.tuples(st.integers(1, 30), st.just(3)), elements=st.floats(-1.0, 1.0))


@given(CLOUDS)
@example(np.array([[1.0, 1.0, 1e-10], [0.0, 1e-10, 1e-10], [1e-10, 1e-10, 1e-10]]))
@example(np.array([[0.75, 0.0, 0.0], [0.0, 1e-6, 0.0], [0.0, 0.0, 0.0]]))
@example(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 1e-7, 0.0], [0.0, 1.0, 0.5]]))
def test_a_mesh_without_a_mass_weighs_what_its_hull_of_water_does(points):
    try:
        volume = ConvexHull(points, qhull_options="QJ").volume
    except QhullError:  # flat
        volume = 0.0
    added = mass_of_mesh(points) / 1000.0 - volume
    # No hull within a cube of 2 m has a larger surface; MuJoCo has vertices of 32 bits.
    assert -1e-6 <= added <= 24.0 * 1e-4 + 1e-6


@pytest.mark.parametrize(
    ("points", "volume"),
    [([[0.3, 0.0, 0.0]], 1e-12), ([[0.0, 0.0, 0.0], [0.0, 3.0, 4.0]], 5e-8),
     ([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]], 2**0.5 * 1e-4)],
    ids=["point", "line", "plate"],
)  # fmt: skip
def test_what_is_flat_becomes_a_tenth_of_a_millimetre_thick(points, volume):
    assert mass_of_mesh(np.array(points)) == pytest.approx(1000.0 * volume, rel=0.01)
