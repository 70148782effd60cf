# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Curves over time by matplotlib, with limits, levels and marks."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collision_monitor.common.lazy_imports import figure_class

NEED = ("plots need matplotlib", "verify")  # of `figure_class`
LINES_A_PANEL = 7  # more are indistinguishable
_DOTS = 1200  # maximum number of points of a curve
_LIMIT = "#b3261e"
_SHARED = "#5b6472"  # colour of a limit of several curves
STYLES = ("-", "--", "-.", ":")
_FAR = 4.0  # larger limits, relative to all values, would flatten the curves: not drawn
_WIDTH, _PANEL = 9.5, 2.7  # inches
_LETTER = 0.062  # inches per letter in the legend


@dataclass(frozen=True)
class Curve:
    """One line of a plot.

    Attributes:
        label: text in the legend.
        values: (n,) at the times of the plot.
        lower, upper: limits; infinite without a limit.
        band: (n,) or a number: uncertainty in both directions.
        style: line style of matplotlib.
        other: times and values (m,) of another course of the same quantity, drawn dotted; NaN where
            there is none.
    """

    label: str
    values: np.ndarray
    lower: float = -math.inf
    upper: float = math.inf
    band: np.ndarray | float = 0.0
    style: str = "-"
    other: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True)
class Plot:
    """Curves over time.

    Attributes:
        title: title of the plot.
        unit: of the values.
        times: (n,) seconds.
        curves: any number; they are distributed over several panels if necessary.
        marks: (seconds, label) of vertical lines.
        levels: (value, label) of horizontal lines.
    """

    title: str
    unit: str
    times: np.ndarray
    curves: Sequence[Curve]
    marks: Sequence[tuple[float, str]] = ()
    levels: Sequence[tuple[float, str]] = ()


def svg(figure: Any) -> str:
    """A figure of matplotlib as a self-contained <svg> element."""
    out = io.StringIO()
    from matplotlib import rc_context, rcParams

    with warnings.catch_warnings(), rc_context():
        warnings.simplefilter("ignore")  # newer versions spell the same word in capitals
        # Keep text as text: it is searchable, and smaller than outlines.
        rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "collision_monitor"})
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def figure(plots: Sequence[Plot], about_time: str = "") -> Any:
    """A figure of matplotlib with one or more panels for each plot, over the same time.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    panels = [
        (plot, first, list(plot.curves)[first : first + LINES_A_PANEL])
        for plot in plots
        for first in range(0, max(len(plot.curves), 1), LINES_A_PANEL)
    ]
    height = _PANEL * len(panels) + 0.4
    made = figure_class(*NEED)(figsize=(_WIDTH, height))
    axes = made.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    # The layout of matplotlib would double the time.
    labels = [curve.label for plot in plots for curve in plot.curves]
    labels += [label for plot in plots for _, label in (*plot.levels, *plot.marks)]
    legend = 0.5 + _LETTER * max(map(len, labels), default=0)
    made.subplots_adjust(
        left=0.9 / _WIDTH, right=max(1.0 - legend / _WIDTH, 0.4), bottom=0.5 / height,
        top=1.0 - 0.35 / height, hspace=0.12 if len(plots) == 1 else 0.2,
    )  # fmt: skip
    for axis, (plot, first, curves) in zip(axes, panels, strict=True):
        draw(axis, plot, curves)
        if first == 0:
            axis.set_title(plot.title, loc="left", fontsize=10)
    axes[-1].set_xlabel(f"time, s{about_time}")
    return made


def draw(axis: Any, plot: Plot, curves: Sequence[Curve]) -> None:
    """Draw ``curves`` of the plot into axes of matplotlib, with levels and marks."""
    for k, curve in enumerate(curves):
        colour, values = f"C{k}", np.asarray(curve.values)
        shown = _rows(values)
        if np.any(curve.band):
            band = np.broadcast_to(curve.band, values.shape)
            low, high = (values - band)[shown], (values + band)[shown]
            axis.fill_between(plot.times[shown], low, high, color=colour, alpha=0.18, lw=0)
        axis.plot(
            plot.times[shown], values[shown], curve.style, color=colour, linewidth=1.3,
            label=curve.label,
        )  # fmt: skip
        if curve.other is not None:
            times, values = curve.other
            shown = _rows(values)
            axis.plot(times[shown], values[shown], ":", color=colour, linewidth=1.6)
    near, far = _limits(curves)
    for limit, whose in near.items():
        colour = f"C{whose[0]}" if len(whose) == 1 else _SHARED
        axis.axhline(limit, color=colour, linewidth=0.9, linestyle=(0, (4, 3)), alpha=0.8)
    for k, (level, label) in enumerate(plot.levels):
        style = STYLES[1 + k % (len(STYLES) - 1)]  # a curve may be straight, and continuous
        axis.axhline(level, color=_LIMIT, linewidth=1.0, linestyle=style, label=label)
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
    """Limits to draw, each with its curves; and limits that are too far away."""
    reach = 0.0
    for curve in curves:
        values = np.abs(curve.values) + curve.band
        reach = max(reach, float(np.nanmax(values, initial=0.0)))
    near: dict[float, list[int]] = {}
    far = []
    for index, curve in enumerate(curves):
        for limit in (curve.lower, curve.upper):
            if not math.isfinite(limit):
                continue
            if abs(limit) > _FAR * reach > 0.0:
                far.append(limit)
            else:
                near.setdefault(limit, []).append(index)
    return near, far


def _rows(values: np.ndarray) -> np.ndarray:
    """Rows of a curve to draw: evenly spaced, and the extremes between these."""
    count = len(values)
    if count <= _DOTS:
        return np.arange(count)
    samples = {*np.linspace(0, count - 1, _DOTS // 2).astype(int).tolist()}
    width = math.ceil(count / (_DOTS // 4))
    for first in range(0, count, width):
        part = values[first : first + width]
        if np.isfinite(part).any():
            samples |= {first + int(np.nanargmin(part)), first + int(np.nanargmax(part))}
    return np.array(sorted(samples))
