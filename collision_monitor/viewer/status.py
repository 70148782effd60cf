# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the page says about the clearance: a level, in words and colours."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from collision_monitor.hierarchy.clearance import Clearance

OK, WARN, ERROR = "OK", "WARN", "ERROR"
_COLOURS = {OK: "#2b8a4b", WARN: "#c98a00", ERROR: "#c62828"}
_UNKNOWN = "#868e96"


def level(distance: float, warn: float, stop: float) -> str:
    """ERROR at or below ``stop``, and for NaN; WARN at or below ``warn``; else OK."""
    if not distance > stop:
        return ERROR
    return OK if distance > warn else WARN


@dataclass(frozen=True)
class NodeReport:
    """What a monitor node says on a ROS graph: its level, distance (m), rate (Hz), and why."""

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

    ``rate``: of the page, Hz; ``microseconds``: that one query took. Names come from files, so
    all of them are escaped.
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
    colour = _COLOURS.get(shown, _UNKNOWN)
    return f"background:{colour};color:white;border-radius:4px;padding:1px 7px;font-weight:600"
