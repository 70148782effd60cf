# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Certified clearance check of a motion: free, colliding or undecided.

`ClearanceSeries` has a measured upper and a certified lower bound of every pair over time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.common.files import write_text
from collision_monitor.common.text import shortened
from collision_monitor.continuous.clearance_scan import RESOLUTION, Precision, witness
from collision_monitor.errors import ConfigurationError
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.check import Outcome, Task, VerificationCheck
from collision_monitor.verification.clearance.mesh_level import exact_level
from collision_monitor.verification.clearance.scanner import (
    LIMITS,
    ONLY_THRESHOLDS,
    Progress,
    Scan,
    Scanner,
    ScanRequest,
    no_progress,
)
from collision_monitor.verification.clearance.schedule import (
    UNMOVED,
    Schedule,
    Scheduled,
    moved_relatively,
)
from collision_monitor.verification.clearance.two_level import (
    CODES,
    INSTANT,
    check_two_levels,
    pair_limits,
)

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# -- clearance of every pair over time --

_SHARE = 0.01  # relative tolerance of the lower bound of a minimum distance, besides the accuracy
_BIN_SHARE = 0.1  # the same for every bin


@dataclass(frozen=True, eq=False)
class PairClearance:
    """Minimum distance of one pair over a motion; metres, seconds, base frame.

    Attributes:
        links: names, as in ``model.pairs``.
        lower: certified lower bound of the distance.
        upper: the measured distance at ``time``.
        time: seconds.
        points: (2, 3) nearest points there, one on each link.
        leaves: indices of the two leaves, (-1, -1) if ``exact``.
        exact: measured between meshes; otherwise between leaves, which enclose them.
    """

    links: tuple[str, str]
    lower: float
    upper: float
    time: float
    points: np.ndarray
    leaves: tuple[int, int]
    exact: bool


@dataclass(frozen=True, eq=False)
class ClearanceSeries:
    """Clearance over time; rows are bins of time, columns the pairs of the model.

    Attributes:
        pairs: names of links.
        edges: (bins + 1,) seconds.
        lower: (bins, pairs) certified lower bound in the bin, also between samples, metres.
        upper: (bins, pairs) minimum measured distance in the bin, metres.
        when: (bins, pairs) its time, seconds.
        doubts: (bins, pairs) a time, seconds, at which the bounds do not converge; otherwise NaN.
        exact: (pairs,) bool: measured between meshes, otherwise between leaves.
        limits: (pairs, 3) metres: 0, stop and warn of each pair.
        minima: of all pairs, worst first.
        looks: numbers of evaluated configurations, and of evaluated pairs at configurations.
    """

    pairs: tuple[tuple[str, str], ...]
    edges: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    when: np.ndarray
    doubts: np.ndarray
    exact: np.ndarray
    limits: np.ndarray
    minima: tuple[PairClearance, ...]
    looks: tuple[int, int]

    @property
    def times(self) -> np.ndarray:
        """Middles (bins,) of the bins, seconds."""
        return 0.5 * (self.edges[:-1] + self.edges[1:])

    def write_csv(self, path: str | os.PathLike) -> None:
        """Write both envelopes, two columns per pair, worst pair first.

        Distances are in metres. Each row is a bin from ``from`` to ``to`` seconds.

        Raises:
            ConfigurationError: the file cannot be written.
        """
        rank = {links: k for k, links in enumerate(self.pairs)}
        columns = [rank[pair.links] for pair in self.minima]
        names = [f"{a} - {b}" for a, b in (self.pairs[k] for k in columns)]
        header = ["from", "to", *(f"{n} {side}" for n in names for side in ("lower", "upper"))]
        values = np.empty((len(self.edges) - 1, 2 + 2 * len(columns)))
        values[:, 0], values[:, 1] = self.edges[:-1], self.edges[1:]
        values[:, 2::2], values[:, 3::2] = self.lower[:, columns], self.upper[:, columns]
        rows = [",".join(f"{value:.9g}" for value in row) for row in values.tolist()]
        quoted = ",".join(f'"{name}"' if "," in name else name for name in header)
        try:
            write_text(path, "\n".join([quoted, *rows]) + "\n")
        except OSError as error:
            raise ConfigurationError(f"{path}: cannot be written: {error.strerror}") from None


