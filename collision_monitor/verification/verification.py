# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a verification, its checks, and its result: the verdict with violations."""

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
from collision_monitor.verification.clearance.scanner import Told
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from collision_monitor.verification.joint_limits_check import LimitsCheck
from collision_monitor.verification.torques.actuators import Drives
from collision_monitor.verification.torques.torque_check import TorqueCheck

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

METHODS = ("continuous", "two-level")
_GRAVEST = (Code.COLLISION, Code.UNDECIDED, Code.CLEARANCE_STOP)


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
        every_pair_exact: measure the shapes of all pairs over the whole motion.
        method: of distances: "continuous", or "two-level" (`clearance.two_level`), which decides
            whether thresholds are kept and measures no curves.
        from_rest: the robot stands before and after the motion.
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
    beside: Sequence[Beside] = ()

    def __post_init__(self) -> None:
        """Refuse a method that there is not."""
        if self.method not in METHODS:
            raise ConfigurationError(
                f"method {self.method!r} is not one of {', '.join(METHODS)}"
            )


@dataclass(frozen=True, eq=False)
class Task:
    """Input of the checks.

    Attributes:
        model: the robot and its scene.
        motion: as it was read.
        settings: as they were given.
        limits: of joints, by name.
        parts: the motion, then those of ``settings.beside``, each with the joints that it moves.
        schedule: all parts together.
        told: reports progress.
    """

    model: CollisionModel
    motion: LoadedMotion
    settings: Settings
    limits: Mapping[str, JointLimits]
    parts: Sequence[Scheduled]
    schedule: Schedule
    told: Told


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
    """One of the checks that `verify.CHECKS` lists.

    Attributes:
        name: for people, in JSON and JUnit.
        codes: the reasons that it can give.
        run: the check.
        skipped: why it does not apply; empty when it does.
        is_first: it is quick, and runs before the others.
    """

    name: str
    codes: tuple[Code, ...]
    run: Callable[[Task], Outcome]
    skipped: Callable[[Task], str] = lambda task: ""
    is_first: bool = False


def later(violation: Violation, seconds: float) -> Violation:
    """The violation of a motion that begins ``seconds`` later."""
    return replace(
        violation, first=violation.first + seconds, worst=violation.worst + seconds
    )


class Verdict(str, Enum):
    """What may be done with a motion."""

    SAFE = "safe"
    NOT_SAFE = "not safe"
    NOT_CHECKED = "could not be checked"

    @property
    def exit_code(self) -> int:
        """0, 1 or 2, for scripts."""
        return list(Verdict).index(self)


def verdict_of(violations: Iterable[Violation]) -> Verdict:
    """Not safe if any violation is more than a warning; undecided counts as not safe."""
    return Verdict.NOT_SAFE if any(not v.warning for v in violations) else Verdict.SAFE


def by_urgency(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Violations before warnings, collisions first, then by time."""

    def urgency(v: Violation) -> tuple:
        grave = _GRAVEST.index(v.code) if v.code in _GRAVEST else len(_GRAVEST)
        return v.warning, grave, v.first, v.code.value, v.subject

    return tuple(sorted(violations, key=urgency))


@dataclass(frozen=True)
class Check:
    """One of the checks.

    Attributes:
        name: for people.
        codes: the reasons that it can give.
        skipped: why it was not done; empty when it was.
    """

    name: str
    codes: tuple[Code, ...]
    skipped: str = ""


@dataclass(frozen=True)
class Moment:
    """The nearest moment of a motion.

    Attributes:
        time: seconds into it.
        q: (nq,) configuration.
        pair: the two links.
        distance: metres, signed.
        points: (2, 3) nearest points of the two, base frame.
        starts: source and start, seconds, of each motion beside whose start is a range.
        at_least: metres: certified lower bound of all distances at all instants.
        exact: between meshes and other shapes; else between leaves, which enclose these.
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
    """A motion that ran beside the verified one.

    Attributes:
        source: where it is from.
        earliest, latest: it begins at some instant between these, seconds.
        violations: of limits of its joints and, where it follows a line, of that; in the time of
            the verified motion, where it begins at ``earliest``.
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
        verdict: whether it may be sent.
        reason: why it could not be checked; else empty.
        duration: of the motion, seconds.
        seconds: that verifying took.
        violations: by urgency.
        notes: assumptions and omissions, sentences.
        checks: those that were done, and those that were skipped.
        limits, torques, clearance: their results; None if skipped.
        worst: the nearest moment, or None.
        companions: motions that ran beside it.
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
    worst: Moment | None = None
    companions: tuple[Companion, ...] = ()
