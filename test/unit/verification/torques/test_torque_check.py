# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Torques along whole motions: what is beyond a limit, with its band, on real robots too."""

import math

import numpy as np
import pytest
from support.paths import ROOT
from support.robots.mujoco_twin import Twin
from support.robots.one_joint import (
    INERTIA,
    LIGHT,
    ONE,
    dynamics_of,
    heavy,
    joint,
    speeding,
    trapezoid,
)
from support.robots.robots import require

from collision_monitor import CollisionModel
from collision_monitor.errors import DynamicsError, TrajectoryError
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code
from collision_monitor.robot.inertials import Inertial, read_inertials
from collision_monitor.robot.limits import JointLimits, urdf_limits
from collision_monitor.robot.urdf import load_robot
from collision_monitor.verification import Settings, SimultaneousMotion, Torques, verify
from collision_monitor.verification.clearance.schedule import Scheduled
from collision_monitor.verification.torques.actuators import Drive, Drives
from collision_monitor.verification.torques.dynamics import RobotDynamics
from collision_monitor.verification.torques.torque_check import check_torques, full_trajectory
from collision_monitor.verification.verification import Verdict

SPACE_ARM = ROOT / "urdf" / "space_arm.urdf"


def only(drive):
    """All joints have this drive."""
    return Drives(default=drive)


def test_link_and_motor_have_limits_of_their_own():
    """2.2 kg m^2 at 2 rad/s^2, and a rotor of 0.5 behind the gear."""
    rotor = Drive(rotor_inertia=5e-5, gear_ratio=100.0, max_motor_torque=5.3)
    check = check_torques(
        speeding(2.0, 1.0), dynamics_of(ONE), {"j": JointLimits(effort=4.5)}, only(rotor)
    )
    found = {v.code: v for v in check.violations}
    # From rest: at the end it stops at once, within 0.1 s, in the middle of the slowing down.
    assert check.link_torques[0, 0] == pytest.approx(2.0 * INERTIA)
    assert check.motor_torques[0, 0] == pytest.approx(2.0 * (INERTIA + 0.5))
    assert found[Code.MOTOR_TORQUE].first == 0.0
    assert found[Code.MOTOR_TORQUE].limit == -5.3  # worst where it brakes
    assert found[Code.LINK_TORQUE].first == 1.0
    assert found[Code.LINK_TORQUE].value == pytest.approx(INERTIA * (1.0 - 2.0 / 0.1))
    assert (found[Code.LINK_TORQUE].unit, check.notes) == ("N m", ())


@pytest.mark.parametrize("effort", [4.5, math.inf])
def test_a_torque_that_is_not_a_number_is_over_its_limit(effort):
    robot, unknown = load_robot(ONE), Inertial(2.0, np.array([np.nan, 0.0, 0.0]), np.eye(3))
    dynamics = RobotDynamics(robot, {"arm": unknown}, ("j",))
    check = check_torques(speeding(2.0, 1.0), dynamics, {"j": JointLimits(effort=effort)})
    found = {v.code: v for v in check.violations}[Code.LINK_TORQUE]
    assert math.isnan(found.value) and found.first == 0.0


@pytest.mark.parametrize("seconds", [0.002, 0.01, 0.03, 1.0])
def test_a_peak_within_a_piece_counts_however_short_it_is(seconds):
    """From rest to rest without acceleration at both ends: 10 / sqrt(3) way / t^2 in between."""
    rest = np.zeros((3, 1))
    way = seconds**2 * np.array([[0.0], [1.0], [0.0]])
    times = seconds * np.arange(3)
    motion = Trajectory.through(("j",), times, way, rest, rest)
    check = check_torques(motion, dynamics_of(ONE), {"j": JointLimits(effort=12.69)})
    found = {v.code: v for v in check.violations}[Code.LINK_TORQUE]
    assert abs(found.value) == pytest.approx(INERTIA * 10.0 / math.sqrt(3.0))
    earliest = (0.5 - math.sqrt(3.0) / 6.0) * seconds
    assert found.first == pytest.approx(earliest, abs=0.01)
    assert (np.diff(check.times) >= 0.0).all()


def test_a_peak_in_a_curved_piece_beside_a_step_counts():
    """The motion begins with a step of velocity, and goes on in one short quintic piece."""
    t, rate = 0.05, 0.01
    rest, way = np.zeros((2, 1)), t**2 * np.array([[0.0], [1.0]])
    motion = Trajectory.through(("j",), [0.0, t], way, rest + [[rate], [0.0]], rest)
    check = check_torques(motion, dynamics_of(ONE), {"j": JointLimits(effort=10.0)})
    dense = motion.sample(np.linspace(0.0, t, 2001)).accelerations
    assert np.abs(check.link_torques).max() >= INERTIA * np.abs(dense).max() * (1.0 - 1e-9)
    assert Code.LINK_TORQUE in {v.code for v in check.violations}


