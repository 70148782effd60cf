# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The decision of one cycle: allowed speed and flags, with hysteresis.

For a pair that does not move away, the allowed speed scale falls linearly from 1 at its warning
distance to 0 at its stop distance, by the minimum clearance on its braking path. A pair moves away
if its distance grows and braking does not bring it closer: it does not limit the speed, except to
``escape`` within the stop distance.

Flags are raised immediately. A flag falls after ``cycles`` cycles in which no pair was within
``release`` metres of raising it, or an eighth of its warning distance if that is less; that of
a stop not before the pair has ceased to approach. The scale is the minimum of the last
``cycles``, and rises by at most ``rise`` per cycle: a robot that obeys the scale slows down,
which allows more, so an immediate rise would make it oscillate.
``memory`` holds a counter for each flag, the number of cycles, the last scale, and a ring buffer
of the last allowed scales.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.continuous.near_pairs import DISTANCE, LEAST, PAIR, RATE
from collision_monitor.monitoring.settings import MOST_CYCLES

# Indices in ``memory``: of flags, the next place in the ring, the scale given last, and the ring.
INSIDE, NEAR, STOP, SLOW, APPROACH, _PLACE, GIVEN, RING = range(8)
MEMORY = RING + MOST_CYCLES
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
    too close now come before those that will be. braking: minimum clearance on the braking path of
    the pair with the lowest allowed scale among those that come within their warning distance, inf
    without any. calm: no flag is held, and the scale is 1.
    """
    scale, worst, worst_rank, worst_margin, worst_is_now = 1.0, -1, 1.0, np.inf, False
    braking, braking_scale = np.inf, np.inf
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
        if parts(candidates[row, RATE], distance, least, parting, tolerance):
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
            if allowed < braking_scale and not least > high:
                braking, braking_scale = least, allowed
        scale = min(scale, allowed)
        is_now = not distance > low
        rank = allowed  # in the order of `row`
        if not allowed > 0.0:
            rank = -1.0
        elif is_now:
            rank = 0.0
        is_worse = is_now if is_now != worst_is_now else not margin >= worst_margin
        if rank < worst_rank or (rank == worst_rank and is_worse):
            worst, worst_rank, worst_margin, worst_is_now = row, rank, margin, is_now
    inside = _hold(memory, INSIDE, inside, held_inside, cycles)
    near = _hold(memory, NEAR, near, held_near, cycles)
    stop = _hold(memory, STOP, stop, held_stop, cycles)
    slow = _hold(memory, SLOW, slow, held_slow, cycles)
    approach = _hold(memory, APPROACH, approach, held_approach, cycles)
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
