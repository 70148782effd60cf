# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verify a motion: all checks, and the verdict that they come to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.joint_limits import JointLimits, urdf_limits
from collision_monitor.robot.scene_joints import without_joints
from collision_monitor.robot.urdf.inertials import Inertial
from collision_monitor.verification.clearance.clearance_check import ClearanceCheck, check_clearance
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from collision_monitor.verification.limits.joint_limits_check import RATES, check_joint_limits
from collision_monitor.verification.progress import Told, silent
from collision_monitor.verification.torques.actuators import Drives
from collision_monitor.verification.torques.combined_torques import coupled, torques_together
from collision_monitor.verification.torques.dynamics import RobotDynamics
from collision_monitor.verification.torques.torque_check import TorqueCheck, check_torques
from collision_monitor.verification.verdict import Verdict, by_urgency, verdict_of
from collision_monitor.verification.verification import Check, Companion, Moment, Verification

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.motion.motion_files import LoadedMotion

_DISTANCES = (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN, Code.UNDECIDED)
_TORQUES = (Code.LINK_TORQUE, Code.MOTOR_TORQUE)
_LINES = (Code.SINGULARITY, Code.OFF_THE_LINE)


@dataclass(frozen=True)
class Beside:
    """A motion that runs beside the verified one.

    Attributes:
        motion: only the joints count that its file names; none may be moved by another motion.
        earliest, latest: it begins at some instant between these, seconds.
    """

    motion: LoadedMotion
    earliest: float = 0.0
    latest: float = 0.0


