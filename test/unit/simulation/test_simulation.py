# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot: start, time, reset, contacts, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from support.robots import toys
from support.robots.simulated import files_of, simulation

from collision_monitor.errors import ConfigurationError, SimulationError
from collision_monitor.motion import read_motion
from collision_monitor.simulation.mujoco_model import SimulationSettings
from collision_monitor.simulation.simulation import Simulation
from collision_monitor.simulation.trajectory_execution import checked_command

import mujoco  # isort: skip

from collision_monitor.robot.bodies import link_poses  # isort: skip
from collision_monitor.model.mesh_contacts import LinkContacts, Solid

from collision_monitor.robot.urdf import load_robot  # isort: skip
from collision_monitor.simulation.simulation import Contact, add_touches, contacts_of  # isort: skip


def command(sim, q, seconds, **more):
    return checked_command(sim.joint_names, sim.joint_names, [seconds], [q], **more)


def test_it_begins_at_time_zero_where_it_is_told_to():
    sim = Simulation.from_urdf(toys.chain(3), start={"j2": 0.3})
    assert sim.time == 0.0 and sim.contacts == {}
    assert sim.q.tolist() == [0.0, 0.3]
    sim.advance(10)
    assert sim.time == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"elbow": 0.1}, "the robot has no joint 'elbow'; its joints are j1"),
        ({"j2": 9.0}, r"9 of joint 'j2' is not within its limits, -2"),
        ({"j2": float("nan")}, "nan of joint 'j2'"),
    ],
)
def test_a_start_that_cannot_be_is_refused(start, message):
    with pytest.raises(ConfigurationError, match=message):
        Simulation.from_urdf(toys.chain(3), start=start)


def test_a_refusal_lists_the_first_of_many_joints():
    says = r"no joint 'elbow'; its joints are j1, (j\d+, ){6}j8 and 12 more$"
    with pytest.raises(ConfigurationError, match=says):
        Simulation.from_urdf(toys.chain(21), start={"elbow": 0.1})


def test_the_published_motion_ends_in_contact_of_the_hands():
    sim = simulation("dual_arm")
    motion = read_motion("config/dual_arm_motion.csv")
    began, scale = sim.time, 0.1
    sim.command(
        checked_command(sim.joint_names, motion.joint_names, motion.times * scale, motion.positions)
    )
    while sim.time - began < 6.3:
        sim.advance(5)
    first = min(sim.touches, key=lambda pair: sim.touches[pair].first)
    assert first == ("left_link_7", "right_link_7")
    # Bare capsules of 0.05 m round the links would touch at 44 s of the motion's 62.
    assert sim.touches[first].first - began == pytest.approx(44.0 * scale, abs=0.05)
    sim.reset()
    assert sim.touches == {} and sim.contacts == {}


def test_a_reset_puts_it_back_and_time_goes_on():
    sim = simulation("dual_arm")
    run = sim.command(command(sim, np.full(14, 0.2), 1.0))
    sim.advance(300)
    before = sim.time
    sim.reset()
    assert np.array_equal(sim.q, np.zeros(14)) and np.array_equal(sim.rates, np.zeros(14))
    assert sim.time == before and not sim.execution.moving
    assert run.phase.name == "DROPPED"
    sim.advance(300)
    assert np.abs(sim.q).max() < 1e-6


@pytest.mark.parametrize("scale", [float("nan"), -0.5, 1.5])
def test_a_speed_scale_that_is_none_moves_nothing(scale):
    sim = Simulation.from_urdf(toys.chain(3))
    sim.command(command(sim, np.ones(2), 1.0))
    with pytest.raises(ConfigurationError, match="scale: .* is not a number from 0 to 1"):
        sim.advance(100, scale)
    assert (sim.time, sim.q.tolist()) == (0.0, [0.0, 0.0])


def test_time_can_be_set_forward_and_never_back():
    sim = Simulation.from_urdf(toys.chain(3))
    sim.continue_from(5.0)
    assert sim.time == pytest.approx(5.0)
    sim.continue_from(1.0)
    assert sim.time == pytest.approx(5.0)


def test_what_becomes_unstable_is_an_error_and_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heavy = toys.chain(6).replace('effort="1"', 'effort="0"')
    fast = SimulationSettings(timestep=0.02, servo_bandwidth=100.0)
    sim = Simulation.from_urdf(heavy, settings=fast)
    rng = np.random.default_rng(0)
    with pytest.raises(SimulationError, match=r"smaller timestep than 0\.02 s"):
        for _ in range(200):
            sim.command(command(sim, rng.uniform(-2.0, 2.0, 5), 0.05))
            sim.advance(5)
    assert list(tmp_path.iterdir()) == []


def test_a_joint_of_the_scene_turns_its_obstacle():
    scene = {
        "joints": [
            {"name": "hinge", "type": "revolute", "axis": [0, 0, 1], "position": [0, 1, 0],
             "lower": -2.0, "upper": 2.0},
        ],
        "obstacles": [
            {"name": "wing", "type": "box", "size": [1.2, 0.1, 0.1], "position": [0.6, 0, 0],
             "joint": "hinge"},
        ],
    }  # fmt: skip
    sim = Simulation.from_urdf(toys.chain(3, axis="0 0 1"), scene=scene)
    assert sim.joint_names == ("j1", "j2", "hinge")
    sim.command(command(sim, [0.0, 0.0, -1.5], 2.0))
    sim.advance(1500)
    assert sim.q[2] == pytest.approx(-1.5, abs=0.2)
    # It hangs down through where the first link stands.
    assert {frozenset(pair) for pair in sim.touches} == {frozenset(("l0", "wing"))}


# m: rounding decides about what is nearer, and MuJoCo and coal round differently.
DOUBT = 2e-5


def hulled(robot):
    """The robot with each mesh replaced by its hull, closed."""
    links = {}
    for name, link in robot.links.items():
        shapes = []
        for shape in link.shapes:
            if shape.kind == "mesh":
                hull = trimesh.convex.convex_hull(shape.vertices)
                triangles = np.array(hull.faces, dtype=np.int64)
                shape = replace(shape, vertices=np.array(hull.vertices), triangles=triangles)
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
        {link: Solid(robot.links[link].shapes, poses[link]) for link in names}
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
    return LinkContacts(a, b).meet(k)


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
    sim.robot.model.actuator_gainprm[:] = 0.0  # let it fall
    sim.robot.model.actuator_biasprm[:] = 0.0
    sim.advance(1500)
    ((pair, contact),) = sim.contacts.items()
    assert pair == ("ball", "base")
    weight = 9.81 * float(sim.robot.model.body_mass.sum())
    assert contact.force == pytest.approx(weight, rel=0.05)
    assert contact.depth == pytest.approx(0.1 - 0.1005 - float(sim.q[1]), abs=1e-4)


def test_a_log_keeps_the_worst_and_the_times():
    touches = {}
    add_touches(touches, {("a", "b"): Contact(0.001, 5.0)}, 1.0)
    add_touches(touches, {("a", "b"): Contact(0.003, 2.0), ("a", "c"): Contact(0.1, 1.0)}, 2.0)
    add_touches(touches, {}, 3.0)
    touch = touches["a", "b"]
    assert (touch.first, touch.last, touch.depth, touch.force) == (1.0, 2.0, 0.003, 5.0)
    assert list(touches) == [("a", "b"), ("a", "c")]
