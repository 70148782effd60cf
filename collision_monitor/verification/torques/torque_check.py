# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Torques of links and of motors along a motion, compared with limits of joints and motors.

Rigid joints by inverse dynamics (`rigid_motion`); joints with springs integrated over time
(`flexible_motion`), since the acceleration steps of a trapezoid make springs swing to a multiple of
the rigid torque. Every torque has a margin for effects that the model omits, such as friction
(Liu Qian et al., J. NUAA 54(1), 2022); torque and band together must be within the limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.polynomial import polyval

from collision_monitor.errors import DynamicsError, TrajectoryError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.joint_limits import JointLimits
from collision_monitor.verification.joint_limits_check import (
    LONGEST_STEP,
    Peak,
    Steps,
    steps_of,
    violations_of,
)
from collision_monitor.verification.torques.actuators import Drive, Drives
from collision_monitor.verification.torques.dynamics import BaseMotion, RobotDynamics, base_motion
from collision_monitor.verification.torques.flexible_motion import (
    TOLERANCE,
    FlexibleJoints,
    JointMotion,
    MotorCommand,
    follow,
)

RESOLUTION = 0.01  # seconds
_MOST = 5e6  # instants
_RINGING = 2.0  # periods of the slowest spring that are looked at after the motion
_LONGEST_RINGING = 20.0  # seconds
_ROUNDING = 1e-9  # of a limit
_ROWS = 20_000  # more are thinned, to the largest and smallest torques of
_BINS = 1000


@dataclass(frozen=True, eq=False)
class Instants:
    """``times`` (n,) that do not fall, seconds; ``positions``, ``velocities``, ``accelerations``
    (n, joints). A knot is there twice, before and after it, and once more between where the
    velocity steps.
    """  # noqa: D205

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray


def instants_of(trajectory: Trajectory, steps: Steps, longest: float) -> Instants:
    """Instants at most ``longest`` seconds apart, among them every knot.

    At a step of velocity the acceleration follows from the step, see `joint_limits_check`. Of
    short straight lines between such steps, the samples of a motion, only the points are used.
    """
    gaps = np.diff(trajectory.times)
    step = steps.stepping
    sampled = (gaps <= LONGEST_STEP) & (step[:-1] | step[1:])
    counts = np.where(sampled, 0, np.ceil(gaps / longest) + 1.0)
    if counts.sum() > _MOST:
        raise TrajectoryError(
            f"{trajectory.duration:g} s are too long for torques: at instants {longest:g} s apart "
            f"these are {counts.sum():.3g}, and {_MOST:g} can be looked at; verify it in parts"
        )
    counts = counts.astype(int)
    piece = np.repeat(np.arange(len(gaps)), counts)
    place = np.concatenate([np.linspace(0.0, 1.0, n) for n in counts] or [[]])
    local = place * gaps[piece]
    rows = [trajectory.polynomial.c, *(trajectory.polynomial.derivative(k).c for k in (1, 2))]
    values = [polyval(local[:, None], c[::-1, piece], tensor=False) for c in rows]
    alone = np.append(sampled, sampled[-1]) & np.append(sampled[0], sampled)
    knots = np.flatnonzero(step | alone)
    accelerations = steps.accelerations.copy()
    for end, next_one in ((0, 1), (-1, -2)):  # a sample at an end has but one neighbour
        if alone[end] and not step[end]:
            accelerations[end] = accelerations[next_one]
    met = (trajectory.positions(trajectory.times[knots]), steps.velocities[knots])
    values = [
        np.concatenate([of_pieces, of_knots])
        for of_pieces, of_knots in zip(values, (*met, accelerations[knots]), strict=True)
    ]
    times = np.concatenate([trajectory.times[piece] + local, trajectory.times[knots]])
    # A knot comes after the piece that ends there, and before the one that begins there.
    rank = np.concatenate([2 * piece + 1, 2 * knots])
    order = np.lexsort((times, rank))
    return Instants(times[order], *(value[order] for value in values))


