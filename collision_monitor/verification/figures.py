# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG text, to stand in a page of their own."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from collision_monitor.errors import MissingDependencyError

_LINES_A_PANEL = 7  # more cannot be told apart
_DOTS = 1200  # instants that a curve is drawn through at most
_LIMIT = "#b3261e"


@dataclass(frozen=True)
class Curve:
    """One line of a plot.

    Attributes:
        label: in the legend.
        values: (n,) over the plot's times.
        lower, upper: its limits; infinite where there are none.
        band: (n,) or a number: how far the truth may lie to either side.
    """

    label: str
    values: np.ndarray
    lower: float = -math.inf
    upper: float = math.inf
    band: np.ndarray | float = 0.0


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


def _figure(plot: Plot) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            f"a report needs matplotlib ({error}): pip install 'collision_monitor[verify]'"
        ) from None
    curves = list(plot.curves)
    groups = [curves[k : k + _LINES_A_PANEL] for k in range(0, len(curves), _LINES_A_PANEL)]
    groups = groups or [[]]
    figure = Figure(figsize=(9.5, 2.7 * len(groups) + 0.4), layout="constrained")
    axes = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    axes[0].set_title(plot.title, loc="left", fontsize=10)
    for axis, group in zip(axes, groups, strict=True):
        _panel(axis, plot, group)
    axes[-1].set_xlabel("time, s")
    return figure


def _panel(axis: Any, plot: Plot, curves: Sequence[Curve]) -> None:
    rows = _rows(plot, curves)
    times = plot.times[rows]
    for k, curve in enumerate(curves):
        colour, values = f"C{k}", np.asarray(curve.values)[rows]
        if np.any(curve.band):
            band = np.broadcast_to(curve.band, np.shape(curve.values))[rows]
            axis.fill_between(times, values - band, values + band, color=colour, alpha=0.18, lw=0)
        axis.plot(times, values, color=colour, linewidth=1.3, label=curve.label)
        for limit in {curve.lower, curve.upper}:
            if math.isfinite(limit):
                axis.axhline(limit, color=colour, linewidth=0.9, linestyle=(0, (4, 3)), alpha=0.8)
    for level, label in plot.levels:
        axis.axhline(level, color=_LIMIT, linewidth=1.0, linestyle="--", label=label)
    for when, label in plot.marks:
        axis.axvline(when, color=_LIMIT, linewidth=1.0, alpha=0.7, label=label)
    axis.set_ylabel(plot.unit)
    axis.margins(x=0.01)
    axis.grid(alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)


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
