# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Multi-threaded scan over a motion of one model (kernels: `clearance_scan`)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.clearance_scan import (
    DEPTH,
    FINISHED,
    RESOLUTION,
    TOO_NEAR,
    UNDECIDED,
    BinBounds,
    Minima,
    Precision,
    certifying,
    measure,
    no_bounds,
    no_minima,
    scan,
)
from collision_monitor.continuous.scan_space import Space, scan_tables
from collision_monitor.continuous.shape_sweep import ShapeTables
from collision_monitor.verification.clearance.schedule import Schedule

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# (current step, fraction done); called often, from any thread
Progress = Callable[[str, float], None]
# For scans that only decide thresholds: bounds are as far apart as these allow.
ONLY_THRESHOLDS = Precision(accuracy=math.inf, share=0.0, bin_share=0.0, resolution=RESOLUTION)
LIMITS = 3  # thresholds of a pair
BINS_A_CALL = 16  # of a kernel; progress is reported in between
MOST = 20_000
MOST_BINS = DEPTH  # of a search for one pair
_LOOKS = 4  # every n-th bin is measured before the scan, to estimate minimum distances


def _edges(low: float, high: float, first: float) -> np.ndarray:
    """Edges of bins from ``low`` to ``high``, the first ``first`` s long, each twice the last."""
    if not first < high - low:
        return np.array([low, high])
    steps = first * (2.0 ** np.arange(MOST_BINS) - 1.0)
    return np.append(low + steps[steps < high - low], high)


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

    def chosen(self, model: CollisionModel) -> np.ndarray:
        """``pairs`` (k,) as kernels take them."""
        pairs = np.arange(len(model.pairs)) if self.pairs is None else self.pairs
        return np.asarray(pairs, dtype=np.int64)

    def rows_of_limits(self) -> np.ndarray:
        """``limits`` as kernels take them."""
        return np.ascontiguousarray(self.limits, dtype=float).reshape(-1, LIMITS)


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

    @property
    def bounds(self) -> BinBounds:
        """The tables that kernels write."""
        return BinBounds(self.lows, self.ups, self.when, self.doubts)

    def put(self, columns: np.ndarray, other: Scan) -> None:
        """Replace ``columns`` by those of a scan of these pairs only, over the same bins."""
        for name in ("lows", "ups", "when", "doubts"):
            getattr(self, name)[:, columns] = getattr(other, name)
        for name in ("best", "leaves", "times"):
            getattr(self, name)[columns] = getattr(other, name)
        self.looks += other.looks


class Scanner:
    """Scans of a model by its leaves, for any number of motions.

    Attributes:
        model: the robot and its scene.
        progress: called with the progress.
        tables: what all scans of the model have in common.
        most: measurements of a pair in one search, or of its shapes in one scan; the rest stays
            undecided.
        measured: number of these measurements so far.
    """

    def __init__(
        self, model: CollisionModel, progress: Progress = no_progress, most: int = MOST
    ) -> None:
        self.model = model
        self.progress = progress
        self.most = most
        self.measured = 0
        self.tables = scan_tables(model)
        self._spaces: dict[int, Space] = {}

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """A copy of the packed model."""
        return self.model.work_space()

    @property
    def shapes(self) -> ShapeTables | None:
        """Tables of the shapes, for scans of single pairs; None: leaves are measured."""
        return None

    def scan(self, request: ScanRequest) -> Scan:
        """Compute bounds between leaves."""
        schedule, edges = request.schedule, request.edges
        motion, bins = schedule.packed(), np.column_stack([edges[:-1], edges[1:]])
        chosen = request.chosen(self.model)
        result = Scan.empty(chosen, edges)
        known, limits = no_minima(self.tables), request.rows_of_limits()
        if len(bins) > _LOOKS:
            self._measure(request, chosen, known)
        tasks = max(1, -(-len(bins) // BINS_A_CALL))
        bounds = np.linspace(0, len(bins), tasks + 1).astype(int)
        left = [None] * tasks

        def task(first: int, stop: int) -> tuple[Minima, tuple[int, int]]:
            self.progress("distances between leaves", 1.0 - len(left) / tasks)
            minima = Minima(*(array.copy() for array in known))
            *_, queries, pairs = scan(
                *self.model.work_space(), None, self.tables.space(motion.order), motion,
                bins[first:stop], chosen, limits, request.precision, schedule.rest.copy(), minima,
                BinBounds(*(array[first:stop] for array in result.bounds)),
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

    def keeps(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> bool:
        """Whether ``pair`` is certified to keep ``limit`` (m) from ``low`` to ``high`` (s).

        Intervals are halved down to ``instant`` s. A limit of 0 means no contact.
        """
        edges = np.array([low, high])
        state, _, _ = self._certify(schedule, pair, limit, edges, instant, self.most)
        return state == FINISHED

    def first_below(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> float:
        """First time in ``low`` to ``high`` (s) with ``pair`` below ``limit``; inf if never.

        The accuracy is ``instant`` s. If `most` measurements do not suffice it is too late, or inf.
        """
        # What is passed over after an undecided piece, and the last piece, are within it together.
        instant *= 0.5
        first, left, step = np.inf, self.most, high - low
        while True:
            edges = _edges(low, min(first, high), step)
            state, (time, half), looks = self._certify(schedule, pair, limit, edges, instant, left)
            left -= looks
            if state == TOO_NEAR:
                first, low, step = time, time - half, half
            elif state == UNDECIDED:  # so is probably the next piece
                low, step = time + half, 2.0 * half
            if state == FINISHED or left <= 0 or min(first, high) - low <= instant:
                return first

    def _certify(
        self, schedule: Schedule, pair: int, limit: float, edges: np.ndarray, instant: float,
        most: int,
    ) -> tuple[int, tuple[float, float], int]:  # fmt: skip
        """State and piece of a scan of a pair that ends, and the number of its measurements.

        ``edges``: of at most `MOST_BINS` bins, seconds.
        """
        motion, limits = schedule.packed(), np.full((len(self.model.pairs), 1), limit)
        bins = np.column_stack([edges[:-1], edges[1:]])
        state, piece, _, _, _, looks = scan(
            *self.arrays, self.shapes, self.space(motion.order), motion, bins, np.array([pair]),
            limits, certifying(0.0, instant)._replace(most=most), schedule.rest.copy(),
            self._minima, no_bounds(len(bins), 1),
        )  # fmt: skip
        self.measured += looks
        return state, piece, looks

    @cached_property
    def _minima(self) -> Minima:
        return no_minima(self.tables)

    def space(self, order: int) -> Space:
        """As `ScanTables.space`, one for all pairs: they are processed one after another."""
        if order not in self._spaces:
            self._spaces[order] = self.tables.space(order)
        return self._spaces[order]

    def _measure(self, request: ScanRequest, chosen: np.ndarray, known: Minima) -> None:
        """Measure some bins first, to estimate the minimum distances of pairs."""
        schedule, motion = request.schedule, request.schedule.packed()
        times = 0.5 * (request.edges[:-1] + request.edges[1:])[_LOOKS // 2 :: _LOOKS]
        measure(
            *self.model.work_space(), self.tables.space(motion.order), motion, chosen, times,
            schedule.rest.copy(), known,
        )  # fmt: skip
