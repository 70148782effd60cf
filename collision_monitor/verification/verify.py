# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verification of motions: the checks, and their verdict.

Many motions of one robot run on all processors of this machine or on a Dask cluster. The model and
the motions are sent to the workers, so these need no files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.common.optional_dependencies import optional_dependency
from collision_monitor.common.text import shortened
from collision_monitor.errors import CollisionMonitorError, ExecutorError
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.trajectory import Trajectory, joined
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.bodies import leading_joint
from collision_monitor.robot.description import Robot
from collision_monitor.robot.joint_limits import urdf_limits
from collision_monitor.robot.scene import without_joints
from collision_monitor.verification.clearance.clearance_check import ClearanceCheck, check_clearance
from collision_monitor.verification.clearance.scanner import Progress, no_progress
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from collision_monitor.verification.clearance.two_level import check_two_levels
from collision_monitor.verification.joint_limits_check import RATES, LimitsCheck, check_joint_limits
from collision_monitor.verification.torques.dynamics import RobotDynamics
from collision_monitor.verification.torques.torque_check import TorqueCheck, check_torques
from collision_monitor.verification.verification import (
    Check,
    ClosestApproach,
    Companion,
    Outcome,
    Settings,
    SimultaneousMotion,
    Task,
    Torques,
    Verdict,
    Verification,
    VerificationCheck,
    by_urgency,
    shifted,
    verdict_of,
)

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

__all__ = ["CHECKS", "SimultaneousMotion", "Settings", "Torques", "verify", "verify_many"]


# -- distances between links --


def _check_distances(task: Task) -> Outcome:
    settings = task.settings
    if settings.method == "two-level":
        task.progress("two-level check", 0.0)
        found = check_two_levels(task.model, task.parts, settings.thresholds, settings.exact)
        return Outcome(found.violations, [found.text])
    clearance = check_clearance(
        task.model, task.parts, settings.thresholds, exact=settings.exact or None,
        progress=task.progress,
        exact_pairs=range(len(task.model.pairs)) if settings.every_pair_exact else (),
    )  # fmt: skip
    results = {"clearance": clearance, "worst": _worst(task, clearance)}
    return Outcome(clearance.violations, results=results)


def _worst(task: Task, clearance: ClearanceCheck) -> ClosestApproach:
    """The time and configuration of the minimum distance."""
    pair = clearance.series.minima[0]
    q = task.schedule.configuration(pair.time, pair.starts)
    starts = tuple(
        (b.motion.source, start)
        for b, start in zip(task.settings.beside, pair.starts[1:], strict=True)
        if b.latest > b.earliest
    )
    return ClosestApproach(
        pair.time, q, pair.links, pair.upper, pair.points, starts, clearance.at_least, pair.exact
    )


DISTANCES = VerificationCheck(
    "distances between links",
    (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN, Code.UNDECIDED),
    _check_distances,
)


# -- joint limits of all motions; motions along a line --


def _check_limits(task: Task) -> Outcome:
    task.progress("limits of joints", 0.0)
    own = _limits_of(task, task.parts[0].trajectory)
    companions = tuple(
        _companion(beside, _limits_of(task, part.trajectory))
        for beside, part in zip(task.settings.beside, task.parts[1:], strict=True)
    )
    violations = _violations(task.motion, own)
    notes = own.notes
    for companion in companions:
        violations += companion.violations
        notes += companion.limits.notes
    return Outcome(violations, notes, {"limits": own, "companions": companions})


def _limits_of(task: Task, trajectory: Trajectory) -> LimitsCheck:
    return check_joint_limits(trajectory, task.model.robot, task.limits, task.settings.from_rest)


def _violations(motion: LoadedMotion, check: LimitsCheck) -> tuple[Violation, ...]:
    """Violations found when reading the motion, and those of the check, without duplicates."""
    known = {(v.code, v.subject) for v in check.violations}
    given = tuple(v for v in motion.violations if (v.code, v.subject) not in known)
    return given + check.violations


def _companion(beside: SimultaneousMotion, check: LimitsCheck) -> Companion:
    """Violations of a simultaneous motion, in the time of the verified motion."""
    source = beside.motion.source
    text = f"in {source}"
    if beside.latest > beside.earliest:
        text += f", if that begins at {beside.earliest:g} s"
    violations = tuple(
        replace(shifted(v, beside.earliest), text="; ".join(filter(None, (text, v.text))))
        for v in _violations(beside.motion, check)
    )
    return Companion(source, beside.earliest, beside.latest, violations, check)


