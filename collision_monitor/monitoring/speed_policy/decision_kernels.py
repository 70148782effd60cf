# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What near pairs mean for the speed, held until it has been otherwise for some cycles.

For a pair that does not part the allowed scale falls evenly from 1 at its warning distance to 0 at
its stop distance, by the least clearance on its braking path. A pair parts if its distance grows
and braking does not bring it nearer than it is: that costs nothing, but for ``escape`` within the
stop distance.

A flag is raised at once. It falls after ``cycles`` cycles in which no pair was within
``release`` metres of raising it; that of a stop not before the pair has ceased to approach. The
scale is the least of the last ``cycles``, and rises by ``rise`` a cycle at most: a robot that obeys
it slows down, so that more would be allowed, and what rose as fast as it falls would swing.
``memory`` holds a counter for each flag, how many cycles there have been, the last scale that was
given, and the last that were allowed in a ring.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import kernel
from collision_monitor.continuous.braking_path import DISTANCE, LEAST, PAIR, RATE

INSIDE, NEAR, STOP, SLOW, APPROACH = range(5)  # flags, and their places in ``memory``
_PLACE, GIVEN = 5, 6
RING, MOST_CYCLES = 7, 100
MEMORY = RING + MOST_CYCLES


@kernel
def ramp(value, stop, warn):
    """1 at ``warn`` and beyond, 0 at ``stop`` and below; NaN is 0."""
    if value > warn:
        return 1.0
    if value > stop:
        return (value - stop) / (warn - stop)
    return 0.0


@kernel
def parts(rate, distance, least, parting, tolerance):
    """Whether a pair moves away: faster than ``parting`` m/s, and not back while braking."""
    return rate > parting and least >= distance - tolerance


@kernel
def _hold(memory, flag, raised, held, cycles):
    """Count down a flag that nothing holds; whether it is up."""
    if raised or (held and memory[flag] > 0.0):
        memory[flag] = cycles
    elif memory[flag] > 0.0:
        memory[flag] -= 1.0
    return memory[flag] > 0.0


@kernel
def decide(rows, count, thresholds, release, cycles, rise, escape, parting, tolerance, memory):
    """(scale, inside, near, stop, slow, approach, row, braking, calm) of one cycle.

    ``rows`` as `braking_path.outlook` writes them. inside, near: some pair is within its stop, its
    warning distance. Of pairs that do not part: stop: one is within its stop distance, or comes
    there while braking; slow, approach: within its warning distance, or comes there. row: of the
    pair that decides, -1 without one; what is too near now before what will be. braking: least
    clearance on the braking path of the pair that allows least among those that come within
    their warning distance, inf without any.
    calm: nothing is held, and the scale is 1.
    """
    scale, worst, worst_margin, worst_is_now = 1.0, -1, np.inf, False
    braking, braking_scale = np.inf, np.inf
    inside = near = stop = slow = approach = False
    held_inside = held_near = held_stop = held_slow = held_approach = False
    for k in range(count):
        pair = int(rows[k, PAIR])
        low, high = thresholds[pair, 0], thresholds[pair, 1]
        distance, least = rows[k, DISTANCE], rows[k, LEAST]
        # Written so that what is no number is near.
        inside |= not distance > low
        held_inside |= not distance > low + release
        near |= not distance > high
        held_near |= not distance > high + release
        if parts(rows[k, RATE], distance, least, parting, tolerance):
            allowed = escape if not distance > low else 1.0
            margin = distance - low
        else:
            allowed = ramp(least, low, high)
            margin = least - low
            stop |= not least > low
            held_stop |= not least > low + release
            slow |= not distance > high
            held_slow |= not distance > high + release
            approach |= not least > high
            held_approach |= not least > high + release
            held_stop |= rows[k, RATE] < -parting and not least > high
            if allowed < braking_scale and not least > high:
                braking, braking_scale = least, allowed
        is_now = not distance > low
        is_worse = is_now if is_now != worst_is_now else not margin >= worst_margin
        if allowed < scale or (allowed == scale and is_worse):
            scale, worst, worst_margin, worst_is_now = allowed, k, margin, is_now
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
    for k in range(cycles):
        scale = min(scale, memory[RING + k])
    scale = min(scale, memory[GIVEN] + rise)
    memory[GIVEN] = scale
    calm = not (inside or near or stop or slow or approach) and scale == 1.0
    return scale, inside, near, stop, slow, approach, worst, braking, calm
