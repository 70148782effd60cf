# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The decision of one cycle: flags, action, speed scale, message; and stops, which outlast it.

A stop is held until an operator resets or acknowledges it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.common.text import metres, shortened
from collision_monitor.continuous.near_pairs import DISTANCE, LEAST, PAIR, RATE

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
        braking_clearance: lower bound of the minimum clearance on the braking path, metres: of the
            pair that decides, or if it moves away, of the one that allows the lowest scale; inf if
            none comes within its warning distance. With a stop it may be the distance at which the
            search ended, and not the smallest.
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
        """Whether only hysteresis holds the action, or the warning if there is no action.

        That is, no pair is near enough to cause it now.
        """
        if self.action == NONE:
            return self.near and not self.distance <= self.warn_distance
        if math.isinf(self.distance):
            return True
        if self.action in (STOP, LIMIT):
            now, braking, limit = self.distance, self.braking_clearance, self.stop_distance
            return now > limit and (self.action == LIMIT or braking > limit)
        is_far = self.distance > self.warn_distance
        return is_far and (self.action == SLOWDOWN or self.braking_clearance > self.warn_distance)


CALM = Decision()


# -- which flags are up, and the allowed speed --
#
# For a pair that does not move away, the allowed speed scale falls linearly from 1 at its warning
# distance to 0 at its stop distance, by the minimum clearance on its braking path. A pair moves
# away if its distance grows and braking does not bring it closer: it does not limit the speed,
# except to ``escape`` within the stop distance.
#
# Flags are raised immediately. A flag falls after ``cycles`` cycles in which no pair was within
# ``release`` metres of raising it, or an eighth of its warning distance if that is less; that of
# a stop not before the pair has ceased to approach. The scale is the minimum of the last
# ``cycles``, and rises by at most ``rise`` per cycle: a robot that obeys the scale slows down,
# which allows more, so an immediate rise would make it oscillate.
# ``memory`` holds a counter for each flag, the number of cycles, the last scale, and a ring buffer
# of the last allowed scales.

# Indices in ``memory``: of flags, the next place in the ring, the scale given last, and the ring.
_INSIDE, _NEAR, STOP_FLAG, _SLOW, _APPROACH, _PLACE, GIVEN, RING = range(8)
# Of the warning distance: pairs that are near by construction are hardly farther apart than that.
RELEASE_PART = 0.125


@small_kernel
def ramp(value, stop, warn):
    """1 at ``warn`` and beyond, 0 at ``stop`` and below; NaN is 0."""
    if value > warn:
        return 1.0
    if value > stop:
        return (value - stop) / (warn - stop)
    return 0.0


@small_kernel
def reserve(release, warn):
    """How far beyond its thresholds a pair holds flags, metres."""
    return min(release, RELEASE_PART * warn)


@small_kernel
def parts(rate, distance, least, parting, tolerance):
    """Whether a pair moves away: faster than ``parting`` m/s, and not closer while braking."""
    return rate > parting and least >= distance - tolerance


@small_kernel
def _hold(memory, flag, raised, held, cycles):
    """Count down a flag that is neither raised nor held; return whether it is up."""
    if raised or (held and memory[flag] > 0.0):
        memory[flag] = cycles
    elif memory[flag] > 0.0:
        memory[flag] -= 1.0
    return memory[flag] > 0.0


@small_kernel
def _order(allowed, distance, margin, low, high):
    """Place of a pair in the order of ``row`` of `decide`; the least decides."""
    rank = allowed
    if not allowed > 0.0:
        rank = -1.0
    elif not distance > low:
        rank = 0.0
    is_now = not distance > (low if rank < 1.0 else high)
    return rank, 0.0 if is_now else 1.0, margin if margin >= -np.inf else -np.inf