class Study:
    """A motion of a model and its scanners, shared by a series and a check.

    Attributes:
        model, schedule: the robot and its motion.
        limits: (pairs, 3) metres: 0, stop and warn of each pair.
        scanner: distances between leaves.
        exact: measures distances between shapes, or None.
    """

    def __init__(
        self,
        model: CollisionModel,
        motion: Trajectory | Scheduled | Sequence[Trajectory | Scheduled],
        thresholds: Thresholds | None,
        held: Mapping[str, float] | None,
        exact: bool,
        progress: Progress,
    ) -> None:
        self.model = model
        self.limits = pair_limits(model, thresholds)
        self.scanner = Scanner(model)
        self.scanner.progress = progress
        self.exact = exact_level(self.scanner, exact)
        self.schedule = Schedule(model, motion, held)

    @cached_property
    def moved(self) -> np.ndarray:
        """(pairs,) bool: pairs whose relative pose changes during the motion."""
        return moved_relatively(self.model, self.schedule.moving())

    def series(
        self, bins: int, precision: Precision, threads: int, exact_pairs: Sequence[int]
    ) -> ClearanceSeries:
        """Compute the clearance of all pairs over the motion; see `check_clearance`."""
        edges = self.schedule.bins(bins)
        request = ScanRequest(self.schedule, edges, self.limits, precision, threads=threads)
        scan = self.scanner.scan(request)
        is_exact = np.zeros(len(scan.pairs), dtype=bool)
        if self.exact is not None:
            is_exact = scan.lows.min(axis=0) < self.limits.max(axis=1)
            is_exact[np.asarray(exact_pairs, dtype=int)] = True
            columns = np.flatnonzero(is_exact)
            if len(columns):
                by_shapes = self.exact.scan(replace(request, pairs=columns))
                np.maximum(scan.lows[:, columns], by_shapes.lows, out=by_shapes.lows)
                scan.put(columns, by_shapes)
        minima = [self._minimum(scan, k, bool(is_exact[k])) for k in range(len(scan.pairs))]
        minima.sort(key=lambda pair: (pair.upper, pair.lower))
        return ClearanceSeries(
            tuple(self.model.pairs), edges, scan.lows, scan.ups, scan.when, scan.doubts,
            is_exact, self.limits, tuple(minima), tuple(scan.looks.tolist()),
        )  # fmt: skip

    def _minimum(self, scan: Scan, pair: int, exact: bool) -> PairClearance:
        time = float(scan.times[pair])
        q = self.schedule.configuration(time)
        leaves = tuple(scan.leaves[pair].tolist())
        if exact:
            points = self.exact.decider(q, pair, np.inf)[1]
        else:
            points = np.array(witness(*self.scanner.arrays, q, *leaves)[1:7]).reshape(2, 3)
        lower, upper = float(scan.lows[:, pair].min()), float(scan.best[pair])
        return PairClearance(
            self.model.pairs[pair], lower, upper, time, points, leaves, exact
        )


# -- verdict --


