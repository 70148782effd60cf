# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of the joints, of the verified motion and of those beside it; motions along a line."""

from __future__ import annotations

from dataclasses import replace

from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.limits.joint_limits_check import (
    RATES,
    LimitsCheck,
    check_joint_limits,
)
from collision_monitor.verification.verification import (
    Beside,
    Companion,
    Outcome,
    Task,
    VerificationCheck,
    later,
)


def _run(task: Task) -> Outcome:
    task.told("limits of joints", 0.0)
    own = _check(task, task.parts[0].trajectory)
    companions = tuple(
        _companion(beside, _check(task, part.trajectory))
        for beside, part in zip(task.settings.beside, task.parts[1:], strict=True)
    )
    violations = _violations(task.motion, own)
    notes = own.notes
    for companion in companions:
        violations += companion.violations
        notes += companion.limits.notes
    return Outcome(violations, notes, {"limits": own, "companions": companions})


def _check(task: Task, trajectory: Trajectory) -> LimitsCheck:
    return check_joint_limits(trajectory, task.model.robot, task.limits, task.settings.from_rest)


def _violations(motion: LoadedMotion, check: LimitsCheck) -> tuple[Violation, ...]:
    """What was found while the motion was made from a command, and by the check; each once."""
    known = {(v.code, v.subject) for v in check.violations}
    given = tuple(v for v in motion.violations if (v.code, v.subject) not in known)
    return given + check.violations


def _companion(beside: Beside, check: LimitsCheck) -> Companion:
    """What a motion beside the verified one breaks of its own limits, in the time of all."""
    source = beside.motion.source
    said = f"in {source}"
    if beside.latest > beside.earliest:
        said += f", if that begins at {beside.earliest:g} s"
    violations = tuple(
        replace(later(v, beside.earliest), text="; ".join(filter(None, (said, v.text))))
        for v in _violations(beside.motion, check)
    )
    return Companion(source, beside.earliest, beside.latest, violations, check)


JOINT_LIMITS = VerificationCheck("joint limits", RATES, _run, is_first=True)
CARTESIAN_LINE = VerificationCheck(
    "Cartesian line",
    (Code.SINGULARITY, Code.OFF_THE_LINE),  # found when the command is read; reported above
    run=lambda task: Outcome(),
    skipped=lambda task: "" if task.motion.along_line else "the motion is no command along a line",
)
