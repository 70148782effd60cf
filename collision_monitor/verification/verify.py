# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verify a motion: all checks, and the verdict that they come to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.robot.joint_limits import urdf_limits
from collision_monitor.verification.check import Task
from collision_monitor.verification.checks.cartesian_line import CARTESIAN_LINE
from collision_monitor.verification.checks.distances import DISTANCES
from collision_monitor.verification.checks.joint_limits import JOINT_LIMITS
from collision_monitor.verification.checks.torques import TORQUES
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from collision_monitor.verification.progress import Told, silent
from collision_monitor.verification.settings import Beside, Settings, Torques
from collision_monitor.verification.verdict import Verdict, by_urgency, verdict_of
from collision_monitor.verification.verification import Check, Verification

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

__all__ = ["CHECKS", "Beside", "Settings", "Torques", "verify"]

CHECKS = (DISTANCES, JOINT_LIMITS, TORQUES, CARTESIAN_LINE)  # in the order of reports


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
    task = Task(model, motion, settings, limits, parts, schedule, told)
    found, results = [], {}
    notes = [*motion.warnings, *(w for b in settings.beside for w in b.motion.warnings)]
    for check in sorted(CHECKS, key=lambda check: not check.is_first):
        if not check.skipped(task):
            outcome = check.run(task)
            found += outcome.violations
            notes += outcome.notes
            results.update(outcome.results)
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
        checks=tuple(Check(check.name, check.codes, check.skipped(task)) for check in CHECKS),
        **results,
    )


def _parts(motion: LoadedMotion, beside: Sequence[Beside]) -> list[Scheduled]:
    """The motion, without the joints that it only holds and others move; and those others."""
    others = [b.motion.only(b.motion.named) for b in beside]
    moved = {name for other in others for name in other.trajectory.joint_names}
    own = motion.only(set(motion.trajectory.joint_names) - (moved - motion.named))
    return [Scheduled(own.trajectory)] + [
        Scheduled(other.trajectory, b.earliest, b.latest)
        for other, b in zip(others, beside, strict=True)
    ]
