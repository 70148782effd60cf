# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances between links, at every instant."""

from __future__ import annotations

from collision_monitor.motion.violation import Code
from collision_monitor.verification.clearance.clearance_check import ClearanceCheck, check_clearance
from collision_monitor.verification.verification import Moment, Outcome, Task, VerificationCheck


def _run(task: Task) -> Outcome:
    settings = task.settings
    clearance = check_clearance(
        task.model, task.parts, settings.thresholds, exact=settings.exact or None, told=task.told
    )
    results = {"clearance": clearance, "worst": _worst(task, clearance)}
    return Outcome(clearance.violations, results=results)


def _worst(task: Task, clearance: ClearanceCheck) -> Moment:
    """The moment of the smallest distance that occurs."""
    pair = clearance.series.minima[0]
    q = task.schedule.configuration(pair.time, pair.starts)
    starts = tuple(
        (b.motion.source, start)
        for b, start in zip(task.settings.beside, pair.starts[1:], strict=True)
        if b.latest > b.earliest
    )
    return Moment(
        pair.time, q, pair.links, pair.upper, pair.points, starts, clearance.at_least, pair.exact
    )


DISTANCES = VerificationCheck(
    "distances between links",
    (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN, Code.UNDECIDED),
    _run,
)
