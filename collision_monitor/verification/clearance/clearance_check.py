# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a motion is free of collision at every instant, where it is not, or not known to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.common.text import shortened
from collision_monitor.continuous.clearance_scan import LIMITS, Wanted
from collision_monitor.errors import ConfigurationError
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.clearance.clearance_series import (
    ClearanceSeries,
    ClearanceSettings,
    Study,
)
from collision_monitor.verification.clearance.mesh_level import Decider, exact_level
from collision_monitor.verification.clearance.scanner import Scanner, ScanRequest, Told, silent
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_CODES = (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN)
_INSTANT = 1e-3  # s, accuracy of the first time below a threshold
_NO_SERIES = 1e9  # m: how near bounds are to the distance does not matter
_SHOWN = 5  # instants in a text


class CollisionVerdict(str, Enum):
    """Whether links collide, as far as it is known."""

    FREE = "free"
    COLLIDES = "collides"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class ClearanceCheck:
    """Result of `check_clearance`.

    Attributes:
        verdict: FREE is certified at every instant; UNDECIDED if links come too near for the bounds
            to decide, and no collision is found.
        at_least: no pair is ever nearer than this, metres; with exact pairs, their meshes.
        time: seconds, of the first collision, else of the least distance.
        pair: the two links of that.
        violations: collisions and thresholds, the worst pair first.
        series: clearance of all pairs over time.
    """

    verdict: CollisionVerdict
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
    told: Told = silent,
    **settings: Any,
) -> ClearanceCheck:
    """Check the clearance of all pairs at every instant of a motion.

    Arguments and errors are those of `clearance_series`; ``told`` is called with the progress.
    """
    study = Study(model, motion, thresholds, ClearanceSettings(**settings), told)
    series = study.series()
    rank = {links: k for k, links in enumerate(series.pairs)}
    violations = []
    for pair in series.minima:
        violations += _violations(study, series, rank[pair.links])
    collisions = [v for v in violations if v.code is Code.COLLISION]
    worst = min(series.minima, key=lambda pair: pair.lower)
    time, links = worst.time, worst.links
    if collisions:
        first = min(collisions, key=lambda violation: violation.first)
        time, verdict = first.first, CollisionVerdict.COLLIDES
        links = next(p for p in series.pairs if " - ".join(p) == first.subject)
    else:
        verdict = CollisionVerdict.FREE if worst.lower >= 0.0 else CollisionVerdict.UNDECIDED
    return ClearanceCheck(verdict, worst.lower, time, links, tuple(violations), series)


def _violations(study: Study, series: ClearanceSeries, k: int) -> list[Violation]:
    """The smallest threshold that pair ``k`` violates, and the first that is undecided."""
    limits, subject = series.limits[k], " - ".join(series.pairs[k])
    # Stop and warn may be 0, and are no thresholds of their own then.
    counted = [m for m in range(LIMITS) if m == 0 or limits[m] > limits[m - 1]]
    broken = [m for m in counted if (series.upper[:, k] < limits[m]).any()]
    found = []
    if broken:
        firsts = {m: _first(study, series, k, float(limits[m])) for m in broken}
        gravest, at = broken[0], int(series.upper[:, k].argmin())
        texts = ["between meshes" if series.exact[k] else "between leaves, which enclose the links"]
        texts += [
            f"below {limits[m]:g} m ({_CODES[m].value}) from {firsts[m]:.3f} s"
            for m in broken[:0:-1]
            if firsts[m] < firsts[gravest]
        ]
        worst, value = float(series.when[at, k]), float(series.upper[at, k])
        found.append(
            Violation(
                _CODES[gravest], subject, firsts[gravest], worst, value, float(limits[gravest]),
                "m", _CODES[gravest] is Code.CLEARANCE_WARN, "; ".join(texts),
            )
        )  # fmt: skip
    for m in counted:
        lower, upper = series.lower[:, k], series.upper[:, k]
        unknown = np.flatnonzero((lower < limits[m]) & (upper >= limits[m]))
        if m not in broken and len(unknown):
            doubts = series.doubts[unknown, k]
            times = np.where(np.isnan(doubts), series.when[unknown, k], doubts)
            nearest = lower[unknown].argmin()
            shown = shortened([f"{time:.3f} s" for time in times], _SHOWN)
            text = f"not told from {limits[m]:g} m ({_CODES[m].value}) at {shown}"
            found.append(
                Violation(
                    Code.UNDECIDED, subject, float(times[0]), float(times[nearest]),
                    float(lower[unknown][nearest]), float(limits[m]), "m",
                    _CODES[m] is Code.CLEARANCE_WARN, text,
                )
            )  # fmt: skip
            break
    return found


def _first(study: Study, series: ClearanceSeries, k: int, limit: float) -> float:
    """Seconds at which pair ``k`` is below ``limit`` first, to `_INSTANT`."""
    b = int(np.flatnonzero(series.upper[:, k] < limit)[0])
    level = study.exact if series.exact[k] else study.scanner
    first = level.first_below(
        study.schedule, k, limit, series.edges[b], series.edges[b + 1], _INSTANT
    )
    return min(float(first), float(series.when[b, k]))


class Certifier:
    """Certifies motions of one model; for one thread.

    The two levels of Gao, Li and Yuan (Computer Simulation 39(6), 2022), for all links: leaves
    with bounds of their way, and the shapes of those pairs for which that is not enough.
    """

    def __init__(
        self,
        model: CollisionModel,
        exact: Decider | bool = True,
        resolution: float = 1e-5,
        instant: float = 1e-4,
    ) -> None:
        """Prepare for any number of motions.

        Args:
            model: the robot and its scene.
            exact: whether pairs that leaves do not clear are measured between shapes; or a
                function that measures them.
            resolution: metres; distances within this of the margin count as touching it.
            instant: seconds; shorter pieces of a motion are not divided.

        Raises:
            ConfigurationError: a number that is not above 0.
        """
        for name, value in (("resolution", resolution), ("instant", instant)):
            if not (np.isfinite(value) and value > 0.0):
                raise ConfigurationError(f"{name}: {value!r} is not a number above 0")
        self.scanner = Scanner(model)
        self._level = exact_level(self.scanner, exact, depth=False)
        self._wanted = Wanted(_NO_SERIES, 0.0, 0.0, resolution)
        self._instant = instant

    def suspects(self, schedule: Schedule, margin: float = 0.0) -> list[int]:
        """Pairs that leaves alone do not show to keep ``margin`` metres, as indices."""
        limits = np.full((len(self.scanner.model.pairs), LIMITS), np.inf)
        limits[:, 0] = margin
        edges = np.array([schedule.begin, schedule.end])
        lows = self.scanner.bounds(ScanRequest(schedule, edges, limits, self._wanted))
        return np.flatnonzero(lows[0] < margin).tolist()

    def certify(self, schedule: Schedule, margin: float = 0.0) -> bool:
        """Whether all pairs keep ``margin`` metres at every instant, and that is certain."""
        suspects = self.suspects(schedule, margin)
        if not suspects or self._level is None:
            return not suspects
        return all(
            self._level.keeps(schedule, pair, margin, schedule.begin, schedule.end, self._instant)
            for pair in suspects
        )
