# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The decision of one cycle: action, speed scale, and its message."""

from __future__ import annotations

import math
from typing import NamedTuple

# As nav2_collision_monitor names them; docs/behaviour.md says which one when.
NONE, LIMIT, APPROACH, SLOWDOWN, STOP = "none", "limit", "approach", "slowdown", "stop"


class Decision(NamedTuple):
    """What distances, velocities and thresholds say, hysteresis included.

    Attributes:
        scale: of the speed, 0 to 1.
        inside: some pair is within its stop distance.
        near: some pair is within its warning distance.
        stop: some pair that does not move away is within its stop distance, or comes there even
            if the robot brakes now.
        slow: some pair that does not move away is within its warning distance.
        approach: some pair comes within its warning distance while the robot brakes.
        pair: index into ``model.pairs`` of the pair that decides, -1 where nothing is near.
        distance: of that pair, metres; inf without one.
        stop_distance: of that pair, metres.
        warn_distance: of that pair, metres.
        rate: at which that distance grows, m/s; NaN where velocities are not known.
        braking_clearance: least clearance on the braking path of pairs that do not move away,
            a bound from below, metres; inf where nothing comes near.
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
        """Whether all that is near moves away, so that it does not slow the robot down."""
        return self.near and not (self.slow or self.stop)

    @property
    def action(self) -> str:
        """The gravest action that anything calls for."""
        if self.stop:
            return STOP
        if self.inside:
            return LIMIT
        if self.slow:
            return SLOWDOWN
        return APPROACH if self.approach else NONE


CALM = Decision()


# -- a decision in one sentence --


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
