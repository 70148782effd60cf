# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Results of ``adjust`` as JSON and as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.common.text import json_number
from collision_monitor.errors import AdjustmentError

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.self_collision.adjustment import Adjustment

_SHOWN = 8  # eased pairs in the text
ADJUSTED, SAFE, FAILED = "adjusted", "already safe", "no safe adjustment"


def _at(adjustment: Adjustment, waypoint: int) -> dict[str, Any]:
    k = int(waypoint)
    return {"waypoint": k, "time": float(adjustment.desired.times[k])}


def sides_of(adjustment: Adjustment) -> tuple[str, ...]:
    """``right`` and ``left`` for two arms; otherwise the names of the arms."""
    arms = adjustment.arms
    return ("right", "left") if len(arms) == 2 else tuple(arm.name for arm in arms)


def report(
    model: CollisionModel, adjustment: Adjustment, safe: float, danger: float
) -> dict[str, Any]:
    """The JSON of docs/adjust.md, without ``output``."""
    motion, desired = adjustment.motion, adjustment.desired
    change = adjustment.joint_change
    touched = np.flatnonzero(np.abs(change).max(axis=1) > 0.0)
    row, column = np.unravel_index(np.abs(change).argmax(), change.shape)
    window = None
    if len(touched):
        window = {"first": _at(adjustment, touched[0]), "last": _at(adjustment, touched[-1])}
    name = motion.joint_names[column]
    slides = {joint.name for joint in model.robot.joints if joint.kind == "prismatic"}
    before, after = int(adjustment.clearance_before.argmin()), int(adjustment.clearance.argmin())
    return {
        "robot": model.name,
        "result": ADJUSTED if adjustment.changed else SAFE,
        "method": adjustment.method,
        "safe_distance": safe,
        "danger_distance": danger,
        "arms": {
            side: {"name": arm.name, "joints": list(arm.joint_names), "tip": arm.tip_link}
            for side, arm in zip(sides_of(adjustment), adjustment.arms, strict=True)
        },
        "waypoints": len(motion.times),
        "window": window,
        "largest_change": {
            "joint": name,
            "value": float(change[row, column]),
            "unit": "m" if name in slides else "rad",
            **_at(adjustment, row),
        },
        "tip_displacement": {
            side: {"value": float(moved.max()), **_at(adjustment, moved.argmax())}
            for side, moved in zip(
                sides_of(adjustment), adjustment.tip_displacement.T, strict=True
            )
        },
        "clearance": {
            "before": {
                "value": json_number(adjustment.clearance_before[before]),
                **_at(adjustment, before),
            },
            "after": {
                "value": json_number(adjustment.clearance[after]),
                "pair": list(adjustment.closest[after]),
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
                "closest": list(adjustment.closest[k]),
            }
            for k in range(len(motion.times))
        ],
    }


def _pairs(model: CollisionModel, adjustment: Adjustment) -> dict[str, Any]:
    """Numbers of pairs that are kept apart, eased and ignored; limits of each eased pair."""
    margins = adjustment.margins
    eased = np.flatnonzero((margins.safe > -np.inf) & ~margins.kept)
    keeps = [
        {
            "pair": list(model.pairs[k]),
            "value": float(margins.safe[k]),
            "between": "meshes" if margins.on_meshes is not None and margins.on_meshes[k]
            else "leaves",
        }
        for k in eased[np.argsort(margins.safe[eased], kind="stable")]
    ]  # fmt: skip
    kept = int(margins.kept.sum())
    nearest = {name: keeps[0][name] for name in ("pair", "value")} if keeps else None
    return {
        "kept": kept,
        "eased": len(keeps),
        "not_looked_at": len(model.pairs) - kept - len(keeps),
        "nearest_eased": nearest,
        "eased_keep": keeps,
    }


def failure(model: CollisionModel, method: str, error: AdjustmentError) -> dict[str, Any]:
    """Data of a failure: its reason, and the safe part of the motion."""
    prefix = error.safe_prefix
    return {
        "robot": model.name,
        "result": FAILED,
        "method": method,
        "reason": str(error),
        "waypoint": int(error.waypoint),
        "time": float(error.time),
        "pair": None if error.pair is None else list(error.pair),
        "distance": json_number(error.distance),
        "safe_until": None if prefix is None else float(prefix.times[-1]),
    }


