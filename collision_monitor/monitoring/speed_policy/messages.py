# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A decision in one sentence."""

from __future__ import annotations

from collision_monitor.monitoring.speed_policy.decision import APPROACH, Decision


def sentence(decision: Decision, pair: tuple[str, str]) -> str:
    """What there is to say about the pair that decides."""
    a, b = pair
    distance, least = decision.distance, decision.braking_clearance
    between, where = f"between {a} and {b}", f"{distance:.3f} m"
    ahead = f"{where} now, {least:.3f} m while braking {between}"
    if not distance > decision.stop_distance:
        text = f"too close: {where}" if distance > 0.0 else f"collision: {-distance:.3f} m deep"
    elif decision.stop:
        if not least > decision.stop_distance:
            return f"cannot stop in time: {ahead}"
        return f"stopping, held for a moment: {where} {between}"
    elif decision.inside:
        return f"too close until a moment ago: {where} {between}"
    elif not distance > decision.warn_distance:
        text = f"near: {where}"
    elif decision.action == APPROACH and not least > decision.warn_distance:
        return f"approaching: {ahead}"
    else:
        text = f"clear: {where}"
    away = ", moving away," if decision.moves_away and not text.startswith("clear") else ""
    return f"{text}{away} {between}"
