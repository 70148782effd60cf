# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Cycle times: overruns of the deadline and delays of the node."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

# Callbacks that follow each other as closely as this are one run of work: something waited. What
# an executor does between two is more where a cycle was long: messages came for it to look at.
_PAUSE_SECONDS, _PAUSE_SHARE, _PAUSE_MOST = 0.0005, 0.25, 0.005
# After a run of work this long, messages that wait have become old: work on the newest.
_BEHIND_SECONDS = 0.005
# How long a late cycle is spoken of.
_SAID_SECONDS = 0.5
# Figures are those of cycles of so many seconds, and of so many cycles at most.
_WINDOW_SECONDS, _WINDOW = 10.0, 20_000


class CycleFigures(NamedTuple):
    """Of the last ten seconds; NaN where there was nothing to measure.

    Attributes:
        rate: cycles a second.
        mean, p99, most: seconds of a cycle, from taking a message until all is published.
        latency_mean, latency_most: seconds from a message's stamp until all is published.
    """

    rate: float
    mean: float
    p99: float
    most: float
    latency_mean: float
    latency_most: float


class CycleWatch:
    """Times are seconds of a steady clock.

    Attributes:
        deadline: in which a cycle should be done, seconds.
        skipped: messages that were merged without a verdict, since a newer one waited.
        overruns: how often the deadline was missed.
    """

    def __init__(self, deadline: float = 0.05) -> None:
        """Nothing has happened yet."""
        self.deadline = deadline
        self.skipped = 0
        self.overruns = 0
        self._cycles: deque[tuple[float, float, float]] = deque(maxlen=_WINDOW)
        self._begin = math.nan  # of the first cycle
        self._run_begin = self._end = -math.inf
        self._pause = _PAUSE_SECONDS
        self._late_at = -math.inf
        self._late_text = ""
        self._woke = math.nan

    def is_behind(self, start: float) -> bool:
        """Whether a cycle that begins now begins late: work has gone on without a pause."""
        if start - self._end > self._pause:
            self._run_begin = start
            return False
        return start - self._run_begin > _BEHIND_SECONDS

    def worked(self, start: float, end: float) -> None:
        """Something else was done, which is no pause if it began right behind a cycle."""
        if start - self._end <= self._pause:
            self._end = end

    def add(self, start: float, end: float, lag: float = math.nan) -> bool:
        """A cycle is done; ``lag``: how old its message was at the start. Whether it was late."""
        if not self._cycles:
            self._begin = start
        self._end = end
        self._pause = min(max(_PAUSE_SECONDS, _PAUSE_SHARE * (end - start)), _PAUSE_MOST)
        self._cycles.append((end, end - start, lag + end - start))
        if end - start <= self.deadline:
            return False
        self._late(end, f"a cycle took {1e3 * (end - start):.0f} ms")
        return True

    def woke(self, now: float, period: float) -> None:
        """A timer with this period has fired: it shows what holds everything up."""
        late = now - self._woke - period  # NaN the first time
        self._woke = now
        # What a late cycle has held up has been said.
        if late > self.deadline and now - self._late_at > late + period:
            self._late(now, f"the node was delayed by {1e3 * late:.0f} ms")

    def rest(self) -> None:
        """What comes now takes its time on purpose, such as loading."""
        self._woke = math.nan

    def _late(self, now: float, text: str) -> None:
        self.overruns += 1
        self._late_at = now
        self._late_text = (
            f"overloaded: {text}, {1e3 * self.deadline:.0f} ms are allowed; "
            f"{self.skipped} joint states skipped so far"
        )

    def remark(self, now: float) -> str:
        """What to say of late cycles; empty when there were none in the last moments."""
        return self._late_text if now - self._late_at < _SAID_SECONDS else ""

    def figures(self, now: float) -> CycleFigures:
        """See `CycleFigures`."""
        while self._cycles and self._cycles[0][0] < now - _WINDOW_SECONDS:
            self._cycles.popleft()
        if not self._cycles:
            return CycleFigures(0.0, *[math.nan] * 5)
        _, cycle, latency = np.array(self._cycles).T
        if len(self._cycles) == _WINDOW:
            span = now - self._cycles[0][0]
        else:
            span = min(_WINDOW_SECONDS, now - self._begin)
        latency = latency[np.isfinite(latency)]
        known = (float(latency.mean()), float(latency.max())) if len(latency) else (math.nan,) * 2
        return CycleFigures(
            len(cycle) / max(span, 1.0),
            float(cycle.mean()), float(np.percentile(cycle, 99.0)), float(cycle.max()), *known,
        )  # fmt: skip
