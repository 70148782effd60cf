# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Minimises the cost of covering a body by capsules: L-BFGS with a least radius.

Nocedal and Wright, Numerical Optimization, algorithms 7.4 and 7.5, with a projection onto the
bounds of the radii. The whole descent is one compiled call: threads fit meshes side by side, and
every machine computes the same, as no linear algebra library takes part.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.fitting.coverage import coverage_cost

_KEPT = 10  # steps of which the curvature is known
_SUFFICIENT = 1e-4  # of the decrease that the gradient promises (Armijo)
_PATIENCE = 3  # small steps in a row that end it
_TRIALS = 20  # step lengths of one line search


@offline_kernel
def descend(
    capsules, wanted, wanted_weights, unwanted, prices, watchers, watcher_weights,
    width, penalty, thrift, least_radius, steps, tolerance,
):  # fmt: skip
    """Move ``capsules`` (k, 7) downhill by up to ``steps`` steps; their `coverage_cost`.

    Ends when a few steps in a row gain less than ``tolerance`` of the cost. Radii stay at
    ``least_radius`` or above. The other arguments are those of `coverage_cost`.
    """
    count = capsules.size
    shape = capsules.shape
    x = capsules.reshape(count)
    trial, slope = np.empty(shape), np.empty(shape)
    gradient, direction = np.empty(count), np.empty(count)
    moves, bends = np.empty((_KEPT, count)), np.empty((_KEPT, count))
    inverses, shares = np.empty(_KEPT), np.empty(_KEPT)
    new_x, new_gradient = trial.reshape(count), slope.reshape(count)
    value = coverage_cost(
        capsules, wanted, wanted_weights, unwanted, prices, watchers, watcher_weights,
        width, penalty, thrift, slope,
    )  # fmt: skip
    for i in range(count):
        gradient[i] = new_gradient[i]
    known, newest, slow = 0, 0, 0
    for _ in range(steps):
        # The direction: two loops over the steps that are known, free variables only.
        length = 0.0
        for i in range(count):
            fixed = i % 7 == 6 and x[i] <= least_radius and gradient[i] > 0.0
            direction[i] = 0.0 if fixed else -gradient[i]
            length += direction[i] * direction[i]
        if length == 0.0:
            break
        for step in range(known):
            m = (newest - step) % _KEPT
            dot = 0.0
            for i in range(count):
                dot += moves[m, i] * direction[i]
            shares[m] = dot * inverses[m]
            for i in range(count):
                direction[i] -= shares[m] * bends[m, i]
        scale = min(1.0, 1.0 / math.sqrt(length))
        if known > 0:
            scale = 0.0
            for i in range(count):
                scale += bends[newest, i] * bends[newest, i]
            scale = 1.0 / (scale * inverses[newest])
        for i in range(count):
            direction[i] *= scale
        for step in range(known - 1, -1, -1):
            m = (newest - step) % _KEPT
            dot = 0.0
            for i in range(count):
                dot += bends[m, i] * direction[i]
            for i in range(count):
                direction[i] += (shares[m] - dot * inverses[m]) * moves[m, i]
        promised = 0.0
        for i in range(count):
            if i % 7 == 6 and x[i] <= least_radius and gradient[i] > 0.0:
                direction[i] = 0.0
            promised += direction[i] * gradient[i]
        if promised >= 0.0:  # the curvature misleads: begin anew
            if known == 0:
                break
            known = 0
            continue
        size, found = 1.0, value
        better = False
        for _trial in range(_TRIALS):
            for i in range(count):
                new_x[i] = x[i] + size * direction[i]
                if i % 7 == 6:
                    new_x[i] = max(new_x[i], least_radius)
            found = coverage_cost(
                trial, wanted, wanted_weights, unwanted, prices, watchers, watcher_weights,
                width, penalty, thrift, slope,
            )  # fmt: skip
            if found <= value + _SUFFICIENT * size * promised:
                better = True
                break
            # The minimum of the parabola through the known values.
            least = -0.5 * promised * size * size / (found - value - size * promised)
            size = min(max(least, 0.1 * size), 0.5 * size)
        if not better:
            if known == 0:
                break
            known = 0
            continue
        m = (newest + 1) % _KEPT
        curvature, square = 0.0, 0.0
        for i in range(count):
            moves[m, i] = new_x[i] - x[i]
            bends[m, i] = new_gradient[i] - gradient[i]
            curvature += moves[m, i] * bends[m, i]
            square += bends[m, i] * bends[m, i]
            x[i] = new_x[i]
            gradient[i] = new_gradient[i]
        if curvature > 1e-10 * square:
            inverses[m] = 1.0 / curvature
            newest, known = m, min(known + 1, _KEPT)
        gain, value = value - found, found
        slow = slow + 1 if gain <= tolerance * max(abs(value), 1e-12) else 0
        if slow == _PATIENCE:
            break
    return value
