# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that leaves cannot clear, decided by their meshes, at every instant.

A measurement between meshes at one instant holds for a while: no point of them leaves its leaf, so
they come no nearer than that distance less the way of those leaves that could meet at all
(conservative advancement). What is left is halved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from collision_monitor.continuous.candidate_pairs import suspects
from collision_monitor.continuous.clearance_scan import Wanted, target_of
from collision_monitor.continuous.hull_sweep import Hulls, hull_bound
from collision_monitor.continuous.pair_sweep import ROUNDING
from collision_monitor.continuous.scan_space import Space
from collision_monitor.verification.clearance.scanner import Scan, Scanner
from collision_monitor.verification.clearance.schedule import Schedule

# (q (nq,), index of a pair) -> (signed distance in metres, 0 or less where they touch; points).
Decider = Callable[[np.ndarray, int], tuple[float, np.ndarray]]

# A piece of a motion: its middle and half of its time, and middles and halves of the starts.
Piece = tuple[float, float, np.ndarray, np.ndarray]

_TOUCH = -1e-12  # a distance of 0 is a collision
_PARTED = 1e-9  # m: nearer points have no direction
_DEPTH_SHARE, _DEPTH_BIN_SHARE = 0.1, 0.3  # of how deep shapes are in each other: dear, and no news