@dataclass(frozen=True)
class Torques:
    """How torques are computed.

    Attributes:
        inertials: masses of links, as `robot.urdf.inertials.read_inertials` has them.
        drives: rotors, springs, margins and payload.
        floating: the base floats freely.
        gravity: (3,) m/s^2; None: that of the earth, none where the base floats.
    """

    inertials: Mapping[str, Inertial]
    drives: Drives = field(default_factory=Drives)
    floating: bool = False
    gravity: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Settings:
    """What is checked, and against what.

    Attributes:
        thresholds: distances of pairs.
        limits: of joints, by name; None for those of the URDF.
        exact: decide by the shapes themselves where leaves do not clear a pair.
        from_rest: the robot stands before and after the motion.
        torques: None to leave them out.
        beside: motions that run at the same time.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    limits: Mapping[str, JointLimits] | None = None
    exact: bool = True
    from_rest: bool = True
    torques: Torques | None = None
    beside: Sequence[Beside] = ()


def verify(
    model: CollisionModel,
    motion: LoadedMotion,
    settings: Settings | None = None,
    told: Told = silent,
) -> Verification:
    """Check one motion: joint limits, clearance between samples and, if requested, torques.

    Args:
        model: the robot and its scene.
        motion: as `motion.motion_files.load_trajectory` reads it (docs/verify.md).
        settings: thresholds, limits, torques and motions that run at the same time.
        told: called with the name of the current step and the fraction done (0 to 1), from any
            thread.

    Returns:
        The verdict with its violations. If the motion cannot be checked, the verdict is
        ``Verdict.NOT_CHECKED`` with the reason; no error of the package is raised.
    """
    settings = Settings() if settings is None else settings
    begin = time.perf_counter()
    try:
        return _verified(model, motion, settings, begin, told)
    except CollisionMonitorError as error:
        return Verification(
            motion.source,
            model.name,
            Verdict.NOT_CHECKED,
            reason=str(error),
            seconds=time.perf_counter() - begin,
        )


def _verified(
    model: CollisionModel, motion: LoadedMotion, settings: Settings, begin: float, told: Told
) -> Verification:
    limits = urdf_limits(model.robot) if settings.limits is None else settings.limits
    parts = _parts(motion, settings.beside)
    schedule = Schedule(model, parts)  # refuses what cannot be a motion
    told("limits of joints", 0.0)
    joints = check_joint_limits(parts[0].trajectory, model.robot, limits, settings.from_rest)
    companions = [
        _companion(beside, part.trajectory, model, limits, settings.from_rest)
        for beside, part in zip(settings.beside, parts[1:], strict=True)
    ]
    clearance = check_clearance(
        model, parts, settings.thresholds, exact=settings.exact or None, told=told
    )
    torques, strained, more = None, (), ()
    if settings.torques is not None:
        told("torques", 0.0)
        torques, strained, more = _torques(model, parts, settings.torques, settings, limits)
    known = {(v.code, v.subject) for v in joints.violations}
    found = [v for v in motion.violations if (v.code, v.subject) not in known]
    found += [*joints.violations, *clearance.violations]
    found += [v for companion in companions for v in companion.violations]
    notes = [*motion.warnings, *(w for b in settings.beside for w in b.motion.warnings)]
    notes += joints.notes
    notes += [note for companion in companions for note in companion.limits.notes]
    if torques is not None:
        found += _told_once(strained)
        notes += [*torques.notes, *more]
        if model.scene.joints:
            moved = ", ".join(joint.name for joint in model.scene.joints)
            notes.append(f"joints of the scene move no mass that torques know of: {moved}")
    notes += model.warnings
    violations = by_urgency(found)
    return Verification(
        motion.source,
        model.name,
        verdict_of(violations),
        duration=schedule.end - schedule.begin,
        seconds=time.perf_counter() - begin,
        violations=violations,
        notes=tuple(dict.fromkeys(notes)),
        checks=_checks(motion, torques),
        limits=joints,
        torques=torques,
        clearance=clearance,
        worst=_worst(schedule, clearance, settings.beside),
        companions=tuple(companions),
    )


def _companion(
    beside: Beside,
    trajectory: Trajectory,
    model: CollisionModel,
    limits: Mapping[str, JointLimits],
    from_rest: bool,
) -> Companion:
    """What a motion beside the verified one breaks of its own limits, in the time of all."""
    check = check_joint_limits(trajectory, model.robot, limits, from_rest)
    known = {(v.code, v.subject) for v in check.violations}
    given = [v for v in beside.motion.violations if (v.code, v.subject) not in known]
    source = beside.motion.source
    said = f"in {source}"
    if beside.latest > beside.earliest:
        said += f", if that begins at {beside.earliest:g} s"
    violations = tuple(
        replace(
            v,
            first=v.first + beside.earliest,
            worst=v.worst + beside.earliest,
            text="; ".join(filter(None, (said, v.text))),
        )
        for v in (*given, *check.violations)
    )
    return Companion(source, beside.earliest, beside.latest, violations, check)


def _parts(motion: LoadedMotion, beside: Sequence[Beside]) -> list[Scheduled]:
    """The motion, without the joints that it only holds and others move; and those others."""
    others = [b.motion.only(b.motion.named) for b in beside]
    moved = {name for other in others for name in other.trajectory.joint_names}
    own = motion.only(set(motion.trajectory.joint_names) - (moved - motion.named))
    return [Scheduled(own.trajectory)] + [
        Scheduled(other.trajectory, b.earliest, b.latest)
        for other, b in zip(others, beside, strict=True)
    ]


def _torques(
    model: CollisionModel,
    parts: Sequence[Scheduled],
    given: Torques,
    settings: Settings,
    limits: Mapping[str, JointLimits],
) -> tuple[TorqueCheck, tuple[Violation, ...], tuple[str, ...]]:
    """Torques while all parts move that move the robot, and not what is around it."""
    robot = without_joints(model.robot, model.scene.joints)
    own = {joint.name for joint in robot.joints}
    mine = [p for p in parts if own.intersection(p.trajectory.joint_names)]
    names = [name for name in model.joint_names if name in own]
    dynamics = RobotDynamics(
        robot, given.inertials, names, given.floating, given.gravity, given.drives.payload
    )

    def check(trajectory: Trajectory) -> TorqueCheck:
        return check_torques(
            trajectory, dynamics, limits, given.drives, from_rest=settings.from_rest
        )

    everyone = tuple(names) if given.floating and len(mine) > 1 else coupled(robot, mine)
    return torques_together(mine, names, check, everyone)


def _told_once(violations: Sequence[Violation]) -> list[Violation]:
    """Without motors that bear what their links do: joints without drives."""
    links = {_same(v) for v in violations if v.code is Code.LINK_TORQUE}
    return [v for v in violations if v.code is Code.LINK_TORQUE or _same(v) not in links]


def _same(violation: Violation) -> Violation:
    return replace(violation, code=Code.LINK_TORQUE)


def _checks(motion: LoadedMotion, torques: TorqueCheck | None) -> tuple[Check, ...]:
    """What was done, and what not."""
    no_line = "" if motion.along_line else "the motion is no command along a line"
    no_torques = "" if torques is not None else "not asked for"
    return (
        Check("distances between links", _DISTANCES),
        Check("joint limits", RATES),
        Check("torques", _TORQUES, no_torques),
        Check("Cartesian line", _LINES, no_line),
    )


def _worst(schedule: Schedule, clearance: ClearanceCheck, beside: Sequence[Beside]) -> Moment:
    """The moment of the smallest distance that occurs."""
    pair = clearance.series.minima[0]
    q = schedule.configuration(pair.time, pair.starts)
    starts = tuple(
        (b.motion.source, start)
        for b, start in zip(beside, pair.starts[1:], strict=True)
        if b.latest > b.earliest
    )
    return Moment(
        pair.time, q, pair.links, pair.upper, pair.points, starts, clearance.at_least, pair.exact
    )
