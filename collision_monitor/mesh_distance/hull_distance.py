# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far the convex hulls of two meshes are apart, and the triangles that the gap rests on.

The distance of the hulls is a lower bound of that of the meshes. Links are often convex where they
are near each other, and then it is that of two triangles. This is known after a few farthest
corners, each found in microseconds, while a search for the nearest triangles has to exclude
thousands of pairs of nodes that are hardly farther apart.

The search along directions is that of Gilbert, Johnson and Keerthi (1988), as in
`geometry.convex`.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.convex import shrink
from collision_monitor.mesh_distance.mesh_tree import OBB, RSS, STACK

_MOST_STEPS = 30
_TOLERANCE = 1e-13  # metres between the distance found and the gap


@kernel
def node_reach(tree, node, x, y, z):
    """Upper bound of n . p over the contents of a node's volume."""
    v = tree.volumes
    reach = x * v[node, 0] + y * v[node, 1] + z * v[node, 2]
    if tree.kind == OBB or tree.kind == RSS:
        along = abs(x * v[node, 9] + y * v[node, 10] + z * v[node, 11]) if tree.kind == OBB else 1.0
        return (
            reach
            + v[node, 12] * abs(x * v[node, 3] + y * v[node, 4] + z * v[node, 5])
            + v[node, 13] * abs(x * v[node, 6] + y * v[node, 7] + z * v[node, 8])
            + v[node, 14] * along
        )
    return reach + v[node, 3] * abs(x) + v[node, 4] * abs(y) + v[node, 5] * abs(z)


@kernel
def farthest_corner(tree, x, y, z, least, at):
    """(largest n . p over the triangles of a tree, its corner), or ``least`` and ``at``.

    The latter if no corner is above ``least``. Corner k of a row of ``tree.corners`` is 3 row + k.
    """
    corners = tree.corners
    waiting, bounds = work_space(np.int64(0), STACK, 1), work_space(least, STACK, 1)
    waiting[0, 0], bounds[0, 0] = 0, math.inf
    size = 1
    while size > 0:
        size -= 1
        if bounds[size, 0] <= least:
            continue
        node = waiting[size, 0]
        first, count = tree.nodes[node, 0], tree.nodes[node, 1]
        for slot in range(first, first - count):
            row = tree.slots[slot, 0]
            for k in range(3):
                height = (
                    x * corners[row, 3 * k] + y * corners[row, 3 * k + 1]
                    + z * corners[row, 3 * k + 2]
                )  # fmt: skip
                if height > least:
                    least, at = height, 3 * row + k
        base = size
        for child in range(first, first + count):
            reach = node_reach(tree, child, x, y, z)
            if reach <= least:
                continue
            # Insertion sort: the largest bound is on top.
            place = size
            while place > base and bounds[place - 1, 0] > reach:
                bounds[place, 0], waiting[place, 0] = bounds[place - 1, 0], waiting[place - 1, 0]
                place -= 1
            bounds[place, 0], waiting[place, 0] = reach, child
            size += 1
    return least, at


@kernel
def rows_as_far(tree, x, y, z, least, rows):
    """Write triangles with a corner at which n . p is ``least`` or more to ``rows`` (k, 1).

    ``least`` is the largest n . p, less some rounding. Returns their number, at most k; the others
    are left out.
    """
    waiting = work_space(np.int64(0), STACK, 1)
    waiting[0, 0] = 0
    size, found = 1, 0
    while size > 0:
        size -= 1
        node = waiting[size, 0]
        first, count = tree.nodes[node, 0], tree.nodes[node, 1]
        for slot in range(first, first - count):
            row = tree.slots[slot, 0]
            for k in range(0, 9, 3):
                c = tree.corners
                if x * c[row, k] + y * c[row, k + 1] + z * c[row, k + 2] >= least:
                    rows[found, 0] = row
                    found += 1
                    if found == len(rows):
                        return found
                    break
        for child in range(first, first + count):
            if node_reach(tree, child, x, y, z) >= least:
                waiting[size, 0] = child
                size += 1
    return found


@kernel
def _height(tree, corner, x, y, z):
    """N . p of a corner; -inf for none."""
    if corner < 0:
        return -math.inf
    row, k = corner // 3, 3 * (corner % 3)
    c = tree.corners
    return x * c[row, k] + y * c[row, k + 1] + z * c[row, k + 2]


@kernel
def hull_gap(a, b, pose, limit, way):
    """Return (gap, reach of a, reach of b): the distance of the hulls of two trees, metres.

    ``pose`` (7, 3) of b in frame a. ``way`` (1, 3) is where the search begins, from a to b, and
    gets the unit vector n along which the gap is that wide: n . p over a and -n . p over b are at
    most the reaches, in frames a and b. The search ends as soon as the gap is ``limit`` or more.
    The gap is negative if the hulls meet, and never more than the distance of the meshes.
    """
    s = work_space(limit, 4, 7)
    best, best_a, best_b = -math.inf, 0.0, 0.0
    i, j = np.int64(-1), np.int64(-1)
    size, square = 0, math.inf
    x, y, z = way[0, 0], way[0, 1], way[0, 2]
    for _ in range(_MOST_STEPS):
        length = math.sqrt(x * x + y * y + z * z)
        if not length > 0.0:
            break
        nx, ny, nz = x / length, y / length, z / length
        bx = -pose[0, 0] * nx - pose[1, 0] * ny - pose[2, 0] * nz
        by = -pose[0, 1] * nx - pose[1, 1] * ny - pose[2, 1] * nz
        bz = -pose[0, 2] * nx - pose[1, 2] * ny - pose[2, 2] * nz
        reach_a, i = farthest_corner(a, nx, ny, nz, _height(a, i, nx, ny, nz), i)
        reach_b, j = farthest_corner(b, bx, by, bz, _height(b, j, bx, by, bz), j)
        gap = pose[3, 0] * nx + pose[3, 1] * ny + pose[3, 2] * nz - reach_a - reach_b
        if gap > best:
            best, best_a, best_b = gap, reach_a, reach_b
            way[0, 0], way[0, 1], way[0, 2] = nx, ny, nz
        if best >= limit or (size > 0 and length - best <= _TOLERANCE):
            break
        row, column = i // 3, 3 * (i % 3)
        other, k = j // 3, 3 * (j % 3)
        for axis in range(3):
            s[size, axis] = a.corners[row, column + axis] - (
                pose[axis, 0] * b.corners[other, k]
                + pose[axis, 1] * b.corners[other, k + 1]
                + pose[axis, 2] * b.corners[other, k + 2]
                + pose[3, axis]
            )
            s[size, 3 + axis] = 0.0
        size = shrink(s, size + 1)
        if size == 0:
            break
        x, y, z = 0.0, 0.0, 0.0
        for row in range(size):
            weight = s[row, 6]
            x, y, z = x - weight * s[row, 0], y - weight * s[row, 1], z - weight * s[row, 2]
        now = x * x + y * y + z * z
        if now >= square:  # no progress beyond rounding
            break
        square = now
    return best, best_a, best_b