JOINT_LIMITS = VerificationCheck("joint limits", RATES, _check_limits, is_first=True)
CARTESIAN_LINE = VerificationCheck(
    "Cartesian line",
    (Code.SINGULARITY, Code.OFF_THE_LINE),  # found when the command is read; reported above
    run=lambda task: Outcome(),
    skipped=lambda task: "" if task.motion.along_line else "the motion is no command along a line",
)


# -- torques of links and motors, of all simultaneous motions --
#
# The torque of a joint depends on the motion of joints in its chain, and of joints that it carries.
# So it depends on the starts of two motions only if both move such joints. If there is no such
# joint, any choice of starts gives all torques.


STARTS = 9  # number of starts at which torques are computed if they depend on the start


def full_trajectory(
    parts: Sequence[Scheduled], starts: Sequence[float], names: Sequence[str]
) -> Trajectory:
    """One trajectory of the joints ``names``, in this order; time 0 is the earliest of ``starts``.

    ``names``: joints that the parts move or hold, without prefix.
    """
    polynomials, found = [], []
    for part, start in zip(parts, starts, strict=True):
        own = part.trajectory.polynomial
        polynomials.append(PPoly(own.c, own.x + (start - min(starts))))
        found += part.trajectory.joint_names
    polynomial = joined(polynomials) if len(polynomials) > 1 else polynomials[0]
    columns = [found.index(name) for name in names]
    return Trajectory(tuple(names), PPoly(polynomial.c[:, :, columns].copy(), polynomial.x))


def coupled(robot: Robot, parts: Sequence[Scheduled]) -> tuple[str, ...]:
    """Joints of a robot on a fixed base whose torque depends on the starts of the parts."""
    joints = {joint.name: joint for joint in robot.joints}
    part_of = {name: k for k, part in enumerate(parts) for name in part.trajectory.joint_names}
    moved = {name for part in parts for name in _moving(part.trajectory)}
    own = {joint.child: joint for joint in robot.joints}
    chains: dict[str, list[str]] = {}  # leaders of the joints from the root to a joint, inclusive
    for joint in robot.joints:
        chain, at = [], joint
        while at is not None:
            leader = leading_joint(at, joints)[0] if at.moves else None
            if leader is not None:
                chain.append(leader)
            at = own.get(at.parent)
        chains[joint.name] = chain
    shaking: dict[str, set[int]] = {}
    for chain in chains.values():
        who = {part_of[name] for name in chain if name in moved}
        for name in chain:
            shaking.setdefault(name, set()).update(who)
    return tuple(name for name, who in shaking.items() if len(who) > 1)


def _moving(trajectory: Trajectory) -> list[str]:
    moves = trajectory.polynomial.c[:-1].any(axis=(0, 1))
    moves |= np.ptp(trajectory.polynomial.c[-1], axis=0) > 0.0
    return [name for name, does in zip(trajectory.joint_names, moves, strict=True) if does]


def combined_torques(
    parts: Sequence[Scheduled],
    names: Sequence[str],
    check: Callable[[Trajectory], TorqueCheck],
    coupled_joints: Collection[str],
) -> tuple[TorqueCheck, tuple[Violation, ...], tuple[str, ...]]:
    """The check with the largest torques, violations of all checks, and notes.

    ``check`` checks one trajectory of the joints ``names``. ``coupled_joints``: joints whose
    torques depend on the starts.
    """
    earliest = np.array([part.earliest for part in parts])
    widths = 2.0 * np.array([part.width for part in parts])
    varies = widths.any() and len(coupled_joints) > 0
    checks, notes = [], []
    found: dict[tuple[Code, str], list[Violation]] = {}
    for share in np.linspace(0.0, 1.0, STARTS) if varies else [0.0]:
        starts = (earliest + share * widths).tolist()
        checks.append(check(full_trajectory(parts, starts, names)))
        for violation in checks[-1].violations:
            rows = found.setdefault((violation.code, violation.subject), [])
            rows.append(shifted(violation, min(starts)))
    violations = [
        replace(max(rows, key=lambda v: abs(v.value)), first=min(v.first for v in rows))
        for rows in found.values()
    ]
    if varies:
        notes.append(
            f"torques of {shortened(sorted(coupled_joints), 8)} depend on when motions begin "
            f"beside each other: they are those of {STARTS} starts spread over the range, not of "
            "all"
        )
    return max(checks, key=_utilisation), tuple(violations), tuple(notes)


def _utilisation(check: TorqueCheck) -> float:
    """The largest ratio of a torque and its limit."""
    return max(
        ((abs(peak.value) + peak.band) / abs(peak.limit) for peak in check.peaks if peak.limit),
        default=0.0,
    )


