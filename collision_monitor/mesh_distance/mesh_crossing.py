# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Crossing triangles of two meshes, and whether there are any, with hierarchies.

Method of Chen and Xie: boxes select the pairs of triangles, by the 15 separating axes in the
relative pose of the links; the triangles are tested exactly. All kinds of hierarchies give the same
result as a test of all pairs of triangles, with those of B transformed into frame A in floating
point.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import THREE, ZERO, kernel, part_kernel, small_kernel
from collision_monitor.geometry.bounding_volumes import (
    aligned_apart,
    oriented_apart,
    place,
    rounding,
)
from collision_monitor.geometry.triangles import triangles_intersect
from collision_monitor.mesh_distance.mesh_pair_distance import (
    centers_apart,
    place_corners,
    take_corners,
)
from collision_monitor.mesh_distance.mesh_tree import OBB, OCTREE, RSS, STACK, unpack_tree

# -- a growing set of integers from 0 on: the pairs already tested --
#
# Open addressing: a number is at the first place from its hash on that was free. The table is at
# most half full, so that a free place is near.


_FIRST_SIZE = 64  # a power of two, as all sizes are
_HASH_FACTOR = 0x9E3779B97F4A7C15 - 2**64  # Knuth's multiplicative hash: 2^64 by the golden ratio


@small_kernel
def empty_set(is_used):
    """Return an empty set, filled with -1; without memory if it is not ``is_used``."""
    return np.full(_FIRST_SIZE if is_used else 0, -1, dtype=np.int64)


@kernel
def _place(table, number):
    """Return the index of ``number``, or the free one for it."""
    last = len(table) - 1
    at = ((number * _HASH_FACTOR) >> 20) & last
    while table[at] >= 0 and table[at] != number:
        at = (at + 1) & last
    return at


@kernel
def add(table, used, number):
    """Add a number; return (table, used, whether it is new)."""
    at = _place(table, number)
    if table[at] == number:
        return table, used, False
    table[at] = number
    used += 1
    if 2 * used > len(table):
        larger = np.full(2 * len(table), -1, dtype=np.int64)
        for k in range(len(table)):
            if table[k] >= 0:
                larger[_place(larger, table[k])] = table[k]
        table = larger
    return table, used, True


@small_kernel
def _apart(kind, volumes_a, i, volumes_b, j, pose, margin):
    """Whether a plane separates the contents of two volumes."""
    if kind == OBB or kind == RSS:
        return oriented_apart(volumes_a, i, volumes_b, j, pose, margin)
    return aligned_apart(volumes_a, i, volumes_b, j, pose, margin)


@kernel
def _box(pair, first):
    """Return the lower and upper corner of a triangle's box."""
    return (
        min(pair[first, 0], min(pair[first + 1, 0], pair[first + 2, 0])),
        min(pair[first, 1], min(pair[first + 1, 1], pair[first + 2, 1])),
        min(pair[first, 2], min(pair[first + 1, 2], pair[first + 2, 2])),
        max(pair[first, 0], max(pair[first + 1, 0], pair[first + 2, 0])),
        max(pair[first, 1], max(pair[first + 1, 1], pair[first + 2, 1])),
        max(pair[first, 2], max(pair[first + 1, 2], pair[first + 2, 2])),
    )


@part_kernel
def _cell(volumes, node, margin):
    """Return the lower and upper corner of an axis-aligned box, grown for rounding."""
    return (
        volumes[node, 0] - volumes[node, 3] - margin,
        volumes[node, 1] - volumes[node, 4] - margin,
        volumes[node, 2] - volumes[node, 5] - margin,
        volumes[node, 0] + volumes[node, 3] + margin,
        volumes[node, 1] + volumes[node, 4] + margin,
        volumes[node, 2] + volumes[node, 5] + margin,
    )


@kernel
def _are_disjoint(box, other):
    """Whether two boxes of six coordinates are disjoint."""
    return (
        box[0] > other[3] or other[0] > box[3]
        or box[1] > other[4] or other[1] > box[4]
        or box[2] > other[5] or other[2] > box[5]
    )  # fmt: skip


