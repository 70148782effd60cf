# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings, checks and result of a verification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.errors import ConfigurationError
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.inertials import Inertial
from collision_monitor.robot.joint_limits import JointLimits
from collision_monitor.verification.clearance.clearance_check import ClearanceCheck
from collision_monitor.verification.clearance.scanner import Progress
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from collision_monitor.verification.joint_limits_check import LimitsCheck
from collision_monitor.verification.torques.actuators import Drives
from collision_monitor.verification.torques.torque_check import TorqueCheck

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

METHODS = ("continuous", "two-level")
_MOST_URGENT = (Code.COLLISION, Code.UNDECIDED, Code.CLEARANCE_STOP)


@dataclass(frozen=True)
class SimultaneousMotion:
    """A motion that runs at the same time as the verified one.

    Attributes:
        motion: only joints named in its file are used; no other motion may move them.
        earliest, latest: it begins at some instant between these, seconds.
    """

    motion: LoadedMotion
    earliest: float = 0.0
    latest: float = 0.0


@dataclass(frozen=True)
class Torques:
    """Settings of torques.

    Attributes:
        inertials: masses of links, as of `robot.urdf.inertials.read_inertials`.
        drives: rotors, springs, margins and payload.
        floating: whether the base floats freely.
        gravity: (3,) m/s^2; None: that of the earth, or zero for a floating base.
    """

    inertials: Mapping[str, Inertial]
    drives: Drives = field(default_factory=Drives)
    floating: bool = False
    gravity: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Settings:
    """Settings of a verification.

    Attributes:
        thresholds: stop and warning distances of pairs.
        limits: of joints, by name; None for those of the URDF.
        exact: decide by shapes if leaves do not certify a pair.
        every_pair_exact: measure the shapes of all pairs over the whole motion.
        method: of distances: "continuous", or "two-level" (`clearance.two_level`), which only
            decides whether thresholds are kept, without curves.
        from_rest: whether the robot rests before and after the motion.
        torques: None to leave them out.
        beside: motions that run at the same time.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    limits: Mapping[str, JointLimits] | None = None
    exact: bool = True
    every_pair_exact: bool = False
    method: str = METHODS[0]
    from_rest: bool = True
    torques: Torques | None = None
    beside: Sequence[SimultaneousMotion] = ()

    def __post_init__(self) -> None:
        """Reject an unknown method."""
        if self.method not in METHODS:
            raise ConfigurationError(
                f"method {self.method!r} is not one of {', '.join(METHODS)}"
            )


@dataclass(frozen=True, eq=False)
class Task:
    """Input of the checks.

    Attributes:
        model: the robot and its scene.
        motion: the motion.
        settings: the settings.
        limits: of joints, by name.
        parts: the motion, then those of ``settings.beside``, each with its moving joints.
        schedule: all parts together.
        progress: reports progress.
    """

    model: CollisionModel
    motion: LoadedMotion
    settings: Settings
    limits: Mapping[str, JointLimits]
    parts: Sequence[Scheduled]
    schedule: Schedule
    progress: Progress


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of one check.

    Attributes:
        violations: of its codes.
        notes: assumptions and omissions, sentences.
        results: attributes of the `Verification`, for reports.
    """

    violations: Sequence[Violation] = ()
    notes: Sequence[str] = ()
    results: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class VerificationCheck:
    """One of the checks in `verify.CHECKS`.

    Attributes:
        name: shown in reports, JSON and JUnit.
        codes: of its violations. run: the check.
        skipped: why it does not apply; empty if it applies.
        is_first: whether it is fast, and runs before the others.
    """

    name: str
    codes: tuple[Code, ...]
    run: Callable[[Task], Outcome]
    skipped: Callable[[Task], str] = lambda task: ""
    is_first: bool = False


def shifted(violation: Violation, seconds: float) -> Violation:
    """The violation of a motion that starts ``seconds`` later."""
    return replace(
        violation, first=violation.first + seconds, worst=violation.worst + seconds
    )


class Verdict(str, Enum):
    """Verdict of a motion."""

    SAFE = "safe"
    NOT_SAFE = "not safe"
    NOT_CHECKED = "could not be checked"

    @property
    def exit_code(self) -> int:
        """Exit code: 0, 1 or 2."""
        return list(Verdict).index(self)


def verdict_of(violations: Iterable[Violation]) -> Verdict:
    """Unsafe if any violation is more than a warning; undecided counts as unsafe."""
    return Verdict.NOT_SAFE if any(not v.warning for v in violations) else Verdict.SAFE


def by_urgency(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Violations before warnings, collisions first, then by time."""

    def urgency(v: Violation) -> tuple:
        grave = _MOST_URGENT.index(v.code) if v.code in _MOST_URGENT else len(_MOST_URGENT)
        return v.warning, grave, v.first, v.code.value, v.subject

    return tuple(sorted(violations, key=urgency))


@dataclass(frozen=True)
class Check:
    """One of the checks.

    Attributes:
        name: for people.
        codes: the reasons that it can give.
        skipped: why it was omitted; empty if it was done.
    """

    name: str
    codes: tuple[Code, ...]
    skipped: str = ""


@dataclass(frozen=True)
class ClosestApproach:
    """The time of the minimum distance of a motion.

    Attributes:
        time: seconds after the start.
        q: (nq,) configuration.
        pair: the two links.
        distance: metres, signed.
        points: (2, 3) nearest points of the two, base frame.
        starts: source and start, seconds, of each simultaneous motion whose start is a range.
        at_least: certified lower bound of all distances over the motion, metres.
        exact: measured between meshes and other shapes; otherwise between leaves, which enclose
            these.
    """

    time: float
    q: np.ndarray
    pair: tuple[str, str]
    distance: float
    points: np.ndarray
    starts: tuple[tuple[str, float], ...] = ()
    at_least: float = -np.inf
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Companion:
    """Result of a motion that ran at the same time as the verified one.

    Attributes:
        source: where it is from.
        earliest, latest: it begins at some instant between these, seconds.
        violations: of its joint limits and, if it follows a line, of that; in the time of the
            verified motion, for a start at ``earliest``.
        limits: result of the check of its limits, in its own time.
    """

    source: str
    earliest: float
    latest: float
    violations: tuple[Violation, ...]
    limits: LimitsCheck


@dataclass(frozen=True, eq=False)
class Verification:
    """Result of verifying one motion.

    Attributes:
        source: where the motion is from.
        robot: name.
        verdict: result.
        reason: why it could not be checked; otherwise empty.
        duration: of the motion, seconds.
        seconds: duration of the verification.
        violations: by urgency.
        notes: assumptions and omissions, sentences.
        checks: done and omitted checks.
        limits, torques, clearance: their results; None if skipped.
        worst: time of the minimum distance, or None.
        companions: simultaneous motions.
    """

    source: str
    robot: str
    verdict: Verdict
    reason: str = ""
    duration: float = 0.0
    seconds: float = 0.0
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    limits: LimitsCheck | None = None
    torques: TorqueCheck | None = None
    clearance: ClearanceCheck | None = None
    worst: ClosestApproach | None = None
    companions: tuple[Companion, ...] = ()