def _amount(value: float, unit: str) -> str:
    return f"{math.degrees(value):.2f} deg" if unit == "rad" else f"{1000.0 * value:.1f} mm"


def text(result: Mapping[str, Any]) -> str:
    """Text of `report`, and of the written file."""
    clearance, pairs, arms = result["clearance"], result["pairs"], result["arms"]
    names = [
        arm["name"] if arm["name"] == side else f"{arm['name']} ({side})"
        for side, arm in arms.items()
    ]
    rows = [("arms" if len(names) > 1 else "arm", ", ".join(names))]
    if result["window"]:
        first, last = result["window"]["first"], result["window"]["last"]
        change, tips = result["largest_change"], result["tip_displacement"]
        moved = (f"{1000.0 * tip['value']:.1f} mm {side}" for side, tip in tips.items())
        rows += [
            ("changed", f"t = {first['time']:g} .. {last['time']:g} s, waypoints "
             f"{first['waypoint']} .. {last['waypoint']} of {result['waypoints']}"),
            ("largest change", f"{_amount(change['value'], change['unit'])}: "
             f"{change['joint']} at t = {change['time']:g} s"),
            ("tips displaced by", f"at most {', '.join(moved)}"),
        ]  # fmt: skip
    before, after = clearance["before"], clearance["after"]
    if after["value"] is not None:
        rows += [
            ("least clearance", f"before {before['value']:.4f} m at t = {before['time']:g} s"),
            ("", f"after  {after['value']:.4f} m at t = {after['time']:g} s, "
             f"{' - '.join(after['pair'])}"),
        ]  # fmt: skip
    head = "certified"
    for where, key in (("between the arms", "certified"), ("elsewhere", "certified_elsewhere")):
        if clearance[key] is not None:
            less = ", as in the desired motion" if clearance[key] < result["safe_distance"] else ""
            rows.append((head, f"{clearance[key]:.4f} m {where} at every instant{less}"))
            head = ""
    rows.append(("pairs", f"{pairs['kept']} are kept apart"))
    if pairs["eased"]:
        rows.append(("", f"{pairs['eased']} are eased; each keeps at every instant, at least:"))
        for each in pairs["eased_keep"][:_SHOWN]:
            where = f"{1000.0 * each['value']:.1f} mm between {each['between']}"
            rows.append(("", f"  {' - '.join(each['pair'])}: {where}"))
        if pairs["eased"] > _SHOWN:
            rows.append(("", f"  and {pairs['eased'] - _SHOWN} more (--json lists them)"))
    if pairs["not_looked_at"]:
        why = "not between arms" if result["method"] != "robust" else "not moved by an arm"
        rows.append(("", f"{pairs['not_looked_at']} others do not touch ({why})"))
    duration = result["duration"]
    slower = duration["after"] - duration["before"]
    share = slower / duration["before"] if duration["before"] else 0.0
    longer = f"{slower:.3g} s ({share:.1%}) longer" if slower > 0.0 else "as before"
    rows.append(("duration", f"{duration['after']:g} s, {longer}"))
    if result.get("output"):
        rows.append(("written", result["output"]))
    title = f"{result['robot']}: {result['result']}, method {result['method']}"
    return "\n".join([title, *(f"  {head:18} {line}" for head, line in rows)])


def failure_text(result: Mapping[str, Any]) -> str:
    """Text of `failure`."""
    lines = [f"{result['robot']}: {FAILED}, method {result['method']}: {result['reason']}"]
    where = f"waypoint {result['waypoint']}, t = {result['time']:g} s"
    if result["pair"] is not None and result["distance"] is not None:
        where += f": {' - '.join(result['pair'])} at {result['distance']:.4f} m"
    lines.append(f"  too close at {where}")
    until = result["safe_until"]
    safe = "never; the start is too close" if until is None else f"t = {until:g} s"
    lines.append(f"  safe until   {safe}")
    return "\n".join(lines)
