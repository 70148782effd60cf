# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Check of torques of links and motors along a motion against their limits.

Rigid joints are computed by inverse dynamics (`rigid_motion`). Joints with springs are integrated
over time (`flexible_motion`), since acceleration steps make springs oscillate to a multiple of the
rigid torque. Every torque has a margin for effects that the model omits, such as friction (Liu Qian
et al., J. NUAA 54(1), 2022); torque plus margin must be within the limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.interpolate import PPoly

from collision_monitor.common.text import closest
from collision_monitor.errors import DynamicsError, TrajectoryError
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.limits import JointLimits
from collision_monitor.robot.scene import without_joints
from collision_monitor.verification.check import Outcome, Task, VerificationCheck, shifted
from collision_monitor.verification.clearance.schedule import Scheduled, together
from collision_monitor.verification.joint_limits_check import (
    LONGEST_STEP,
    Peak,
    Steps,
    extremes,
    steps_of,
    violations_of,
)
from collision_monitor.verification.torques.actuators import Drive, Drives
from collision_monitor.verification.torques.dynamics import BaseMotion, RobotDynamics, base_motion
from collision_monitor.verification.torques.flexible_motion import (
    FlexibleJoints,
    JointMotion,
    MotorCommand,
    follow,
)

# Between samples, at most: seconds, and rad or m. In fast motions the configuration decides.
_LONGEST, _FARTHEST = 0.01, 0.03
_MOST = 5e6  # samples
_RINGING = 2.0  # periods of the slowest spring that are checked after the motion
_LONGEST_RINGING = 20.0  # seconds


