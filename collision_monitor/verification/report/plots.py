# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Plots over time: as SVG text, to stand in a page of their own, or in any axes of matplotlib."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from collision_monitor.common.optional_dependencies import optional_dependency

_LINES_A_PANEL = 7  # more cannot be distinguished
_DOTS = 1200  # instants that a curve is drawn through at most
_LIMIT = "#b3261e"
_SHARED = "#5b6472"  # a limit of several curves
_DASHES = {"stop": (0, (5, 2)), "warn": (0, (1, 2))}  # others: as they are
_FAR = 4.0  # a limit this many times as large as all values would flatten these: it is not drawn
_WIDTH, _PANEL = 9.5, 2.7  # inches
_LETTER = 0.062  # inches of a letter in the legend


@dataclass(frozen=True)
class Curve:
    """One line of a plot.

    Attributes:
        label: in the legend.
        values: (n,) over the plot's times.
        lower, upper: its limits; infinite where there are none.
        band: (n,) or a number: how far the truth may lie to either side.
        style: of the line, as matplotlib names it.
    """

    label: str
    values: np.ndarray
    lower: float = -math.inf
    upper: float = math.inf
    band: np.ndarray | float = 0.0
    style: str = "-"


@dataclass(frozen=True)
class Plot:
    """Curves over time.

    Attributes:
        title: what is shown.
        unit: of the values.
        times: (n,) seconds.
        curves: as many as there are; more than a panel holds go to further panels.
        marks: (seconds, label) of vertical lines.
        levels: (value, label) of horizontal lines.
    """

    title: str
    unit: str
    times: np.ndarray
    curves: Sequence[Curve]
    marks: Sequence[tuple[float, str]] = ()
    levels: Sequence[tuple[float, str]] = field(default_factory=tuple)


def svg(plot: Plot) -> str:
    """The plot as an <svg> element, readable without the network.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    figure = _figure(plot)
    out = io.StringIO()
    # Text stays text: it can be searched, and takes less room than outlines.
    from matplotlib import rc_context, rcParams

    with warnings.catch_warnings(), rc_context():
        warnings.simplefilter("ignore")  # newer versions spell the same word in capitals
        rcParams.update({"svg.fonttype": "none", "svg.hashsalt": plot.title})
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def draw(axis: Any, plot: Plot, curves: Sequence[Curve]) -> None:
    """Draw ``curves`` of the plot into axes of matplotlib, with its levels and marks."""
    rows = _rows(plot, curves)
    times = plot.times[rows]
    for k, curve in enumerate(curves):
        colour, values = f"C{k}", np.asarray(curve.values)[rows]
        if np.any(curve.band):
            band = np.broadcast_to(curve.band, np.shape(curve.values))[rows]
            axis.fill_between(times, values - band, values + band, color=colour, alpha=0.18, lw=0)
        axis.plot(times, values, curve.style, color=colour, linewidth=1.3, label=curve.label)
    near, far = _limits(curves)
    for limit, whose in near.items():
        colour = f"C{whose[0]}" if len(whose) == 1 else _SHARED
        axis.axhline(limit, color=colour, linewidth=0.9, linestyle=(0, (4, 3)), alpha=0.8)
    for level, label in plot.levels:
        dashes = _DASHES.get(label, "--")
        axis.axhline(level, color=_LIMIT, linewidth=1.0, linestyle=dashes, label=label)
    for when, label in plot.marks:
        axis.axvline(when, color=_LIMIT, linewidth=1.0, alpha=0.7, label=label)
    if far:
        least = min(far, key=abs)
        axis.text(
            0.99, 0.96, f"limits from \N{PLUS-MINUS SIGN}{abs(least):.4g} on: not drawn",
            transform=axis.transAxes, ha="right", va="top", fontsize=8, color="0.4",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip
    axis.set_ylabel(plot.unit)
    axis.margins(x=0.01)
    axis.grid(alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)


def _limits(curves: Sequence[Curve]) -> tuple[dict[float, list[int]], list[float]]:
    """Limits to be drawn, each with the curves that have it; and those too far off."""
    reach = 0.0
    for curve in curves:
        values = np.abs(curve.values) + curve.band
        reach = max(reach, float(np.nanmax(values, initial=0.0)))
    near: dict[float, list[int]] = {}
    far = []
    for k, curve in enumerate(curves):
        for limit in (curve.lower, curve.upper):
            if not math.isfinite(limit):
                continue
            if abs(limit) > _FAR * reach > 0.0:
                far.append(limit)
            else:
                near.setdefault(limit, []).append(k)
    return near, far


def require_matplotlib() -> Any:
    """The class Figure of matplotlib.

    Raises:
        MissingDependencyError: it is not installed.
    """
    with optional_dependency("a report needs matplotlib", "verify"):
        from matplotlib.figure import Figure
    return Figure


def _figure(plot: Plot) -> Any:
    curves = list(plot.curves)
    starts = range(0, max(len(curves), 1), _LINES_A_PANEL)
    panels = [curves[k : k + _LINES_A_PANEL] for k in starts]
    height = _PANEL * len(panels) + 0.4
    figure = require_matplotlib()(figsize=(_WIDTH, height))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    # Not matplotlib's own layout, which takes as long as all the rest.
    labels = [label for one in (plot.curves, plot.levels, plot.marks) for label in map(_label, one)]
    legend = 0.5 + _LETTER * max(map(len, labels), default=0)
    figure.subplots_adjust(
        left=0.9 / _WIDTH, right=max(1.0 - legend / _WIDTH, 0.4), bottom=0.5 / height,
        top=1.0 - 0.35 / height, hspace=0.12,
    )  # fmt: skip
    axes[0].set_title(plot.title, loc="left", fontsize=10)
    for axis, curves in zip(axes, panels, strict=True):
        draw(axis, plot, curves)
    axes[-1].set_xlabel("time, s")
    return figure


def _label(thing: Curve | tuple[float, str]) -> str:
    return thing.label if isinstance(thing, Curve) else thing[1]


def _rows(plot: Plot, curves: Sequence[Curve]) -> np.ndarray:
    """Rows to draw through: evenly spread, and the extremes of every curve."""
    count = len(plot.times)
    if count <= _DOTS:
        return np.arange(count)
    rows = {*np.linspace(0, count - 1, _DOTS // 2).astype(int).tolist()}
    width = math.ceil(count / (_DOTS // 4))
    for curve in curves:
        values = np.asarray(curve.values)
        for first in range(0, count, width):
            part = values[first : first + width]
            if np.isfinite(part).any():
                rows |= {first + int(np.nanargmin(part)), first + int(np.nanargmax(part))}
    return np.array(sorted(rows))
