# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Springs in joints against closed forms, energy, mujoco, and what stiff springs come to."""


import mujoco
import numpy as np
import pytest
from scipy.interpolate import PPoly
from support.paths import ROOT
from support.robots.mujoco_twin import Twin
from support.robots.one_joint import INERTIA, LIGHT, ONE, dynamics_of, energy, speeding, trapezoid

from collision_monitor.errors import DynamicsError
from collision_monitor.motion.trajectory import Trajectory, joined, own_knots
from collision_monitor.verification.torques.actuators import Drive
from collision_monitor.verification.torques.flexible_motion import (
    FlexibleJoints,
    MotorCommand,
    follow,
)

SPACE_ARM = ROOT / "urdf" / "space_arm.urdf"


def one_joint(frequency, ratio=0.0, rotor=0.0):
    """One joint whose link swings at ``frequency`` rad/s, ``ratio`` of critical damping."""
    stiffness = frequency**2 * INERTIA
    drive = Drive(rotor, 1.0, stiffness, 2.0 * ratio * frequency * INERTIA)
    return FlexibleJoints(dynamics_of(ONE), [drive])


@pytest.mark.parametrize(("frequency", "ratio"), [(6.0, 0.0), (40.0, 0.05), (3000.0, 0.4)])
def test_a_link_on_a_spring_whose_motor_speeds_up(frequency, ratio):
    """Motor at constant acceleration a: the deflection swings about a / w^2 and is known."""
    a, rotor = 0.8, 0.3
    joints = one_joint(frequency, ratio, rotor)
    command = MotorCommand(speeding(a, 3.0))
    motion = follow(joints, command, tolerance=1e-9)
    t, damped = motion.times, frequency * np.sqrt(1.0 - ratio**2)
    part = np.cos(damped * t) + ratio * frequency / damped * np.sin(damped * t)
    bent = a / frequency**2 * (1.0 - np.exp(-ratio * frequency * t) * part)
    rate = a / damped * np.exp(-ratio * frequency * t) * np.sin(damped * t)
    torque = INERTIA * (frequency**2 * bent + 2.0 * ratio * frequency * rate)
    deflections = command.at(t, command.duration).positions - motion.positions
    assert np.allclose(deflections[:, 0], bent, atol=1e-6 * bent.max())
    assert np.allclose(motion.link_torques[:, 0], torque, atol=1e-5 * torque.max())
    assert np.allclose(motion.motor_torques[:, 0], torque + rotor * a, atol=1e-5 * torque.max())
    assert joints.modes(np.zeros(1))[0] == pytest.approx([frequency / (2.0 * np.pi)])
    assert joints.modes(np.zeros(1))[1] == pytest.approx([ratio])
    # No damping: up to twice the rigid torque.
    if ratio == 0.0:
        assert motion.link_torques.max() == pytest.approx(2.0 * INERTIA * a, rel=1e-4)


@pytest.mark.parametrize("urdf", [SPACE_ARM, LIGHT], ids=["space arm", "light base"])
def test_mujoco_swings_the_same_way(urdf):
    dynamics = dynamics_of(urdf, floating=True)
    names = dynamics.joint_names
    # The arm's wrist turns 7 kg m^2 to 0.2: springs that swing at some Hz each.
    of_arm = [4e5, 4e5, 2e5, 5e4, 4e3, 2e3, 200.0]
    stiffness = np.array(of_arm if len(names) == 7 else [300.0, 200.0])
    damping = 0.002 * stiffness
    drives = [Drive(stiffness=k, damping=d) for k, d in zip(stiffness, damping, strict=True)]
    way = np.array([0.4, -0.3, 0.5, -0.6, 0.4, 0.5, -0.6])[: len(names)]
    command = MotorCommand(trapezoid(names, way, 2.0, 0.5))
    motion = follow(FlexibleJoints(dynamics, drives), command)
    twin = Twin(urdf, names, floating=True, gravity=(0, 0, 0))
    twin.model.opt.timestep = dt = 5e-4
    joint_ids = [twin.model.joint(name).id for name in names]
    twin.model.jnt_stiffness[joint_ids] = stiffness
    twin.model.dof_damping[twin.v] = damping
    torques = []
    for k in range(round(command.duration / dt)):
        now = command.at((k + 0.5) * dt, command.duration)
        twin.model.qpos_spring[twin.q] = now.positions
        twin.data.qfrc_applied[twin.v] = damping * now.velocities
        mujoco.mj_step(twin.model, twin.data)
        if k % 50 == 49:
            now = command.at((k + 1) * dt, command.duration)
            bent = now.positions - twin.data.qpos[twin.q]
            rate = now.velocities - twin.data.qvel[twin.v]
            torques.append(stiffness * bent + damping * rate)
    times = 50 * dt * np.arange(1, len(torques) + 1)
    inside = slice(0, -1)  # at the very end motors have stopped on one side
    scale = np.abs(motion.link_torques).max(axis=0)
    for j in range(len(names)):
        ours = np.interp(times, motion.times, motion.link_torques[:, j])
        assert np.allclose(ours[inside], np.array(torques)[inside, j], atol=5e-3 * scale[j])
    assert np.allclose(twin.data.qpos[twin.q], motion.positions[-1], atol=1e-4)


