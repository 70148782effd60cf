# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Scans of motions whose parts begin at any instant of a range.

Pairs that only one part moves do not depend on when it begins: they are looked at in the time of
that part, and what was found belongs to every time at which it can be there. Pairs that several
parts move are looked at over time and starts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from collision_monitor.continuous.clearance_scan import Wanted
from collision_monitor.verification.clearance.scanner import Scan, Scanner
from collision_monitor.verification.clearance.schedule import Schedule


class Level(Protocol):
    """Leaves or meshes: what can scan."""

    def scan(
        self,
        schedule: Schedule,
        edges: np.ndarray,
        limits: np.ndarray,
        wanted: Wanted,
        pairs: Sequence[int] | np.ndarray | None = None,
        threads: int = 0,
    ) -> Scan:
        """As `Scanner.scan`."""


def scan_any_start(
    level: Level,
    scanner: Scanner,
    schedule: Schedule,
    edges: np.ndarray,
    limits: np.ndarray,
    wanted: Wanted,
    pairs: Sequence[int] | np.ndarray | None = None,
    threads: int = 0,
) -> Scan:
    """As `Scanner.scan`, pair by pair in as few dimensions as it takes."""
    if not schedule.widths.any():
        return level.scan(schedule, edges, limits, wanted, pairs, threads)
    chosen = np.arange(len(scanner.model.pairs)) if pairs is None else np.asarray(pairs, dtype=int)
    drivers = scanner.drivers(schedule)
    part_of = np.array([min(drivers[p]) if len(drivers[p]) == 1 else -1 for p in chosen])
    scans = []
    for k in range(-1, len(schedule.parts)):
        columns = np.flatnonzero(part_of == k)
        if not len(columns):
            continue
        if k < 0:
            scan = level.scan(schedule, edges, limits, wanted, chosen[columns], threads)
        else:
            own = schedule.only(k)
            fine = 0.5 * np.diff(edges).min()
            count = int(np.ceil((own.end - own.begin) / fine))
            own_edges = np.linspace(own.begin, own.end, count + 1)
            found = level.scan(own, own_edges, limits, wanted, chosen[columns], threads)
            scan = _at_any_start(found, schedule, k, edges)
        scans.append((columns, scan))
    return _together(chosen, edges, len(schedule.parts), scans)


def _at_any_start(found: Scan, schedule: Schedule, k: int, edges: np.ndarray) -> Scan:
    """What was found in the time of part ``k``, at all times at which that can be."""
    earliest = schedule.starts[k] - schedule.widths[k]
    latest = schedule.starts[k] + schedule.widths[k]
    shape = len(edges) - 1, len(found.pairs)
    lows, ups, when, doubts = (np.full(shape, np.nan) for _ in range(4))
    columns = np.arange(shape[1])
    for b in range(shape[0]):
        low, high = edges[b] - latest, edges[b + 1] - earliest
        meets = slice(
            max(int(np.searchsorted(found.edges, low, "right")) - 1, 0),
            int(np.searchsorted(found.edges, high, "left")),
        )
        first = int(np.searchsorted(found.edges, low - 1e-12, "left"))
        last = int(np.searchsorted(found.edges, high + 1e-12, "right")) - 1
        inside = slice(first, max(last, first + 1))
        lows[b] = found.lows[meets].min(axis=0)
        rows = first + found.ups[inside].argmin(axis=0)
        ups[b] = found.ups[rows, columns]
        when[b] = _instant(found.when[rows, columns], edges[b], edges[b + 1], earliest, latest)[0]
        known = np.isfinite(found.doubts[meets])
        rows = meets.start + known.argmax(axis=0)
        doubts[b] = _instant(
            found.doubts[rows, columns], edges[b], edges[b + 1], earliest, latest
        )[0]
    instants = np.tile([0.0, *schedule.starts], (shape[1], 1))
    instants[:, 0], instants[:, 1 + k] = _instant(
        found.instants[:, 0], schedule.begin, schedule.end, earliest, latest
    )
    return Scan(
        found.pairs, edges, lows, ups, when, doubts, found.best, found.leaves, instants,
        found.looks,
    )  # fmt: skip


def _instant(
    own: np.ndarray, low: float, high: float, earliest: float, latest: float
) -> tuple[np.ndarray, np.ndarray]:
    """(time, start) at which a part is at ``own`` s of its own time, between low and high."""
    start = np.clip(0.5 * (low + high) - own, earliest, latest)
    return own + start, start


def _together(
    chosen: np.ndarray, edges: np.ndarray, parts: int, scans: list[tuple[np.ndarray, Scan]]
) -> Scan:
    shape = len(edges) - 1, len(chosen)
    tables = {name: np.full(shape, np.nan) for name in ("lows", "ups", "when", "doubts")}
    best = np.empty(len(chosen))
    leaves = np.empty((len(chosen), 2), dtype=np.int64)
    instants = np.empty((len(chosen), 1 + parts))
    looks = [0, 0]
    for columns, scan in scans:
        for name, table in tables.items():
            table[:, columns] = getattr(scan, name)
        best[columns], leaves[columns] = scan.best, scan.leaves
        instants[columns] = scan.instants
        looks = [a + b for a, b in zip(looks, scan.looks, strict=True)]
    return Scan(chosen, edges, **tables, best=best, leaves=leaves, instants=instants,
                looks=(looks[0], looks[1]))  # fmt: skip
