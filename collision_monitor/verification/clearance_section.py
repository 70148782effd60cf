# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The part of a report about distances: the least over time, and how near each pair came."""

from __future__ import annotations

import numpy as np

from collision_monitor.verification.clearance_check import ClearanceCheck
from collision_monitor.verification.clearance_series import ClearanceSeries, PairClearance
from collision_monitor.verification.figures import Curve, Plot
from collision_monitor.verification.report_page import Section
from collision_monitor.verification.wording import value

_PAIRS_PLOTTED = 6
_PAIRS_LISTED = 30


def clearance_section(check: ClearanceCheck) -> Section:
    """Both envelopes of the least distance, the pairs that came nearest, and a table of these."""
    series = check.series
    rank = {links: k for k, links in enumerate(series.pairs)}
    nearest = [rank[pair.links] for pair in series.minima[:_PAIRS_PLOTTED]]
    least = [
        Curve("measured", series.upper.min(axis=1)),
        Curve("certain", series.lower.min(axis=1)),
    ]
    levels = _levels(series)
    times = series.times
    plots = [
        Plot("least distance of all pairs", "m", times, least, levels=levels),
        Plot(
            "nearest pairs", "m", times,
            [Curve(" - ".join(series.pairs[k]), series.upper[:, k]) for k in nearest],
            levels=levels,
        ),
    ]  # fmt: skip
    more = len(series.minima) - _PAIRS_LISTED
    text = (
        "Measured: a distance that occurs. Certain: no smaller one occurs, between samples either."
        + (f" Of {len(series.minima)} pairs the nearest {_PAIRS_LISTED} are listed." * (more > 0))
    )
    head = ("Pair", "Certain", "Measured", "At", "Between")
    rows = [_row(pair) for pair in series.minima[:_PAIRS_LISTED]]
    return Section("Distances", text, plots, head, rows)


def _levels(series: ClearanceSeries) -> list[tuple[float, str]]:
    """Thresholds that are the same for all pairs, where there are any."""
    names = ("collision", "stop", "warn")
    found = []
    for k, name in enumerate(names):
        values = np.unique(series.limits[:, k])
        if len(values) == 1 and (k == 0 or values[0] > 0.0):
            found.append((float(values[0]), name))
    return found


def _row(pair: PairClearance) -> tuple[str, ...]:
    return (
        " - ".join(pair.links),
        value(pair.lower, "m"),
        value(pair.upper, "m"),
        f"{pair.time:.3f} s",
        "meshes" if pair.exact else "leaves",
    )
