# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""All watchdogs of one monitor, and its counts of rejected joint states."""

from __future__ import annotations

import math
from collections import Counter

from collision_monitor.monitoring.data_health.clock import ClockWatch
from collision_monitor.monitoring.data_health.cycle_timing import CycleWatch
from collision_monitor.monitoring.data_health.publishers import PublishersOfTopics, PublisherWatch

# Why a joint state is refused; `JointStateError.kind`, and ``no_distance``.
REFUSALS = ("length", "not_finite", "unknown", "twice", "future", "no_distance")
# What is said beside a verdict that stands: causes of a state in which distances decide.
REMARKS = frozenset(("clock", "late", "publisher", "overrun"))

# A message behind what is held by more is remarked where several publishers may have the
# same joints; of a single one any is.
_LATE_SECONDS = 0.1
_SAID_SECONDS = 0.5


class Watchdogs:
    """They outlive the robots of a monitor.

    Attributes:
        cycles, clock, publishers: see their classes.
        refused: joint states that were refused, by kind (`REFUSALS`).
        late: joint states that were ignored, all of their joints being known later.
        clock_resets: joint states so much older than the last that a clock was set back.
    """

    def __init__(self, publishers: PublisherWatch | PublishersOfTopics | None = None) -> None:
        """Nothing has happened; ``publishers``: of one topic if they are not given."""
        self.cycles = CycleWatch()
        self.clock = ClockWatch()
        self.publishers = PublisherWatch() if publishers is None else publishers
        self.refused: Counter[str] = Counter()
        self.late = self.clock_resets = 0
        self._late_at, self._late_by = -math.inf, 0.0

    def came_late(self, seconds: float, now: float) -> None:
        """A joint state was ignored for being so much behind."""
        self.late += 1
        if seconds > _LATE_SECONDS or self.publishers.is_single:
            self._late_at, self._late_by = now, seconds

    def remark(self, now: float) -> tuple[str, str]:
        """(cause, text) of what is to be said beside a verdict; empty when nothing is."""
        if text := self.clock.remark(now):
            return "clock", text
        if now - self._late_at < _SAID_SECONDS:
            return "late", (
                f"joint state stamps go back by {self._late_by:.3f} s: those messages are ignored"
            )
        if text := self.publishers.remark(now):
            return "publisher", text
        if text := self.cycles.remark(now):
            return "overrun", text
        return "", ""

    def counts(self) -> dict[str, int]:
        """By what was wrong, how often."""
        return {
            **{f"refused_{kind}": self.refused[kind] for kind in REFUSALS},
            "late": self.late,
            "clock_resets": self.clock_resets,
            "clock_jumps": self.clock.jumps,
            "publishers_lost": self.publishers.lost,
            "skipped": self.cycles.skipped,
            "overruns": self.cycles.overruns,
        }
