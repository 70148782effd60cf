# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The one word that a verification comes to."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from collision_monitor.motion.violation import Code, Violation


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
    """Not safe with any violation that is no mere warning: what is undecided is not safe."""
    return Verdict.NOT_SAFE if any(not v.warning for v in violations) else Verdict.SAFE


_GRAVEST = (Code.COLLISION, Code.UNDECIDED, Code.CLEARANCE_STOP)


def by_urgency(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """What makes a motion unsafe before what only warns, collisions first, then the earlier."""

    def urgency(v: Violation) -> tuple:
        grave = _GRAVEST.index(v.code) if v.code in _GRAVEST else len(_GRAVEST)
        return v.warning, grave, v.first, v.code.value, v.subject

    return tuple(sorted(violations, key=urgency))
