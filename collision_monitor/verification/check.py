# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a check of a verification is: a name, when it applies, and a function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.joint_limits import JointLimits
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from collision_monitor.verification.progress import Told
from collision_monitor.verification.settings import Settings

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


@dataclass(frozen=True, eq=False)
class Task:
    """What is verified.

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
    """What a check found.

    Attributes:
        violations: of its codes.
        notes: what was taken for granted or left out, sentences.
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