def rigid_motion(
    trajectory: Trajectory,
    dynamics: RobotDynamics,
    drives: Sequence[Drive],
    from_rest: bool = True,
) -> JointMotion:
    """Torques at instants `RESOLUTION` apart or closer; motors turn their rotors besides."""
    rows = instants_of(trajectory, steps_of(trajectory, from_rest), RESOLUTION)
    torques = np.array([
        dynamics.torques(*row)
        for row in zip(rows.positions, rows.velocities, rows.accelerations, strict=True)
    ])  # fmt: skip
    rotors = np.array([drive.reflected_inertia for drive in drives])
    polynomial, rate = trajectory.polynomial, trajectory.polynomial.derivative()

    def state(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return polynomial(times), rate(times)

    return JointMotion(
        rows.times, rows.positions, rows.velocities, torques,
        torques + rotors * rows.accelerations, state,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TorqueCheck:
    """Result of `check_torques`.

    Attributes:
        violations: the first one first; their values have the band in them.
        peaks: link and motor of each joint.
        notes: masses and limits that are missing.
        joint_names: the columns of the arrays.
        times: (n,) seconds that do not fall; where torques step, both sides. With springs they
            go on after the end of the motion, while these ring.
        positions: (n, joints) of the links, which swing on springs.
        velocities: likewise.
        link_torques: (n, joints), N m or N.
        motor_torques: (n, joints), after the gear.
        link_bands: (n, joints), what torques may be off either way.
        motor_bands: likewise.
        link_limits: (joints,).
        motor_limits: (joints,).
        base: how a floating base moves at ``times``; None for a fixed one.
        motion: the rows before they were thinned for plots, and the state at any time; None where
            the motion was verified in another process.
    """

    violations: tuple[Violation, ...]
    peaks: tuple[Peak, ...]
    notes: tuple[str, ...]
    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    link_torques: np.ndarray
    motor_torques: np.ndarray
    link_bands: np.ndarray
    motor_bands: np.ndarray
    link_limits: np.ndarray
    motor_limits: np.ndarray
    base: BaseMotion | None
    motion: JointMotion | None


def check_torques(
    trajectory: Trajectory,
    dynamics: RobotDynamics,
    limits: Mapping[str, JointLimits],
    drives: Drives | None = None,
    method: str = "auto",
    tolerance: float = TOLERANCE,
    from_rest: bool = True,
) -> TorqueCheck:
    """Compare torques with the efforts of ``limits`` and the ``max_motor_torque`` of ``drives``.

    Args:
        trajectory: of the motors, where joints have springs.
        dynamics: of the joints of the trajectory, in its order.
        limits: by joint, as `robot.joint_limits.joint_limits` has them.
        drives: rotors, springs and margins; without them joints are rigid and torques exact.
        method: of the solver, where there are springs; see `flexible_motion.follow`.
        tolerance: likewise.
        from_rest: as `joint_limits_check.check_joint_limits` has it.

    Raises:
        DynamicsError: ``dynamics`` are those of other joints; and as `flexible_motion.follow`.
    """
    names = trajectory.joint_names
    if names != dynamics.joint_names:
        raise DynamicsError(
            f"the dynamics are those of {', '.join(dynamics.joint_names)}; the trajectory has "
            f"{', '.join(names)}"
        )
    own = [(drives or Drives()).of(name) for name in names]
    if any(math.isfinite(drive.stiffness) for drive in own):
        joints = FlexibleJoints(dynamics, own)
        slowest = joints.frequencies(trajectory.positions(np.zeros(1))[0])[0]
        ringing = min(_RINGING / slowest, _LONGEST_RINGING)
        command = MotorCommand(trajectory, ringing, from_rest)
        motion: JointMotion = follow(joints, command, method, tolerance, from_rest)
    else:
        motion = rigid_motion(trajectory, dynamics, own, from_rest)
    effort = np.array([limits[name].effort if name in limits else math.inf for name in names])
    given = np.array([drive.max_motor_torque for drive in own])
    both = (effort, np.where(np.isinf(given), effort, given))
    torques = (motion.link_torques, motion.motor_torques)
    bands = [_bands(rows, own) for rows in torques]
    peaks = []
    for j, (name, unit) in enumerate(zip(names, dynamics.units, strict=True)):
        for k, code in enumerate((Code.LINK_TORQUE, Code.MOTOR_TORQUE)):
            columns = motion.times, torques[k][:, j], bands[k][:, j]
            peaks.append(_peak(code, name, unit, *columns, float(both[k][j])))
    kept = _kept(motion)
    base = None
    if dynamics.floating:
        rows = motion.positions[kept], motion.velocities[kept]
        base = base_motion(dynamics, motion.times[kept], motion.state, rows)
    return TorqueCheck(
        violations_of(peaks), tuple(peaks), _notes(dynamics, peaks), names, motion.times[kept],
        motion.positions[kept], motion.velocities[kept], *(rows[kept] for rows in torques),
        *(rows[kept] for rows in bands), *both, base, motion,
    )  # fmt: skip


def _bands(torques: np.ndarray, drives: list[Drive]) -> np.ndarray:
    relative = np.array([drive.relative_margin for drive in drives])
    return relative * np.abs(torques) + np.array([drive.absolute_margin for drive in drives])


def _peak(
    code: Code,
    joint: str,
    unit: str,
    times: np.ndarray,
    torques: np.ndarray,
    bands: np.ndarray,
    limit: float,
) -> Peak:
    reached = np.abs(torques) + bands
    row = int(reached.argmax())
    over = reached > limit * (1.0 + _ROUNDING)
    first = float(times[over.argmax()]) if over.any() else math.nan
    return Peak(
        code, joint, float(torques[row]), float(times[row]), math.copysign(limit, torques[row]),
        first, unit, band=float(bands[row]),
    )  # fmt: skip


def _notes(dynamics: RobotDynamics, peaks: list[Peak]) -> tuple[str, ...]:
    notes = list(dynamics.notes)
    for code, what in ((Code.LINK_TORQUE, "effort"), (Code.MOTOR_TORQUE, "motor torque")):
        free = [peak.joint for peak in peaks if peak.code is code and math.isinf(peak.limit)]
        if free:
            notes.append(f"no limit of {what}, so not checked: {', '.join(free)}")
    return tuple(notes)


def _kept(motion: JointMotion) -> np.ndarray:
    """Rows for plots: all, or of each of many spans the two extremes of every torque."""
    count = len(motion.times)
    if count <= _ROWS:
        return np.arange(count)
    rows = {0, count - 1}
    edges = np.linspace(0, count, _BINS + 1).astype(int)
    for begin, end in zip(edges[:-1], edges[1:], strict=True):
        for torques in (motion.link_torques[begin:end], motion.motor_torques[begin:end]):
            rows.update((begin + torques.argmax(axis=0)).tolist())
            rows.update((begin + torques.argmin(axis=0)).tolist())
    return np.array(sorted(rows))
