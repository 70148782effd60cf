# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The parts of a report: distances between links, limits of joints, torques."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from collision_monitor.motion.violation import Code
from collision_monitor.verification.clearance.clearance_check import ClearanceCheck
from collision_monitor.verification.clearance.clearance_series import ClearanceSeries
from collision_monitor.verification.limits.joint_limits_check import LimitsCheck, Peak
from collision_monitor.verification.report.messages import value
from collision_monitor.verification.report.plots import Curve, Plot
from collision_monitor.verification.torques.torque_check import TorqueCheck

_GROUPS_PLOTTED = 4
_PAIRS_PLOTTED = 6
_PAIRS_LISTED = 30
_RATES = (
    ("positions", "position", Code.JOINT_POSITION, ""),
    ("velocities", "velocity", Code.JOINT_VELOCITY, "/s"),
    ("accelerations", "acceleration", Code.JOINT_ACCELERATION, "/s^2"),
    ("jerks", "jerk", Code.JOINT_JERK, "/s^3"),
)


@dataclass(frozen=True)
class Section:
    """Plots, and a table below them.

    Attributes:
        title, text: above the plots.
        plots: in this order.
        head, rows: of the table, as text.
    """

    title: str
    text: str = ""
    plots: Sequence[Plot] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


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
            [Curve(" - ".join(series.pairs[k]), series.upper[:, k]) for k in nearest],
            levels=_levels(series.limits[nearest]),
        )
    )  # fmt: skip
    more = len(series.minima) - _PAIRS_LISTED
    text = (
        "Measured: a distance that occurs. Certain: no smaller one occurs, between samples either."
        + (f" Of {len(series.minima)} pairs the nearest {_PAIRS_LISTED} are listed." * (more > 0))
    )
    head = ("Pair", "Certain", "Measured", "At", "Between")
    rows = [
        (
            " - ".join(pair.links),
            value(pair.lower, "m"),
            value(pair.upper, "m"),
            f"{pair.time:.3f} s",
            "meshes" if pair.exact else "leaves",
        )
        for pair in series.minima[:_PAIRS_LISTED]
    ]
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
        pairs = f"{len(columns)} pairs"
        if len(columns) == 1:
            pairs = " - ".join(series.pairs[columns[0]])
        title = f"least distance of {pairs} ({said})"
    curves = [
        Curve("measured", series.upper[:, columns].min(axis=1)),
        Curve("certain", series.lower[:, columns].min(axis=1)),
    ]
    names = {" - ".join(series.pairs[k]) for k in columns}
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


def limits_section(check: LimitsCheck, title: str = "Joints") -> Section:
    """Plots of the joints that move, by unit, and a table of how near each came to its limits."""
    peaks = {(peak.joint, peak.code): peak for peak in check.peaks}
    units = {name: peaks[name, Code.JOINT_POSITION].unit for name in check.joint_names}
    moving = np.flatnonzero(np.ptp(check.positions, axis=0) > 0.0)
    plots = []
    for attribute, limit, code, per in _RATES:
        if code is Code.JOINT_JERK and not any(math.isfinite(row.jerk) for row in check.limits):
            continue
        for unit, columns in _by_unit(check.joint_names, units, moving):
            curves = []
            for k in columns:
                row = check.limits[k]
                lower, upper = row.lower, row.upper
                if attribute != "positions":
                    lower, upper = -getattr(row, limit), getattr(row, limit)
                values = getattr(check, attribute)[:, k]
                curves.append(Curve(check.joint_names[k], values, lower, upper))
            plots.append(Plot(f"joint {attribute}", unit + per, check.times, curves))
    rows = []
    for name in check.joint_names:
        mine = [peaks[name, code] for _, _, code, _ in _RATES]
        cells = (f"{value(peak.value, peak.unit)} ({value(peak.limit, '')})" for peak in mine)
        rows.append((name, *cells))
    head = ("Joint", *(f"{limit} (limit)" for _, limit, _, _ in _RATES))
    text = "Dashed: limits. Largest values are exact, between samples too."
    return Section(title, text if len(moving) else "No joint moves.", plots, head, rows)


def torque_section(check: TorqueCheck) -> Section:
    """Plots of links and of motors, by unit, and a table of the largest torques."""
    names = check.joint_names
    units = {peak.joint: peak.unit for peak in check.peaks}
    kinds = [("torques of links", check.link_torques, check.link_bands, check.link_limits)]
    if not np.array_equal(check.motor_torques, check.link_torques):  # else rigid, without rotors
        kinds.append(
            ("torques of motors", check.motor_torques, check.motor_bands, check.motor_limits)
        )
    plots = []
    for title, torques, bands, limits in kinds:
        for unit, columns in _by_unit(names, units, range(len(names))):
            curves = [
                Curve(names[k], torques[:, k], -limits[k], limits[k], bands[:, k])
                for k in columns
            ]
            plots.append(Plot(title, unit, check.times, curves))
    rows = [
        (name, *(_torque_cell(peak) for peak in check.peaks if peak.joint == name))
        for name in names
    ]
    text = "Shaded: the margin around the computed torque. Dashed: limits."
    return Section("Torques", text, plots, ("Joint", "link (limit)", "motor (limit)"), rows)


def _torque_cell(peak: Peak) -> str:
    band = f" ± {peak.band:.3g}" if peak.band > 0.0 else ""
    return f"{peak.value:.4g}{band} {peak.unit} ({value(abs(peak.limit), '')})"


def _by_unit(
    names: Sequence[str], units: Mapping[str, str], columns: Iterable[int]
) -> list[tuple[str, list[int]]]:
    """Columns of joints with the same unit, for each unit that there is."""
    found: dict[str, list[int]] = {}
    for k in columns:
        found.setdefault(units[names[k]], []).append(k)
    return sorted(found.items(), reverse=True)
