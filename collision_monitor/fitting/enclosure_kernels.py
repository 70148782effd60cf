# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether triangles lie inside a union of capsules and spheres, by construction.

A leaf is convex: it holds a triangle whose three corners it holds. A triangle that
no single leaf holds is halved across its longest edge, and its halves are asked.
Along an edge of a triangle the distance to a segment is convex, so over a triangle
it is largest at a corner: the leaf that is best for all three corners bounds from
above how far any point of the triangle sticks out of the union.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.compiled import kernel

# Triangles that wait while one of their siblings is looked at. Every halving adds one,
# and three halvings shorten the longest edge by half at least: enough for 40 of those.
_WAITING = 128


@kernel
def outside_leaf(x, y, z, ends, radii, i):
    """Signed distance of a point to the surface of leaf i, negative inside."""
    px, py, pz = ends[i, 0], ends[i, 1], ends[i, 2]
    ux, uy, uz = ends[i, 3] - px, ends[i, 4] - py, ends[i, 5] - pz
    dx, dy, dz = x - px, y - py, z - pz
    squared = ux * ux + uy * uy + uz * uz
    if squared > 0.0:
        t = min(max((dx * ux + dy * uy + dz * uz) / squared, 0.0), 1.0)
        dx, dy, dz = dx - t * ux, dy - t * uy, dz - t * uz
    return math.sqrt(dx * dx + dy * dy + dz * dz) - radii[i]


@kernel
def _holds(corners, ends, radii, i):
    """Whether leaf i holds all three corners (9,)."""
    return (
        outside_leaf(corners[0], corners[1], corners[2], ends, radii, i) <= 0.0
        and outside_leaf(corners[3], corners[4], corners[5], ends, radii, i) <= 0.0
        and outside_leaf(corners[6], corners[7], corners[8], ends, radii, i) <= 0.0
    )


@kernel
def _bounds(corners, ends, radii):
    """(lower, upper) bound of how far the triangle of corners (9,) sticks out.

    Lower: the corner that is farthest outside all leaves. Upper: see the module.
    """
    upper = math.inf
    a, b, c = math.inf, math.inf, math.inf
    for i in range(len(radii)):
        da = outside_leaf(corners[0], corners[1], corners[2], ends, radii, i)
        db = outside_leaf(corners[3], corners[4], corners[5], ends, radii, i)
        dc = outside_leaf(corners[6], corners[7], corners[8], ends, radii, i)
        a, b, c = min(a, da), min(b, db), min(c, dc)
        upper = min(upper, max(da, max(db, dc)))
    return max(a, max(b, c)), upper


@kernel
def _halve(corners, other):
    """Cut at the middle of the longest edge: one half stays, the other is written."""
    longest, edge = -1.0, 0
    for k in range(3):
        i, j = 3 * k, 3 * ((k + 1) % 3)
        dx = corners[j] - corners[i]
        dy = corners[j + 1] - corners[i + 1]
        dz = corners[j + 2] - corners[i + 2]
        squared = dx * dx + dy * dy + dz * dz
        if squared > longest:
            longest, edge = squared, k
    i, j = 3 * edge, 3 * ((edge + 1) % 3)
    for k in range(9):
        other[k] = corners[k]
    for k in range(3):
        middle = 0.5 * (corners[i + k] + corners[j + k])
        corners[j + k] = middle
        other[i + k] = middle


@kernel
def _longest_edge_squared(corners):
    longest = 0.0
    for k in range(3):
        i, j = 3 * k, 3 * ((k + 1) % 3)
        dx = corners[j] - corners[i]
        dy = corners[j + 1] - corners[i + 1]
        dz = corners[j + 2] - corners[i + 2]
        longest = max(longest, dx * dx + dy * dy + dz * dz)
    return longest


@kernel
def uncovered(triangles, ends, radii, smallest_edge):
    """How far the triangles stick out of the union of the leaves, and where.

    Args:
        triangles: (m, 3, 3) corners, metres, finite.
        ends: (k, 6) end points of the leaves; a sphere's are equal.
        radii: (k,) radii of the leaves.
        smallest_edge: metres, above zero; triangles no larger are not halved again.

    Returns:
        (gap, index): no point of any triangle is farther than ``gap`` outside the
        union, and some point is farther than ``gap - smallest_edge``. With all radii
        grown by ``gap`` the leaves enclose every triangle. ``index`` is the triangle
        that set the gap; (0.0, -1) if all are enclosed, (inf, 0) without leaves.
    """
    count = len(triangles)
    if len(radii) == 0 and count > 0:
        return math.inf, 0
    worst, at = 0.0, -1
    # First the triangles that one leaf holds, nearly always that of the one before.
    open_ones = np.empty(count, dtype=np.int64)
    open_count = 0
    corners = np.empty(9)
    hint = 0
    for m in range(count):
        for k in range(9):
            corners[k] = triangles[m, k // 3, k % 3]
        if _holds(corners, ends, radii, hint):
            continue
        lower, upper = _bounds(corners, ends, radii)
        if upper <= 0.0:
            for i in range(len(radii)):
                if _holds(corners, ends, radii, i):
                    hint = i
                    break
            continue
        if lower > worst:
            worst, at = lower, m
        open_ones[open_count] = m
        open_count += 1
    # Then the others, in parts; a part that cannot make it worse is not looked into.
    waiting = np.empty((_WAITING, 9))
    stop = smallest_edge * smallest_edge
    for n in range(open_count):
        m = open_ones[n]
        for k in range(9):
            waiting[0, k] = triangles[m, k // 3, k % 3]
        size = 1
        while size > 0:
            size -= 1
            part = waiting[size]
            lower, upper = _bounds(part, ends, radii)
            if lower > worst:
                worst, at = lower, m
            if upper <= worst:
                continue
            if (
                _longest_edge_squared(part) <= stop
                or upper - lower <= 1e-4 * smallest_edge
                or size + 2 > _WAITING
            ):
                worst, at = upper, m
                continue
            _halve(part, waiting[size + 1])
            size += 2
    return worst, at
