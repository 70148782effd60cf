# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Results of ``adjust`` as JSON, as text, and as a plot over time."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.common.lazy_imports import figure_class
from collision_monitor.common.text import MOST_NAMED, json_number, time_text
from collision_monitor.errors import AdjustmentError, MotionError
from collision_monitor.verification.report.plots import NEED, Curve, Plot, figure

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.self_collision.adjustment import Adjustment
    from collision_monitor.self_collision.arms import Arm

# -- JSON and text --

ADJUSTED, SAFE, FAILED = "adjusted", "already safe", "no safe adjustment"


def _at(adjustment: Adjustment, waypoint: int) -> dict[str, Any]:
    k = int(waypoint)
    return {"waypoint": k, "time": float(adjustment.desired.times[k])}


def _closest(adjustment: Adjustment, waypoint: int) -> list[str] | None:
    """The nearest pair that is kept apart; None if there is none."""
    known = math.isfinite(adjustment.clearance[waypoint])
    return list(adjustment.closest[waypoint]) if known else None


def units(model: CollisionModel) -> dict[str, str]:
    """``rad`` or ``m`` by the name of the joint."""
    return {joint.name: "m" if joint.kind == "prismatic" else "rad" for joint in model.robot.joints}


def sides_of(arms: Sequence[Arm]) -> tuple[str, ...]:
    """``right`` and ``left`` for two arms; otherwise the names of the arms."""
    return ("right", "left") if len(arms) == 2 else tuple(arm.name for arm in arms)


def _arms(arms: Sequence[Arm]) -> dict[str, Any]:
    """Names, joints and tips, by side or name."""
    return {
        side: {"name": arm.name, "joints": list(arm.joint_names), "tip": arm.tip_link}
        for side, arm in zip(sides_of(arms), arms, strict=True)
    }


def report(
    model: CollisionModel, adjustment: Adjustment, safe: float, danger: float
) -> dict[str, Any]:
    """The JSON of docs/adjust.md, without ``output``."""
    motion, desired = adjustment.motion, adjustment.desired
    change = adjustment.joint_change
    touched = np.flatnonzero(np.abs(change).max(axis=1) > 0.0)
    row, column = adjustment.largest_change_at
    window = None
    if len(touched):
        window = {"first": _at(adjustment, touched[0]), "last": _at(adjustment, touched[-1])}
    name = motion.joint_names[column]
    before, after = int(adjustment.clearance_before.argmin()), int(adjustment.clearance.argmin())
    return {
        "robot": model.name,
        "result": ADJUSTED if adjustment.changed else SAFE,
        "method": adjustment.method,
        "safe_distance": safe,
        "danger_distance": danger,
        "arms": _arms(adjustment.arms),
        "waypoints": len(motion.times),
        "window": window,
        "largest_change": {
            "joint": name,
            "value": float(change[row, column]),
            "unit": units(model)[name],
            **_at(adjustment, row),
        },
        "tip_displacement": {
            side: {"value": float(moved.max()), **_at(adjustment, moved.argmax())}
            for side, moved in zip(
                sides_of(adjustment.arms), adjustment.tip_displacement.T, strict=True
            )
        },
        "clearance": {
            "before": {
                "value": json_number(adjustment.clearance_before[before]),
                **_at(adjustment, before),
            },
            "after": {
                "value": json_number(adjustment.clearance[after]),
                "pair": _closest(adjustment, after),
                **_at(adjustment, after),
            },
            "certified": json_number(adjustment.certified),
            "certified_elsewhere": json_number(adjustment.certified_elsewhere),
        },
        "pairs": _pairs(model, adjustment),
        "duration": {"before": desired.duration, "after": motion.duration},
        "joints": list(motion.joint_names),
        "per_waypoint": [
            {
                "time": float(motion.times[k]),
                "desired_time": float(desired.times[k]),
                "joint_change": change[k].tolist(),
                "tip_displacement": adjustment.tip_displacement[k].tolist(),
                "index_before": json_number(adjustment.index_before[k]),
                "index_after": json_number(adjustment.index_after[k]),
                "clearance_before": json_number(adjustment.clearance_before[k]),
                "clearance": json_number(adjustment.clearance[k]),
                "closest": _closest(adjustment, k),
            }
            for k in range(len(motion.times))
        ],
    }