def instants_of(
    trajectory: Trajectory, steps: Steps
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sample a trajectory by time and by travel, with all knots and peaks.

    Peaks: where the acceleration of a joint is extreme within a piece. A short piece may begin and
    end without an acceleration, and have a large one between.
    At a step of velocity the acceleration follows from the step (see `joint_limits_check`). Of
    sampled motions with short straight lines between steps, only the points are used.

    Returns:
        Times (n,), non-decreasing, seconds; positions, velocities and accelerations (n, joints).
        Each knot occurs twice, before and after it, and a third time in between if the velocity
        has a step.

    Raises:
        TrajectoryError: there are too many samples.
    """
    gaps = np.diff(trajectory.times)
    step = steps.stepping
    straight = ~trajectory.polynomial.c[:-2].any(axis=(0, 2))
    sampled = straight & (gaps <= LONGEST_STEP) & (step[:-1] | step[1:])
    peak_pieces, peaks = _acceleration_peaks(trajectory)
    travels = gaps * _highest_speeds(trajectory)
    steps_within = np.ceil(np.maximum(gaps / _LONGEST, travels / _FARTHEST))
    counts = np.where(sampled, 0, steps_within + 1.0)
    if (total := counts.sum() + len(peaks)) > _MOST:
        raise TrajectoryError(
            f"{trajectory.duration:g} s are too long for torques: {total:.3g} samples "
            f"{_LONGEST:g} s or {_FARTHEST:g} rad or m apart, at most {_MOST:g} are allowed; "
            "verify it in parts"
        )
    counts = counts.astype(int)
    piece = np.repeat(np.arange(len(gaps)), counts)
    place = np.concatenate([np.linspace(0.0, 1.0, n) for n in counts] or [[]])
    counts += np.bincount(peak_pieces, minlength=len(gaps))
    piece = np.append(piece, peak_pieces)
    local = np.append(place * gaps[piece[: len(place)]], peaks)
    order = np.lexsort((local, piece))
    piece, local = piece[order], local[order]
    rows = [trajectory.polynomial.c, *(trajectory.polynomial.derivative(k).c for k in (1, 2))]
    values = [polyval(local[:, None], c[::-1, piece], tensor=False) for c in rows]
    alone = np.append(sampled, sampled[-1]) & np.append(sampled[0], sampled)
    knots = np.flatnonzero(step | alone)
    accelerations = steps.accelerations.copy()
    for end, next_one in ((0, 1), (-1, -2)):  # a sample at an end has only one neighbour
        if alone[end] and not step[end]:
            accelerations[end] = accelerations[next_one]
    met = (trajectory.positions(trajectory.times[knots]), steps.velocities[knots],
           accelerations[knots])  # fmt: skip
    # Between the piece that ends at a knot and the one that begins there.
    first = np.append(0, np.cumsum(counts))[knots]
    times = np.insert(trajectory.times[piece] + local, first, trajectory.times[knots])
    tables = zip(values, met, strict=True)
    return times, *(np.insert(table, first, rows, axis=0) for table, rows in tables)


def _highest_speeds(trajectory: Trajectory) -> np.ndarray:
    """Highest speed of any joint in each piece, rad/s or m/s."""
    speeds = np.zeros(len(trajectory.times) - 1)
    for column in extremes(trajectory.polynomial.derivative()):
        np.maximum.at(speeds, column.pieces, np.abs(column.values))
    return speeds


def _acceleration_peaks(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Pieces (n,), and seconds since their begin (n,), where an acceleration is extreme inside."""
    breaks = trajectory.times
    columns = extremes(trajectory.polynomial.derivative(2))
    pieces = np.concatenate([column.pieces for column in columns])
    local = np.concatenate([column.times for column in columns]) - breaks[pieces]
    inside = (local > 0.0) & (local < np.diff(breaks)[pieces])
    return pieces[inside], local[inside]


def rigid_motion(
    trajectory: Trajectory, dynamics: RobotDynamics, drives: Sequence[Drive], from_rest: bool = True
) -> JointMotion:
    """Torques of rigid joints as `instants_of` samples them; those of motors include rotors."""
    times, positions, velocities, accelerations = instants_of(
        trajectory, steps_of(trajectory, from_rest)
    )
    rows = zip(positions, velocities, accelerations, strict=True)
    torques = np.array([dynamics.torques(*row) for row in rows])
    rotors = np.array([drive.reflected_inertia for drive in drives])
    polynomial, rate = trajectory.polynomial, trajectory.polynomial.derivative()

    def state(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return polynomial(times), rate(times)

    motor_torques = torques + rotors * accelerations
    return JointMotion(times, positions, velocities, torques, motor_torques, state)


@dataclass(frozen=True, eq=False)
class TorqueCheck:
    """Result of `check_torques`.

    Attributes:
        violations: ordered by time; values include the band.
        peaks: link and motor of each joint.
        notes: missing masses and limits.
        joint_names: the columns of the arrays.
        times: (n,) non-decreasing, seconds; twice where torques have a step. With springs they
            continue after the end of the motion, while these oscillate.
        positions: (n, joints) of the links, including oscillations.
        velocities: likewise.
        link_torques: (n, joints), N m or N.
        motor_torques: (n, joints), after the gear.
        link_bands: (n, joints), uncertainty of torques in both directions.
        motor_bands: likewise.
        link_limits: (joints,).
        motor_limits: (joints,).
        base: motion of a floating base at ``times``; None for a fixed one.
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


def check_torques(
    trajectory: Trajectory,
    dynamics: RobotDynamics,
    limits: Mapping[str, JointLimits],
    drives: Drives | None = None,
    from_rest: bool = True,
) -> TorqueCheck:
    """Compare torques with the efforts of ``limits`` and the ``max_motor_torque`` of ``drives``.

    Args:
        trajectory: of the motors, if joints have springs.
        dynamics: of the joints of the trajectory, in its order.
        limits: by joint, as of `robot.joint_limits`.
        drives: rotors, springs and margins; without them joints are rigid and torques exact.
        from_rest: see `joint_limits_check.check_joint_limits`.

    Raises:
        DynamicsError: ``dynamics`` have other joints; or as `flexible_motion.follow`.
    """
    names = trajectory.joint_names
    if names != dynamics.joint_names:
        raise DynamicsError(
            f"the dynamics are those of {', '.join(dynamics.joint_names)}; the trajectory has "
            f"{', '.join(names)}"
        )
    joint_drives = [(drives or Drives()).of(name) for name in names]
    if any(math.isfinite(drive.stiffness) for drive in joint_drives):
        joints = FlexibleJoints(dynamics, joint_drives)
        slowest = joints.modes(trajectory.positions(np.zeros(1))[0])[0][0]
        ringing = min(_RINGING / slowest, _LONGEST_RINGING)
        command = MotorCommand(trajectory, ringing, from_rest)
        motion = follow(joints, command, from_rest=from_rest)
    else:
        motion = rigid_motion(trajectory, dynamics, joint_drives, from_rest)
    effort = np.array([limits[name].effort if name in limits else math.inf for name in names])
    given = np.array([drive.max_motor_torque for drive in joint_drives])
    both = (effort, np.where(np.isinf(given), effort, given))
    torques = (motion.link_torques, motion.motor_torques)
    bands = [_bands(table, joint_drives) for table in torques]
    peaks = []
    for j, (name, unit) in enumerate(zip(names, dynamics.units, strict=True)):
        for k, code in enumerate((Code.LINK_TORQUE, Code.MOTOR_TORQUE)):
            columns = motion.times, torques[k][:, j], bands[k][:, j]
            peaks.append(_peak(code, name, unit, *columns, float(both[k][j])))
    base = None
    if dynamics.floating:
        positions_and_rates = motion.positions, motion.velocities
        base = base_motion(dynamics, motion.times, motion.state, positions_and_rates)
    return TorqueCheck(
        violations_of(peaks), tuple(peaks), _notes(dynamics, peaks), names, motion.times,
        motion.positions, motion.velocities, *torques, *bands, *both, base,
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
    over = ~(reached <= limit * (1.0 + ROUNDING))  # NaN is over each limit
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


# -- the check of `verify`, of all simultaneous motions --


def full_trajectory(parts: Sequence[Scheduled], names: Sequence[str]) -> Trajectory:
    """One trajectory of the joints ``names``, in this order; time 0 is the earliest start.

    ``names``: joints that the parts move or hold, without prefix.
    """
    polynomial, knots = together(parts)
    joints = [name for part in parts for name in part.trajectory.joint_names]
    columns = [joints.index(name) for name in names]
    return Trajectory(
        tuple(names),
        PPoly(polynomial.c[:, :, columns].copy(), polynomial.x - polynomial.x[0]),
        None if knots is None else knots[:, columns],
    )


def _check_torques(task: Task) -> Outcome:
    """Torques of all parts that move joints of the robot, not of the scene."""
    task.progress("torques", 0.0)
    model, given = task.model, task.settings.torques
    robot = without_joints(model.robot, model.scene.joints)
    own = {joint.name for joint in robot.joints}
    mine = [p for p in task.parts if own.intersection(p.trajectory.joint_names)]
    names = [name for name in model.joint_names if name in own]
    if unknown := [name for name in given.drives.joints if name not in names]:
        raise DynamicsError(
            f"drives: {unknown[0]!r} is none of the robot's joints that move by themselves; these "
            f"are {closest(unknown[0], names)}"
        )
    dynamics = RobotDynamics(
        robot, given.inertials, names, given.floating, given.gravity, given.drives.payload
    )

    torques = check_torques(
        full_trajectory(mine, names), dynamics, task.limits, given.drives,
        from_rest=task.settings.from_rest,
    )  # fmt: skip
    begin = min(part.start for part in mine)
    violations = [shifted(violation, begin) for violation in torques.violations]
    notes = list(torques.notes)
    if model.scene.joints:
        moved = ", ".join(joint.name for joint in model.scene.joints)
        notes.append(f"masses moved by joints of the scene are not in the torques: {moved}")
    return Outcome(_without_duplicates(violations), notes, {"torques": torques})


def _without_duplicates(violations: Sequence[Violation]) -> list[Violation]:
    """Without motor violations that equal link violations, as for joints without drives."""
    links = [v for v in violations if v.code is Code.LINK_TORQUE]
    return [v for v in violations if v in links or replace(v, code=Code.LINK_TORQUE) not in links]


TORQUES = VerificationCheck(
    "torques",
    (Code.LINK_TORQUE, Code.MOTOR_TORQUE),
    _check_torques,
    skipped=lambda task: "" if task.settings.torques else "not requested",
)