@small_kernel
def _max_coordinate(volumes, size):
    """Upper bound of the coordinates of the corners of the root's box."""
    far = math.fabs(volumes[0, 0]) + math.fabs(volumes[0, 1]) + math.fabs(volumes[0, 2])
    return far + volumes[0, size]


@kernel
def crossing_triangles(a, b, pose, most, out):
    """Return the number of pairs of triangles of two trees of one kind that share a point.

    Stops at ``most``; 1 gives a yes/no test. Rows of ``corners`` of the pairs are written to
    ``out`` (k, 2), unordered, as long as there is room; further ones are only counted. ``pose``
    (7, 3) by `place`. Only surfaces are tested: a mesh completely inside another one crosses
    nothing.
    """
    size = 15 if a.kind == OBB or a.kind == RSS else 6
    margin = rounding(_max_coordinate(a.volumes, size), _max_coordinate(b.volumes, size), pose)
    pair = work_space(margin, 6, 3)
    waiting = work_space(np.int64(0), STACK, 2)
    count = np.int64(0)
    far = work_space(margin, STACK, 1)
    if most <= 0 or _apart(a.kind, a.volumes, ZERO, b.volumes, ZERO, pose, margin):
        return count
    # An octree has a triangle in several leaves.
    repeats = a.kind == OCTREE and most > 1
    seen = empty_set(repeats)
    waiting[0, 0], waiting[0, 1] = 0, 0
    top = 1
    while top > 0:
        top -= 1
        i, j = waiting[top, 0], waiting[top, 1]
        first_a, count_a = a.nodes[i, 0], a.nodes[i, 1]
        first_b, count_b = b.nodes[j, 0], b.nodes[j, 1]
        if count_a < 0 and count_b < 0:
            for m in range(first_b, first_b - count_b):
                row_b = b.slots[m, 0]
                place_corners(b.corners, row_b, pose, pair)
                box = _box(pair, THREE)
                many = count_a < -1 or count_b < -1
                if size == 6 and many and _are_disjoint(box, _cell(a.volumes, i, margin)):
                    continue
                for k in range(first_a, first_a - count_a):
                    row_a = a.slots[k, 0]
                    take_corners(a.corners, row_a, pair)
                    if many and _are_disjoint(box, _box(pair, ZERO)):
                        continue
                    if not triangles_intersect(pair, ZERO, THREE):
                        continue
                    if repeats:
                        key = row_a * len(b.corners) + row_b
                        seen, _, is_new = add(seen, count, key)
                        if not is_new:
                            continue
                    if count < len(out):
                        out[count, 0], out[count, 1] = row_a, row_b
                    count += 1
                    if count >= most:
                        return count
            continue
        opens_a = count_b < 0 or (count_a > 0 and a.volumes[i, size] >= b.volumes[j, size])
        base = top
        for child in range(count_a if opens_a else count_b):
            if opens_a:
                i = first_a + child
            else:
                j = first_b + child
            if not _apart(a.kind, a.volumes, i, b.volumes, j, pose, margin):
                apart = centers_apart(a.volumes, i, b.volumes, j, pose)
                at = top
                while at > base and far[at - 1, 0] < apart:
                    far[at, 0] = far[at - 1, 0]
                    waiting[at, 0], waiting[at, 1] = waiting[at - 1, 0], waiting[at - 1, 1]
                    at -= 1
                far[at, 0] = apart
                waiting[at, 0], waiting[at, 1] = i, j
                top += 1
    return count


@kernel
def mesh_crossing(numbers_a, index_a, numbers_b, index_b, rotation, translation, most, out):
    """`crossing_triangles` of two packed trees of `mesh_tree`.

    ``rotation`` (3, 3) and ``translation`` (3,), metres, transform frame B into frame A; ``out``
    (k, 2) int64. -1 if the pose is not finite.
    """
    pose = work_space(translation[0], 7, 3)
    for i in range(3):
        for j in range(3):
            if not np.isfinite(rotation[i, j]) or not np.isfinite(translation[i]):
                return np.int64(-1)
    a = unpack_tree(numbers_a, index_a, ZERO, ZERO)
    b = unpack_tree(numbers_b, index_b, ZERO, ZERO)
    place(pose, rotation, translation)
    return crossing_triangles(a, b, pose, most, out)