def test_stiff_springs_come_to_the_rigid_torque():
    """In no more steps than the motion asks for: the springs are fast, not the motion."""
    dynamics = dynamics_of(LIGHT, gravity=(0.0, 0.0, -9.81))
    drives = [Drive(0.5, 1.0, 1e7, 1e4)] * 2
    rows = np.array([[0.0, 0.0], [1.0, -0.7]])
    trajectory = Trajectory.through(("j1", "j2"), [0.0, 2.0], rows, 0 * rows, 0 * rows)
    motion = follow(FlexibleJoints(dynamics, drives), MotorCommand(trajectory))
    assert len(motion.times) < 8 * 500
    samples = trajectory.sample(motion.times)
    right = [
        dynamics.torques(*row)
        for row in zip(samples.positions, samples.velocities, samples.accelerations, strict=True)
    ]
    scale = np.abs(right).max()
    assert np.allclose(motion.link_torques[:-1], right[:-1], atol=2e-3 * scale)
    motors = np.array(right) + 0.5 * samples.accelerations
    assert np.allclose(motion.motor_torques[:-1], motors[:-1], atol=2e-3 * scale)


def test_a_joint_without_a_spring_among_others_is_like_one_that_is_very_stiff():
    dynamics = dynamics_of(LIGHT)
    soft = Drive(stiffness=400.0, damping=2.0)
    command = MotorCommand(trapezoid(("j1", "j2"), np.array([0.6, 0.8]), 1.0, 0.3), rest=0.2)
    mixed = follow(FlexibleJoints(dynamics, [soft, Drive()]), command)
    stiff = follow(FlexibleJoints(dynamics, [soft, Drive(stiffness=1e6, damping=2e3)]), command)
    times = np.linspace(0.05, 1.15, 200)
    for name in ("positions", "link_torques"):
        ours, theirs = (
            np.column_stack([np.interp(times, m.times, getattr(m, name)[:, j]) for j in range(2)])
            for m in (mixed, stiff)
        )
        away = np.abs(times[:, None] - [0.3, 0.7, 1.0]).min(axis=1) > 0.03
        assert np.allclose(ours[away], theirs[away], atol=6e-3 * np.abs(theirs).max())


def test_a_step_of_velocity_of_a_rigid_joint_kicks_the_others():
    """What is kicked keeps its momentum: M_ss dv_s + M_sh dv_h = 0."""
    dynamics = dynamics_of(LIGHT)
    joints = FlexibleJoints(dynamics, [Drive(stiffness=1e-6), Drive()])
    jump = Trajectory.through(("j1", "j2"), [0.0, 1.0], [[0.0, 0.0], [0.0, 1e-3]])
    motion = follow(joints, MotorCommand(jump))
    mass, _ = dynamics.terms(np.zeros(2), np.zeros(2))
    assert motion.velocities[0, 0] == pytest.approx(-mass[0, 1] / mass[0, 0] * 1e-3)


def test_sampled_positions_do_not_knock_on_springs():
    """A table of positions at 100 Hz swings like the motion it was taken from."""
    smooth = Trajectory.through(
        ("j",), [0.0, 2.0], [[0.0], [1.0]], np.zeros((2, 1)), np.zeros((2, 1))
    )
    times = np.arange(201) / 100.0
    table = Trajectory.through(("j",), times, smooth.positions(times))
    found = [
        follow(one_joint(30.0), MotorCommand(t, rest=0.5)).link_torques.max()
        for t in (smooth, table)
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-3)
    # Two points alone are a line, and its ends knock: w I dv.
    line = Trajectory.through(("j",), [0.0, 2.0], [[0.0], [1.0]])
    knocked = follow(one_joint(30.0), MotorCommand(line))
    assert knocked.link_torques.max() == pytest.approx(30.0 * INERTIA * 0.5, rel=1e-3)


