# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The part of a report about torques of links and motors, with their bands and limits."""

from __future__ import annotations

import numpy as np

from collision_monitor.verification.report.messages import value
from collision_monitor.verification.report.plots import Curve, Plot
from collision_monitor.verification.report.report_page import Section
from collision_monitor.verification.torques.torque_check import TorqueCheck, TorquePeak


def torque_section(check: TorqueCheck) -> Section:
    """Plots of links and of motors, by unit, and a table of the largest torques."""
    units = {peak.joint: peak.unit for peak in check.peaks}
    plots = []
    for title, torques, bands, limits in (
        ("torques of links", check.link_torques, check.link_bands, check.link_limits),
        ("torques of motors", check.motor_torques, check.motor_bands, check.motor_limits),
    ):
        if title.endswith("motors") and np.array_equal(torques, check.link_torques):
            continue  # rigid joints without rotors: the same once more
        for unit in sorted(set(units.values())):
            chosen = [k for k, name in enumerate(check.joint_names) if units[name] == unit]
            curves = [
                Curve(
                    check.joint_names[k], torques[:, k], -limits[k], limits[k], band=bands[:, k]
                )
                for k in chosen
            ]
            plots.append(Plot(title, unit, check.times, curves))
    rows = [
        (name, *(_cell(peak) for peak in check.peaks if peak.joint == name))
        for name in check.joint_names
    ]
    text = "Shaded: the margin around the computed torque. Dashed: limits."
    return Section("Torques", text, plots, ("Joint", "link (limit)", "motor (limit)"), rows)


def _cell(peak: TorquePeak) -> str:
    band = f" ± {peak.band:.3g}" if peak.band > 0.0 else ""
    return f"{peak.value:.4g}{band} {peak.unit} ({value(abs(peak.limit), '')})"
