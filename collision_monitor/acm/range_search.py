# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Look for joint values at which two links meet: at samples, and downhill from some of them."""

from __future__ import annotations

import numpy as np

from collision_monitor.acm.link_pair import place_chain, place_ends, rate, surface_distance
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.geometry.segments import capsule_distance, capsule_witness, surely_farther

APART, MEET, NEAR = 0, 1, 2

# A step goes for a point so much beyond where the distance would vanish if it were linear.
_BEYOND, _FARTHER = 1.2, 1e-4
_LONGEST = 0.5  # radians or metres of one joint in a step
_SHORTEST = 1e-3  # of a full step, before a descent ends
_LEAVES_DO = 0.02  # metres between leaves above which they say well enough where to go


@offline_kernel
def _nearest_leaves(chain, ends):
    """(signed distance, leaf of A, leaf of B) of the nearest two leaves."""
    least, first, second = np.inf, 0, chain.leaves
    for i in range(chain.leaves):
        for j in range(chain.leaves, chain.rows):
            if not surely_farther(ends, chain.radii, i, j, least):
                apart = capsule_distance(ends, chain.radii, i, j)
                if apart < least:
                    least, first, second = apart, i, j
    return least, first, second


@offline_kernel
def sample(chain, configurations, guess, states, distances):
    """Whether surfaces meet at each row of ``configurations`` (n, columns).

    ``states`` (n,): APART by leaves; MEET; NEAR where leaves overlap and the surfaces do not meet,
    so that one link may still be inside the other. ``distances`` (n,): signed, of the leaves.
    """
    axes, poses = np.empty((len(chain.joints), 6)), np.empty((2, 12))
    ends, points = np.empty((len(chain.ends), 6)), np.empty((2, 3))
    for n in range(len(configurations)):
        place_chain(chain, configurations[n], axes, poses)
        place_ends(chain, poses, ends)
        distances[n] = _nearest_leaves(chain, ends)[0]
        states[n] = APART
        if distances[n] <= 0.0:
            # A limit that prunes all that does not touch.
            apart = surface_distance(chain, poses, 1e-9, guess, points)
            states[n] = MEET if apart <= 0.0 else NEAR


@offline_kernel
def _nearest(chain, q, axes, poses, ends, guess, points):
    """(distance, whether by leaves) at ``q``: of surfaces where leaves are near, else of leaves."""
    place_chain(chain, q, axes, poses)
    place_ends(chain, poses, ends)
    apart, i, j = _nearest_leaves(chain, ends)
    if apart > _LEAVES_DO:
        _, ax, ay, az, bx, by, bz, _, _, _ = capsule_witness(ends, chain.radii, i, j)
        points[0, 0], points[0, 1], points[0, 2] = ax, ay, az
        points[1, 0], points[1, 1], points[1, 2] = bx, by, bz
        return apart, True
    return surface_distance(chain, poses, np.inf, guess, points), False


@offline_kernel
def _slope(chain, axes, points, q, low, high, slope):
    """Fill ``slope`` (columns,) by d distance / d q of points held in their bodies.

    0 where a limit is in the way downhill. Returns its square and its largest part.
    """
    dx, dy, dz = (
        points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
    )  # fmt: skip
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    for c in range(len(q)):
        slope[c] = 0.0
    for k in range(len(chain.joints)):
        side = 0 if k < chain.up else 1
        x, y, z = points[side, 0], points[side, 1], points[side, 2]
        speed = rate(chain, axes, k, x, y, z, dx / length, dy / length, dz / length)
        slope[chain.joints[k, 1]] += (2 * side - 1) * chain.motion[k, 0] * speed
    square, largest = 0.0, 0.0
    for c in range(len(q)):
        if (slope[c] > 0.0 and q[c] <= low[c]) or (slope[c] < 0.0 and q[c] >= high[c]):
            slope[c] = 0.0
        square += slope[c] ** 2
        largest = max(largest, abs(slope[c]))
    return square, largest


@offline_kernel
def descend(chain, low, high, q, most, guess):
    """Walk from ``q`` (columns,) down the distance of two links, within ``low`` and ``high``.

    Returns the distance at the last ``q``, which is written: 0 where the surfaces meet.
    """
    axes, poses, points = np.empty((len(chain.joints), 6)), np.empty((2, 12)), np.empty((2, 3))
    ends, slope, last = np.empty((len(chain.ends), 6)), np.empty(len(q)), np.empty(len(q))
    # The first round, with no step, only measures.
    before, by_leaves, share, square, largest = np.inf, True, 0.0, 1.0, 1.0
    for c in range(len(q)):
        slope[c], last[c] = 0.0, q[c]
    for _ in range(most):
        if share > 0.0:
            step = min(share * (_BEYOND * before + _FARTHER) / square, share * _LONGEST / largest)
            for c in range(len(q)):
                q[c] = min(max(last[c] - step * slope[c], low[c]), high[c])
        apart, by_leaves_now = _nearest(chain, q, axes, poses, ends, guess, points)
        if apart <= 0.0:
            return 0.0
        if apart >= before and by_leaves_now == by_leaves:
            share *= 0.5
            if share < _SHORTEST:
                break
            continue
        square, largest = _slope(chain, axes, points, q, low, high, slope)
        before, by_leaves = apart, by_leaves_now
        share = min(1.0, 2.0 * share) if share > 0.0 else 1.0
        for c in range(len(q)):
            last[c] = q[c]
        if largest < 1e-9:
            break
    for c in range(len(q)):
        q[c] = last[c]
    return before
