# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Torques against mujoco, which reads the URDF itself, and against pinocchio's own reader."""

import sys

import numpy as np
import pinocchio
import pytest
from support.paths import ROOT
from support.robots.mujoco_twin import Twin
from support.robots.one_joint import BALL, INERTIA, LIGHT, ONE, dynamics_of, heavy, joint
from support.robots.robots import require

from collision_monitor.errors import DynamicsError, MissingDependencyError
from collision_monitor.robot.bodies import drive
from collision_monitor.robot.urdf.inertials import Inertial, read_inertials
from collision_monitor.robot.urdf.urdf import load_robot
from collision_monitor.verification.torques.actuators import Payload
from collision_monitor.verification.torques.dynamics import RobotDynamics

SPACE_ARM = ROOT / "urdf" / "space_arm.urdf"


def files_of(name):
    """URDF and package folders of a real robot or of the space arm."""
    if name == "space_arm":
        return SPACE_ARM, ()
    files = require(name)
    return files.urdf, files.package_dirs


def states(count, n, seed=0):
    """Random positions, velocities, accelerations (3, n) each."""
    return np.random.default_rng(seed).normal(size=(count, 3, n))


@pytest.mark.parametrize("name", ["ur5", "panda", "baxter", "space_arm"])
def test_torques_are_those_of_mujoco(name):
    urdf, folders = files_of(name)
    robot = load_robot(urdf, folders)
    joints = {j.name: j for j in robot.joints if j.moves}
    free = [j.name for j in joints.values() if j.mimic is None]
    gravity = (1.0, -2.0, -9.0)
    ours = RobotDynamics(robot, read_inertials(urdf), free, gravity=gravity)
    # Mujoco knows nothing of followers: they get their motion, and give their torques, by hand.
    gains, offsets = np.zeros((len(joints), len(free))), np.zeros(len(joints))
    for row, one in enumerate(joints.values()):
        leader, gains[row, free.index(drive(one, joints)[0])], offsets[row] = drive(one, joints)
    twin = Twin(urdf, list(joints), gravity=gravity)
    for q, v, a in states(5, len(free)):
        theirs = twin.inverse(gains @ q + offsets, gains @ v, gains @ a)[twin.v]
        assert np.allclose(ours.torques(q, v, a), gains.T @ theirs, atol=1e-9)
        mass, rest = ours.terms(q, v)
        assert np.allclose(mass @ a + rest, gains.T @ theirs, atol=1e-9)
        assert np.allclose(ours.accelerations(q, v, ours.torques(q, v, a)), a, atol=1e-7)


@pytest.mark.parametrize("name", ["talos", "space_arm"])
def test_a_floating_base_bears_no_wrench_in_mujoco(name):
    urdf, folders = files_of(name)
    robot = load_robot(urdf, folders)
    leaders = {j.mimic.joint for j in robot.joints if j.mimic is not None}
    free = [j.name for j in robot.joints if j.moves and j.mimic is None and j.name not in leaders]
    ours = RobotDynamics(robot, read_inertials(urdf), free, floating=True)
    twin = Twin(urdf, free, floating=True, gravity=(0, 0, 0))
    for q, v, a in states(5, len(free)):
        # The acceleration of the base is the one under which mujoco has no wrench on it.
        speed = ours.base_velocity(q, v)
        wrenches = [twin.inverse(q, v, a, (speed, one))[:6] for one in [np.zeros(6), *np.eye(6)]]
        columns = np.transpose(wrenches[1:]) - wrenches[0][:, None]
        acceleration = np.linalg.solve(columns, -wrenches[0])
        theirs = twin.inverse(q, v, a, (speed, acceleration))
        size = np.abs(theirs).max()
        assert np.allclose(ours.torques(q, v, a), theirs[twin.v], atol=1e-9 * size)
        assert np.allclose(ours.accelerations(q, v, theirs[twin.v]), a, atol=1e-7)


