# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verification of motions: the checks, and their verdict.

Many motions of one robot run on all processors of this machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TYPE_CHECKING

from collision_monitor.errors import CollisionMonitorError, ExecutorError
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.violation import Code
from collision_monitor.robot.limits import urdf_limits
from collision_monitor.verification.check import (
    Outcome,
    Settings,
    SimultaneousMotion,
    Task,
    VerificationCheck,
)
from collision_monitor.verification.clearance.clearance_check import DISTANCES
from collision_monitor.verification.clearance.scanner import Progress, no_progress
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from collision_monitor.verification.joint_limits_check import JOINT_LIMITS
from collision_monitor.verification.torques.torque_check import TORQUES
from collision_monitor.verification.verification import (
    Check,
    Verdict,
    Verification,
    by_urgency,
    verdict_of,
)

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


CARTESIAN_LINE = VerificationCheck(
    "Cartesian line",
    (Code.SINGULARITY, Code.OFF_THE_LINE),  # found when the command is read; reported above
    run=lambda task: Outcome(),
    skipped=lambda task: "" if task.motion.along_line else "the motion is not along a line",
)
CHECKS = (DISTANCES, JOINT_LIMITS, TORQUES, CARTESIAN_LINE)  # in the order of reports
_model: CollisionModel | None = None  # model of a worker process


def verify(
    model: CollisionModel,
    motion: LoadedMotion,
    settings: Settings | None = None,
    progress: Progress = no_progress,
) -> Verification:
    """Check one motion: joint limits, clearance also between samples and, if requested, torques.

    Args:
        model: the robot and its scene.
        motion: as `motion.motion_files.load_trajectory` reads it (docs/verify.md).
        settings: thresholds, limits, torques and motions that run at the same time.
        progress: called with the name of the current step and the fraction done (0 to 1), from any
            thread.

    Returns:
        The verdict with its violations. If the motion cannot be checked, the verdict is
        ``Verdict.NOT_CHECKED`` with the reason; no error of the package is raised.
    """
    settings = Settings() if settings is None else settings
    begin = time.perf_counter()
    try:
        return _verified(model, motion, settings, begin, progress)
    except CollisionMonitorError as error:
        return Verification(
            motion.source,
            model.name,
            Verdict.NOT_CHECKED,
            reason=str(error),
            seconds=time.perf_counter() - begin,
        )


def _verified(
    model: CollisionModel,
    motion: LoadedMotion,
    settings: Settings,
    begin: float,
    progress: Progress,
) -> Verification:
    limits = urdf_limits(model.robot) if settings.limits is None else settings.limits
    parts = _parts(motion, settings.beside)
    schedule = Schedule(model, parts)  # raises for invalid motions
    task = Task(model, motion, settings, limits, parts, schedule, progress)
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


def _parts(motion: LoadedMotion, beside: Sequence[SimultaneousMotion]) -> list[Scheduled]:
    """The motion without joints that it only holds but other motions move, and these motions."""
    others = [b.motion.only(b.motion.named) for b in beside]
    moved = {name for other in others for name in other.trajectory.joint_names}
    own = motion.only(set(motion.trajectory.joint_names) - (moved - motion.named))
    return [Scheduled(own.trajectory)] + [
        Scheduled(other.trajectory, b.earliest, b.latest)
        for other, b in zip(others, beside, strict=True)
    ]


def verify_many(
    model: CollisionModel,
    motions: Sequence[LoadedMotion],
    settings: Settings,
    done: Callable[[Verification], None] = lambda result: None,
) -> list[Verification]:
    """Verify many motions in processes, as many as this machine has processors.

    Args:
        model: of the robot of all motions.
        motions: the motions.
        settings: settings of the verification.
        done: called in this process for each finished motion, in any order.

    Returns:
        A verification for each motion, in their order.

    Raises:
        ExecutorError: a process was ended.
    """
    # Not forked: threads of numerical libraries do not survive a fork.
    with ProcessPoolExecutor(
        mp_context=get_context("spawn"), initializer=_keep, initargs=(model,)
    ) as pool:
        try:
            futures = [pool.submit(_verify_kept, motion, settings) for motion in motions]
            for future in as_completed(futures):
                done(future.result())
            return [future.result() for future in futures]
        except BrokenExecutor as error:
            raise ExecutorError(
                f"a process that verified a motion was ended, maybe for lack of memory: {error}"
            ) from None


def _keep(model: CollisionModel) -> None:
    global _model
    _model = model


def _verify_kept(motion: LoadedMotion, settings: Settings) -> Verification:
    assert _model is not None
    return verify(_model, motion, settings)
