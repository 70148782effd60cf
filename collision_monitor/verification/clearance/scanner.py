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
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.continuous.clearance_scan import (
    LIMITS,
    Found,
    Precision,
    first_below,
    measure,
    scan,
)
from collision_monitor.continuous.scan_space import Space
from collision_monitor.hierarchy.packed import windows
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


class _Tables(NamedTuple):
    """What scans of one model have in common.

    Attributes:
        radii: (leaves + links,) of balls around leaves and links, metres.
        link_centers: (links, 4) body of a link, and the centre of its ball in the body's frame.
        between: for each pair, the joints from one link to the other; see `Bodies.between`.
        firsts: see `Scanner`.
    """

    radii: np.ndarray
    link_centers: np.ndarray
    between: list[tuple[list[int], list[int]]]
    firsts: np.ndarray


_TABLES: WeakKeyDictionary[CollisionModel, _Tables] = WeakKeyDictionary()


def _tables(model: CollisionModel) -> _Tables:
    view = windows(*model.work_space())
    half = 0.5 * (view.leaf_ends[:, 3:] - view.leaf_ends[:, :3])
    leaf_radii = np.linalg.norm(half, axis=1) + view.radii[:, 0]
    link_radii, link_centers = np.empty(len(view.links)), np.empty((len(view.links), 4))
    for link, (first, stop) in enumerate(view.links.tolist()):
        ends, radii = view.leaf_ends[first:stop].reshape(-1, 2, 3), view.radii[first:stop]
        low = (ends.min(axis=1) - radii).min(axis=0)
        high = (ends.max(axis=1) + radii).max(axis=0)
        center = 0.5 * (low + high)
        link_radii[link] = (np.linalg.norm(ends - center, axis=2) + radii).max()
        link_centers[link] = view.leaf_bodies[first, 0], *center
    bodies = link_centers[:, 0].astype(int).tolist()
    between = [model.bodies.between(bodies[a], bodies[b]) for a, b in view.pairs.tolist()]
    firsts = [[up[-1] if up else -1, down[0] if down else -1] for up, down in between]
    return _Tables(
        np.concatenate([leaf_radii, link_radii]), link_centers, between,
        np.array(firsts, dtype=np.int64).reshape(-1, 2),
    )  # fmt: skip


class Scanner:
    """Scans of a model, for any number of motions.

    ``arrays``: a copy of the packed model. ``firsts`` (pairs, 2): the innermost joint (index in
    kernels) that moves one link of a pair and not the other; -1 if there is none. ``progress`` is
    called with the progress.
    """

    def __init__(self, model: CollisionModel) -> None:
        self.model = model
        self.progress: Progress = no_progress
        self.arrays = model.work_space()
        if model not in _TABLES:
            _TABLES[model] = _tables(model)
        self._radii, self._link_centers, self._between, self.firsts = _TABLES[model]
        view = windows(*self.arrays)
        self._hints = view.links[view.pairs, 0]
        self._rows = int(view.moving_leaves) + len(view.links)
        self._joints = len(view.joint_table)

    def drivers(self, schedule: Schedule) -> list[frozenset[int]]:
        """For each pair of the model, the parts of the schedule that change its relative pose."""
        part = schedule.path_of[self.model.bodies.columns].tolist()
        return [
            frozenset(part[k] for k in (*up, *down) if part[k] >= 0) for up, down in self._between
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
                *self.model.work_space(), self.space(parts, motion.order), motion,
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
            *self.arrays, self.space(len(schedule.parts), motion.order), motion, schedule.starts,
            schedule.widths, float(low), float(high), pair, limit, instant, schedule.rest.copy(),
            self._hints.copy(),
        )  # fmt: skip

    def _measure(self, request: ScanRequest, chosen: np.ndarray, known: Found) -> None:
        """Measure some bins first, to estimate the minimum distances of pairs."""
        schedule, motion = request.schedule, request.schedule.packed()
        middles = 0.5 * (request.edges[:-1] + request.edges[1:])[_LOOKS // 2 :: _LOOKS]
        places = np.linspace(-1.0, 1.0, 5) if schedule.widths.any() else np.zeros(1)
        times = np.repeat(middles, len(places))
        starts = schedule.starts + np.tile(places, len(middles))[:, None] * schedule.widths
        measure(
            *self.model.work_space(), self.space(len(schedule.parts), motion.order), motion,
            chosen, times, starts, schedule.rest.copy(), known,
        )  # fmt: skip

    def _found(self, parts: int) -> Found:
        pairs = len(self.model.pairs)
        return Found(
            np.full(pairs, np.inf), np.full((pairs, 2), -1), np.full((pairs, 1 + parts), np.nan),
            self._hints.astype(np.int64),
        )  # fmt: skip

    def space(self, parts: int, order: int) -> Space:
        """Tables and work space of one thread."""
        table = self._rows * self._joints
        return Space(
            np.zeros(3 * len(self._radii)),
            self._radii,
            self._link_centers.ravel(),
            np.empty(self._rows, dtype=np.int64),
            np.empty(4 * parts),
            self.firsts.ravel(),
            np.zeros(4 * self._joints),
            np.empty(table),
            np.empty(table),
            np.empty(table),
            np.empty(order),
            np.empty(parts),
        )


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
