# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A motion before and after adjustment: joints, clearance and index over time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.cli.adjust_report import sides_of
from collision_monitor.common.optional_dependencies import optional_dependency
from collision_monitor.errors import MotionError

if TYPE_CHECKING:
    from collision_monitor.self_collision.adjustment import Adjustment

_BEFORE, _AFTER, _SAFE, _DANGER = "#8d99ae", "#1d3557", "#2a9d8f", "#d62828"


def require(path: str | os.PathLike) -> None:
    """Raise what `plot` would raise: no matplotlib, or a suffix that it cannot write."""
    known = _figure_class()().canvas.get_supported_filetypes()
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in known:
        raise MotionError(f"{path}: no plot can be written as that; take one of {', '.join(known)}")


def _figure_class() -> Any:
    """The class Figure of matplotlib; MissingDependencyError where it is not installed."""
    with optional_dependency("plots need matplotlib", "adjust"):
        from matplotlib.figure import Figure
    return Figure


def plot(
    path: str | os.PathLike,
    adjustment: Adjustment,
    safe: float,
    danger: float,
    units: Mapping[str, str],
) -> None:
    """Write a picture; ``safe`` and ``danger`` in metres, ``units`` rad or m by joint.

    Raises:
        MotionError: the picture cannot be written.
        MissingDependencyError: matplotlib is not installed.
    """
    figure = draw(adjustment, safe, danger, units)
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise MotionError(f"{path}: the plot cannot be written: {error}") from None


def draw(adjustment: Adjustment, safe: float, danger: float, units: Mapping[str, str]) -> Any:
    """The matplotlib figure of `plot`: a panel for each arm that changes, clearance, index."""
    groups = _changed_joints(adjustment)
    figure = _figure_class()(figsize=(9.0, 2.4 * (len(groups) + 2) + 0.6), layout="constrained")
    axes = figure.subplots(len(groups) + 2, 1, sharex=True, squeeze=False)[:, 0]
    for axis, (title, columns) in zip(axes, groups.items(), strict=False):
        _joints(axis, adjustment, columns, units)
        axis.set_title(title, loc="left", fontsize=10)
    _clearance(axes[-2], adjustment, safe, danger)
    _index(axes[-1], adjustment)
    if not groups:
        axes[0].set_title("no joint is changed", loc="left", fontsize=10)
    axes[-1].set_xlabel("time, s" + _slower(adjustment))
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.margins(x=0.01)
    return figure


def _slower(adjustment: Adjustment) -> str:
    if np.array_equal(adjustment.motion.times, adjustment.desired.times):
        return ""
    longer = adjustment.motion.duration - adjustment.desired.duration
    return f" (each motion over its own: the adjusted one takes {longer:.3g} s longer)"


def _changed_joints(adjustment: Adjustment) -> dict[str, list[int]]:
    """Columns of the joints that change, by arm."""
    changed = np.abs(adjustment.joint_change).max(axis=0) > 0.0
    groups = {}
    for side, arm in zip(sides_of(adjustment), adjustment.arms, strict=True):
        columns = [
            k
            for k, name in enumerate(adjustment.motion.joint_names)
            if changed[k] and name in arm.joint_names
        ]
        if columns:
            groups[arm.name if side == arm.name else f"{arm.name} ({side})"] = columns
    return groups


def _joints(
    axis: Any, adjustment: Adjustment, columns: list[int], units: Mapping[str, str]
) -> None:
    dashed = {"linestyle": (0, (3, 2)), "linewidth": 1.0}
    names = adjustment.motion.joint_names
    for number, k in enumerate(columns):
        to_shown = np.degrees if units[names[k]] == "rad" else np.asarray
        for motion, style in (
            (adjustment.desired, dashed),
            (adjustment.motion, {"linewidth": 1.4, "label": names[k]}),
        ):
            axis.plot(motion.times, to_shown(motion.positions[:, k]), color=f"C{number}", **style)
    shown = {units[names[k]] for k in columns}
    axis.set_ylabel(" or ".join("deg" if unit == "rad" else "m" for unit in sorted(shown)[::-1]))
    axis.plot([], [], color="black", label="before", **dashed)
    axis.plot([], [], color="black", label="after", linewidth=1.4)
    _legend(axis)


def _clearance(axis: Any, adjustment: Adjustment, safe: float, danger: float) -> None:
    elsewhere = adjustment.certified_elsewhere
    axis.axhline(safe, color=_SAFE, linewidth=1.0, linestyle="--", label=f"d_saf {safe:g} m")
    axis.axhline(danger, color=_DANGER, linewidth=1.0, linestyle="--", label=f"d_dan {danger:g} m")
    if elsewhere < safe:
        label = f"not between\nthe arms {elsewhere:.3g} m"
        axis.axhline(elsewhere, color=_SAFE, linewidth=1.0, linestyle=":", label=label)
    axis.plot(adjustment.desired.times, adjustment.clearance_before, color=_BEFORE, label="before")
    axis.plot(adjustment.motion.times, adjustment.clearance, color=_AFTER, label="after")
    axis.set_ylabel("least clearance, m")
    _legend(axis)


def _index(axis: Any, adjustment: Adjustment) -> None:
    for times, values, colour, label in (
        (adjustment.desired.times, adjustment.index_before, _BEFORE, "before"),
        (adjustment.motion.times, adjustment.index_after, _AFTER, "after"),
    ):
        finite = np.isfinite(values)
        axis.plot(times, np.where(finite, values, np.nan), color=colour, label=label)
        if not finite.all():  # drawn along the upper edge, whatever the scale
            axis.plot(
                times[~finite], np.ones((~finite).sum()), "^", color=colour, markersize=4,
                transform=axis.get_xaxis_transform(), clip_on=False,
                label=f"{label}: infinite",
            )  # fmt: skip
    axis.set_ylim(bottom=0.0)
    if axis.get_ylim()[1] < 1e-6:
        axis.set_ylim(top=1.0)
    axis.set_ylabel("index F, m")
    _legend(axis)


def _legend(axis: Any) -> None:
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, frameon=False)
