# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints stand, by their joint states of the last second.

All times are seconds of the clock of stamps. It may be set back, as by a simulation that is reset.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# A joint stands if its mean positions in four parts of the last second, or of the last 0.2 s at the
# goal, differ by less, rad or m. Means, since encoders are noisy.
_STANDING = 0.002
_BIN, _REST, _REST_AT_GOAL = 0.05, 5, 1  # s; bins in each of the four parts
_BINS = 4 * _REST


class Standing:
    """Which joints stand, by their positions in the last second.

    Positions of endless joints must not jump by whole turns.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        """Nothing is known of any joint."""
        self._column = {name: k for k, name in enumerate(joint_names)}
        count = len(joint_names)
        self._bin = 0  # number of the newest bin
        self._sums, self._counts = np.zeros((2, _BINS, count))
        # Bins of the first position without a gap since then, and of the last one.
        self._since, self._heard = np.full(count, np.inf), np.full(count, -np.inf)
        self._last = np.zeros(count)

    def update(self, q: np.ndarray, joints: np.ndarray | None, clock: float) -> None:
        """Process positions ``q`` (joints,), of which ``joints`` were measured now; None: all."""
        now = math.floor(clock / _BIN)
        if now < self._bin:
            self._heard[:] = -np.inf
        if now != self._bin:
            passed = np.arange(max(self._bin + 1, now - _BINS + 1), now + 1)
            emptied = slice(None) if now < self._bin else passed % _BINS
            self._sums[emptied] = self._counts[emptied] = 0.0
            self._bin = now
        which = np.arange(len(q)) if joints is None else joints
        gap = ~(now - self._heard[which] <= 2 * _REST)  # nothing is known of the time in between
        self._since[which[gap]] = now
        self._heard[which] = now
        self._last[which] = q[which]
        self._sums[now % _BINS, which] += q[which]
        self._counts[now % _BINS, which] += 1.0

    def stands(self, names: Sequence[str], clock: float) -> bool:
        """Whether these joints stand now: at their mean positions in the last second."""
        columns = [self._column[name] for name in names]
        total = self._sums.sum(axis=0)[columns] / np.maximum(self._counts.sum(axis=0)[columns], 1.0)
        off = np.abs(self._last[columns] - total)
        return bool((self._still(clock, _REST)[columns] & (off <= _STANDING)).all())

    def stood(self, name: str, since: float, clock: float, at_goal: bool) -> bool:
        """Whether a joint stands since a time after ``since``; ``at_goal``: for less long."""
        bins = math.floor(clock / _BIN) - math.floor(since / _BIN)
        return any(
            bins >= 4 * length and bool(self._still(clock, length)[self._column[name]])
            for length in ((_REST, _REST_AT_GOAL) if at_goal else (_REST,))
        )

    def position(self, name: str) -> float:
        """Mean position of a joint in the newest bin with one, rad or m; NaN without any."""
        k = self._column[name]
        if not self._heard[k] > self._bin - _BINS:
            return math.nan
        row = int(self._heard[k]) % _BINS
        return float(self._sums[row, k] / self._counts[row, k])

    def _still(self, clock: float, length: int) -> np.ndarray:
        """(joints,) bool: the means in the last four parts of ``length`` bins are equal."""
        now = math.floor(clock / _BIN)
        bins = now - np.arange(4 * length)
        known = ((bins <= self._bin) & (bins > self._bin - _BINS))[:, None]
        sums, counts = (
            (known * table[bins % _BINS]).reshape(4, length, -1).sum(axis=1)
            for table in (self._sums, self._counts)
        )
        means = sums / np.maximum(counts, 1.0)
        highest = np.where(counts > 0.0, means, -np.inf).max(axis=0)
        lowest = np.where(counts > 0.0, means, np.inf).min(axis=0)
        heard = (self._since <= now - 4 * length) & (self._heard > now - 2 * length)
        return heard & ((counts > 0.0).sum(axis=0) > 1) & (highest - lowest <= _STANDING)
