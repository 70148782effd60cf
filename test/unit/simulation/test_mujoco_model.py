# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots as MuJoCo has them, against this package's kinematics and pinocchio's dynamics."""


import numpy as np
import pytest
from support.robots import toys
from support.robots.simulated import files_of

import mujoco  # isort: skip

from collision_monitor.robot.inertials import read_inertials  # isort: skip
from collision_monitor.robot.scene import load_scene  # isort: skip
from collision_monitor.robot.srdf import load_srdf  # isort: skip
from collision_monitor.robot.urdf import load_robot  # isort: skip
from collision_monitor.simulation.mujoco_model import ALWAYS, SimulationSettings  # isort: skip
from collision_monitor.simulation.mujoco_model import simulated_robot  # isort: skip


from support.robots.robots import require

from collision_monitor import CollisionModel
from collision_monitor.robot.pairs import NEIGHBOURS, RIGID, omitted_pairs
from collision_monitor.robot.scene import Scene


def load(name):
    files = files_of(name)
    robot = load_robot(files.urdf, files.package_dirs)
    semantics = load_srdf(files.srdf, robot) if files.srdf else None
    return robot, simulated_robot(robot, read_inertials(files.urdf), semantics=semantics)


def toy(text, scene=None, **options):
    robot = load_robot(text)
    scene = None if scene is None else load_scene(scene, robot)
    return simulated_robot(robot, {}, scene=scene, settings=SimulationSettings(**options))


def configurations(found, n, seed=0):
    joints = found.bodies.joints
    low, high = (np.array([getattr(j, end) for j in joints]) for end in ("lower", "upper"))
    return np.random.default_rng(seed).uniform(low, high, (n, len(joints)))


def pairs_in_contact(found, data):
    geoms = data.contact.geom[data.contact.dist <= 0.0]
    return {
        frozenset(found.names[body] for body in row)
        for row in found.model.geom_bodyid[geoms].tolist()
    }


@pytest.mark.parametrize("name", ["dual_arm", "ur5", "panda"])
def test_masses_are_those_that_pinocchio_reads(name):
    pin = pytest.importorskip("pinocchio", reason="pinocchio (PyPI: pin) is not installed")
    files = files_of(name)
    _, found = load(name)
    other = pin.buildModelFromUrdf(str(files.urdf))
    work = other.createData()
    data = mujoco.MjData(found.model)
    order = [other.joints[other.getJointId(j)].idx_v for j in found.bodies.joint_names]
    for q in configurations(found, 5):
        q[np.count_nonzero(found.motions, axis=0) > 1] = 0.0  # pinocchio lets no finger follow
        found.place(data, q)
        mujoco.mj_forward(found.model, data)
        there = pin.neutral(other)
        there[order] = q
        gravity = pin.computeGeneralizedGravity(other, work, there)
        assert np.allclose(data.qfrc_bias[found.positions], gravity[order], atol=1e-6)
        inertia = pin.crba(other, work, there)
        for k, row in enumerate(order):
            unit, out = np.zeros(found.model.nv), np.zeros(found.model.nv)
            unit[found.positions[k]] = 1.0
            mujoco.mj_mulM(found.model, data, out, unit)
            full = np.triu(inertia) + np.triu(inertia, 1).T
            assert np.allclose(out[found.positions], full[row][order], atol=1e-6)


def test_mimic_joints_follow():
    text = toys.robot(
        toys.link("a"), toys.link("b"), toys.link("c"), toys.link("d"),
        toys.joint("lead", "a", "b", xyz="3 0 0", axis="0 0 1"),
        toys.joint("follow", "b", "c", xyz="3 0 0",
                   extra='<mimic joint="lead" multiplier="-0.5" offset="0.2"/>'),
        toys.joint("again", "c", "d", xyz="3 0 0", extra='<mimic joint="follow" multiplier="2"/>'),
    )  # fmt: skip
    found = toy(text, gravity=0.0)
    data = mujoco.MjData(found.model)
    assert found.bodies.joint_names == ("lead",)
    assert found.model.nu == 1
    found.place(data, np.array([0.4]))
    assert data.qpos == pytest.approx([0.4, 0.0, 0.0])
    found.place(data, np.array([0.0]))
    assert data.qpos == pytest.approx([0.0, 0.2, 0.4])
    data.qfrc_applied[found.positions[0]] = 2000.0
    mujoco.mj_step(found.model, data, 150)
    lead, follow, again = data.qpos
    assert lead > 0.1
    assert follow == pytest.approx(0.2 - 0.5 * lead, abs=0.02)
    assert again == pytest.approx(2.0 * follow, abs=0.04)


def test_neighbours_pass_through_each_other_and_others_do_not():
    close = toy(toys.chain(4, xyz="0.15 0 0"))  # spheres of radius 0.1, 0.15 apart
    data = mujoco.MjData(close.model)
    mujoco.mj_forward(close.model, data)
    assert pairs_in_contact(close, data) == set()
    close.place(data, np.array([0.0, 2.0, 2.0]))
    mujoco.mj_forward(close.model, data)
    assert frozenset(("l1", "l3")) in pairs_in_contact(close, data)