@pytest.mark.parametrize("name", ["ur5", "xarm7"])
def test_the_model_is_that_of_pinocchios_own_reader(name):
    files = require(name)
    theirs = pinocchio.buildModelFromUrdf(str(files.urdf))
    data = theirs.createData()
    robot = load_robot(files.urdf, files.package_dirs)
    names = [j.name for j in robot.joints if j.moves and j.mimic is None]
    ours = RobotDynamics(robot, read_inertials(files.urdf), names)
    rows = [theirs.joints[theirs.getJointId(n)].idx_v for n in names]
    assert len(rows) == theirs.nv
    for state in states(3, len(names)):
        q, v, a = np.zeros((3, theirs.nv))
        q[rows], v[rows], a[rows] = state
        full = pinocchio.integrate(theirs, pinocchio.neutral(theirs), q)
        right = pinocchio.rnea(theirs, data, full, v, a)[rows]
        assert np.allclose(ours.torques(*state), right, atol=1e-10)
        right = pinocchio.centerOfMass(theirs, data, full)
        assert np.allclose(ours.centre_of_mass(state[0]), right, atol=1e-10)


def test_a_payload_is_mass_at_its_link():
    inertial = Inertial(3.0, np.array([0.5, 0.0, 0.2]), np.diag([0.1, 0.1, 0.15]))
    ours = dynamics_of(ONE, payload=Payload("arm", inertial), gravity=(0.0, -10.0, 0.0))
    right = INERTIA + 0.15 + 3.0 * 0.5**2
    q, zero, one = np.zeros(1), np.zeros(1), np.ones(1)
    weight = 10.0 * (2.0 * 1.0 + 3.0 * 0.5)
    assert ours.torques(q, zero, one)[0] == pytest.approx(right + weight)
    with pytest.raises(DynamicsError, match="payload: link 'arn' is unknown; there are arm"):
        dynamics_of(ONE, payload=Payload("arn", inertial))


def test_joints_that_are_not_named_are_held():
    robot = load_robot(LIGHT)
    inertials = read_inertials(LIGHT)
    both = RobotDynamics(robot, inertials, ["j1", "j2"])
    alone = RobotDynamics(robot, inertials, ["j1"], held={"j2": 0.7})
    q, v, a = np.array([0.3, 0.7]), np.array([0.5, 0.0]), np.array([-1.0, 0.0])
    assert alone.torques(q[:1], v[:1], a[:1])[0] == pytest.approx(both.torques(q, v, a)[0])
    moved = alone.accelerations(q[:1], v[:1], alone.torques(q[:1], v[:1], a[:1]))
    assert moved == pytest.approx(a[:1])
    with pytest.raises(DynamicsError, match="held: joint 'j3' is unknown; there are j[12], j[12]"):
        RobotDynamics(robot, inertials, ["j1"], held={"j3": 0.0})


def test_gravity_does_not_bend_what_falls():
    resting = dynamics_of(LIGHT, floating=True)
    falling = dynamics_of(LIGHT, floating=True, gravity=(0, 0, -9.81))
    for state in states(3, 2):
        assert np.array_equal(resting.torques(*state), falling.torques(*state))
    with pytest.raises(DynamicsError, match="gravity: .* is not three finite numbers"):
        dynamics_of(LIGHT, gravity=(0, 0))


def test_links_without_mass_are_named():
    light = f'<link name="hand">{BALL}</link>'
    urdf = (
        f'<robot name="r">{heavy("base", 1.0, "0 0 0")}{heavy("arm", 1.0, "0 0 0", "1 1 3")}'
        f"{light}{joint('j', 'base', 'arm', '0 0 1')}{joint('k', 'arm', 'hand', '0 0 1')}</robot>"
    )
    robot, inertials = load_robot(urdf), read_inertials(urdf)
    assert RobotDynamics(robot, inertials, ["j"]).notes == (
        "no mass in the URDF, so taken for weightless: hand",
        "an inertia that no body has, taken as it is: arm",
    )
    assert RobotDynamics(robot, inertials, ["j", "k"]).notes[2:] == (
        "no mass is moved by joint 'k' (hand), so torques there are not checked",
    )
    with pytest.raises(DynamicsError, match=r"no mass is moved by joint 'k' \(hand\): add <inert"):
        RobotDynamics(robot, inertials, ["k"])
    with pytest.raises(DynamicsError, match="the base floats, and no link of the URDF has a mass"):
        RobotDynamics(robot, {}, ["j"], floating=True)


def test_without_pinocchio_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(MissingDependencyError, match=r"collision_monitor\[verify\]"):
        dynamics_of(ONE)
