# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Multi-threaded scan over a motion of one model (kernels: `clearance_scan`)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.clearance_scan import (
    FINISHED,
    RESOLUTION,
    TOO_NEAR,
    UNDECIDED,
    BinBounds,
    Minima,
    Precision,
    certifying,
    measure,
    no_minima,
    one_bin,
    scan,
)
from collision_monitor.continuous.scan_space import scan_tables
from collision_monitor.verification.clearance.schedule import Schedule

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# (current step, fraction done); called often, from any thread
Progress = Callable[[str, float], None]
# For scans that only decide thresholds: bounds are as far apart as these allow.
ONLY_THRESHOLDS = Precision(accuracy=math.inf, share=0.0, bin_share=0.0, resolution=RESOLUTION)
LIMITS = 3  # thresholds of a pair
_BINS_A_TASK = 16
_LOOKS = 4  # every n-th bin is measured before the scan, to estimate minimum distances


def no_progress(what: str, share: float) -> None:
    """Ignore progress."""


@dataclass(frozen=True, eq=False)
class ScanRequest:
    """Input of a scan.

    Attributes:
        schedule: the motion.
        edges: (bins + 1,) edges of the time bins, seconds.
        limits: (pairs of the model, LIMITS) thresholds in metres, inf for none.
        precision: required accuracy of the bounds.
        pairs: indices into ``model.pairs``; None: all.
        threads: number of threads; 0 for all processors.
    """

    schedule: Schedule
    edges: np.ndarray
    limits: np.ndarray
    precision: Precision
    pairs: Sequence[int] | np.ndarray | None = None
    threads: int = 0


@dataclass(eq=False)
class Scan:
    """Bounds of the clearance over time; metres and seconds.

    Attributes:
        pairs: (k,) indices into ``model.pairs``.
        edges: (bins + 1,) edges of the time bins.
        lows: (bins, k) certified lower bound in a bin.
        ups: (bins, k) minimum measured distance in a bin.
        when: (bins, k) its time.
        doubts: (bins, k) approximate time at which bounds are undecided, otherwise NaN.
        best: (k,) minimum of ``ups``.
        leaves: (k, 2) the leaves with this distance; -1: measured between shapes.
        times: (k,) its time.
        looks: (2,) numbers of evaluated configurations, and of evaluated pairs at configurations.
    """

    pairs: np.ndarray
    edges: np.ndarray
    lows: np.ndarray
    ups: np.ndarray
    when: np.ndarray
    doubts: np.ndarray
    best: np.ndarray
    leaves: np.ndarray
    times: np.ndarray
    looks: np.ndarray

    @classmethod
    def empty(cls, pairs: np.ndarray, edges: np.ndarray) -> Scan:
        """Result without any distance."""
        tables = [np.full((len(edges) - 1, len(pairs)), np.nan) for _ in range(4)]
        return cls(
            pairs, edges, *tables, np.full(len(pairs), np.inf), np.full((len(pairs), 2), -1),
            np.full(len(pairs), np.nan), np.zeros(2, dtype=int),
        )  # fmt: skip

    def put(self, columns: np.ndarray, other: Scan) -> None:
        """Replace ``columns`` by those of a scan of these pairs only, over the same bins."""
        for name in ("lows", "ups", "when", "doubts"):
            getattr(self, name)[:, columns] = getattr(other, name)
        for name in ("best", "leaves", "times"):
            getattr(self, name)[columns] = getattr(other, name)
        self.looks += other.looks


class Scanner:
    """Scans of a model, for any number of motions.

    ``arrays``: a copy of the packed model. ``tables``: what its scans have in common. ``progress``
    is called with the progress.
    """

    def __init__(self, model: CollisionModel) -> None:
        self.model = model
        self.progress: Progress = no_progress
        self.arrays = model.work_space()
        self.tables = scan_tables(model)

    def scan(self, request: ScanRequest) -> Scan:
        """Compute bounds between leaves."""
        schedule, edges = request.schedule, request.edges
        motion, bins = schedule.packed(), len(request.edges) - 1
        chosen = np.arange(len(self.model.pairs)) if request.pairs is None else request.pairs
        chosen = np.asarray(chosen, dtype=np.int64)
        result = Scan.empty(chosen, edges)
        out = BinBounds(result.lows, result.ups, result.when, result.doubts)
        known = no_minima(self.tables)
        limits = np.ascontiguousarray(request.limits, dtype=float).reshape(-1, LIMITS)
        if bins > _LOOKS:
            self._measure(request, chosen, known)
        tasks = max(1, -(-bins // _BINS_A_TASK))
        bounds = np.linspace(0, bins, tasks + 1).astype(int)
        left = [None] * tasks

        def task(first: int, stop: int) -> tuple[Minima, tuple[int, int]]:
            self.progress("distances between leaves", 1.0 - len(left) / tasks)
            minima = Minima(*(array.copy() for array in known))
            *_, queries, pairs = scan(
                *self.model.work_space(), self.tables.space(motion.order), motion,
                edges[first : stop + 1], chosen, limits, request.precision,
                schedule.rest.copy(), minima, BinBounds(*(array[first:stop] for array in out)),
            )  # fmt: skip
            left.pop()
            return minima, (queries, pairs)

        with ThreadPoolExecutor(request.threads or os.cpu_count() or 1) as pool:
            done = list(pool.map(task, bounds[:-1], bounds[1:]))
        for minima, looks in done:
            closer = minima.best < known.best
            for whole, part in zip(known, minima, strict=True):
                whole[closer] = part[closer]
            result.looks += looks
        result.best, result.leaves = known.best[chosen], known.leaves[chosen]
        result.times = known.times[chosen]
        return result

    def first_below(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> float:
        """First time in ``low`` to ``high`` (s) with ``pair`` below ``limit``; inf if never.

        The accuracy is ``instant`` s.
        """
        # What is passed over after an undecided piece, and the last piece, are within it together.
        instant *= 0.5
        motion = schedule.packed()
        space, known = self.tables.space(motion.order), no_minima(self.tables)
        limits = np.full((len(self.model.pairs), 1), limit)
        first = np.inf
        while True:
            state, time, *_ = scan(
                *self.arrays, space, motion, np.array([low, min(first, high)]), np.array([pair]),
                limits, certifying(0.0, instant), schedule.rest.copy(), known, one_bin(1),
            )  # fmt: skip
            if state == TOO_NEAR:
                first = time
            elif state == UNDECIDED:
                low = time + instant
            if state == FINISHED or min(first, high) - low <= instant:
                return first

    def _measure(self, request: ScanRequest, chosen: np.ndarray, known: Minima) -> None:
        """Measure some bins first, to estimate the minimum distances of pairs."""
        schedule, motion = request.schedule, request.schedule.packed()
        times = 0.5 * (request.edges[:-1] + request.edges[1:])[_LOOKS // 2 :: _LOOKS]
        measure(
            *self.model.work_space(), self.tables.space(motion.order), motion, chosen, times,
            schedule.rest.copy(), known,
        )  # fmt: skip
