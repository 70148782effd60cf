# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What MuJoCo says touches, against what coal says of the same hulls and of the meshes."""

from dataclasses import replace

import numpy as np
import pytest
from support.robots import toys
from support.robots.simulated import files_of, simulation

import mujoco  # isort: skip

from collision_monitor.robot.batch_poses import link_poses  # isort: skip
from collision_monitor.model.mesh_contacts import _one_holds_the_other, _Solid, _surfaces_meet

from collision_monitor.robot.urdf.urdf import load_robot  # isort: skip
from collision_monitor.simulation.contacts import Contact, TouchLog, contacts_of  # isort: skip
from collision_monitor.simulation.masses import convex_hull  # isort: skip
from collision_monitor.simulation.simulation import Simulation  # isort: skip

# m: rounding decides about what is nearer, and MuJoCo and coal round differently.
DOUBT = 2e-5


def hulled(robot):
    """The robot with each mesh replaced by its hull, closed."""
    links = {}
    for name, link in robot.links.items():
        shapes = []
        for shape in link.shapes:
            if shape.kind == "mesh":
                vertices, triangles = convex_hull(shape.vertices)
                shape = replace(shape, vertices=vertices, triangles=triangles.astype(np.int64))
            shapes.append(shape)
        links[name] = replace(link, shapes=tuple(shapes))
    return replace(robot, links=links)


def checked_pairs(found, robot):
    """Pairs of links with shapes that MuJoCo lets touch."""
    excluded = {frozenset((a, b)) for a, b, _ in found.excluded}
    body = found.bodies.link_bodies
    names = [name for name, link in robot.links.items() if link.shapes]
    return [
        (a, b)
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        if body[a] != body[b] and frozenset((a, b)) not in excluded
    ]


@pytest.mark.parametrize(("name", "least"), [("dual_arm", 10), ("ur5", 10), ("panda", 5)])
def test_they_agree_with_coal_on_random_poses(name, least):
    files = files_of(name)
    robot = load_robot(files.urdf, files.package_dirs)
    found = simulation(name).robot
    pairs = checked_pairs(found, robot)
    joints = found.bodies.joints
    low, high = (np.array([getattr(j, end) for j in joints]) for end in ("lower", "upper"))
    rows = np.random.default_rng(7).uniform(low, high, (60, len(joints)))
    poses = link_poses(found.bodies, robot.links, rows)
    names = {link for pair in pairs for link in pair}
    hulls, meshes = (
        {link: _Solid(robot.links[link].shapes, poses[link]) for link in names}
        for robot in (hulled(robot), robot)
    )
    data = mujoco.MjData(found.model)
    met = 0
    for k, q in enumerate(rows):
        found.place(data, q)
        mujoco.mj_forward(found.model, data)
        touching = {
            frozenset(pair): contact.depth for pair, contact in contacts_of(found, data).items()
        }
        for a, b in pairs:
            depth = touching.pop(frozenset((a, b)), None)
            if depth is None:
                assert not meet(hulls[a], hulls[b], k), (k, a, b)
                assert not meet(meshes[a], meshes[b], k), (k, a, b)
            elif depth > DOUBT:
                met += 1
                assert meet(hulls[a], hulls[b], k), (k, a, b, depth)
        assert not touching, "a pair that is excluded touches"
    assert met > least


def meet(a, b, k):
    """Whether two solids of coal meet at configuration k."""
    far = np.linalg.norm(a.centers[k] - b.centers[k]) > a.radius + b.radius
    return not far and (_surfaces_meet(a, b, k) or _one_holds_the_other(a, b, k))


def ball(height):
    """A ball of 1 dm over a floor whose top is at 0, on a slide; 0 is ``height``."""
    text = toys.robot(
        toys.link("base", '<box size="2 2 0.2"/>', "0 0 -0.1"), toys.link("cart", ""),
        toys.link("ball"),
        toys.joint("x", "base", "cart", "prismatic", "0 0 0", "1 0 0"),
        toys.joint("z", "cart", "ball", "prismatic", f"0 0 {height}", "0 0 1"),
        name="drop",
    )  # fmt: skip
    return Simulation.from_urdf(text.replace('effort="1"', 'effort="1000"'))


def test_depth_and_force_of_a_ball_that_lies_on_the_floor():
    sim = ball(0.1005)
    assert sim.contacts == {}
    sim._servos.stiffness[:] = 1e-6  # let it fall
    sim.robot.model.actuator_gainprm[:] = 0.0
    sim.robot.model.actuator_biasprm[:] = 0.0
    sim.advance(1500)
    ((pair, contact),) = sim.contacts.items()
    assert pair == ("ball", "base")
    weight = 9.81 * float(sim.robot.model.body_mass.sum())
    assert contact.force == pytest.approx(weight, rel=0.05)
    assert contact.depth == pytest.approx(0.1 - 0.1005 - float(sim.q[1]), abs=1e-4)


def test_a_log_keeps_the_worst_and_the_times():
    log = TouchLog()
    log.note({("a", "b"): Contact(0.001, 5.0)}, 1.0)
    log.note({("a", "b"): Contact(0.003, 2.0), ("a", "c"): Contact(0.1, 1.0)}, 2.0)
    log.note({}, 3.0)
    touch = log.touches["a", "b"]
    assert (touch.first, touch.last, touch.depth, touch.force) == (1.0, 2.0, 0.003, 5.0)
    assert list(log.touches) == [("a", "b"), ("a", "c")]
