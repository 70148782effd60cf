# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A decision in one sentence."""

from __future__ import annotations

from collision_monitor.behaviour.decision import APPROACH, Decision


def sentence(decision: Decision, pair: tuple[str, str], distance: float, moves_away: bool) -> str:
    """What there is to say about the pair that decides; ``distance`` in metres."""
    a, b = pair
    between = f"between {a} and {b}"
    where = f"{distance:.3f} m"
    least = f"{decision.braking_clearance:.3f} m"
    if decision.inside:
        if distance <= 0.0:
            text = f"collision: {-distance:.3f} m deep"
        else:
            text = f"too close: {where}"
    elif decision.stop:
        return f"cannot stop in time: {where} now, {least} while braking {between}"
    elif decision.near:
        text = f"near: {where}"
    elif decision.action == APPROACH:
        return f"approaching: {where} now, {least} while braking {between}"
    else:
        text = f"clear: {where}"
    return f"{text}{', moving away,' if moves_away and decision.near else ''} {between}"