class CollisionVerdict(str, Enum):
    """Result of a check: free, colliding or undecided."""

    FREE = "free"
    COLLIDES = "collides"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class ClearanceCheck:
    """Result of `check_clearance`.

    Attributes:
        verdict: FREE is certified over the whole motion; UNDECIDED if links come too close for the
            bounds to decide, and no collision is found.
        at_least: certified lower bound of all distances, metres; between meshes for exact pairs.
        time: time of the first collision, otherwise of the minimum distance, seconds.
        pair: the two links at that time.
        violations: collisions and violated thresholds, worst pair first.
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
        """Whether there are only warnings."""
        return all(violation.warning for violation in self.violations)


def check_clearance(
    model: CollisionModel,
    motion: Trajectory | Scheduled | Sequence[Trajectory | Scheduled],
    thresholds: Thresholds | None = None,
    *,
    held: Mapping[str, float] | None = None,
    exact: bool = False,
    exact_pairs: Sequence[int] = (),
    bins: int = 400,
    accuracy: float = 1e-3,
    resolution: float = RESOLUTION,
    threads: int = 0,
    progress: Progress = no_progress,
) -> ClearanceCheck:
    """Check the clearance of all pairs over a motion, also between samples.

    Args:
        model: the robot, or several composed robots, with obstacles.
        motion: a trajectory, or several simultaneous ones, each with its start.
        thresholds: distances that bounds are compared with, to within ``resolution``.
        held: positions of joints that no motion moves; default 0, or the nearer limit.
        exact: whether pairs whose leaves violate a threshold are measured between their shapes.
        exact_pairs: indices of pairs that are always measured between their shapes.
        bins: approximate number of time bins.
        accuracy: tolerance of the lower bound of a minimum distance, metres, plus 1 % of it; plus
            10 % for a bin. The tolerance of penetration depths is 10 %, and 30 % for a bin.
        resolution: metres; distances within this of a threshold count as touching it.
        threads: number of threads; 0 for all processors.
        progress: called with the step of the check.

    Raises:
        TrajectoryError, ThresholdsError, ConfigurationError: invalid arguments.
        NothingToCheckError: the model has no checked pair.
    """
    for name, value in (("accuracy", accuracy), ("resolution", resolution)):
        if not (np.isfinite(value) and value > 0.0):
            raise ConfigurationError(f"{name}: {value!r} is not a length above 0 m")
    if bins < 1:
        raise ConfigurationError(f"bins: {bins!r} is not a number of 1 or more")
    study = Study(model, motion, thresholds, held, exact, progress)
    precision = Precision(accuracy, _SHARE, _BIN_SHARE, resolution)
    series = study.series(bins, precision, threads, exact_pairs)
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


def _violations(study: Study, series: ClearanceSeries, pair: int) -> list[Violation]:
    """The smallest threshold that ``pair`` violates, and the first that is undecided."""
    limits, subject = series.limits[pair], " - ".join(series.pairs[pair])
    # Stop and warn thresholds of 0 are not separate thresholds.
    counted = [m for m in range(LIMITS) if m == 0 or limits[m] > limits[m - 1]]
    broken = [m for m in counted if (series.upper[:, pair] < limits[m]).any()]
    violations = []
    if broken:
        firsts = {m: _first(study, series, pair, float(limits[m])) for m in broken}
        gravest, at = broken[0], int(series.upper[:, pair].argmin())
        texts = [
            "between meshes" if series.exact[pair] else "between leaves, which enclose the links"
        ]
        texts += [
            f"below {limits[m]:g} m ({CODES[m].value}) from {firsts[m]:.3f} s"
            for m in broken[:0:-1]
            if firsts[m] < firsts[gravest]
        ]
        if gravest == 0 and not study.moved[pair]:
            texts.append(UNMOVED)
        worst, value = float(series.when[at, pair]), float(series.upper[at, pair])
        violations.append(
            Violation(
                CODES[gravest], subject, firsts[gravest], worst, value, float(limits[gravest]),
                "m", CODES[gravest] is Code.CLEARANCE_WARN, "; ".join(texts),
            )
        )  # fmt: skip
    for m in counted:
        lower, upper = series.lower[:, pair], series.upper[:, pair]
        unknown = np.flatnonzero((lower < limits[m]) & (upper >= limits[m]))
        if m not in broken and len(unknown):
            doubts = series.doubts[unknown, pair]
            times = np.where(np.isnan(doubts), series.when[unknown, pair], doubts)
            nearest = lower[unknown].argmin()
            shown = shortened([f"{time:.3f} s" for time in times])
            text = f"cannot be distinguished from {limits[m]:g} m ({CODES[m].value}) at {shown}"
            violations.append(
                Violation(
                    Code.UNDECIDED, subject, float(times[0]), float(times[nearest]),
                    float(lower[unknown][nearest]), float(limits[m]), "m",
                    CODES[m] is Code.CLEARANCE_WARN, text,
                )
            )  # fmt: skip
            break
    return violations


def _first(study: Study, series: ClearanceSeries, pair: int, limit: float) -> float:
    """First time at which ``pair`` is below ``limit``, seconds, to `INSTANT`."""
    b = int(np.flatnonzero(series.upper[:, pair] < limit)[0])
    level = study.exact if series.exact[pair] else study.scanner
    first = level.first_below(
        study.schedule, pair, limit, series.edges[b], series.edges[b + 1], INSTANT
    )
    return min(float(first), float(series.when[b, pair]))


class Certifier:
    """Certifies motions of one model; for use in one thread.

    The two levels of Gao, Li and Yuan (Computer Simulation 39(6), 2022), for all links: leaves with
    bounds of their displacement, and shapes of the pairs for which these are not sufficient.
    """

    def __init__(self, model: CollisionModel, exact: bool = True) -> None:
        """Prepare for any number of motions.

        Args:
            model: the robot and its scene.
            exact: whether pairs that leaves do not certify are measured between shapes.
        """
        self.scanner = Scanner(model)
        self._level = exact_level(self.scanner, exact)

    def certify(self, schedule: Schedule, margin: float = 0.0) -> bool:
        """Whether all pairs are certified to keep ``margin`` metres over the motion."""
        limits = np.full((len(self.scanner.model.pairs), LIMITS), np.inf)
        limits[:, 0] = margin
        edges = np.array([schedule.begin, schedule.end])
        request = ScanRequest(schedule, edges, limits, ONLY_THRESHOLDS, threads=1)
        candidates = np.flatnonzero(self.scanner.scan(request).lows[0] < margin).tolist()
        if self._level is None:
            return not candidates
        return all(
            self._level.keeps(schedule, pair, margin, schedule.begin, schedule.end, INSTANT)
            for pair in candidates
        )


# -- the check of `verify` --


@dataclass(frozen=True)
class ClosestApproach:
    """The time of the minimum distance of a motion.

    Attributes:
        time: seconds after the start.
        q: (nq,) configuration.
        pair: the two links.
        distance: metres, signed.
        points: (2, 3) nearest points of the two, base frame.
        at_least: certified lower bound of all distances over the motion, metres.
        exact: measured between meshes and other shapes; otherwise between leaves, which enclose
            these.
    """

    time: float
    q: np.ndarray
    pair: tuple[str, str]
    distance: float
    points: np.ndarray
    at_least: float = -np.inf
    exact: bool = False


def _check_distances(task: Task) -> Outcome:
    settings = task.settings
    if settings.method == "two-level":
        task.progress("two-level check", 0.0)
        found = check_two_levels(task.model, task.parts, settings.thresholds, settings.exact)
        return Outcome(found.violations, [found.text])
    clearance = check_clearance(
        task.model, task.parts, settings.thresholds, exact=settings.exact,
        progress=task.progress,
        exact_pairs=range(len(task.model.pairs)) if settings.every_pair_exact else (),
    )  # fmt: skip
    results = {"clearance": clearance, "worst": _worst(task, clearance)}
    return Outcome(clearance.violations, results=results)


def _worst(task: Task, clearance: ClearanceCheck) -> ClosestApproach:
    """The time and configuration of the minimum distance."""
    pair = clearance.series.minima[0]
    q = task.schedule.configuration(pair.time)
    return ClosestApproach(
        pair.time, q, pair.links, pair.upper, pair.points, clearance.at_least, pair.exact
    )


DISTANCES = VerificationCheck(
    "distances between links",
    (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN, Code.UNDECIDED),
    _check_distances,
)
