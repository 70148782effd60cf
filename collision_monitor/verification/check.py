# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a verification; input and output of its checks.

A check is a `VerificationCheck` in the file of what it computes, and its name in
`run_checks.CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from collision_monitor.errors import ConfigurationError
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.inertials import Inertial
from collision_monitor.robot.limits import JointLimits
from collision_monitor.verification.clearance.scanner import Progress
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from collision_monitor.verification.torques.actuators import Drives

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

METHODS = ("continuous", "two-level")


@dataclass(frozen=True)
class SimultaneousMotion:
    """A motion that runs at the same time as the verified one.

    Attributes:
        motion: only joints named in its file are used; no other motion may move them.
        start: seconds after the begin of the verified one.
    """

    motion: LoadedMotion
    start: float = 0.0


@dataclass(frozen=True)
class Torques:
    """Settings of torques.

    Attributes:
        inertials: masses of links, as of `robot.inertials.read_inertials`.
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
            raise ConfigurationError(f"method {self.method!r} is not one of {', '.join(METHODS)}")


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
    """One of the checks in `run_checks.CHECKS`.

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
    return replace(violation, first=violation.first + seconds, worst=violation.worst + seconds)
