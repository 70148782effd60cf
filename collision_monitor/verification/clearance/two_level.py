# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The two-level check of a motion (Gao, Li, Yuan, Computer Simulation 39(6), 2022), for any robot.

The first level bisects the motion between its points. An interval is certified for a pair of links
if their maximum approach is less than the sum of their clearances at both ends (Schwarzer, Saha,
Latombe, IEEE Trans. Robotics 21(3), 2005). Clearances are those of the leaves, which enclose the
links. Intervals between neighbouring points that remain are suspects, which the second level
decides by the shapes.

The paper tests the tip of an arm against one obstacle, and suspects only at their points. Here all
pairs are checked, and suspects are decided over the whole interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.common.text import counted, shortened
from collision_monitor.continuous.pair_sweep import ROUNDING
from collision_monitor.errors import TrajectoryError
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.bodies import by_position, largest_slides
from collision_monitor.verification.clearance.mesh_level import ExactLevel, exact_level
from collision_monitor.verification.clearance.scanner import Scanner
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

STEP = 0.1  # s between points, as in the paper; a motion may have more
_INSTANT = 1e-4  # s: shorter intervals are not divided, and remain undecided
_SHOWN = 5  # maximum number of pairs in a message


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
        tests: number of intervals that the first level tested.
        placed: number of points at which it measured clearances.
        points: number of points of the motion.
        suspects: intervals that it did not certify.
        violations: of stop distances, and warnings; none if the second level certified all
            suspects.
    """

    tests: int
    placed: int
    points: int
    suspects: tuple[Suspect, ...]
    violations: tuple[Violation, ...]

    @property
    def text(self) -> str:
        """Summary of both levels, one sentence."""
        begin = (
            f"two-level check: {counted(self.tests, 'test')} with {self.placed} of {self.points} "
            "points placed"
        )
        if not self.suspects:
            return f"{begin} certified the motion"
        pairs = sorted({" - ".join(suspect.pair) for suspect in self.suspects})
        first = min(suspect.first for suspect in self.suspects)
        last = max(suspect.last for suspect in self.suspects)
        return (
            f"{begin} left {counted(len(pairs), 'pair')} to the second level, between "
            f"{first:.3f} s and {last:.3f} s: {shortened(pairs, _SHOWN)}"
        )


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
    if not model.pairs:
        model.min_distances(np.zeros((0, len(model.joint_names))))  # raises the reason
    schedule = Schedule(model, motion)
    if schedule.widths.any():
        raise TrajectoryError(
            "the two-level check needs motions that begin at a known time: give one start, or use "
            "the method continuous"
        )
    both = (thresholds or Thresholds()).of(model.pairs, left_out=model.unmonitored_pairs)
    limits = np.pad(both, ((0, 0), (1, 0)))
    first, second = _FirstLevel(model, schedule), exact_level(Scanner(model), exact)
    suspects: list[Suspect] = []
    violations: dict[int, Violation] = {}
    for m, code in enumerate((Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN)):
        counts = limits[:, m] > limits[:, m - 1] if m else np.ones(len(limits), dtype=bool)
        chosen = np.flatnonzero(counts)
        for pair, low, high in first.candidate_intervals(limits[:, m], chosen):
            suspects.append(Suspect(model.pairs[pair], low, high))
            found = None
            if pair not in violations:
                found = _decide(second, schedule, suspects[-1], pair, float(limits[pair, m]), code)
            if found is not None:
                violations[pair] = found
    return TwoLevelCheck(
        first.tests, len(first.clearances), len(first.edges), tuple(suspects),
        tuple(violations.values()),
    )  # fmt: skip


def _decide(
    level: ExactLevel | None,
    schedule: Schedule,
    suspect: Suspect,
    pair: int,
    limit: float,
    code: Code,
) -> Violation | None:
    """The violation of a suspect; None if its shapes keep ``limit`` metres."""
    low, high = suspect.first, suspect.last
    subject, warning = " - ".join(suspect.pair), code is Code.CLEARANCE_WARN
    if level is None:
        text = "leaves are too near; the shapes were not measured"
        return Violation(Code.UNDECIDED, subject, low, low, math.nan, limit, "m", warning, text)
    if level.keeps(schedule, pair, limit, low, high, _INSTANT):
        return None
    time = level.first_below(schedule, pair, limit, low, high, _INSTANT)
    if math.isinf(time):
        text = f"cannot be distinguished from {limit:g} m"
        return Violation(Code.UNDECIDED, subject, low, low, math.nan, limit, "m", warning, text)
    distance = float(level.decider(schedule.configuration(time), pair, np.inf)[0])
    return Violation(code, subject, time, time, distance, limit, "m", warning, "between meshes")


class _FirstLevel:
    """Bisection of a motion between its points.

    Attributes:
        edges: (n,) times of the points, seconds.
        clearances: (pairs,) leaf distances by index of each measured point, metres.
        tests: number of tested intervals.
    """

    def __init__(self, model: CollisionModel, schedule: Schedule) -> None:
        self._model, self._schedule = model, schedule
        breaks = sum(len(part.trajectory.times) for part in schedule.parts)
        self.edges = schedule.bins(max(math.ceil((schedule.end - schedule.begin) / STEP), breaks))
        self.clearances: dict[int, np.ndarray] = {}
        self.tests = 0
        ways = joint_ways(model, schedule, self.edges)
        self._path_lengths = np.vstack([np.zeros(ways.shape[1]), np.cumsum(ways, axis=0)])
        self._weights = self._pair_weights()

    def _pair_weights(self) -> np.ndarray:
        """(pairs, nq) maximum approach of two links per unit of each joint, metres."""
        model, bodies = self._model, self._model.bodies
        weights = by_position(bodies, model.pair_reach(), len(model.joint_names))
        # The reach is valid for prismatic joints within their limits. Between two points a joint
        # exceeds them at most by half of the difference of its path length and the straight
        # distance.
        q = np.array([self._schedule.configuration(time) for time in self.edges])[:, bodies.columns]
        q = bodies.gains * q + bodies.offsets
        ways = np.abs(bodies.gains) * np.diff(self._path_lengths, axis=0)[:, bodies.columns]
        beyond = 0.5 * np.maximum(ways - np.abs(np.diff(q, axis=0)), 0.0)
        farthest = (np.maximum(np.abs(q[1:]), np.abs(q[:-1])) + beyond).max(axis=0)
        if (bodies.slides & (farthest > largest_slides(bodies) + ROUNDING)).any():
            weights[:] = np.inf
        weights[:, self._path_lengths[-1] == 0.0] = 0.0
        return weights

    def candidate_intervals(
        self, limits: np.ndarray, pairs: np.ndarray
    ) -> list[tuple[int, float, float]]:
        """Intervals (pair, first, last), seconds, in which ``pairs`` are not certified."""
        intervals: dict[int, list[tuple[int, int]]] = {}
        waiting = [(0, len(self.edges) - 1, pairs)] if len(pairs) else []
        while waiting:
            i, j, chosen = waiting.pop()
            self.tests += 1
            travel = self._weights[chosen] @ (self._path_lengths[j] - self._path_lengths[i])
            room = self._place(i)[chosen] + self._place(j)[chosen] - 2.0 * limits[chosen]
            chosen = chosen[~(travel + ROUNDING < room)]
            if j - i > 1 and len(chosen):
                middle = (i + j) // 2
                waiting += [(middle, j, chosen), (i, middle, chosen)]
                continue
            for pair in chosen.tolist():
                runs = intervals.setdefault(pair, [])
                first = runs.pop()[0] if runs and runs[-1][1] == i else i
                runs.append((first, j))
        times = self.edges.tolist()
        return [(pair, times[i], times[j]) for pair, runs in intervals.items() for i, j in runs]

    def _place(self, point: int) -> np.ndarray:
        """Clearances of all pairs at ``point``."""
        if point not in self.clearances:
            q = self._schedule.configuration(self.edges[point])
            self.clearances[point] = self._model.distances(q)
        return self.clearances[point]


def joint_ways(model: CollisionModel, schedule: Schedule, edges: np.ndarray) -> np.ndarray:
    """(len(edges) - 1, nq) upper bound of the path length of each joint between two edges.

    The path length of a polynomial is at most the sum of those of its powers.
    """
    out = np.zeros((len(edges) - 1, len(model.joint_names)))
    for part, start in zip(schedule.parts, schedule.starts, strict=True):
        given = part.trajectory.polynomial
        polynomial = PPoly(given.c, given.x + start)
        low, high = polynomial.x[0], polynomial.x[-1]
        cuts = np.unique(np.concatenate([polynomial.x, edges[(edges > low) & (edges < high)]]))
        steps = np.diff(cuts)
        lengths = np.zeros((len(steps), len(part.trajectory.joint_names)))
        for power in range(1, len(given.c)):
            rates = polynomial.derivative(power)(cuts[:-1])
            lengths += np.abs(rates) * (steps**power / math.factorial(power))[:, None]
        bins = np.clip(np.searchsorted(edges, cuts[:-1], side="right") - 1, 0, len(out) - 1)
        columns = [model.joint_names.index(part.prefix + n) for n in part.trajectory.joint_names]
        for column, values in zip(columns, lengths.T, strict=True):
            np.add.at(out[:, column], bins, values)
    return out