def _pairs(model: CollisionModel, adjustment: Adjustment) -> dict[str, Any]:
    """Numbers of pairs that are kept apart, eased and ignored; limits of each eased pair."""
    keeps = [
        {
            "pair": list(each.links),
            "value": each.distance,
            "between": "meshes" if each.on_meshes else "leaves",
        }
        for each in adjustment.eased()
    ]
    kept = int(adjustment.margins.kept.sum())
    nearest = {name: keeps[0][name] for name in ("pair", "value")} if keeps else None
    return {
        "kept": kept,
        "eased": len(keeps),
        "not_looked_at": len(model.pairs) - kept - len(keeps),
        "nearest_eased": nearest,
        "eased_keep": keeps,
    }


def failure(
    model: CollisionModel, arms: Sequence[Arm], method: str, error: AdjustmentError
) -> dict[str, Any]:
    """Data of a failure: its reason, and the safe part of the motion."""
    prefix = error.safe_prefix
    return {
        "robot": model.name,
        "result": FAILED,
        "method": method,
        "arms": _arms(arms),
        "reason": str(error),
        "waypoint": int(error.waypoint),
        "time": float(error.time),
        "pair": None if error.pair is None else list(error.pair),
        "distance": json_number(error.distance),
        "possible": None if error.possible is None
        else dict(zip(("safe_distance", "danger_distance"), error.possible, strict=True)),
        "safe_until": None if prefix is None else float(prefix.times[-1]),
    }  # fmt: skip


def _amount(value: float, unit: str) -> str:
    return f"{math.degrees(value):.2f} deg" if unit == "rad" else f"{1000.0 * value:.1f} mm"


def _arms_row(result: Mapping[str, Any]) -> tuple[str, str]:
    """The arms, by name and side."""
    names = [
        arm["name"] if arm["name"] == side else f"{arm['name']} ({side})"
        for side, arm in result["arms"].items()
    ]
    return "arms" if len(names) > 1 else "arm", ", ".join(names)


def text(result: Mapping[str, Any]) -> str:
    """Text of `report`, and of the written file."""
    clearance, pairs = result["clearance"], result["pairs"]
    lines = [_arms_row(result)]
    if result["window"]:
        first, last = result["window"]["first"], result["window"]["last"]
        change, tips = result["largest_change"], result["tip_displacement"]
        moved = (f"{1000.0 * tip['value']:.1f} mm {side}" for side, tip in tips.items())
        begin, end = (time_text(each["time"]).removesuffix(" s") for each in (first, last))
        lines += [
            ("changed", f"t = {begin} .. {end} s, waypoints "
             f"{first['waypoint']} .. {last['waypoint']} of {result['waypoints']}"),
            ("largest change", f"{_amount(change['value'], change['unit'])}: "
             f"{change['joint']} at t = {time_text(change['time'])}"),
            ("tips displaced by", f"at most {', '.join(moved)}"),
        ]  # fmt: skip
    before, after = clearance["before"], clearance["after"]
    if after["value"] is not None:
        lines += [
            ("least clearance",
             f"before {before['value']:.4f} m at t = {time_text(before['time'])}"),
            ("", f"after  {after['value']:.4f} m at t = {time_text(after['time'])}, "
             f"{' - '.join(after['pair'])}"),
        ]  # fmt: skip
    head = "certified"
    for where, key in (("between the arms", "certified"), ("elsewhere", "certified_elsewhere")):
        if clearance[key] is not None:
            less = ", as in the desired motion" if clearance[key] < result["safe_distance"] else ""
            lines.append((head, f"{clearance[key]:.4f} m {where} at every instant{less}"))
            head = ""
    lines.append(("pairs", f"{pairs['kept']} are kept apart"))
    if pairs["eased"]:
        lines.append(("", f"{pairs['eased']} are eased; each keeps at every instant, at least:"))
        for each in pairs["eased_keep"][:MOST_NAMED]:
            where = f"{1000.0 * each['value']:.1f} mm between {each['between']}"
            lines.append(("", f"  {' - '.join(each['pair'])}: {where}"))
        if pairs["eased"] > MOST_NAMED:
            lines.append(("", f"  and {pairs['eased'] - MOST_NAMED} more (--json lists them)"))
    if pairs["not_looked_at"]:
        why = "not between arms" if result["method"] != "robust" else "not moved by an arm"
        lines.append(("", f"{pairs['not_looked_at']} others do not touch ({why})"))
    duration = result["duration"]
    slower = duration["after"] - duration["before"]
    share = f" ({slower / duration['before']:.1%})" if 100.0 * duration["before"] > slower else ""
    longer = f"{slower:.3g} s{share} longer" if slower > 0.0 else "as before"
    lines.append(("duration", f"{duration['after']:g} s, {longer}"))
    if result.get("output"):
        lines.append(("written", result["output"]))
    title = f"{result['robot']}: {result['result']}, method {result['method']}"
    return "\n".join([title, *(f"  {head:18} {line}" for head, line in lines)])