def test_what_is_fixed_to_the_parent_is_touched():
    text = toys.robot(
        toys.link("torso"), toys.link("screen", xyz="1 0 0"), toys.link("arm", xyz="1 0 0"),
        toys.joint("f", "torso", "screen", "fixed", "0 0 0"),
        toys.joint("j", "torso", "arm", xyz="0 0 0"),
    )  # fmt: skip
    found = toy(text)
    data = mujoco.MjData(found.model)
    mujoco.mj_forward(found.model, data)
    assert pairs_in_contact(found, data) == {frozenset(("screen", "arm"))}


SCENE = {
    "obstacles": [
        {"name": "floor", "type": "box", "size": [4, 4, 0.1], "position": [0, 0, -0.14]},
        {"name": "tool", "type": "cylinder", "radius": 0.05, "length": 0.4, "link": "l1"},
    ]
}


def test_obstacles_are_fixed_to_their_links_and_touched_under_their_names():
    found = toy(toys.chain(3), {**SCENE, "ignore": [["floor", "l2"]]})
    data = mujoco.MjData(found.model)
    mujoco.mj_forward(found.model, data)
    # The spheres reach 1 cm into the floor, the tool 11 cm; the root does not move.
    expected = {frozenset(("floor", name)) for name in ("l1", "tool")}
    assert pairs_in_contact(found, data) == expected
    assert any("floor and l1 always touch" in text for text in found.warnings)


def test_hulls_that_always_touch_are_left_out_with_a_warning(tmp_path):
    # l0's shape is a bar along which l2 slides: nowhere do they part.
    text = toys.robot(
        toys.link("l0", '<box size="9 0.3 0.3"/>'), toys.link("l1", xyz="0 5 0"), toys.link("l2"),
        toys.joint("j", "l0", "l1", "prismatic", "0 0 0", "1 0 0"),
        toys.joint("k", "l1", "l2", "prismatic", "0 0 0", "1 0 0"),
    )  # fmt: skip
    found = toy(text)
    assert [(a, b) for a, b, why in found.excluded if why == ALWAYS] == [("l0", "l2")]
    assert any("l0 - l2: their convex hulls touch in nearly" in text for text in found.warnings)
    data = mujoco.MjData(found.model)
    mujoco.mj_forward(found.model, data)
    assert pairs_in_contact(found, data) == set()


def test_joint_limits_hold_and_effort_limits_bound_the_servos():
    text = toys.robot(
        toys.link("a"), toys.link("b"), toys.joint("j", "a", "b", xyz="3 0 0", axis="0 0 1")
    )
    found = toy(text, gravity=0.0)
    data = mujoco.MjData(found.model)
    data.qfrc_applied[0] = 50.0
    mujoco.mj_step(found.model, data, 1000)
    assert data.qpos[0] == pytest.approx(2.0, abs=0.1)
    assert found.model.actuator_forcerange.tolist() == [[-1.0, 1.0]]
    free = toy(text.replace('effort="1"', 'effort="0"'))
    assert not free.model.actuator_forcelimited[0]
    assert any("joints j: no effort limit is given" in text for text in free.warnings)
    assert not toy(text, effort_limits=False).model.actuator_forcelimited[0]


def test_a_capsule_without_a_straight_part_is_a_ball():
    found = toy(toys.robot(toys.link("a", '<capsule radius="0.1" length="0"/>'), toys.link("b"),
                           toys.joint("j", "a", "b")))  # fmt: skip
    assert found.model.geom_type[0] == mujoco.mjtGeom.mjGEOM_SPHERE


def test_a_link_named_world_is_a_link():
    text = toys.chain(3).replace('"l0"', '"world"')
    assert "world" in toy(text).names


@pytest.mark.parametrize("with_srdf", [False, True])
def test_they_are_those_that_the_model_leaves_out(with_srdf):
    files = require("ur5")
    srdf = files.srdf if with_srdf else None
    model = CollisionModel.from_urdf(files.urdf, srdf=srdf, package_dirs=files.package_dirs)
    found = omitted_pairs(model.robot, model.bodies, model.semantics, Scene())
    shaped = {name for name, link in model.robot.links.items() if link.shapes}
    expected = {
        frozenset((a, b)): reason
        for a, b, reason in model.unmonitored_pairs
        if reason != RIGID and not reason.startswith("meshes meet")
    }
    found = {pair: why for pair, why in found.items() if pair <= shaped}
    rigid = {frozenset((a, b)) for a, b, reason in model.unmonitored_pairs if reason == RIGID}
    assert {pair: why for pair, why in found.items() if pair not in rigid} == expected
    assert ("disabled in the SRDF" if with_srdf else NEIGHBOURS) in found.values()
