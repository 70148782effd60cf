# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The result of ``adjust`` as JSON and as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.errors import AdjustmentError

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.self_collision.adjustment import Adjustment

ADJUSTED, SAFE, FAILED = "adjusted", "already safe", "no safe adjustment"


def _number(value: float) -> float | None:
    """None for what JSON does not have: an infinite index."""
    return float(value) if math.isfinite(value) else None


def _at(adjustment: Adjustment, waypoint: int) -> dict[str, Any]:
    k = int(waypoint)
    return {"waypoint": k, "time": float(adjustment.desired.times[k])}


def units(model: CollisionModel) -> dict[str, str]:
    """``rad`` or ``m`` by the name of the joint."""
    return {joint.name: "m" if joint.kind == "prismatic" else "rad" for joint in model.robot.joints}


def report(
    model: CollisionModel, adjustment: Adjustment, safe: float, danger: float
) -> dict[str, Any]:
    """All of docs/adjust.md's JSON but ``output``."""
    motion, desired = adjustment.motion, adjustment.desired
    change = adjustment.joint_change
    touched = np.flatnonzero(np.abs(change).max(axis=1) > 0.0)
    row, column = np.unravel_index(np.abs(change).argmax(), change.shape)
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
        "arms": {
            side: {"name": arm.name, "joints": list(arm.joint_names), "tip": arm.tip_link}
            for side, arm in zip(("right", "left"), adjustment.arms, strict=True)
        },
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
            for side, moved in zip(("right", "left"), adjustment.tip_displacement.T, strict=True)
        },
        "clearance": {
            "before": {
                "value": _number(adjustment.clearance_before[before]),
                **_at(adjustment, before),
            },
            "after": {
                "value": _number(adjustment.clearance[after]),
                "pair": list(adjustment.closest[after]),
                **_at(adjustment, after),
            },
            "certified": _number(adjustment.certified),
            "certified_elsewhere": _number(adjustment.certified_elsewhere),
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
                "index_before": _number(adjustment.index_before[k]),
                "index_after": _number(adjustment.index_after[k]),
                "clearance_before": _number(adjustment.clearance_before[k]),
                "clearance": _number(adjustment.clearance[k]),
                "closest": list(adjustment.closest[k]),
            }
            for k in range(len(motion.times))
        ],
    }


def _pairs(model: CollisionModel, adjustment: Adjustment) -> dict[str, Any]:
    """Numbers of pairs kept apart, eased and not looked at; the distance of the worst eased one."""
    margins = adjustment.margins
    kept = int(margins.kept.sum())
    eased = (margins.safe > -np.inf) & ~margins.kept
    worst = None
    if eased.any():
        k = int(np.where(eased, margins.safe, np.inf).argmin())
        worst = {"pair": list(model.pairs[k]), "value": float(margins.safe[k])}
    return {
        "kept": kept,
        "eased": int(eased.sum()),
        "not_looked_at": len(model.pairs) - kept - int(eased.sum()),
        "nearest_eased": worst,
    }


def failure(model: CollisionModel, method: str, error: AdjustmentError) -> dict[str, Any]:
    """Why there is no safe adjustment, and how far the motion is safe."""
    prefix = error.safe_prefix
    return {
        "robot": model.name,
        "result": FAILED,
        "method": method,
        "reason": str(error),
        "waypoint": int(error.waypoint),
        "time": float(error.time),
        "pair": None if error.pair is None else list(error.pair),
        "distance": _number(error.distance),
        "safe_until": None if prefix is None else float(prefix.times[-1]),
    }


def _amount(value: float, unit: str) -> str:
    return f"{math.degrees(value):.2f} deg" if unit == "rad" else f"{1000.0 * value:.1f} mm"


def text(result: Mapping[str, Any]) -> str:
    """A short report of what `report` found, and of the file that was written."""
    clearance, pairs, arms = result["clearance"], result["pairs"], result["arms"]
    rows = [("arms", f"{arms['right']['name']} (right), {arms['left']['name']} (left)")]
    if result["window"]:
        first, last = result["window"]["first"], result["window"]["last"]
        change, tips = result["largest_change"], result["tip_displacement"]
        moved = (f"{1000.0 * tips[side]['value']:.1f} mm {side}" for side in ("right", "left"))
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
            less = ", as the motion has it" if clearance[key] < result["safe_distance"] else ""
            rows.append((head, f"{clearance[key]:.4f} m {where} at every instant{less}"))
            head = ""
    rows.append(("pairs", f"{pairs['kept']} are kept apart"))
    if pairs["eased"]:
        worst = pairs["nearest_eased"]
        overlap = " (leaves overlap)" if worst["value"] < 0.0 else ""
        rows += [
            ("", f"{pairs['eased']} are eased: they may only not come nearer than the desired "
             "motion brings them;"),
            ("", f"the nearest, {' - '.join(worst['pair'])}, keeps {worst['value']:.4f} m"
             f"{overlap}"),
        ]  # fmt: skip
    if pairs["not_looked_at"]:
        why = "not arm against arm" if result["method"] != "robust" else "no arm is in them"
        rows.append(("", f"{pairs['not_looked_at']} are not looked at: {why}"))
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
    """A short report of what `failure` found."""
    lines = [f"{result['robot']}: {FAILED}, method {result['method']}: {result['reason']}"]
    where = f"waypoint {result['waypoint']}, t = {result['time']:g} s"
    if result["pair"] is not None and result["distance"] is not None:
        where += f": {' - '.join(result['pair'])} at {result['distance']:.4f} m"
    lines.append(f"  too near at  {where}")
    until = result["safe_until"]
    lines.append(
        "  safe until   " + ("nowhere: not even the start" if until is None else f"t = {until:g} s")
    )
    return "\n".join(lines)