@pytest.mark.parametrize("rest", [0.0, 0.5])
@pytest.mark.parametrize("from_rest", [True, False])
def test_samples_of_another_joint_change_no_command(rest, from_rest):
    """As of two publishers, or of a motion beside: sampled at 100 Hz, and lines of a second."""
    for gap, most in ((0.01, 4.1), (1.0, 0.0)):
        parts = []
        for begin in (0.0, 1e-3):
            times = gap * np.arange(round(2.0 / gap) + 1)
            rows = np.sin(2.0 * times)[:, None]
            parts.append(PPoly(np.stack([np.diff(rows, axis=0) / gap, rows[:-1]]), begin + times))
        whole = joined(parts)
        both = Trajectory(("a", "b"), whole, own_knots(parts, whole.x))
        alone = MotorCommand(Trajectory(("a",), parts[0]), rest, from_rest)
        command = MotorCommand(both, rest, from_rest)
        assert np.abs(command.extra).max(axis=0) == pytest.approx(np.abs(alone.extra).max(), 1e-3)
        inner = np.linspace(0.1, 1.9, 1001)
        found = np.abs(command.positions.derivative(2)(inner)).max(axis=0)
        assert (found <= most).all()
        assert command.positions(inner)[:, 0] == pytest.approx(alone.positions(inner)[:, 0])


def test_what_cannot_be_is_refused():
    with pytest.raises(DynamicsError, match="no joint has a stiffness"):
        FlexibleJoints(dynamics_of(ONE), [Drive()])
    command = MotorCommand(speeding(0.1, 1.0))
    weak = FlexibleJoints(dynamics_of(ONE, gravity=(0.0, -9.81, 0.0)), [Drive(stiffness=0.5)])
    with pytest.raises(DynamicsError, match="springs are too soft to hold the robot"):
        follow(weak, command)


def test_what_takes_long_is_announced(caplog):
    still = Trajectory(("j",), PPoly(np.zeros((1, 1, 1)), [0.0, 100.0]))
    follow(one_joint(2.0 * np.pi * 150.0), MotorCommand(still))
    assert "15000 periods of a lightly damped mode of 150 Hz" in caplog.text


@pytest.mark.parametrize("floating", [False, True])
def test_energy_is_what_motors_give_and_dampers_take(floating):
    gravity = None if floating else (0.0, -9.81, 1.0)
    dynamics = dynamics_of(LIGHT, floating=floating, gravity=gravity)
    drives = [Drive(stiffness=800.0, damping=3.0), Drive(stiffness=500.0, damping=1.0)]
    joints = FlexibleJoints(dynamics, drives)
    command = MotorCommand(trapezoid(("j1", "j2"), np.array([1.2, -0.9]), 2.0, 0.4), rest=1.0)
    motion = follow(joints, command, tolerance=1e-9)
    motors = [
        command.at(motion.times[inside], end)
        for begin, end in command.segments
        for inside in [rows_of(motion.times, begin, end)]
    ]
    deflections = np.concatenate([part.positions for part in motors]) - motion.positions
    spring = 0.5 * (deflections**2 @ [800.0, 500.0])
    total = spring + [
        energy(dynamics, q, v) for q, v in zip(motion.positions, motion.velocities, strict=True)
    ]
    bending = np.concatenate([part.velocities for part in motors])
    work = (motion.link_torques * bending).sum(axis=1)
    lost = ((bending - motion.velocities) ** 2) @ [3.0, 1.0]
    gained = np.append(0.0, np.cumsum(0.5 * (work - lost)[1:] * np.diff(motion.times)))
    gained += np.append(0.0, np.cumsum(0.5 * (work - lost)[:-1] * np.diff(motion.times)))
    assert np.ptp(total) > 0.05
    assert np.allclose(total - total[0], gained, atol=2e-3 * np.ptp(total))
    # Springs hang in gravity at the start: nothing moves until the motors do.
    hanging = dynamics.torques(motion.positions[0], np.zeros(2), np.zeros(2))
    assert np.allclose(motion.link_torques[0], hanging)


def rows_of(times, begin, end):
    """Rows of one segment: a time that is there twice ends one and begins the next."""
    first = np.searchsorted(times, begin, "right") - 1 if begin > 0.0 else 0
    last = np.searchsorted(times, end, "left") + 1
    return slice(first, last)
