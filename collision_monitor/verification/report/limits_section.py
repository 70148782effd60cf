# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The part of a report about joints: angles, rates and accelerations against their limits."""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.motion.violation import Code
from collision_monitor.verification.limits.joint_limits_check import LimitsCheck, Peak
from collision_monitor.verification.report.messages import value
from collision_monitor.verification.report.plots import Curve, Plot
from collision_monitor.verification.report.report_page import Section

_RATES = (
    ("positions", "position", Code.JOINT_POSITION, ""),
    ("velocities", "velocity", Code.JOINT_VELOCITY, "/s"),
    ("accelerations", "acceleration", Code.JOINT_ACCELERATION, "/s^2"),
    ("jerks", "jerk", Code.JOINT_JERK, "/s^3"),
)


def limits_section(check: LimitsCheck, title: str = "Joints") -> Section:
    """Plots of the joints that move, by unit, and a table of how near each came to its limits."""
    units = {peak.joint: peak.unit for peak in check.peaks if peak.code is Code.JOINT_POSITION}
    moving = np.flatnonzero(np.ptp(check.positions, axis=0) > 0.0)
    plots = []
    for attribute, limit, code, per in _RATES:
        if code is Code.JOINT_JERK and not any(math.isfinite(row.jerk) for row in check.limits):
            continue
        for unit in sorted({units[check.joint_names[k]] for k in moving}, reverse=True):
            chosen = [k for k in moving if units[check.joint_names[k]] == unit]
            curves = [_curve(check, attribute, limit, k) for k in chosen]
            plots.append(Plot(f"joint {attribute}", unit + per, check.times, curves))
    rows = [_row(check, name) for name in check.joint_names]
    head = ("Joint", *(f"{limit} (limit)" for _, limit, _, _ in _RATES))
    text = "Dashed: limits. Largest values are exact, between samples too."
    if not len(moving):
        text = "No joint moves."
    return Section(title, text, plots, head, rows)


def _curve(check: LimitsCheck, attribute: str, limit: str, k: int) -> Curve:
    row, values = check.limits[k], getattr(check, attribute)[:, k]
    if attribute == "positions":
        return Curve(check.joint_names[k], values, row.lower, row.upper)
    most = getattr(row, limit)
    return Curve(check.joint_names[k], values, -most, most)


def _row(check: LimitsCheck, name: str) -> tuple[str, ...]:
    peaks = {peak.code: peak for peak in check.peaks if peak.joint == name}
    return (name, *(_cell(peaks[code]) for _, _, code, _ in _RATES))


def _cell(peak: Peak) -> str:
    return f"{value(peak.value, peak.unit)} ({value(peak.limit, '')})"
