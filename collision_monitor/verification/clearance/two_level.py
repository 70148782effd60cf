# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The two-level check of a motion (Gao, Li, Yuan, Computer Simulation 39(6), 2022), for any robot.

The first level bisects the motion, and certifies parts of it by the leaves, which enclose the
links, with bounds of their travel (`clearance_scan`). Pairs that it does not certify are suspects
between those points of the motion where their leaves are too near. The second level decides them by
the shapes.

The paper tests the tip of an arm against one obstacle, and suspects only at their points. Here all
pairs are checked, and suspects are decided over the whole interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.common.text import counted, shortened
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.clearance.scanner import (
    LIMITS,
    ONLY_THRESHOLDS,
    Scanner,
    ScanRequest,
)
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled
from collision_monitor.verification.clearance.shape_scanner import ShapeScanner

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

STEP = 0.1  # s between points, as in the paper; a motion may have more
CODES = (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN)
INSTANT = 1e-4  # s: shorter intervals are not divided; the accuracy of times


@dataclass(frozen=True)
class Suspect:
    """A pair of links that the first level does not certify from ``first`` to ``last`` seconds."""

    pair: tuple[str, str]
    first: float
    last: float


@dataclass(frozen=True)
class TwoLevelCheck:
    """Result of `check_two_levels`.

    Attributes:
        tests: number of configurations at which the first level measured clearances.
        points: number of points of the motion.
        suspects: intervals that it did not certify.
        violations: of stop distances, and warnings; none if the second level certified all
            suspects.
    """

    tests: int
    points: int
    suspects: tuple[Suspect, ...]
    violations: tuple[Violation, ...]

    @property
    def text(self) -> str:
        """Summary of both levels, one sentence."""
        begin = f"two-level check: {counted(self.tests, 'test')} for {self.points} points"
        if not self.suspects:
            return f"{begin} certified the motion"
        pairs = sorted({" - ".join(suspect.pair) for suspect in self.suspects})
        first = min(suspect.first for suspect in self.suspects)
        last = max(suspect.last for suspect in self.suspects)
        return (
            f"{begin} left {counted(len(pairs), 'pair')} to the second level, between "
            f"{first:.3f} s and {last:.3f} s: {shortened(pairs)}"
        )


def pair_limits(model: CollisionModel, thresholds: Thresholds | None) -> np.ndarray:
    """(pairs, 3) metres: 0, stop and warn of each pair.

    Raises:
        ThresholdsError: the thresholds do not fit the model.
        NothingToCheckError: the model has no checked pair.
    """
    if not model.pairs:
        model.min_distances(np.zeros((0, len(model.joint_names))))  # raises the reason
    both = (thresholds or Thresholds()).of(model.pairs, left_out=model.unmonitored_pairs)
    return np.pad(both, ((0, 0), (1, 0)))


def check_two_levels(
    model: CollisionModel,
    motion: Trajectory | Scheduled | Sequence[Trajectory | Scheduled],
    thresholds: Thresholds | None = None,
    exact: bool = True,
) -> TwoLevelCheck:
    """Check whether all pairs of links keep their distances over a motion, with few tests.

    Args:
        model: the robot and its scene.
        motion: a trajectory, or several simultaneous ones, each with a known start.
        thresholds: stop and warn distances.
        exact: decide suspects by the shapes; otherwise all of them remain undecided.

    Raises:
        TrajectoryError, ThresholdsError: invalid arguments.
        NothingToCheckError: the model has no checked pair.
    """
    limits = pair_limits(model, thresholds)
    schedule, scanner = Schedule(model, motion), Scanner(model)
    tests, points, intervals = _first_level(scanner, schedule, limits)
    second = ShapeScanner(model) if exact else None
    suspects: list[Suspect] = []
    violations: dict[int, Violation] = {}
    for m, pair, low, high in intervals:
        suspects.append(Suspect(model.pairs[pair], low, high))
        if pair in violations:
            continue
        violation = _decide(second, schedule, suspects[-1], pair, float(limits[pair, m]), CODES[m])
        if violation is not None:
            violations[pair] = violation
    return TwoLevelCheck(tests, points, tuple(suspects), tuple(violations.values()))


def _first_level(
    scanner: Scanner, schedule: Schedule, limits: np.ndarray
) -> tuple[int, int, list[tuple[int, int, float, float]]]:
    """(tests, points, intervals (limit, pair, first, last)) that leaves do not certify; seconds.

    ``limits`` (pairs, 3): 0, stop and warn of each pair, metres. The gravest limit comes first.
    """
    ends = np.array([schedule.begin, schedule.end])
    whole = scanner.scan(ScanRequest(schedule, ends, limits, ONLY_THRESHOLDS, threads=1))
    breaks = sum(len(part.trajectory.times) for part in schedule.parts)
    edges = schedule.bins(max(math.ceil((schedule.end - schedule.begin) / STEP), breaks))
    tests, chosen = int(whole.looks[0]), np.flatnonzero(whole.lows[0] < limits.max(axis=1))
    intervals: list[tuple[int, int, float, float]] = []
    if not len(chosen):
        return tests, len(edges), intervals
    scan = scanner.scan(ScanRequest(schedule, edges, limits, ONLY_THRESHOLDS, chosen, 1))
    times = edges.tolist()
    for m in range(LIMITS):
        for column, pair in enumerate(chosen.tolist()):
            if m and not limits[pair, m] > limits[pair, m - 1]:
                continue  # not a separate limit
            near = np.pad(scan.lows[:, column] < limits[pair, m], 1).astype(int)
            steps = np.diff(near)
            for first, last in zip(
                np.flatnonzero(steps > 0), np.flatnonzero(steps < 0), strict=True
            ):
                intervals.append((m, pair, times[first], times[last]))
    return tests + int(scan.looks[0]), len(edges), intervals


def _decide(
    by_shapes: ShapeScanner | None,
    schedule: Schedule,
    suspect: Suspect,
    pair: int,
    limit: float,
    code: Code,
) -> Violation | None:
    """The violation of a suspect; None if its shapes keep ``limit`` metres."""
    low, high = suspect.first, suspect.last
    subject, warning = " - ".join(suspect.pair), code is Code.CLEARANCE_WARN
    if by_shapes is None:
        text = "leaves are too near; the shapes were not measured"
        return Violation(Code.UNDECIDED, subject, low, low, math.nan, limit, "m", warning, text)
    if by_shapes.keeps(schedule, pair, limit, low, high, INSTANT):
        return None
    time = by_shapes.first_below(schedule, pair, limit, low, high, INSTANT)
    if math.isinf(time):
        text = f"cannot be distinguished from {limit:g} m"
        return Violation(Code.UNDECIDED, subject, low, low, math.nan, limit, "m", warning, text)
    distance = by_shapes.measure(schedule.configuration(time), pair)[0]
    return Violation(code, subject, time, time, distance, limit, "m", warning, "between meshes")
