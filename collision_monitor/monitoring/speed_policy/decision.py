# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The decision of one cycle: action, speed scale, and its message; and stops, which outlast it.

A stop is held until an operator resets or acknowledges it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from collision_monitor.common.text import metres, shortened

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

    @property
    def is_clear(self) -> bool:
        """Whether nothing is to be done, and the pair that decides is not near."""
        return self.action == NONE and self.distance > self.warn_distance

    @property
    def is_held(self) -> bool:
        """Whether only hysteresis holds the action: no pair is near enough to cause it now."""
        if self.action == NONE or math.isinf(self.distance):
            return self.action != NONE
        if self.action in (STOP, LIMIT):
            now, braking, limit = self.distance, self.braking_clearance, self.stop_distance
            return now > limit and (self.action == LIMIT or braking > limit)
        is_far = self.distance > self.warn_distance
        return is_far and (self.action == SLOWDOWN or self.braking_clearance > self.warn_distance)


CALM = Decision()


def decision_message(
    decision: Decision,
    pair: tuple[str, str],
    fast: Sequence[str] = (),
    cause: tuple[str, str] | None = None,
) -> str:
    """The decision in one sentence.

    Args:
        decision: it.
        pair: the links of the pair that decides.
        fast: names of joints at their speed limits, which a message on braking names.
        cause: the links of the pair that caused an action which hysteresis holds.
    """
    if decision.is_held:
        return held_message(decision, decision.distance, pair, cause)
    a, b = pair
    distance, least = decision.distance, decision.braking_clearance
    between, where = f"between {a} and {b}", metres(distance)
    ahead = f"{where} now, {metres(least)} while braking {between}"
    at_stop = f"(stop at {metres(decision.stop_distance)})"
    at_warn = f"(warning at {metres(decision.warn_distance)})"
    speeds = f", with {shortened(fast)} at the speed limit" if fast else ""
    away = ", moving away," if decision.moves_away else ""
    if not distance > decision.stop_distance:
        # Without a stop it moves away, though others may not.
        away = "" if decision.stop else ", moving away,"
        text = f"too close: {where}"
        if not distance > 0.0:
            text = f"collision: at most {metres(-distance)} deep"
        return f"{text}{away} {between} {at_stop}"
    if decision.stop and not least > decision.stop_distance:
        return f"cannot stop in time: {ahead} {at_stop}{speeds}"
    if not distance > decision.warn_distance:
        return f"near: {where}{away} {between} {at_warn}"
    if decision.action == APPROACH:
        return f"approaching: {ahead} {at_warn}{speeds}"
    return f"clear: {where} {between}"


def held_message(
    decision: Decision,
    distance: float,
    nearest: tuple[str, str],
    cause: tuple[str, str] | None,
) -> str:
    """A decision that hysteresis holds, in one sentence.

    ``distance`` in metres is that of the ``nearest`` pair now. The ``cause`` may be an object that
    was removed.
    """
    where = f"{metres(distance)} between {nearest[0]} and {nearest[1]}"
    if cause is None or set(cause) == set(nearest):
        return f"{decision.action} held by hysteresis: {where}"
    return f"{decision.action} held by hysteresis of {cause[0]} and {cause[1]}: now {where}"


# -- stops --

LATCHED, UNACKNOWLEDGED = "latched", "unacknowledged"


class StopLatch:
    """Holds a stop after its cause is gone.

    Attributes:
        latches: a stop lasts until `reset`.
        asks: a stop lasts until `acknowledge`, which may be called while its cause persists.
        stops: number of stops so far.
    """

    def __init__(self, latches: bool = False, asks: bool = False) -> None:
        """Start without a stop."""
        self.latches, self.asks = latches, asks
        self.stops = 0
        self._stopping = self._latched = self._unacknowledged = False

    def update(self, stopping: bool) -> str:
        """Report whether there is a cause to stop now; returns `held`."""
        if stopping and not self._stopping:
            self.stops += 1
            self._latched, self._unacknowledged = self.latches, self.asks
        self._stopping = stopping
        return self.held

    @property
    def held(self) -> str:
        """Why a stop is held: ``unacknowledged``, ``latched`` or empty."""
        if self._unacknowledged and self.asks:
            return UNACKNOWLEDGED
        return LATCHED if self._latched and self.latches else ""

    @property
    def _persists(self) -> str:
        return ", but the cause of the stop persists" if self._stopping else ""

    def acknowledge(self) -> tuple[bool, str]:
        """Acknowledge a stop; returns (True, message)."""
        if self.held != UNACKNOWLEDGED:
            return True, "there is no stop to acknowledge"
        self._unacknowledged = False
        if self.held:
            return True, "acknowledged; the stop is latched until ~/reset"
        return True, f"acknowledged{self._persists}"

    def reset(self) -> tuple[bool, str]:
        """Release a latched stop; returns (whether it is released, message).

        While its cause persists the robot stays stopped, but may move away.
        """
        if self.held == UNACKNOWLEDGED:
            return False, "the stop has not been acknowledged: call ~/acknowledge first"
        if not self.held:
            return True, "no stop is latched"
        self._latched = False
        return True, f"released{self._persists}"
