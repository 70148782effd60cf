# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Reports of verified motions: a self-contained HTML page for each, with plots as SVG."""

from __future__ import annotations

import base64
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.common.files import write_text
from collision_monitor.common.lazy_imports import figure_class, optional_dependency
from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.text import counted
from collision_monitor.errors import MissingDependencyError
from collision_monitor.motion.measured import TORQUES, MeasuredMotion
from collision_monitor.motion.violation import Code
from collision_monitor.verification.clearance.clearance_check import ClearanceCheck, PairClearance
from collision_monitor.verification.joint_limits_check import LimitsCheck, Peak
from collision_monitor.verification.report.comparison import differences
from collision_monitor.verification.report.messages import headline, summary, value
from collision_monitor.verification.report.plots import (
    LINES_A_PANEL,
    NEED,
    STYLES,
    Curve,
    Plot,
    figure,
    svg,
)
from collision_monitor.verification.torques.torque_check import TorqueCheck
from collision_monitor.verification.verification import Check, Verdict, Verification

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# -- sections of a page: distances between links, limits of joints, torques --

_SCENE = "within the scene"
# A pair hardly moves if its distance changes by less than this part of the largest change in its
# group. The links next to the mounting of an arm of 11 m change by up to 0.02 of it.
_STILL = 0.05
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
        title, text: shown above the plots.
        plots: in the order of the page.
        head, rows: header and rows of the table, as text.
    """

    title: str
    text: str = ""
    plots: Sequence[Plot] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def clearance_section(check: ClearanceCheck, model: CollisionModel) -> Section:
    """Minimum distances by group, both envelopes, the closest pairs, and a table."""
    series = check.series
    column_of = {links: column for column, links in enumerate(series.pairs)}
    nearest = [column_of[minimum.pair] for minimum in series.minima[:LINES_A_PANEL]]
    by_group = _by_group(check, pair_groups(model))
    plots = [by_group] if len(by_group.curves) > 1 else []
    plots += [
        Plot(
            "least distance of all pairs", "m", series.times,
            [
                Curve("measured", series.upper.min(axis=1)),
                Curve("certain", series.lower.min(axis=1)),
            ],
            _first_violation(check), _levels(series.limits),
        ),
        Plot(
            "nearest pairs", "m", series.times,
            [Curve(" - ".join(series.pairs[pair]), series.upper[:, pair]) for pair in nearest],
            levels=_levels(series.limits[nearest]),
        ),
    ]  # fmt: skip
    more = len(series.minima) - _PAIRS_LISTED
    text = (
        "Measured: a distance that occurs. Certain: no distance is smaller, also between samples."
        + (f" Of {len(series.minima)} pairs the nearest {_PAIRS_LISTED} are listed." * (more > 0))
    )
    head = ("Pair", "Certain", "Measured", "At", "Between")
    table = [
        (
            " - ".join(minimum.pair),
            value(minimum.lower, "m"),
            value(minimum.distance, "m"),
            f"{minimum.time:.3f} s",
            "meshes" if minimum.exact else "leaves",
        )
        for minimum in series.minima[:_PAIRS_LISTED]
    ]
    return Section("Distances", text, plots, head, table)


def pair_groups(model: CollisionModel) -> dict[str, np.ndarray]:
    """Columns of pairs, grouped by the other part: the robot, fixed links, obstacles, scene joints.

    A joint of the scene, such as a solar wing, forms a group with all that it moves. Pairs without
    a link that the robot moves form the group ``within the scene``.
    """
    bodies, scene_joints = model.bodies, {joint.name for joint in model.scene.joints}

    def moved_by(name: str) -> str:
        link = model.carriers[name]
        chain = bodies.chain(bodies.link_bodies[link])
        joints = [model.joint_names[bodies.columns[k]] for k in chain]
        if any(joint not in scene_joints for joint in joints):
            return "own links"
        if joints:
            return joints[-1]
        return "fixed links" if link == name else "obstacles"

    groups: dict[str, list[int]] = {}
    for column, pair in enumerate(model.pairs):
        kinds = [moved_by(name) for name in pair]
        others = [kind for kind in kinds if kind != "own links"]
        group = "own links" if not others else others[0] if len(others) == 1 else _SCENE
        groups.setdefault(group, []).append(column)
    return {name: np.array(columns) for name, columns in sorted(groups.items())}


def _by_group(check: ClearanceCheck, groups: Mapping[str, np.ndarray]) -> Plot:
    """Minimum distance of every group of pairs over time, with different line styles.

    Pairs whose distance hardly changes, such as a shoulder and what it is mounted on, would hide
    all others of their group as a flat line. They are left out, unless they break a threshold.
    Distances within the scene are shown only if they change.
    """
    series = check.series
    change = np.ptp(series.upper, axis=0)
    near = series.upper.min(axis=0) <= series.limits.max(axis=1)
    curves: list[Curve] = []
    for name, columns in groups.items():
        most = change[columns].max()
        if name != _SCENE or most > SIX_DIGITS:
            moving = columns[near[columns] | (change[columns] >= _STILL * most)]
            values = series.upper[:, moving].min(axis=1)
            # Different styles, so that coinciding curves are visible.
            curves.append(Curve(name, values, style=STYLES[len(curves) % len(STYLES)]))
    return Plot(
        "least distance by group, without pairs that hardly move", "m", series.times, curves,
        _first_violation(check), _levels(series.limits),
    )  # fmt: skip


def _first_violation(check: ClearanceCheck) -> list[tuple[float, str]]:
    """A mark at the first violation that makes the motion unsafe."""
    unsafe = [v for v in check.violations if not v.warning]
    if not unsafe:
        return []
    first = min(unsafe, key=lambda v: v.first)
    return [(first.first, f"{first.code.value} from {first.first:.3f} s")]


def _levels(limits: np.ndarray) -> list[tuple[float, str]]:
    """Horizontal lines of the thresholds (pairs, 3) that are the same for all pairs."""
    levels: list[tuple[float, str]] = []
    for k, name in enumerate(("collision", "stop", "warn")):
        values = np.unique(limits[:, k])
        if len(values) == 1 and (not levels or values[0] > levels[-1][0]):
            levels.append((float(values[0]), name))
    return levels


def limits_section(check: LimitsCheck, measured: MeasuredMotion | None = None) -> Section:
    """Plots of moving joints by unit, and a table of their peaks and limits."""
    peaks = {(peak.joint, peak.code): peak for peak in check.peaks}
    units = {name: peaks[name, Code.JOINT_POSITION].unit for name in check.joint_names}
    moving = np.flatnonzero(np.ptp(check.positions, axis=0) > 0.0)
    plots = []
    for attribute, limit, code, per in _RATES:
        if code is Code.JOINT_JERK and not any(math.isfinite(row.jerk) for row in check.limits):
            continue
        for unit, columns in _by_unit(check.joint_names, units, moving):
            curves = []
            for column in columns:
                row = check.limits[column]
                lower, upper = row.lower, row.upper
                if attribute != "positions":
                    lower, upper = -getattr(row, limit), getattr(row, limit)
                values = getattr(check, attribute)[:, column]
                curves.append(Curve(check.joint_names[column], values, lower, upper))
            plot = Plot(f"joint {attribute}", unit + per, check.times, curves)
            plots.append(_with_measured(plot, attribute, measured))
    table = []
    for name in check.joint_names:
        mine = [peaks[name, code] for _, _, code, _ in _RATES]
        cells = (f"{value(peak.value, peak.unit)} ({value(peak.limit, '')})" for peak in mine)
        table.append((name, *cells))
    head = ("Joint", *(f"{limit} (limit)" for _, limit, _, _ in _RATES))
    text = "Dashed: limits. Largest values are exact, between samples too."
    return Section("Joints", text if len(moving) else "No joint moves.", plots, head, table)


def _with_measured(plot: Plot, quantity: str, measured: MeasuredMotion | None) -> Plot:
    """The plot with the curves of a recording."""
    if measured is None:
        return plot
    return replace(
        plot,
        curves=[
            replace(curve, other=(plot.times, measured.at(curve.label, quantity, plot.times)))
            for curve in plot.curves
        ],
    )


def torque_section(check: TorqueCheck, measured: MeasuredMotion | None = None) -> Section:
    """Plots of links and of motors, by unit, and a table of the largest torques.

    Measured torques are drawn over those of the motors.
    """
    names = check.joint_names
    units = {peak.joint: peak.unit for peak in check.peaks}
    kinds = [("torques of links", check.link_torques, check.link_bands, check.link_limits)]
    if not np.array_equal(check.motor_torques, check.link_torques):  # else rigid, no rotors
        kinds.append(
            ("torques of motors", check.motor_torques, check.motor_bands, check.motor_limits)
        )
    plots = []
    for title, torques, bands, limits in kinds:
        for unit, columns in _by_unit(names, units, range(len(names))):
            curves = [
                Curve(names[k], torques[:, k], -limits[k], limits[k], bands[:, k]) for k in columns
            ]
            plot = Plot(title, unit, check.times, curves)
            last = title == kinds[-1][0]
            plots.append(_with_measured(plot, TORQUES, measured) if last else plot)
    table = [
        (name, *(_torque_cell(peak) for peak in check.peaks if peak.joint == name))
        for name in names
    ]
    text = "Shaded: the margin around the computed torque. Dashed: limits."
    return Section("Torques", text, plots, ("Joint", "link (limit)", "motor (limit)"), table)


def _measured_section(result: Verification, measured: MeasuredMotion) -> Section:
    table = [
        (d.joint, d.quantity, value(d.value, d.unit), f"{d.time:.3f} s")
        for d in differences(result, measured)
    ]
    text = f"Largest differences, {measured.source} minus {result.source}. Dotted: measured."
    return Section("Measured motion", text, (), ("Joint", "quantity", "difference", "at"), table)


def _torque_cell(peak: Peak) -> str:
    band = f" ± {peak.band:.3g}" if peak.band > 0.0 else ""
    return f"{peak.value:.4g}{band} {peak.unit} ({value(abs(peak.limit), '')})"


def _by_unit(
    names: Sequence[str], units: Mapping[str, str], columns: Iterable[int]
) -> list[tuple[str, list[int]]]:
    """Columns of joints for each unit."""
    found: dict[str, list[int]] = {}
    for k in columns:
        found.setdefault(units[names[k]], []).append(k)
    return sorted(found.items(), reverse=True)


# -- page --

_TAGS = {Verdict.SAFE: "done", Verdict.NOT_SAFE: "", Verdict.NOT_CHECKED: "warning"}
_LOOKS = {Verdict.SAFE: "safe", Verdict.NOT_SAFE: "unsafe", Verdict.NOT_CHECKED: "unknown"}


def write_reports(
    path: str | os.PathLike,
    model: CollisionModel,
    results: Sequence[Verification],
    render: Callable[..., object] | None = None,
) -> list[Path]:
    """Write the page of one motion to ``path``; for several motions, an index and numbered pages.

    ``render``: `viewer.picture.render`, for pictures of the minimum distance; None: no pictures.

    Returns the paths that were written.

    Raises:
        MissingDependencyError: jinja2 or matplotlib is not installed.
        OSError: a file cannot be written.
    """
    path = Path(path)
    if len(results) == 1:
        write_text(path, report(model, results[0], render=render))
        return [path]
    numbers = range(1, len(results) + 1)
    pages = [path.with_name(f"{path.stem}-{k}{path.suffix}") for k in numbers]
    for one, result in zip(pages, results, strict=True):
        write_text(one, report(model, result, path.name, render))
    write_text(path, listing(results, [one.name for one in pages]))
    return [path, *pages]


def report(
    model: CollisionModel,
    result: Verification,
    back: str = "",
    render: Callable[..., object] | None = None,
) -> str:
    """The page of one motion; ``back``: the page of all motions; ``render`` as above.

    Raises:
        MissingDependencyError: jinja2 or matplotlib is not installed.
    """
    sections: list[Section] = []
    if result.clearance is not None:
        sections.append(clearance_section(result.clearance, model))
    if result.limits is not None:
        sections.append(limits_section(result.limits, result.measured))
    if result.torques is not None:
        sections.append(torque_section(result.torques, result.measured))
    if result.measured is not None:
        sections.append(_measured_section(result, result.measured))
    return _page(
        "report_page.html",
        result=result,
        look=_LOOKS[result.verdict],
        headline=headline(result),
        made_at=_now(),
        checks=[_row(check, result) for check in result.checks],
        pictures=[
            base64.b64encode(picture).decode()
            for picture in (pictures(model, result.worst, render) if render else [])
        ],
        sections=[
            {**vars(section), "images": [svg(figure([plot])) for plot in section.plots]}
            for section in sections
        ],
        number=value,
        back=back,
    )


def pictures(
    model: CollisionModel, worst: PairClearance | None, render: Callable[..., object]
) -> list[bytes]:
    """PNGs of the configuration with the minimum distance: overview and close-up, if available."""
    if worst is None:
        return []
    # An isometric view from above, from the side of the robot where both links are close.
    middle = np.mean([point for ends in model.leaf_segments(worst.q) for point in ends], axis=0)
    beside = worst.points.mean(axis=0) - middle
    x, y, _ = np.copysign(1.0, beside).tolist()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{name}.png") for name in ("whole", "near")]
        try:
            render(
                model, worst.q, paths[0], leaves=False, direction=(x, y, 1.0), marked=worst.pair,
                nearest=worst.points, close_up=paths[1],
            )  # fmt: skip
        except MissingDependencyError:
            return []
        return [path.read_bytes() for path in paths]


def listing(results: Sequence[Verification], pages: Sequence[str]) -> str:
    """The index: a row for each motion, with links to ``pages``.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    worst = max((result.verdict for result in results), key=lambda verdict: verdict.exit_code)
    motions = [
        {
            "result": result,
            "page": page,
            "tag": _TAGS[result.verdict],
            "reason": headline(result).partition(": ")[2],
        }
        for result, page in zip(results, pages, strict=True)
    ]
    return _page(
        "report_list.html", motions=motions, look=_LOOKS[worst], summary=summary(results),
        made_at=_now(), number=value,
    )  # fmt: skip


def require_report() -> None:
    """Raise MissingDependencyError if the packages for reports are not installed."""
    _template("report_page.html")
    figure_class(*NEED)


def _page(template: str, **values: Any) -> str:
    """A page that can be written in UTF-8: names of files may have other bytes."""
    return _template(template).render(**values).encode("utf-8", "replace").decode()


def _template(name: str) -> Any:
    with optional_dependency("a report needs jinja2", "verify"):
        import jinja2
    loader = jinja2.PackageLoader(__package__, "")
    return jinja2.Environment(autoescape=True, loader=loader).get_template(name)


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def _row(check: Check, result: Verification) -> dict[str, str]:
    """A row of the table of checks."""
    mine = [v for v in result.violations if v.code in check.codes]
    unsafe = sum(not v.warning for v in mine)
    look, word, text = "done", "passed", ""
    if check.skipped:
        look, word, text = "left", "not done", check.skipped
    elif unsafe:
        look, word, text = "", "not safe", counted(unsafe, "violation")
    elif mine:
        look, word, text = "warning", "warning", counted(len(mine), "warning")
    return {"name": check.name, "look": look, "word": word, "text": text}