def failure_text(result: Mapping[str, Any]) -> str:
    """Text of `failure`."""
    lines = [f"{result['robot']}: {FAILED}, method {result['method']}: {result['reason']}"]
    where = f"waypoint {result['waypoint']}, t = {time_text(result['time'])}"
    if result["pair"] is not None and result["distance"] is not None:
        where += f": {' - '.join(result['pair'])} at {result['distance']:.4f} m"
    lines.append("  {:<12} {}".format(*_arms_row(result)))
    lines.append(f"  too close at {where}")
    until = result["safe_until"]
    safe = "never; the start is too close" if until is None else f"t = {time_text(until)}"
    lines.append(f"  safe until   {safe}")
    return "\n".join(lines)


# -- plot --


def require_plot(path: str | os.PathLike) -> None:
    """Raise the error of `plot` if matplotlib is missing, or the suffix is not supported."""
    known = figure_class(*NEED)().canvas.get_supported_filetypes()
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in known:
        raise MotionError(f"{path}: unsupported format of a plot; use one of {', '.join(known)}")


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
    longer = adjustment.motion.duration - adjustment.desired.duration
    about = "; dotted: before adjustment" + f", which took {longer:.3g} s less" * (longer > 0.0)
    try:
        figure(plots_of(adjustment, safe, danger, units), about).savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise MotionError(f"{path}: the plot cannot be written: {error}") from None


def plots_of(
    adjustment: Adjustment, safe: float, danger: float, units: Mapping[str, str]
) -> list[Plot]:
    """The joints of each arm that change, clearance, and index; dotted: before the adjustment."""
    before, after = adjustment.desired, adjustment.motion
    changed = np.abs(adjustment.joint_change).max(axis=0) > 0.0
    plots = []
    for side, arm in zip(sides_of(adjustment.arms), adjustment.arms, strict=True):
        curves, shown = [], set()
        for k, name in enumerate(after.joint_names):
            if changed[k] and name in arm.joint_names:
                turns = units[name] == "rad"
                rows = [
                    np.degrees(motion.positions[:, k]) if turns else motion.positions[:, k]
                    for motion in (before, after)
                ]
                curves.append(Curve(name, rows[1], other=(before.times, rows[0])))
                shown.add("deg" if turns else "m")
        if curves:
            title = side if side == arm.name else f"{arm.name} ({side})"
            plots.append(Plot(title, " or ".join(sorted(shown)), after.times, curves))
    levels = [(safe, f"d_saf {safe:g} m"), (danger, f"d_dan {danger:g} m")]
    if (elsewhere := adjustment.certified_elsewhere) < safe:
        levels.append((elsewhere, f"elsewhere {elsewhere:.3g} m"))
    index = [
        (times, np.where(np.isfinite(values), values, np.nan), np.isinf(values).any())
        for times, values in ((before.times, adjustment.index_before),
                              (after.times, adjustment.index_after))
    ]  # fmt: skip
    gaps = "; infinite in gaps" * any(has_gaps for *_, has_gaps in index)
    title = "least clearance" if plots else "least clearance; no joint is changed"
    clearance = Curve("after", adjustment.clearance,
                      other=(before.times, adjustment.clearance_before))  # fmt: skip
    return [
        *plots,
        Plot(title, "m", after.times, [clearance], levels=levels),
        Plot(f"index F{gaps}", "m", after.times, [Curve("after", index[1][1], other=index[0][:2])]),
    ]
