# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Multi-threaded scan over a motion of one model (kernels: `clearance_scan`).

The start of each part of a motion may be a range. Pairs that only one part moves do not depend on
its start: they are scanned in the time of that part, and the result holds for all possible times.
Pairs that several parts move are scanned over time and starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.clearance_scan import (
    LIMITS,
    Found,
    Precision,
    first_below,
    measure,
    scan,
)
from collision_monitor.continuous.scan_tables import scan_tables
from collision_monitor.verification.clearance.schedule import Schedule

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# (current step, fraction done); called often, from any thread
Progress = Callable[[str, float], None]
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
        instants: (k, 1 + parts) its time, and the start of each part of the motion.
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
    instants: np.ndarray
    looks: np.ndarray

    @classmethod
    def empty(cls, pairs: np.ndarray, edges: np.ndarray, parts: int) -> Scan:
        """Empty result for a motion of ``parts`` parts."""
        tables = [np.full((len(edges) - 1, len(pairs)), np.nan) for _ in range(4)]
        return cls(
            pairs, edges, *tables, np.full(len(pairs), np.inf), np.full((len(pairs), 2), -1),
            np.full((len(pairs), 1 + parts), np.nan), np.zeros(2, dtype=int),
        )  # fmt: skip

    def put(self, columns: np.ndarray, other: Scan) -> None:
        """Replace ``columns`` by those of a scan of these pairs only, over the same bins."""
        for name in ("lows", "ups", "when", "doubts"):
            getattr(self, name)[:, columns] = getattr(other, name)
        for name in ("best", "leaves", "instants"):
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

    def drivers(self, schedule: Schedule) -> list[frozenset[int]]:
        """For each pair of the model, the parts of the schedule that change its relative pose."""
        part = schedule.path_of[self.model.bodies.columns].tolist()
        return [
            frozenset(part[k] for k in (*up, *down) if part[k] >= 0)
            for up, down in self.tables.between
        ]

    def scan(self, request: ScanRequest) -> Scan:
        """Compute bounds between leaves."""
        schedule, edges = request.schedule, request.edges
        parts, bins = len(schedule.parts), len(request.edges) - 1
        motion = schedule.packed()
        chosen = np.arange(len(self.model.pairs)) if request.pairs is None else request.pairs
        chosen = np.asarray(chosen, dtype=np.int64)
        result = Scan.empty(chosen, edges, parts)
        out = result.lows, result.ups, result.when, result.doubts
        known = self._found(parts)
        limits = np.ascontiguousarray(request.limits, dtype=float).reshape(-1, LIMITS)
        if bins > _LOOKS:
            self._measure(request, chosen, known)
        tasks = max(1, -(-bins // _BINS_A_TASK))
        bounds = np.linspace(0, bins, tasks + 1).astype(int)
        left = [None] * tasks

        def task(first: int, stop: int) -> tuple[Found, tuple[int, int]]:
            self.progress("distances between leaves", 1.0 - len(left) / tasks)
            nearest = Found(*(array.copy() for array in known))
            looks = scan(
                *self.model.work_space(), self.tables.space(parts, motion.order), motion,
                schedule.starts, schedule.widths, edges[first : stop + 1], chosen, limits,
                request.precision, schedule.rest.copy(), nearest,
                *(array[first:stop] for array in out),
            )  # fmt: skip
            left.pop()
            return nearest, looks

        with ThreadPoolExecutor(request.threads or os.cpu_count() or 1) as pool:
            done = list(pool.map(task, bounds[:-1], bounds[1:]))
        for nearest, looks in done:
            closer = nearest.best < known.best
            for whole, part in zip(known, nearest, strict=True):
                whole[closer] = part[closer]
            result.looks += looks
        result.best, result.leaves = known.best[chosen], known.leaves[chosen]
        result.instants = known.instants[chosen]
        return result

    def first_below(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> float:
        """First time in ``low`` to ``high`` (s) with ``pair`` below ``limit``; inf if never.

        The accuracy is ``instant`` s. If starts are ranges, it is the first possible time.
        """
        motion = schedule.packed()
        return first_below(
            *self.arrays, self.tables.space(len(schedule.parts), motion.order), motion,
            schedule.starts, schedule.widths, float(low), float(high), pair, limit, instant,
            schedule.rest.copy(), self.tables.hints.copy(),
        )  # fmt: skip

    def _measure(self, request: ScanRequest, chosen: np.ndarray, known: Found) -> None:
        """Measure some bins first, to estimate the minimum distances of pairs."""
        schedule, motion = request.schedule, request.schedule.packed()
        middles = 0.5 * (request.edges[:-1] + request.edges[1:])[_LOOKS // 2 :: _LOOKS]
        places = np.linspace(-1.0, 1.0, 5) if schedule.widths.any() else np.zeros(1)
        times = np.repeat(middles, len(places))
        starts = schedule.starts + np.tile(places, len(middles))[:, None] * schedule.widths
        measure(
            *self.model.work_space(), self.tables.space(len(schedule.parts), motion.order), motion,
            chosen, times, starts, schedule.rest.copy(), known,
        )  # fmt: skip

    def _found(self, parts: int) -> Found:
        pairs = len(self.model.pairs)
        return Found(
            np.full(pairs, np.inf), np.full((pairs, 2), -1), np.full((pairs, 1 + parts), np.nan),
            self.tables.hints.copy(),
        )  # fmt: skip


def scan_any_start(
    level_scan: Callable[[ScanRequest], Scan], scanner: Scanner, request: ScanRequest
) -> Scan:
    """Run ``level_scan`` (of leaves or shapes) for each pair in the minimum number of dimensions.

    ``scanner``: provides the parts of the motion that move a pair.
    """
    schedule, edges = request.schedule, request.edges
    if not schedule.widths.any():
        return level_scan(request)
    chosen = np.arange(len(scanner.model.pairs))
    if request.pairs is not None:
        chosen = np.asarray(request.pairs)
    drivers = scanner.drivers(schedule)
    part_of = np.array([min(drivers[p]) if len(drivers[p]) == 1 else -1 for p in chosen])
    result = Scan.empty(chosen, edges, len(schedule.parts))
    for part in range(-1, len(schedule.parts)):
        columns = np.flatnonzero(part_of == part)
        if not len(columns):
            continue
        part_request = replace(request, pairs=chosen[columns])
        if part < 0:
            result.put(columns, level_scan(part_request))
            continue
        alone = schedule.only(part)
        count = int(np.ceil((alone.end - alone.begin) / (0.5 * np.diff(edges).min())))
        part_edges = np.linspace(alone.begin, alone.end, count + 1)
        part_scan = level_scan(replace(part_request, schedule=alone, edges=part_edges))
        result.put(columns, _at_any_start(part_scan, schedule, part, edges))
    return result


def _at_any_start(part_scan: Scan, schedule: Schedule, part: int, edges: np.ndarray) -> Scan:
    """A scan in the time of ``part``, valid for all its possible starts."""
    earliest = schedule.starts[part] - schedule.widths[part]
    latest = schedule.starts[part] + schedule.widths[part]
    result = Scan.empty(part_scan.pairs, edges, len(schedule.parts))
    columns = np.arange(len(part_scan.pairs))
    for b, (begin, end) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        low, high = begin - latest, end - earliest
        meets = slice(
            max(int(np.searchsorted(part_scan.edges, low, "right")) - 1, 0),
            int(np.searchsorted(part_scan.edges, high, "left")),
        )
        first = int(np.searchsorted(part_scan.edges, low - 1e-12, "left"))
        last = int(np.searchsorted(part_scan.edges, high + 1e-12, "right")) - 1
        result.lows[b] = part_scan.lows[meets].min(axis=0)
        rows = first + part_scan.ups[first : max(last, first + 1)].argmin(axis=0)
        result.ups[b] = part_scan.ups[rows, columns]
        result.when[b] = _instant(part_scan.when[rows, columns], begin, end, earliest, latest)[0]
        rows = meets.start + np.isfinite(part_scan.doubts[meets]).argmax(axis=0)
        result.doubts[b] = _instant(part_scan.doubts[rows, columns], begin, end, earliest, latest)[
            0
        ]
    result.best, result.leaves, result.looks = part_scan.best, part_scan.leaves, part_scan.looks
    result.instants[:] = [0.0, *schedule.starts]
    result.instants[:, 0], result.instants[:, 1 + part] = _instant(
        part_scan.instants[:, 0], schedule.begin, schedule.end, earliest, latest
    )
    return result


def _instant(
    part_time: np.ndarray, low: float, high: float, earliest: float, latest: float
) -> tuple[np.ndarray, np.ndarray]:
    """(time, start), seconds, of a part at ``part_time`` s of its time, between low and high."""
    start = np.clip(0.5 * (low + high) - part_time, earliest, latest)
    return part_time + start, start
