# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics and the motion of a floating base, against mujoco and pinocchio's own reader."""

import sys
from pathlib import Path

import mujoco
import numpy as np
import pinocchio
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from support.paths import ROOT
from support.robots.mujoco_twin import Twin
from support.robots.one_joint import BALL, INERTIA, LIGHT, ONE, dynamics_of, heavy, joint, trapezoid
from support.robots.robots import require

from collision_monitor.errors import DynamicsError, MissingDependencyError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.robot.bodies import leading_joint
from collision_monitor.robot.inertials import Inertial, read_inertials
from collision_monitor.robot.urdf import load_robot
from collision_monitor.verification.torques.actuators import Drive, Payload
from collision_monitor.verification.torques.dynamics import RobotDynamics, base_motion
from collision_monitor.verification.torques.torque_check import rigid_motion

SPACE_ARM = ROOT / "urdf" / "space_arm.urdf"
WAY = np.array([1.0, -0.8, 0.9, -1.5, 0.5, 1.0, -2.0])


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
        leader, gain, offsets[row] = leading_joint(one, joints)
        gains[row, free.index(leader)] = gain
    twin = Twin(urdf, list(joints), gravity=gravity)
    for q, v, a in states(5, len(free)):
        theirs = twin.inverse(gains @ q + offsets, gains @ v, gains @ a)[twin.v]
        assert np.allclose(ours.torques(q, v, a), gains.T @ theirs, atol=1e-9)
        mass, rest = ours.terms(q, v)
        assert np.allclose(mass @ a + rest, gains.T @ theirs, atol=1e-9)


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
    alone = RobotDynamics(robot, inertials, ["j1"])
    q, v, a = np.array([0.3, 0.0]), np.array([0.5, 0.0]), np.array([-1.0, 0.0])
    assert alone.torques(q[:1], v[:1], a[:1])[0] == pytest.approx(both.torques(q, v, a)[0])
    with pytest.raises(DynamicsError, match="joint 'j3' is unknown; there are j[12], j[12]"):
        RobotDynamics(robot, inertials, ["j3"])


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
        "no mass in the URDF, treated as massless: hand",
        "physically impossible inertia, used as given: arm",
    )
    assert RobotDynamics(robot, inertials, ["j", "k"]).notes[2:] == (
        "no mass is moved by joint 'k' (hand), so torques there are not checked",
    )
    with pytest.raises(DynamicsError, match=r"no mass is moved by joint 'k' \(hand\): add <inert"):
        RobotDynamics(robot, inertials, ["k"])
    with pytest.raises(DynamicsError, match="the base floats, and no link of the URDF has a mass"):
        RobotDynamics(robot, {}, ["j"], floating=True)


def test_without_pinocchio_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(MissingDependencyError, match=r"pip install .*'pin>="):
        dynamics_of(ONE)


def swinging(names, duration=6.0, size=1.0):
    """Joints that swing to and fro, quintic."""
    rng = np.random.default_rng(3)
    rows = size * rng.normal(size=(3, 4, len(names)))
    rows[:, 0] = 0.0
    rows[1:, -1] = 0.0
    return Trajectory.through(names, np.linspace(0.0, duration, 4), *rows)


def moved(dynamics, trajectory):
    """How the base moves, and the rigid motion."""
    motion = rigid_motion(trajectory, dynamics, [Drive()] * len(trajectory.joint_names))
    rows = motion.positions, motion.velocities
    return base_motion(dynamics, motion.times, motion.state, rows), motion


@pytest.mark.parametrize("urdf", [SPACE_ARM, LIGHT], ids=["space arm", "light base"])
def test_momentum_stays_zero(urdf):
    ours = dynamics_of(urdf, floating=True)
    base, motion = moved(ours, swinging(ours.joint_names))
    text = urdf.read_text(encoding="utf-8") if isinstance(urdf, Path) else urdf
    theirs = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer())
    data = theirs.createData()
    mass, speeds, momenta, centres = pinocchio.computeTotalMass(theirs), [], [], []
    for pose, twist, q, v in zip(
        base.poses, base.velocities, motion.positions, motion.velocities, strict=True
    ):
        turned = pinocchio.Quaternion(pose[:3, :3].copy()).coeffs()
        full = np.concatenate([pose[:3, 3], turned, q])
        momentum = pinocchio.computeCentroidalMomentum(
            theirs, data, full, np.concatenate([twist, v])
        )
        momenta.append(momentum.vector.copy())
        centres.append(pinocchio.centerOfMass(theirs, data, full).copy())
        speeds.append(np.linalg.norm(v))
    assert np.abs(momenta).max() < 1e-12 * mass * max(speeds)
    assert np.abs(np.array(centres) - centres[0]).max() < 1e-13 * max(1.0, np.abs(centres).max())


