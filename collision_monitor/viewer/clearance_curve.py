# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The clearance over the last seconds, thinned out, with its thresholds."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

SECONDS = 30.0
_PERIOD = 0.05  # seconds between two points that are kept
_NEAR, _TOO_NEAR = "#d9a514", "#db2929"
_CURVES = ("#1d3557", "#2a9d8f", "#8e44ad", "#b5651d")


class ClearanceCurve:
    """Distances of the last ``SECONDS``; of those that come faster the least is kept."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, float]] = deque()

    def add(self, now: float, distance: float) -> None:
        """A distance in metres at ``now`` s of a steady clock."""
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
    """Arrays of one length, as a chart wants them: time, the two thresholds, the curves."""
    ones = np.ones(len(times))
    return (np.asarray(times, dtype=float), warn * ones, stop * ones, *curves)


def add_chart(
    gui: Any, data: tuple[np.ndarray, ...], names: Sequence[str], mark: str = ""
) -> Any:
    """A chart of ``chart_data``, a name for each curve; ``mark``: of a last one, thin and grey."""
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