@pytest.mark.parametrize("seconds", [0.01, 0.02, 0.05])
def test_peaks_within_one_fast_piece_are_those_of_dense_samples(seconds):
    """Torques vary with velocities and positions within a piece that all joints run through."""
    urdf = require("ur5").urdf
    robot = load_robot(urdf, require("ur5").package_dirs)
    names = tuple(joint.name for joint in robot.joints if joint.moves)
    dynamics = RobotDynamics(robot, read_inertials(urdf), names)
    rng = np.random.default_rng(3)
    for _ in range(20):
        start = rng.uniform(-1.5, 1.5, len(names))
        ends = [start, start + rng.uniform(-0.6, 0.6, len(names))]
        rates = rng.uniform(-0.5, 0.5, (2, len(names))) / seconds
        motion = Trajectory.through(names, [0.0, seconds], ends, rates, 0.0 * rates)
        check = check_torques(motion, dynamics, urdf_limits(robot), from_rest=False)
        dense = motion.sample(np.linspace(0.0, seconds, 1001))
        rows = zip(dense.positions, dense.velocities, dense.accelerations, strict=True)
        most = np.abs([dynamics.torques(*row) for row in rows]).max(axis=0)
        assert (np.abs(check.link_torques).max(axis=0) >= 0.97 * most).all()


def test_the_band_counts():
    motion, dynamics = speeding(2.0, 1.0), dynamics_of(ONE)
    limits = {"j": JointLimits(effort=5.0)}
    for relative, absolute, broken in ((0.1, 0.1, False), (0.1, 0.2, True), (0.14, 0.0, True)):
        drive = Drive(relative_margin=relative, absolute_margin=absolute)
        check = check_torques(motion, dynamics, limits, only(drive), from_rest=False)
        assert bool(check.violations) == broken
        assert np.allclose(check.link_bands, relative * 2.0 * INERTIA + absolute)
    found = check.violations[0]
    assert found.value == pytest.approx(2.0 * INERTIA * 1.14)
    assert "4.4 N m computed, 0.616 N m of margin" in found.text


def test_springs_make_a_trapezoid_heavier():
    """Undamped, each step of acceleration doubles the torque, and springs ring on after the end."""
    limits = {"j": JointLimits(effort=1.5 * INERTIA)}
    motion = trapezoid(("j",), np.array([1.5]), 2.0, 0.5)  # 2 rad/s^2
    rigid = check_torques(motion, dynamics_of(ONE), limits)
    assert rigid.peaks[0].value == pytest.approx(2.0 * INERTIA)
    # The ramp is half a period: springs are bent most when it ends.
    frequency = math.pi / 0.5
    spring = Drive(stiffness=frequency**2 * INERTIA)
    check = check_torques(motion, dynamics_of(ONE), limits, only(spring))
    assert abs(check.peaks[0].value) > 1.9 * 2.0 * INERTIA
    assert check.times[-1] == pytest.approx(2.0 + 2.0 * 2.0 * math.pi / frequency)
    # Steps of +a, -a, -a, +a at 0, 1, 3 and 4 half periods: each rings on at a, with signs
    # +, +, +, + at the end, so at 4 a.
    after = check.times > 2.01
    ringing = np.abs(check.link_torques[after]).max()
    assert ringing == pytest.approx(4.0 * 2.0 * INERTIA, rel=1e-2)


def test_what_has_no_limit_is_noted():
    check = check_torques(speeding(1.0, 1.0), dynamics_of(ONE), {})
    assert check.violations == ()
    assert check.notes == (
        "no limit of effort, so not checked: j",
        "no limit of motor torque, so not checked: j",
    )
    with pytest.raises(DynamicsError, match="the dynamics are those of j1, j2; the .* has j"):
        check_torques(speeding(1.0, 1.0), dynamics_of(LIGHT), {})


def test_torques_along_a_motion_are_those_of_mujoco():
    urdf = require("ur5").urdf
    robot = load_robot(urdf, require("ur5").package_dirs)
    names = tuple(joint.name for joint in robot.joints if joint.moves)
    dynamics = RobotDynamics(robot, read_inertials(urdf), names)
    motion = trapezoid(names, 1.4 * np.cos(np.arange(len(names))), 1.5, 0.4)
    check = check_torques(motion, dynamics, urdf_limits(robot))
    assert check.base is None and len(check.peaks) == 2 * len(names)
    twin = Twin(urdf, names)
    inside = ~np.isin(check.times, motion.times)
    at = motion.sample(check.times[inside])
    rows = zip(at.positions, at.velocities, at.accelerations, strict=True)
    theirs = np.array([twin.inverse(*row)[twin.v] for row in rows])
    assert len(theirs) > 100
    assert np.allclose(check.link_torques[inside], theirs, atol=1e-6)


