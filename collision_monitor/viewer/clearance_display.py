# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Display of clearances: colour, level and text on the page, and a curve over time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from collision_monitor.hierarchy.query import Clearance

Rgb = tuple[float, float, float]

# Of obstacles; of boxes over triangles, of those that overlap, and of triangles that cross.
COLOURS = {"obstacle": "#c9b79c", "box": "#3a86d6", "meeting": "#d62828", "crossing": "#f21aa6"}


def rgb(colour: str) -> Rgb:
    """Red, green and blue, 0 to 1, of ``#rrggbb``."""
    r, g, b = (channel / 255.0 for channel in bytes.fromhex(colour[1:]))
    return r, g, b


CLEAR, NEAR, CONTACT = rgb("#2ea65e"), rgb("#f5bf26"), rgb("#db2929")
OK, WARN, ERROR = "OK", "WARN", "ERROR"
_COLOURS = {OK: "#2b8a4b", WARN: "#c98a00", ERROR: "#c62828"}
UNKNOWN = "#868e96"
OPACITY = 0.35  # of what is drawn over links: leaves, and shapes of the live scene

SECONDS = 30.0
_PERIOD = 0.05  # seconds between two stored points
_NEAR, _TOO_NEAR = "#d9a514", "#db2929"
_CURVES = ("#1d3557", "#2a9d8f", "#8e44ad", "#b5651d")


def clearance_colour(distance: float, warn: float, stop: float) -> Rgb:
    """Green above ``warn``, red at or below ``stop`` (and for NaN), yellow to red between.

    Distances are in metres; red, green and blue from 0 to 1.
    """
    if not distance > stop:
        return CONTACT
    if distance > warn:
        return CLEAR
    part = (distance - stop) / (warn - stop)
    r, g, b = (c + part * (n - c) for c, n in zip(CONTACT, NEAR, strict=True))
    return r, g, b


def level(distance: float, warn: float, stop: float) -> str:
    """ERROR at or below ``stop``, and for NaN; WARN at or below ``warn``; else OK."""
    if not distance > stop:
        return ERROR
    return OK if distance > warn else WARN


@dataclass(frozen=True)
class NodeReport:
    """State of a monitor node: level, distance (m), rate (Hz), and the reason."""

    level: str
    distance: float
    rate: float
    message: str = ""


def status_html(
    clearance: Clearance | None,
    warn: float,
    stop: float,
    rate: float,
    microseconds: float,
    node: NodeReport | None = None,
    note: str = "",
) -> str:
    """The head of the page: level, distance, nearest links, rates.

    ``rate``: of the page, Hz; ``microseconds``: duration of a query. All names are escaped, since
    they come from files.
    """
    if clearance is None:
        shown, distance, links = "-", "no pair is checked", ""
    else:
        shown = level(clearance.distance, warn, stop)
        distance = f"{clearance.distance:.4f} m"
        links = " &ndash; ".join(escape(name) for name in clearance.links)
    lines = [
        '<div style="padding:6px 10px;line-height:1.45">'
        f'<span data-clearance="level" style="{_badge(shown)}">{shown}</span> '
        f'<span data-clearance="distance" style="font-size:1.35em;font-weight:600">{distance}'
        "</span>",
        f'<span data-clearance="links">{links}</span>',
        f'<span style="opacity:.7">warn {warn:g} m, stop {stop:g} m; '
        f'<span data-clearance="rate">{rate:.0f} Hz</span>, {microseconds:.0f} &micro;s '
        "a query</span>",
    ]
    if node is not None:
        lines.append(
            f'<span data-clearance="node">monitor node: <span style="{_badge(node.level)}">'
            f"{escape(node.level)}</span> {node.distance:.4f} m, {node.rate:.0f} Hz</span>"
        )
        if node.message:
            lines.append(f'<span style="opacity:.7">{escape(node.message)}</span>')
    if note:
        lines.append(f"<i>{escape(note)}</i>")
    return "<br>".join(lines) + "</div>"


def _badge(shown: str) -> str:
    colour = _COLOURS.get(shown, UNKNOWN)
    return f"background:{colour};color:white;border-radius:4px;padding:1px 7px;font-weight:600"


class ClearanceCurve:
    """Distances of the last ``SECONDS``; at higher rates the minimum is stored."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, float]] = deque()

    def add(self, now: float, distance: float) -> None:
        """Add a distance in metres at ``now`` s of a steady clock."""
        points = self._points
        if points and now - points[-1][0] < _PERIOD:
            when, before = points[-1]
            points[-1] = (when, min(before, distance))
        else:
            points.append((now, distance))
        while points and now - points[0][0] > SECONDS:
            points.popleft()

    def arrays(self, now: float) -> tuple[np.ndarray, np.ndarray]:
        """Seconds before now (negative, increasing) and distances in metres."""
        times, distances = np.array(self._points, dtype=float).reshape(-1, 2).T
        return times - now, distances


def chart_data(
    times: np.ndarray, warn: float, stop: float, *curves: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Arrays of equal length for a chart: time, the two thresholds, the curves."""
    ones = np.ones(len(times))
    return (np.asarray(times, dtype=float), warn * ones, stop * ones, *curves)


def add_chart(gui: Any, data: tuple[np.ndarray, ...], names: Sequence[str], mark: str = "") -> Any:
    """A chart of ``chart_data``, a name for each curve; ``mark``: name of a last, thin grey one."""
    series = [
        {"label": "time"},
        {"label": "warn", "stroke": _NEAR, "width": 1, "dash": (6, 4)},
        {"label": "stop", "stroke": _TOO_NEAR, "width": 1, "dash": (6, 4)},
    ]
    for k, name in enumerate(names):
        series.append({"label": name, "stroke": _CURVES[k % len(_CURVES)], "width": 2})
    if mark:
        series.append({"label": mark, "stroke": "#868e96", "width": 1})
    return gui.add_uplot(
        data,
        tuple(series),
        scales={"x": {"time": False, "auto": True}, "y": {"auto": True}},
        axes=(
            {"label": "seconds", "labelSize": 16, "size": 28, "font": "10px sans-serif"},
            {"label": "metres", "labelSize": 16, "size": 44, "font": "10px sans-serif"},
        ),
        legend={"show": bool(mark)},
        height=190,
        padding=(8, 16, 0, 0),
    )
