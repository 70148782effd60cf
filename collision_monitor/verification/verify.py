# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verify a motion: all checks, and the verdict that they come to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.robot.joint_limits import JointLimits
from collision_monitor.verification.clearance_check import ClearanceCheck, check_clearance
from collision_monitor.verification.exact_level import mesh_decider
from collision_monitor.verification.joint_limits_check import RATES, LimitsCheck, check_joint_limits
from collision_monitor.verification.schedule import Schedule, Scheduled
from collision_monitor.verification.thresholds import Thresholds
from collision_monitor.verification.torque_check import TorqueCheck, TorqueSettings, check_torques
from collision_monitor.verification.verdict import Verdict, by_urgency, verdict_of
from collision_monitor.verification.verification import Check, Moment, Verification
from collision_monitor.verification.violation import Code

if TYPE_CHECKING:
    from collision_monitor.collision_model import CollisionModel
    from collision_monitor.verification.motion_files import LoadedMotion

_DISTANCES = (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN, Code.UNDECIDED)
_TORQUES = (Code.LINK_TORQUE, Code.MOTOR_TORQUE)
_LINES = (Code.SINGULARITY, Code.OFF_THE_LINE)


@dataclass(frozen=True)
class Beside:
    """A motion of other joints that runs beside the verified ones.

    Attributes:
        motion: of joints that no other moves.
        earliest, latest: it begins at some instant between these, seconds.
    """

    motion: LoadedMotion
    earliest: float = 0.0
    latest: float = 0.0


@dataclass(frozen=True)
class Settings:
    """What is checked, and against what.

    Attributes:
        thresholds: distances of pairs.
        limits: of joints, by name; None for those of the URDF.
        exact: decide by meshes where leaves do not clear a pair.
        from_rest: the robot stands before and after the motion.
        torques: how torques are computed; None to leave them out.
        beside: motions that run at the same time.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    limits: Mapping[str, JointLimits] | None = None
    exact: bool = True
    from_rest: bool = True
    torques: TorqueSettings | None = None
    beside: Sequence[Beside] = ()


def verify(
    model: CollisionModel, motion: LoadedMotion, settings: Settings | None = None
) -> Verification:
    """All checks of one motion; what keeps it from being checked is a verdict, no error."""
    settings = Settings() if settings is None else settings
    begin = time.perf_counter()
    try:
        return _verified(model, motion, settings, begin)
    except CollisionMonitorError as error:
        return Verification(
            motion.source,
            model.name,
            Verdict.NOT_CHECKED,
            reason=str(error),
            seconds=time.perf_counter() - begin,
        )


def _verified(
    model: CollisionModel, motion: LoadedMotion, settings: Settings, begin: float
) -> Verification:
    limits = check_joint_limits(motion.trajectory, model.robot, settings.limits, settings.from_rest)
    parts = _parts(motion, settings)
    clearance = check_clearance(
        model, parts, settings.thresholds, exact=mesh_decider(model) if settings.exact else None
    )
    torques = None
    if settings.torques is not None:
        torques = check_torques(motion.trajectory, model.robot, settings.limits, settings.torques)
    found = [*motion.violations, *limits.violations, *clearance.violations]
    notes = [*motion.warnings, *(w for b in settings.beside for w in b.motion.warnings)]
    notes += limits.notes
    if torques is not None:
        found += torques.violations
        notes += torques.notes
    violations = by_urgency(found)
    return Verification(
        motion.source,
        model.name,
        verdict_of(violations),
        duration=motion.trajectory.duration,
        seconds=time.perf_counter() - begin,
        violations=violations,
        notes=tuple(notes),
        checks=_checks(motion, limits, torques),
        limits=limits,
        torques=torques,
        clearance=clearance,
        worst=_worst(Schedule(model, parts), clearance),
    )


def _parts(motion: LoadedMotion, settings: Settings) -> list[Scheduled]:
    """The motion, and those beside it."""
    parts = [Scheduled(motion.trajectory)]
    parts += [Scheduled(b.motion.trajectory, b.earliest, b.latest) for b in settings.beside]
    if len(parts) == 1:
        return parts
    # A file that does not name a joint holds it: not against a motion that moves it.
    named = [set(part.trajectory.joint_names) for part in parts]
    return parts


def _checks(
    motion: LoadedMotion, limits: LimitsCheck, torques: TorqueCheck | None
) -> tuple[Check, ...]:
    """What was done, and what not."""
    found = [Check("joint limits", RATES)]
    no_line = "" if motion.is_line else "the motion is no Cartesian line"
    found.append(Check("Cartesian line", _LINES, no_line))
    left_out = "" if torques is not None else "not asked for"
    found.append(Check("torques", _TORQUES, left_out))
    found.append(Check("distances between links", _DISTANCES))
    return tuple(found)


def _worst(schedule: Schedule, clearance: ClearanceCheck) -> Moment:
    """The moment of the smallest distance that occurs."""
    pair = clearance.series.minima[0]
    return Moment(
        pair.time, schedule.configuration(pair.time, pair.starts), pair.links, pair.upper
    )
