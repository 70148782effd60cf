# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The part of a report about distances: the least over time, and how near each pair came."""

from __future__ import annotations

import numpy as np

from collision_monitor.verification.clearance.clearance_check import ClearanceCheck
from collision_monitor.verification.clearance.clearance_series import ClearanceSeries, PairClearance
from collision_monitor.verification.report.messages import value
from collision_monitor.verification.report.plots import Curve, Plot
from collision_monitor.verification.report.report_page import Section

_GROUPS_PLOTTED = 4
_PAIRS_PLOTTED = 6
_PAIRS_LISTED = 30


def clearance_section(check: ClearanceCheck) -> Section:
    """Both envelopes of the least distance, the pairs that came nearest, and a table of these."""
    series = check.series
    rank = {links: k for k, links in enumerate(series.pairs)}
    nearest = [rank[pair.links] for pair in series.minima[:_PAIRS_PLOTTED]]
    alike = _alike(series)
    plots = [_least(check, columns, len(alike) == 1) for columns in alike]
    plots.append(
        Plot(
            "nearest pairs", "m", series.times,
            [Curve(_named(series.pairs[k]), series.upper[:, k]) for k in nearest],
            levels=_levels(series.limits[nearest]),
        )
    )  # fmt: skip
    more = len(series.minima) - _PAIRS_LISTED
    text = (
        "Measured: a distance that occurs. Certain: no smaller one occurs, between samples either."
        + (f" Of {len(series.minima)} pairs the nearest {_PAIRS_LISTED} are listed." * (more > 0))
    )
    head = ("Pair", "Certain", "Measured", "At", "Between")
    rows = [_row(pair) for pair in series.minima[:_PAIRS_LISTED]]
    return Section("Distances", text, plots, head, rows)


def _alike(series: ClearanceSeries) -> list[np.ndarray]:
    """Columns of pairs with the same thresholds, most pairs first; the rest of them together."""
    _, group = np.unique(series.limits, axis=0, return_inverse=True)
    group = group.ravel()
    order = np.argsort(-np.bincount(group), kind="stable")
    found = [np.flatnonzero(group == k) for k in order[:_GROUPS_PLOTTED]]
    rest = np.flatnonzero(~np.isin(group, order[:_GROUPS_PLOTTED]))
    return [*found, rest] if len(rest) else found


def _least(check: ClearanceCheck, columns: np.ndarray, alone: bool) -> Plot:
    """The least distance of some pairs over time, and when they first came too near."""
    series = check.series
    levels = _levels(series.limits[columns])
    title = "least distance of all pairs"
    if not alone:
        said = ", ".join(f"{name} {level:g} m" for level, name in levels[1:]) or "other thresholds"
        pairs = f"{len(columns)} pairs" if len(columns) > 1 else _named(series.pairs[columns[0]])
        title = f"least distance of {pairs} ({said})"
    curves = [
        Curve("measured", series.upper[:, columns].min(axis=1)),
        Curve("certain", series.lower[:, columns].min(axis=1)),
    ]
    names = {_named(series.pairs[k]) for k in columns}
    mine = [v for v in check.violations if v.subject in names and not v.warning]
    marks = []
    if mine:
        first = min(mine, key=lambda v: v.first)
        marks = [(first.first, f"{first.code.value} from {first.first:.3f} s")]
    return Plot(title, "m", series.times, curves, marks, levels)


def _levels(limits: np.ndarray) -> list[tuple[float, str]]:
    """Thresholds (pairs, 3) that are the same for all pairs, where there are any."""
    found: list[tuple[float, str]] = []
    for k, name in enumerate(("collision", "stop", "warn")):
        values = np.unique(limits[:, k])
        if len(values) == 1 and (not found or values[0] > found[-1][0]):
            found.append((float(values[0]), name))
    return found


def _named(pair: tuple[str, str]) -> str:
    """As `violation.Violation.subject` has it."""
    return " - ".join(pair)


def _row(pair: PairClearance) -> tuple[str, ...]:
    return (
        _named(pair.links),
        value(pair.lower, "m"),
        value(pair.upper, "m"),
        f"{pair.time:.3f} s",
        "meshes" if pair.exact else "leaves",
    )