def test_the_centre_of_mass_falls_with_gravity():
    ours = dynamics_of(LIGHT, floating=True, gravity=(0.0, 0.0, -2.0))
    base, motion = moved(ours, swinging(ours.joint_names))
    for k in (0, len(base.times) // 2, -1):
        centre = base.poses[k] @ np.append(ours.centre_of_mass(motion.positions[k]), 1.0)
        start = ours.centre_of_mass(motion.positions[0])
        assert centre[:3] == pytest.approx(start + [0.0, 0.0, -base.times[k] ** 2])


@pytest.mark.parametrize("urdf", [SPACE_ARM, LIGHT], ids=["space arm", "light base"])
def test_mujoco_moves_the_same_way_under_our_torques(urdf):
    """Nothing but our torques, open loop: joints and base come out where we say."""
    ours = dynamics_of(urdf, floating=True)
    names = ours.joint_names
    way = 0.5 * WAY[: len(names)]
    trajectory = trapezoid(names, way, 4.0, 1.0)
    base, motion = moved(ours, trajectory)
    twin = Twin(urdf, names, floating=True, gravity=(0, 0, 0))
    dt = twin.model.opt.timestep
    for k in range(round(trajectory.duration / dt)):
        middle = trajectory.sample(np.array([(k + 0.5) * dt]))
        twin.data.qfrc_applied[twin.v] = ours.torques(
            middle.positions[0], middle.velocities[0], middle.accelerations[0]
        )
        mujoco.mj_step(twin.model, twin.data)
    assert np.allclose(twin.data.qpos[twin.q], motion.positions[-1], atol=1e-5)
    assert np.abs(base.poses[-1, :3, 3]).max() > 1e-3
    assert np.allclose(twin.data.qpos[:3], base.poses[-1, :3, 3], atol=1e-5)
    turned = Rotation.from_quat(twin.data.qpos[[4, 5, 6, 3]])
    apart = Rotation.from_matrix(base.poses[-1, :3, :3]).inv() * turned
    assert apart.magnitude() < 1e-5


def test_attitude_is_that_of_a_tight_integration():
    ours = dynamics_of(LIGHT, floating=True)
    trajectory = swinging(ours.joint_names)
    base, _ = moved(ours, trajectory)
    rate = trajectory.polynomial.derivative()

    def turning(t, quaternion):
        w = ours.base_velocity(trajectory.polynomial(t), rate(t))[3:]
        x, y, z, s = quaternion
        return 0.5 * np.array([
            s * w[0] + y * w[2] - z * w[1],
            s * w[1] + z * w[0] - x * w[2],
            s * w[2] + x * w[1] - y * w[0],
            -x * w[0] - y * w[1] - z * w[2],
        ])  # fmt: skip

    right = solve_ivp(
        turning, (0.0, trajectory.duration), [0, 0, 0, 1.0], "DOP853", rtol=1e-12, atol=1e-13
    )
    theirs = Rotation.from_quat(right.y[:, -1])
    assert theirs.magnitude() > 0.3  # it does turn
    ours_last = Rotation.from_matrix(base.poses[-1, :3, :3])
    assert (theirs.inv() * ours_last).magnitude() < 1e-8


def test_velocities_are_the_rates_of_the_poses():
    ours = dynamics_of(LIGHT, floating=True, gravity=(0.3, 0.0, -1.0))
    trajectory = swinging(ours.joint_names)
    motion = rigid_motion(trajectory, ours, [Drive()] * 2)
    times = 2.0 + np.array([-1e-4, 0.0, 1e-4])
    times = np.concatenate([np.linspace(0.0, 1.99, 100), times])
    base = base_motion(ours, times, motion.state, motion.state(times))
    rates = (base.poses[-1] - base.poses[-3]) / 2e-4
    turned = base.poses[-2, :3, :3]
    assert np.allclose(turned.T @ rates[:3, 3], base.velocities[-2, :3], atol=1e-6)
    spin = turned.T @ rates[:3, :3]
    assert np.allclose([spin[2, 1], spin[0, 2], spin[1, 0]], base.velocities[-2, 3:], atol=1e-6)
