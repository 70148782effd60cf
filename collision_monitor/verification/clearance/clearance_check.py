# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Certified clearance check of a motion: free, colliding or undecided.

`ClearanceSeries` has a measured upper and a certified lower bound of every pair over time.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.common.files import write_text
from collision_monitor.common.text import shortened
from collision_monitor.continuous.clearance_scan import RESOLUTION, Precision
from collision_monitor.continuous.pair_sweep import witness
from collision_monitor.errors import ConfigurationError
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.check import Outcome, Task, VerificationCheck
from collision_monitor.verification.clearance.scanner import (
    LIMITS,
    ONLY_THRESHOLDS,
    Progress,
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
from collision_monitor.verification.clearance.shape_scanner import ShapeScanner
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
        pair: the two links, as in ``model.pairs``.
        lower: certified lower bound of the distance.
        distance: the measured distance at ``time``, signed.
        time: seconds after the start.
        q: (nq,) configuration there.
        points: (2, 3) nearest points there, one on each link.
        leaves: indices of the two leaves, (-1, -1) if ``exact``.
        exact: measured between meshes; otherwise between leaves, which enclose them.
    """

    pair: tuple[str, str]
    lower: float
    distance: float
    time: float
    q: np.ndarray
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
        joint_names: of the columns of their configurations.
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
    joint_names: tuple[str, ...]
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
        rank = {pair: k for k, pair in enumerate(self.pairs)}
        columns = [rank[minimum.pair] for minimum in self.minima]
        names = [f"{a} - {b}" for a, b in (self.pairs[k] for k in columns)]
        header = ["from", "to", *(f"{n} {side}" for n in names for side in ("lower", "upper"))]
        values = np.empty((len(self.edges) - 1, 2 + 2 * len(columns)))
        values[:, 0], values[:, 1] = self.edges[:-1], self.edges[1:]
        values[:, 2::2], values[:, 3::2] = self.lower[:, columns], self.upper[:, columns]
        rows = [[f"{value:.9g}" for value in row] for row in values.tolist()]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([header, *rows])
        try:
            write_text(path, text.getvalue())
        except OSError as error:
            raise ConfigurationError(f"{path}: cannot be written: {error.strerror}") from None


def _series(
    scanner: Scanner, by_shapes: ShapeScanner | None, request: ScanRequest, exact: bool,
    exact_pairs: Sequence[int],
) -> ClearanceSeries:  # fmt: skip
    """The clearance of all pairs over the motion.

    By shapes of ``exact_pairs``, and, if ``exact``, where leaves do not do.
    """
    schedule, pairs, scan = request.schedule, scanner.model.pairs, scanner.scan(request)
    by_shape = exact & (scan.lows.min(axis=0) < request.limits.max(axis=1))
    by_shape[list(exact_pairs)] = True
    columns = np.flatnonzero(by_shape)
    if len(columns):
        scan.put(columns, by_shapes.scan(replace(request, pairs=columns), scan.lows[:, columns]))
    minima = []
    for pair, (time, leaves) in enumerate(
        zip(scan.times.tolist(), scan.leaves.tolist(), strict=True)
    ):
        q = schedule.configuration(time)
        if by_shape[pair]:
            points = by_shapes.measure(q, pair)[1]
        else:
            points = np.array(witness(*scanner.arrays, q, *leaves)[1:7]).reshape(2, 3)
        lower, distance = float(scan.lows[:, pair].min()), float(scan.best[pair])
        minima.append(
            PairClearance(
                pairs[pair], lower, distance, time, q, points, tuple(leaves), bool(by_shape[pair])
            )
        )
    minima.sort(key=lambda minimum: (minimum.distance, minimum.lower))
    return ClearanceSeries(
        tuple(pairs), request.edges, scan.lows, scan.ups, scan.when, scan.doubts, by_shape,
        request.limits, tuple(minima), tuple(scanner.model.joint_names),
        tuple(scan.looks.tolist()),
    )  # fmt: skip


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
    limits, scanner = pair_limits(model, thresholds), Scanner(model, progress)
    by_shapes = ShapeScanner(model, progress) if exact or len(exact_pairs) else None
    schedule = Schedule(model, motion, held)
    precision = Precision(accuracy, _SHARE, _BIN_SHARE, resolution)
    request = ScanRequest(schedule, schedule.bins(bins), limits, precision, threads=threads)
    series = _series(scanner, by_shapes, request, exact, exact_pairs)
    moved = moved_relatively(model, schedule.moving())
    rank = {pair: k for k, pair in enumerate(series.pairs)}
    violations = []
    for minimum in series.minima:
        k = rank[minimum.pair]
        by = by_shapes if minimum.exact else scanner
        violations += _violations(series, k, schedule, by, bool(moved[k]))
    collisions = [v for v in violations if v.code is Code.COLLISION]
    worst = min(series.minima, key=lambda minimum: minimum.lower)
    time, pair = worst.time, worst.pair
    if collisions:
        first = min(collisions, key=lambda violation: violation.first)
        time, verdict = first.first, CollisionVerdict.COLLIDES
        pair = next(p for p in series.pairs if " - ".join(p) == first.subject)
    else:
        verdict = CollisionVerdict.FREE if worst.lower >= 0.0 else CollisionVerdict.UNDECIDED
    return ClearanceCheck(verdict, worst.lower, time, pair, tuple(violations), series)


def _violations(
    series: ClearanceSeries, pair: int, schedule: Schedule, scanner: Scanner, moved: bool
) -> list[Violation]:
    """The smallest threshold that ``pair`` violates, and the first that is undecided.

    ``scanner`` measured the pair; ``moved``: whether its relative pose changes.
    """
    limits, subject = series.limits[pair], " - ".join(series.pairs[pair])
    # Stop and warn thresholds of 0 are not separate thresholds.
    counted = [m for m in range(LIMITS) if m == 0 or limits[m] > limits[m - 1]]
    broken = [m for m in counted if (series.upper[:, pair] < limits[m]).any()]
    violations = []
    if broken:
        firsts = {m: _first(series, pair, schedule, scanner, float(limits[m])) for m in broken}
        gravest, at = broken[0], int(series.upper[:, pair].argmin())
        texts = [
            "between meshes" if series.exact[pair] else "between leaves, which enclose the links"
        ]
        texts += [
            f"below {limits[m]:g} m ({CODES[m].value}) from {firsts[m]:.3f} s"
            for m in broken[:0:-1]
            if firsts[m] < firsts[gravest]
        ]
        if gravest == 0 and not moved:
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


def _first(
    series: ClearanceSeries, pair: int, schedule: Schedule, scanner: Scanner, limit: float
) -> float:
    """First time at which ``pair`` is below ``limit``, seconds, to `INSTANT`."""
    b = int(np.flatnonzero(series.upper[:, pair] < limit)[0])
    first = scanner.first_below(schedule, pair, limit, *series.edges[b : b + 2], INSTANT)
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
        self._by_shapes = ShapeScanner(model) if exact else None

    def certify(self, schedule: Schedule, margin: float = 0.0) -> bool:
        """Whether all pairs are certified to keep ``margin`` metres over the motion."""
        limits = np.full((len(self.scanner.model.pairs), LIMITS), np.inf)
        limits[:, 0] = margin
        edges = np.array([schedule.begin, schedule.end])
        request = ScanRequest(schedule, edges, limits, ONLY_THRESHOLDS, threads=1)
        candidates = np.flatnonzero(self.scanner.scan(request).lows[0] < margin).tolist()
        if self._by_shapes is None:
            return not candidates
        return all(
            self._by_shapes.keeps(schedule, pair, margin, schedule.begin, schedule.end, INSTANT)
            for pair in candidates
        )


# -- the check of `verify` --


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
    return Outcome(clearance.violations, results={"clearance": clearance})


DISTANCES = VerificationCheck(
    "distances between links",
    (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN, Code.UNDECIDED),
    _check_distances,
)
