# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Result of a verification."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from collision_monitor.motion.measured import MeasuredMotion
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.clearance.clearance_check import ClearanceCheck, PairClearance
from collision_monitor.verification.joint_limits_check import LimitsCheck
from collision_monitor.verification.torques.torque_check import TorqueCheck

_MOST_URGENT = (Code.COLLISION, Code.UNDECIDED, Code.CLEARANCE_STOP)


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
        measured: a recording of the motion, to be compared with it.
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
    measured: MeasuredMotion | None = None

    @property
    def worst(self) -> PairClearance | None:
        """The pair with the minimum distance; None if distances were not measured."""
        return self.clearance and self.clearance.series.minima[0]
