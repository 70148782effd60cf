# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a motion is free of collision at every instant, where it is not, or not known to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.clearance_scan import LIMITS
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.clearance.clearance_series import (
    ClearanceSeries,
    Study,
    series_of,
    study,
)
from collision_monitor.verification.clearance.mesh_level import Decider
from collision_monitor.verification.clearance.schedule import Scheduled
from collision_monitor.verification.progress import Told, silent

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_CODES = (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN)
_INSTANT = 1e-3  # s to which is told when something begins
_SHOWN = 5  # instants in a text


class Verdict(str, Enum):
    """What is known of collisions between links."""

    FREE = "free"
    COLLIDES = "collides"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class ClearanceCheck:
    """The answer of `check_clearance`.

    Attributes:
        verdict: FREE is certain at every instant; UNDECIDED where links come so near that no bound
            tells, and nothing collides elsewhere.
        at_least: no pair is ever nearer than this, metres; with exact pairs, their meshes.
        time: seconds, of the first collision, else of the least distance.
        pair: the two links of that.
        violations: collisions and thresholds, the worst pair first.
        series: clearance of all pairs over time.
    """

    verdict: Verdict
    at_least: float
    time: float
    pair: tuple[str, str]
    violations: tuple[Violation, ...]
    series: ClearanceSeries

    @property
    def ok(self) -> bool:
        """Whether there is nothing but warnings."""
        return all(violation.warning for violation in self.violations)


def check_clearance(
    model: CollisionModel,
    motion: Trajectory | Scheduled | Sequence[Trajectory | Scheduled],
    thresholds: Thresholds | None = None,
    *,
    held: Mapping[str, float] | None = None,
    exact: Decider | bool = False,
    exact_pairs: Sequence[int] | None = None,
    bins: int = 400,
    accuracy: float = 1e-3,
    resolution: float = 1e-5,
    threads: int = 0,
    told: Told = silent,
) -> ClearanceCheck:
    """Check the clearance of all pairs at every instant of a motion.

    Arguments and errors are those of `clearance_series`; ``told`` hears how far it is.
    """
    given = study(model, motion, thresholds, held, exact, accuracy, resolution, threads, told)
    series = series_of(given, bins, exact_pairs)
    rank = {links: k for k, links in enumerate(series.pairs)}
    violations = []
    for pair in series.minima:
        violations += _violations(given, series, rank[pair.links])
    collisions = [v for v in violations if v.code is Code.COLLISION]
    worst = min(series.minima, key=lambda pair: pair.lower)
    time, links = worst.time, worst.links
    if collisions:
        first = min(collisions, key=lambda violation: violation.first)
        time, verdict = first.first, Verdict.COLLIDES
        links = next(p for p in series.pairs if _subject(p) == first.subject)
    else:
        verdict = Verdict.FREE if worst.lower >= 0.0 else Verdict.UNDECIDED
    return ClearanceCheck(verdict, worst.lower, time, links, tuple(violations), series)


def _subject(links: tuple[str, str]) -> str:
    return f"{links[0]} - {links[1]}"


def _violations(given: Study, series: ClearanceSeries, k: int) -> list[Violation]:
    """The gravest threshold that pair ``k`` breaks, and where it is not known to keep one."""
    upper, lower = series.upper[:, k], series.lower[:, k]
    limits = series.limits[k]
    broken = [m for m in range(LIMITS) if (upper < limits[m]).any() and _counts(limits, m)]
    found = []
    if broken:
        firsts = {m: _first(given, series, k, float(limits[m])) for m in broken}
        gravest, at = broken[0], int(upper.argmin())
        others = [
            f"below {limits[m]:g} m ({_CODES[m].value}) from {firsts[m]:.3f} s"
            for m in broken[:0:-1]
            if firsts[m] < firsts[gravest]
        ]
        level = "between meshes" if series.exact[k] else "between leaves, which enclose the links"
        found.append(
            _violation(
                _CODES[gravest], series, k, firsts[gravest], float(series.when[at, k]),
                float(upper[at]), float(limits[gravest]), gravest == LIMITS - 1,
                "; ".join([level, *others]),
            )
        )  # fmt: skip
    for m in range(LIMITS):
        if m in broken or not _counts(limits, m):
            continue
        unknown = np.flatnonzero((lower < limits[m]) & (upper >= limits[m]))
        if len(unknown):
            doubts = series.doubts[unknown, k]
            times = np.where(np.isnan(doubts), series.when[unknown, k], doubts)
            at = unknown[lower[unknown].argmin()]
            shown = ", ".join(f"{time:.3f}" for time in times[:_SHOWN])
            more = f" and {len(times) - _SHOWN} more" if len(times) > _SHOWN else ""
            found.append(
                _violation(
                    Code.UNDECIDED, series, k, float(times[0]),
                    float(times[list(unknown).index(at)]), float(lower[at]), float(limits[m]),
                    _CODES[m] is Code.CLEARANCE_WARN,
                    f"not told from {limits[m]:g} m ({_CODES[m].value}) at {shown} s{more}",
                )
            )  # fmt: skip
            break
    return found


def _counts(limits: np.ndarray, m: int) -> bool:
    """Whether a threshold is one of its own: stop and warn may be 0."""
    return m == 0 or limits[m] > limits[m - 1]


def _violation(
    code: Code, series: ClearanceSeries, k: int, first: float, worst: float, value: float,
    limit: float, warning: bool, text: str,
) -> Violation:  # fmt: skip
    return Violation(
        code, _subject(series.pairs[k]), first, worst, value, limit, "m", warning, text
    )


def _first(given: Study, series: ClearanceSeries, k: int, limit: float) -> float:
    """Seconds at which pair ``k`` is below ``limit`` first, to `_INSTANT`."""
    b = int(np.flatnonzero(series.upper[:, k] < limit)[0])
    level = given.exact if series.exact[k] else given.scanner
    first = level.first_below(
        given.schedule, k, limit, series.edges[b], series.edges[b + 1], _INSTANT
    )
    return min(float(first), float(series.when[b, k]))