class ExactLevel:
    """Scans like `Scanner`, with distances between meshes.

    ``hulls``: of what the decider measures; without them bounds are of first order. ``most``:
    measurements of one pair in one scan; what is left then stays undecided.
    """

    def __init__(
        self, scanner: Scanner, decider: Decider, hulls: Hulls | None = None, most: int = 20_000
    ) -> None:
        self.scanner = scanner
        self.decider = decider
        self.hulls = hulls
        self.most = most
        self._spaces: dict[tuple[int, int], Space] = {}

    def space(self, parts: int, order: int) -> Space:
        """`Scanner.space`, one for all pairs: they are looked at one after another."""
        if (parts, order) not in self._spaces:
            self._spaces[parts, order] = self.scanner.space(parts, order)
        return self._spaces[parts, order]

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
        for column, pair in enumerate(by_leaves.pairs.tolist()):
            links = " and ".join(self.scanner.model.pairs[pair])
            told = partial(self.scanner.told, f"distances between the shapes of {links}")
            scan.look_at(column, told)
        return scan.result()

    def keeps(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> bool:
        """Whether ``pair`` keeps ``limit`` from ``low`` to ``high`` s, and that is certain.

        Pieces are halved to ``instant`` s. A limit of 0 is kept without touching.
        """
        looker = Looker(self, schedule, pair)
        waiting = [(0.5 * (low + high), 0.5 * (high - low), schedule.starts, schedule.widths)]
        for _ in range(self.most):
            if not waiting:
                return True
            piece = waiting.pop()
            looker.place(piece, limit)
            if looker.by_leaves >= limit:
                continue
            if looker.measure() < limit:
                return False
            if looker.bound(limit) < limit:
                if 2.0 * max(piece[1], piece[3].max()) <= instant:
                    return False
                waiting += _halves(*piece)
        return False

    def first_below(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> float:
        """As `Scanner.first_below`."""
        looker = Looker(self, schedule, pair)
        waiting = [(0.5 * (low + high), 0.5 * (high - low), schedule.starts, schedule.widths)]
        first = np.inf
        for _ in range(self.most):
            if not waiting:
                break
            piece = waiting.pop()
            if piece[0] - piece[1] >= first:
                continue
            looker.place(piece, limit)
            if looker.by_leaves >= limit:
                continue
            if looker.measure() < limit:
                first = min(first, piece[0])
            if 2.0 * max(piece[1], piece[3].max()) > instant and looker.bound(limit) < limit:
                waiting += _halves(*piece)
        return first


class Looker:
    """One pair about one instant after another: by its leaves, its shapes, and its hulls.

    Attributes:
        pair: its index.
        by_leaves: metres: no leaves come nearer in the piece of `place`.
        travel: metres by which those come nearer that may not keep its target; -1: none.
        distance: that of `measure`.
    """

    def __init__(self, level: ExactLevel, schedule: Schedule, pair: int) -> None:
        self._level, self.pair = level, pair
        self._motion = schedule.packed()
        self._space = level.space(len(schedule.parts), self._motion.order)
        self._q = schedule.rest.copy()
        self.by_leaves = self.distance = self.travel = np.inf

    def place(self, piece: Piece, target: float) -> None:
        """Go to the middle of a piece, and look at the leaves that may not keep ``target``."""
        time, half, starts, widths = piece
        self.by_leaves, self.travel = suspects(
            *self._level.scanner.arrays, self._space, self._motion, starts, widths, time, half,
            self.pair, target, self._q,
        )  # fmt: skip

    def measure(self) -> float:
        """Distance of the shapes there, below 0 where they touch; metres."""
        distance, self._points = self._level.decider(self._q, self.pair)
        self.distance = float(distance) if distance > 0.0 else min(float(distance), _TOUCH)
        return self.distance

    def bound(self, target: float) -> float:
        """Metres: the shapes come no nearer in the piece. ``target`` as before, or less.

        Not above ``target`` where only that is known.
        """
        bound = self.by_leaves
        if self.travel >= 0.0:
            bound = max(bound, min(target, self.distance - self.travel - ROUNDING))
        if bound < target and self._level.hulls is not None and self.distance > _PARTED:
            normal = self._points[1] - self._points[0]
            normal /= math.sqrt(normal @ normal)
            bound = max(
                bound,
                hull_bound(
                    *self._level.scanner.arrays, self._space, self._motion, self._level.hulls,
                    self.pair, normal,
                ),
            )  # fmt: skip
        return bound


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
        self._deep = wanted._replace(
            share=max(wanted.share, _DEPTH_SHARE), bin_share=max(wanted.bin_share, _DEPTH_BIN_SHARE)
        )
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

    def look_at(self, column: int, told: Callable[[float], None]) -> None:
        """Bins of one pair, those first in which its leaves come nearest."""
        self._left = self._level.most
        self._looker = Looker(self._level, self._schedule, int(self._leaves.pairs[column]))
        order = np.argsort(self._leaves.lows[:, column], kind="stable").tolist()
        for done, b in enumerate(order):
            told(done / len(order))
            self._bin(b, column)

    def _target(self, upper: float, column: int) -> float:
        best = self.best[column]
        wanted = self._deep if best < 0.0 else self._wanted
        return target_of(wanted, self._limits, self._looker.pair, upper, best)

    def _bin(self, b: int, column: int) -> None:
        edges = self._leaves.edges
        schedule, looker = self._schedule, self._looker
        low, high = edges[b], edges[b + 1]
        by_leaves, least = self._leaves.lows[b, column], np.inf
        waiting = [(0.5 * (low + high), 0.5 * (high - low), schedule.starts, schedule.widths)]
        while waiting:
            piece = waiting.pop()
            time, _, starts, _ = piece
            known = self.ups[b, column]
            guess = by_leaves if np.isnan(known) else self._target(known, column)
            looker.place(piece, guess)
            distance = looker.measure()
            self.looks += 1
            self._left -= 1
            if not distance >= self.ups[b, column]:
                self.ups[b, column], self.when[b, column] = distance, time
            if distance < self.best[column]:
                self.best[column] = distance
                self.instants[column] = time, *starts
            target = self._target(self.ups[b, column], column)
            if by_leaves >= target:  # of the whole bin
                least = min(least, by_leaves)
                break
            if target != guess:
                looker.place(piece, target)
            bound = looker.bound(target)
            if bound < target:
                if looker.travel > self._wanted.resolution and self._left > 0:
                    waiting += _halves(*piece)
                    continue
                self.doubts[b, column] = time
            least = min(least, bound)
        self.lows[b, column] = max(by_leaves, least)


def _halves(time: float, half: float, starts: np.ndarray, widths: np.ndarray) -> list[Piece]:
    """A box in time and starts, halved along its longest side; the earlier half last."""
    side = int(widths.argmax())
    if widths[side] <= half:
        return [(time + sign * 0.5 * half, 0.5 * half, starts, widths) for sign in (1, -1)]
    step = np.zeros(len(widths))
    step[side] = 0.5 * widths[side]
    return [(time, half, starts + sign * step, widths - step) for sign in (1, -1)]
