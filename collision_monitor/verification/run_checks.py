# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verification of motions: the checks, and their verdict.

Many motions of one robot run on all processors of this machine or on a Dask cluster. The model and
the motions are sent to the workers, so these need no files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING

from collision_monitor.common.lazy_imports import optional_dependency
from collision_monitor.common.text import time_text
from collision_monitor.errors import CollisionMonitorError, ExecutorError, TrajectoryError
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.trajectory import OTHER_CLOCK, Motion, Trajectory
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
_DASK = "dask://"
_CONNECT_SECONDS = 10.0
_model: CollisionModel | None = None  # model of a worker process


def verify(
    model: CollisionModel,
    motion: LoadedMotion | Motion | Trajectory,
    settings: Settings | None = None,
    progress: Progress = no_progress,
) -> Verification:
    """Check one motion: joint limits, clearance also between samples and, if requested, torques.

    Args:
        model: the robot and its scene.
        motion: as `motion.motion_files.load_trajectory` reads it (docs/verify.md), or a `Motion` or
            a `Trajectory` of some joints of the robot.
        settings: thresholds, limits, torques and motions that run at the same time.
        progress: called with the name of the current step and the fraction done (0 to 1), from any
            thread.

    Returns:
        The verdict with its violations. If the motion cannot be checked, the verdict is
        ``Verdict.NOT_CHECKED`` with the reason; no error of the package is raised.
    """
    settings = Settings() if settings is None else settings
    begin = time.perf_counter()
    source = "motion"
    try:
        if not isinstance(motion, LoadedMotion):
            motion = LoadedMotion.of(motion, model.robot)
        source = motion.source
        return _verified(model, motion, settings, begin, progress)
    except CollisionMonitorError as error:
        return Verification(
            source,
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
    violations, results = [], {}
    notes = [*motion.warnings, *(w for b in settings.beside for w in b.motion.warnings)]
    notes += filter(None, (_other_start(motion, b) for b in settings.beside))
    for check in sorted(CHECKS, key=lambda check: not check.is_first):
        if not check.skipped(task):
            outcome = check.run(task)
            violations += outcome.violations
            notes += outcome.notes
            results.update(outcome.results)
    notes += model.warnings
    ordered = by_urgency(violations)
    return Verification(
        motion.source,
        model.name,
        verdict_of(ordered),
        duration=schedule.end - schedule.begin,
        seconds=time.perf_counter() - begin,
        violations=ordered,
        notes=tuple(dict.fromkeys(notes)),
        checks=tuple(Check(check.name, check.codes, check.skipped(task)) for check in CHECKS),
        **results,
    )


def _other_start(motion: LoadedMotion, beside: SimultaneousMotion) -> str:
    """What to say of a motion that begins at 0 s, but at another time by the clock of the files."""
    offset = beside.motion.begin - motion.begin
    if beside.start != 0.0 or not 1e-3 <= abs(offset) <= OTHER_CLOCK:
        return ""
    order = "after" if offset > 0.0 else "before"
    return (
        f"{beside.motion.source}: begins at 0 s, as {motion.source} does; by the times in the "
        f"files it begins {time_text(abs(offset))} {order} it: give {offset:.6g} as its start, if "
        "both have one clock"
    )


def _parts(motion: LoadedMotion, beside: Sequence[SimultaneousMotion]) -> list[Scheduled]:
    """The motion without joints that only other motions move or know, and these motions."""
    movers = dict.fromkeys(motion.named, motion.source)
    for b in beside:
        if twice := sorted(movers.keys() & b.motion.named):
            raise TrajectoryError(
                f"joint {twice[0]!r} is moved by {movers[twice[0]]} and by {b.motion.source}: "
                "leave it out of one of them"
            )
        movers |= dict.fromkeys(b.motion.named, b.motion.source)
    taken = motion.known | movers.keys()
    others = []
    for b in beside:
        others.append(b.motion.only(b.motion.named | (b.motion.known - taken)))
        taken |= b.motion.known
    moved = {name for other in others for name in other.trajectory.joint_names}
    own = motion.only(set(motion.trajectory.joint_names) - (moved - motion.named))
    parts = [Scheduled(own.trajectory)]
    for other, b in zip(others, beside, strict=True):
        try:
            parts.append(Scheduled(other.trajectory, b.start))
        except TrajectoryError as error:
            raise TrajectoryError(f"{other.source}: {error}") from None
    return parts


def verify_many(
    model: CollisionModel,
    motions: Sequence[LoadedMotion],
    settings: Settings,
    executor: str = "",
    progress: Progress = no_progress,
    connect_seconds: float = _CONNECT_SECONDS,
) -> list[Verification]:
    """Verify many motions in parallel; returns a verification for each, in their order.

    Args:
        model: of the robot of all motions.
        motions: the motions.
        settings: settings of the verification.
        executor: empty for processes on this machine, as many as it has processors; or
            ``dask://host:port``, the scheduler of a Dask cluster whose workers have this package.
        progress: as of `verify` for a single motion; for several, the number of finished ones.
        connect_seconds: how long to wait for an answer of the scheduler.

    Raises:
        ExecutorError: the cluster is not available, or lost its workers.
        MissingDependencyError: dask.distributed is not installed.
    """
    workers = min(os.cpu_count() or 1, len(motions))
    if not executor and workers <= 1:
        return [verify(model, motion, settings, progress) for motion in motions]
    with _workers(model, executor, workers, connect_seconds) as submit:
        futures = [submit(motion, settings) for motion in motions]
        progress(f"0 of {len(motions)} motions verified", 0.0)
        try:
            for done, _ in enumerate(as_completed(futures), 1):
                progress(f"{done} of {len(motions)} motions verified", done / len(motions))
            return [future.result() for future in futures]
        except OSError as error:
            raise ExecutorError(f"{executor or 'a worker'}: did not finish: {error}") from None
        except (BrokenExecutor, CancelledError) as error:
            raise ExecutorError(
                f"{executor or 'a process'} that verified a motion was ended, maybe for lack of "
                f"memory: {error or type(error).__name__}"
            ) from None


@contextmanager
def _workers(
    model: CollisionModel, executor: str, count: int, connect_seconds: float
) -> Iterator[Callable[[LoadedMotion, Settings], Future]]:
    """Context of a function that sends one motion to a worker; workers end with the context."""
    if not executor:
        # Not forked: threads of numerical libraries do not survive a fork.
        pool: Executor = ProcessPoolExecutor(
            count, get_context("spawn"), initializer=_keep, initargs=(model,)
        )
        with pool:
            yield lambda motion, settings: pool.submit(_verify_kept, motion, settings)
        return
    if not executor.startswith(_DASK) or not executor.removeprefix(_DASK):
        raise ExecutorError(f"--executor {executor!r} is not dask://host:port")
    with optional_dependency(f"{executor} needs Dask", "verify"):
        from distributed import Client
    try:
        client = Client("tcp://" + executor.removeprefix(_DASK), timeout=connect_seconds)
    except (OSError, ValueError) as error:
        raise ExecutorError(f"{executor}: no Dask scheduler answers there: {error}") from None
    with client:
        sent = client.scatter(model, broadcast=True, hash=False)
        with client.get_executor(pure=False) as pool:
            yield lambda motion, settings: pool.submit(verify, sent, motion, settings)


def _keep(model: CollisionModel) -> None:
    global _model
    _model = model


def _verify_kept(motion: LoadedMotion, settings: Settings) -> Verification:
    assert _model is not None
    return verify(_model, motion, settings)
