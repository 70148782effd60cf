# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that leaves cannot clear, decided by their meshes, at every instant.

A measurement between meshes at one instant holds for a while: no point of them leaves its leaf, so
they come no nearer than that distance less the way of those leaves that could meet at all
(conservative advancement). What is left is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from collision_monitor.kernels.clearance_scan import Wanted, target_of
from collision_monitor.kernels.pair_sweep import ROUNDING
from collision_monitor.kernels.scan_space import Motion, Space
from collision_monitor.kernels.suspects import suspects
from collision_monitor.verification.scanner import Scan, Scanner
from collision_monitor.verification.schedule import Schedule

# (q (nq,), index of a pair) -> (signed distance in metres, 0 or less where they touch; points).
Decider = Callable[[np.ndarray, int], tuple[float, np.ndarray]]

_TOUCH = -1e-12  # a distance of 0 is a collision


class ExactLevel:
    """Scans like `Scanner`, with distances between meshes.

    ``most``: measurements of one pair in one scan; what is left then stays undecided.
    """

    def __init__(self, scanner: Scanner, decider: Decider, most: int = 20_000) -> None:
        self.scanner = scanner
        self.decider = decider
        self.most = most

    def scan(
        self,
        schedule: Schedule,
        edges: np.ndarray,
        limits: np.ndarray,
        wanted: Wanted,
        pairs: Sequence[int] | np.ndarray | None = None,
        threads: int = 0,
    ) -> Scan:
        """As `Scanner.scan`; ``leaves`` of the answer are -1."""
        by_leaves = self.scanner.scan(schedule, edges, limits, wanted, pairs, threads)
        scan = _Exact(self, schedule, limits, wanted, by_leaves)
        for column in range(len(by_leaves.pairs)):
            scan.look_at(column)
        return scan.result()

    def keeps(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> bool:
        """Whether ``pair`` keeps ``limit`` from ``low`` to ``high`` s, and that is certain.

        Pieces are halved to ``instant`` s. A limit of 0 is kept without touching.
        """
        motion = schedule.packed()
        space = self.scanner.space(len(schedule.parts), motion.order)
        q = schedule.rest.copy()
        waiting = [(0.5 * (low + high), 0.5 * (high - low), schedule.starts, schedule.widths)]
        for _ in range(self.most):
            if not waiting:
                return True
            time, half, starts, widths = waiting.pop()
            _, travel = suspects(
                *self.scanner.arrays, space, motion, starts, widths, time, half, pair, limit, q
            )
            if travel < 0.0:
                continue
            distance = _touching(self.decider(q, pair)[0])
            if distance - travel - ROUNDING >= limit:
                continue
            if distance < limit or 2.0 * max(half, widths.max()) <= instant:
                return False
            waiting += _halves(time, half, starts, widths)
        return False

    def first_below(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> float:
        """As `Scanner.first_below`."""
        motion = schedule.packed()
        space = self.scanner.space(len(schedule.parts), motion.order)
        waiting = [(0.5 * (low + high), 0.5 * (high - low), schedule.starts, schedule.widths)]
        first, left = np.inf, self.most
        while waiting and left > 0:
            time, half, starts, widths = waiting.pop()
            if time - half >= first:
                continue
            distance = _touching(self.decider(schedule.configuration(time, starts), pair)[0])
            left -= 1
            if distance < limit:
                first = min(first, time)
            if 2.0 * max(half, widths.max()) <= instant:
                continue
            _, travel = suspects(
                *self.scanner.arrays, space, motion, starts, widths, time, half, pair, limit,
                schedule.rest.copy(),
            )  # fmt: skip
            if travel >= 0.0 and distance - travel - ROUNDING < limit:
                waiting += _halves(time, half, starts, widths)
        return first


class _Exact:
    """One scan."""

    def __init__(
        self,
        level: ExactLevel,
        schedule: Schedule,
        limits: np.ndarray,
        wanted: Wanted,
        by_leaves: Scan,
    ) -> None:
        self._level, self._schedule, self._limits = level, schedule, limits
        self._wanted, self._leaves = wanted, by_leaves
        self._motion: Motion = schedule.packed()
        self._space: Space = level.scanner.space(len(schedule.parts), self._motion.order)
        shape = by_leaves.lows.shape
        self.lows = by_leaves.lows.copy()
        self.ups, self.when, self.doubts = (np.full(shape, np.nan) for _ in range(3))
        self.best = np.full(shape[1], np.inf)
        self.instants = np.full((shape[1], 1 + len(schedule.parts)), np.nan)
        self.looks = 0

    def result(self) -> Scan:
        found = self._leaves
        looks = found.looks[0], found.looks[1] + self.looks
        return Scan(
            found.pairs, found.edges, self.lows, self.ups, self.when, self.doubts, self.best,
            np.full((len(found.pairs), 2), -1), self.instants, looks,
        )  # fmt: skip

    def look_at(self, column: int) -> None:
        """Bins of one pair, those first in which its leaves come nearest."""
        self._left = self._level.most
        for b in np.argsort(self._leaves.lows[:, column], kind="stable").tolist():
            self._bin(b, column)

    def _measure(self, b: int, column: int, time: float, starts: np.ndarray) -> float:
        q = self._schedule.configuration(time, starts)
        distance = _touching(self._level.decider(q, int(self._leaves.pairs[column]))[0])
        self.looks += 1
        self._left -= 1
        if not distance >= self.ups[b, column]:
            self.ups[b, column], self.when[b, column] = distance, time
        if distance < self.best[column]:
            self.best[column] = distance
            self.instants[column] = time, *starts
        return distance

    def _bin(self, b: int, column: int) -> None:
        edges, pair = self._leaves.edges, int(self._leaves.pairs[column])
        schedule = self._schedule
        low, high = edges[b], edges[b + 1]
        by_leaves, least = self._leaves.lows[b, column], np.inf
        waiting = [(0.5 * (low + high), 0.5 * (high - low), schedule.starts, schedule.widths)]
        while waiting:
            time, half, starts, widths = waiting.pop()
            distance = self._measure(b, column, time, starts)
            target = target_of(
                self._wanted, self._limits, pair, self.ups[b, column], self.best[column]
            )
            if by_leaves >= target:  # of the whole bin
                least = min(least, by_leaves)
                break
            bound, travel = suspects(
                *self._level.scanner.arrays, self._space, self._motion, starts, widths, time, half,
                pair, target, schedule.rest.copy(),
            )  # fmt: skip
            if travel >= 0.0:
                bound = max(bound, min(target, distance - travel - ROUNDING))
            if bound >= target:
                least = min(least, bound)
                continue
            if travel <= self._wanted.resolution or self._left <= 0:
                least = min(least, bound)
                self.doubts[b, column] = time
                continue
            waiting += _halves(time, half, starts, widths)
        self.lows[b, column] = max(by_leaves, least)


def _touching(distance: float) -> float:
    """A distance of 0 as one below it."""
    return float(distance) if distance > 0.0 else min(float(distance), _TOUCH)


def _halves(
    time: float, half: float, starts: np.ndarray, widths: np.ndarray
) -> list[tuple[float, float, np.ndarray, np.ndarray]]:
    """A box in time and starts, halved along its longest side; the earlier half last."""
    side = int(np.argmax(widths))
    if widths[side] <= half:
        return [(time + sign * 0.5 * half, 0.5 * half, starts, widths) for sign in (1, -1)]
    step = np.zeros(len(widths))
    step[side] = 0.5 * widths[side]
    return [(time, half, starts + sign * step, widths - step) for sign in (1, -1)]