def _check_torques(task: Task) -> Outcome:
    """Torques of all parts that move joints of the robot, not of the scene."""
    task.progress("torques", 0.0)
    model, given = task.model, task.settings.torques
    robot = without_joints(model.robot, model.scene.joints)
    own = {joint.name for joint in robot.joints}
    mine = [p for p in task.parts if own.intersection(p.trajectory.joint_names)]
    names = [name for name in model.joint_names if name in own]
    dynamics = RobotDynamics(
        robot, given.inertials, names, given.floating, given.gravity, given.drives.payload
    )

    def check(trajectory: Trajectory) -> TorqueCheck:
        return check_torques(
            trajectory, dynamics, task.limits, given.drives, from_rest=task.settings.from_rest
        )

    everyone = tuple(names) if given.floating and len(mine) > 1 else coupled(robot, mine)
    torques, violations, more = combined_torques(mine, names, check, everyone)
    notes = [*torques.notes, *more]
    if model.scene.joints:
        moved = ", ".join(joint.name for joint in model.scene.joints)
        notes.append(f"joints of the scene move no mass that torques know of: {moved}")
    return Outcome(_without_duplicates(violations), notes, {"torques": torques})


def _without_duplicates(violations: Sequence[Violation]) -> list[Violation]:
    """Without motor violations that equal link violations, as for joints without drives."""
    links = [v for v in violations if v.code is Code.LINK_TORQUE]
    return [
        v for v in violations if v in links or replace(v, code=Code.LINK_TORQUE) not in links
    ]


TORQUES = VerificationCheck(
    "torques",
    (Code.LINK_TORQUE, Code.MOTOR_TORQUE),
    _check_torques,
    skipped=lambda task: "" if task.settings.torques else "not asked for",
)


# -- all checks of a motion --

CHECKS = (DISTANCES, JOINT_LIMITS, TORQUES, CARTESIAN_LINE)  # in the order of reports
_DASK = "dask://"
_CONNECT_SECONDS = 10
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
    executor: str = "",
    done: Callable[[Verification], None] = lambda result: None,
) -> list[Verification]:
    """Verify many motions in parallel; returns a verification for each, in their order.

    Args:
        model: of the robot of all motions.
        motions: the motions.
        settings: settings of the verification.
        executor: empty for processes on this machine, as many as it has processors; or
            ``dask://host:port``, the scheduler of a Dask cluster whose workers have this package.
        done: called in this process for each finished motion, in any order.

    Raises:
        ExecutorError: the cluster is not available, or lost its workers.
        MissingDependencyError: dask.distributed is not installed.
    """
    workers = min(os.cpu_count() or 1, len(motions))
    if not executor and workers <= 1:
        found = []
        for motion in motions:
            found.append(verify(model, motion, settings))
            done(found[-1])
        return found
    with _workers(model, executor, workers) as submit:
        futures = [submit(motion, settings) for motion in motions]
        for future in as_completed(futures):
            done(_result(future, executor))
        return [_result(future, executor) for future in futures]


def _result(future: Future, executor: str) -> Verification:
    try:
        return future.result()
    except OSError as error:
        raise ExecutorError(f"{executor or 'a worker'}: did not finish: {error}") from None
    except (BrokenExecutor, CancelledError) as error:
        raise ExecutorError(
            f"{executor or 'a process'} that verified a motion was ended, as happens where memory "
            f"runs out: {error or type(error).__name__}"
        ) from None


@contextmanager
def _workers(
    model: CollisionModel, executor: str, count: int
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
    with _cluster(executor) as client:
        sent = client.scatter(model, broadcast=True, hash=False)
        with client.get_executor(pure=False) as pool:
            yield lambda motion, settings: pool.submit(_verify_remotely, sent, motion, settings)


@contextmanager
def _cluster(executor: str) -> Iterator[Any]:
    if not executor.startswith(_DASK) or not executor.removeprefix(_DASK):
        raise ExecutorError(f"--executor {executor!r} is not dask://host:port")
    with optional_dependency(f"{executor} needs Dask", "verify"):
        from distributed import Client
    address = "tcp://" + executor.removeprefix(_DASK)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise ExecutorError(f"{executor}: no Dask scheduler answers there: {error}") from None
    with client:
        yield client


def _verify_remotely(
    model: CollisionModel, motion: LoadedMotion, settings: Settings
) -> Verification:
    """As `verify`, without functions in the torques, which cannot be pickled."""
    result = verify(model, motion, settings)
    if result.torques is None:
        return result
    return replace(result, torques=replace(result.torques, motion=None))


def _keep(model: CollisionModel) -> None:
    global _model
    _model = model


def _verify_kept(motion: LoadedMotion, settings: Settings) -> Verification:
    assert _model is not None
    return _verify_remotely(_model, motion, settings)