def test_a_floating_arm_has_its_base_motion_beside_its_torques():
    dynamics = dynamics_of(SPACE_ARM, floating=True)
    motion = trapezoid(dynamics.joint_names, 0.5 * np.ones(7), 20.0, 5.0)
    limits = urdf_limits(load_robot(SPACE_ARM))
    rigid = check_torques(motion, dynamics, limits)
    assert rigid.violations == ()
    assert rigid.base.poses.shape == (len(rigid.times), 4, 4)
    spring = Drive(rotor_inertia=0.01, gear_ratio=100, stiffness=2e5, damping=2e3)
    swinging = check_torques(motion, dynamics, limits, only(spring))
    ratio = [b.value / a.value for a, b in zip(rigid.peaks, swinging.peaks, strict=True)]
    assert max(np.abs(ratio[::2])) > 1.3  # integrated, not inverted
    # The base ends where the rigid arm leaves it, but for what is still swinging.
    assert np.allclose(swinging.base.poses[-1], rigid.base.poses[-1], atol=2e-3)
    assert np.array_equal(swinging.base.times, swinging.times)


def test_more_instants_than_memory_holds_are_refused():
    endless = Trajectory.through(("j",), [0.0, 1e7], [[0.0], [1.0]])
    with pytest.raises(TrajectoryError, match=r"1e\+07 s are too long for torques"):
        check_torques(endless, dynamics_of(ONE), {})


# -- torques of motions that run beside each other --


def two_arms_on_a_torso():
    """Both arms turn about z, as the torso does, one 2 m above the other."""
    parts = [
        '<link name="base"/><link name="chest"/>', joint("torso", "base", "chest", "0 0 1"),
        heavy("left", 2.0, "1 0 0", "1 1 1"), joint("l", "chest", "left", "0 0 1", "0 3 0"),
        heavy("right", 2.0, "1 0 0", "1 1 1"), joint("r", "chest", "right", "0 0 1", "0 3 2"),
    ]  # fmt: skip
    return f'<robot name="torso">{"".join(parts)}</robot>'


def turning(name, by=0.5, duration=1.0):
    rates = np.zeros((2, 1))
    trajectory = Trajectory.through((name,), [0.0, duration], [[0.0], [by]], rates, rates)
    return LoadedMotion(trajectory, (), (), f"{name}.csv", named=frozenset([name]))


def test_one_trajectory_is_that_of_all_parts_at_their_starts():
    parts = [Scheduled(turning("l").trajectory, 3.0), Scheduled(turning("r", 2.0).trajectory, 1.0)]
    one = full_trajectory(parts, ("r", "l"))
    assert (one.joint_names, one.duration) == (("r", "l"), 3.0)
    times = np.linspace(0.0, 3.0, 50)
    assert np.allclose(one.positions(times)[:, 0], parts[1].trajectory.positions(times)[:, 0])
    left = parts[0].trajectory.positions(times - 2.0)[:, 0]
    assert np.allclose(one.positions(times)[:, 1], left)


@pytest.mark.parametrize(("start", "unsafe"), [(0.0, True), (5.0, False)])
def test_a_torso_bears_both_arms_when_both_move(start, unsafe):
    pytest.importorskip("pinocchio")
    text = two_arms_on_a_torso()
    model = CollisionModel.from_urdf(text)

    def verified(effort, beside):
        limits = {"torso": JointLimits(effort=effort)}
        rows = turning("l").trajectory
        names = model.joint_names
        table = [[0.0] * 3, [0.5 * (n == "l") for n in names]]
        rates = np.zeros((2, 3))
        whole_body = Trajectory.through(names, rows.times, table, rates, rates)
        motion = LoadedMotion(whole_body, (), (), "l.csv", named=frozenset(["l"]))
        torques = Torques(read_inertials(text))
        settings = Settings(exact=False, limits=limits, torques=torques, beside=beside)
        return verify(model, motion, settings)

    alone = verified(1e9, [])
    peak = max(abs(p.value) for p in alone.torques.peaks if p.joint == "torso")
    assert peak > 1.0
    result = verified(1.2 * peak, [SimultaneousMotion(turning("r"), start)])
    found = {(v.code, v.subject) for v in result.violations}
    assert result.verdict is (Verdict.NOT_SAFE if unsafe else Verdict.SAFE), result.reason
    assert found == ({(Code.LINK_TORQUE, "torso")} if unsafe else set())