@kernel
def decide(
    candidates, count, thresholds, release, cycles, rise, escape, parting, tolerance, memory
):
    """(scale, inside, near, stop, slow, approach, row, braking, calm) of one cycle.

    ``candidates`` as `near_pairs` writes them, with rates. inside, near: a pair is within its stop
    or its warning distance. Of pairs that do not move away: stop: one is within its stop distance,
    or will be while braking; slow, approach: one is within its warning distance, or will be while
    braking. row: that of the candidate that decides, -1 without one: one that stops the robot, else
    one that is too close, else one that allows the lowest scale; among equal ones those that are
    too close now come before those that will be, and if none limits the speed, near ones before
    others. braking: minimum clearance on the braking path of the first pair in this order among
    those that do not move away and come within their warning distance, inf without any: that of the
    candidate that decides if it is one of them. calm: no flag is held, and the scale is 1.
    """
    scale, worst, worst_order = 1.0, -1, (1.0, 1.0, np.inf)
    braking, braking_order = np.inf, worst_order
    inside = near = stop = slow = approach = False
    held_inside = held_near = held_stop = held_slow = held_approach = False
    for row in range(count):
        pair = int(candidates[row, PAIR])
        low, high = thresholds[pair, 0], thresholds[pair, 1]
        spare = reserve(release, high)
        distance, least = candidates[row, DISTANCE], candidates[row, LEAST]
        # Written so that NaN counts as near.
        inside |= not distance > low
        held_inside |= not distance > low + spare
        near |= not distance > high
        held_near |= not distance > high + spare
        moves_away = parts(candidates[row, RATE], distance, least, parting, tolerance)
        if moves_away:
            allowed = escape if not distance > low else 1.0
            margin = distance - low
        else:
            allowed = ramp(least, low, high)
            margin = least - low
            stop |= not least > low
            held_stop |= not least > low + spare
            slow |= not distance > high
            held_slow |= not distance > high + spare
            approach |= not least > high
            held_approach |= not least > high + spare
            held_stop |= candidates[row, RATE] < -parting and not least > high
        scale = min(scale, allowed)
        order = _order(allowed, distance, margin, low, high)
        if not (moves_away or least > high) and order < braking_order:
            braking, braking_order = least, order
        if order < worst_order:
            worst, worst_order = row, order
    inside = _hold(memory, _INSIDE, inside, held_inside, cycles)
    near = _hold(memory, _NEAR, near, held_near, cycles)
    stop = _hold(memory, STOP_FLAG, stop, held_stop, cycles)
    slow = _hold(memory, _SLOW, slow, held_slow, cycles)
    approach = _hold(memory, _APPROACH, approach, held_approach, cycles)
    if stop:
        scale = 0.0
    elif inside:
        scale = min(scale, escape)
    place = int(memory[_PLACE])
    memory[RING + place % cycles] = scale
    memory[_PLACE] = place + 1
    for cycle in range(cycles):
        scale = min(scale, memory[RING + cycle])
    scale = min(scale, memory[GIVEN] + rise)
    memory[GIVEN] = scale
    calm = not (inside or near or stop or slow or approach) and scale == 1.0
    return scale, inside, near, stop, slow, approach, worst, braking, calm


# -- its message --


def decision_message(decision: Decision, pair: tuple[str, str], fast: Sequence[str] = ()) -> str:
    """The decision in one sentence.

    Args:
        decision: it.
        pair: the links of the pair that decides.
        fast: names of joints at their speed limits, which a message on braking names.
    """
    if decision.is_held:
        return held_message(decision, decision.distance, pair, None)
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
    decision: Decision, distance: float, nearest: tuple[str, str], cause: tuple[str, str] | None
) -> str:
    """A decision that hysteresis holds, in one sentence.

    ``distance`` in metres is that of the ``nearest`` pair now. The ``cause`` may be an object that
    was removed.
    """
    where = f"{metres(distance)} between {nearest[0]} and {nearest[1]}"
    held = "warning" if decision.action == NONE else decision.action
    if cause is None or set(cause) == set(nearest):
        return f"{held} held by hysteresis: {where}"
    return f"{held} held by hysteresis of {cause[0]} and {cause[1]}: now {where}"


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
