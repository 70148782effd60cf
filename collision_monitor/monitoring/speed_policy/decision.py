# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The decision of one cycle: action, speed scale, and its message."""

from __future__ import annotations

import math
from typing import NamedTuple

from collision_monitor.common.text import metres

# Names as in nav2_collision_monitor; see docs/behaviour.md.
NONE, LIMIT, APPROACH, SLOWDOWN, STOP = "none", "limit", "approach", "slowdown", "stop"


class Decision(NamedTuple):
    """Result of a policy in one cycle, with hysteresis.

    Attributes:
        scale: speed scale, 0 to 1.
        inside: a pair is within its stop distance.
        near: a pair is within its warning distance.
        stop: a pair that does not move away is within its stop distance, or will be even if the
            robot brakes now.
        slow: a pair that does not move away is within its warning distance.
        approach: a pair will be within its warning distance while the robot brakes.
        pair: index into ``model.pairs`` of the pair that decides, -1 without one.
        distance: of that pair, metres; inf without one.
        stop_distance: of that pair, metres.
        warn_distance: of that pair, metres.
        rate: at which that distance grows, m/s; NaN if velocities are unknown.
        braking_clearance: lower bound of the minimum clearance on the braking path, of pairs that
            do not move away, metres; inf if none comes near.
    """

    scale: float = 1.0
    inside: bool = False
    near: bool = False
    stop: bool = False
    slow: bool = False
    approach: bool = False
    pair: int = -1
    distance: float = math.inf
    stop_distance: float = math.nan
    warn_distance: float = math.nan
    rate: float = math.nan
    braking_clearance: float = math.inf

    @property
    def moves_away(self) -> bool:
        """Whether all near pairs move away, so that they do not slow the robot down."""
        return self.near and not (self.slow or self.stop)

    @property
    def action(self) -> str:
        """The most restrictive action of all pairs."""
        if self.stop:
            return STOP
        if self.inside:
            return LIMIT
        if self.slow:
            return SLOWDOWN
        return APPROACH if self.approach else NONE


CALM = Decision()


def decision_message(decision: Decision, pair: tuple[str, str]) -> str:
    """The decision in one sentence; ``pair``: the links of the pair that decides."""
    a, b = pair
    distance, least = decision.distance, decision.braking_clearance
    between, where = f"between {a} and {b}", metres(distance)
    ahead = f"{where} now, {metres(least)} while braking {between}"
    if not distance > decision.stop_distance:
        text = f"too close: {where}" if distance > 0.0 else f"collision: {metres(-distance)} deep"
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
