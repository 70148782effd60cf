# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far parts and links reach along a direction, and so how far a plane parts them.

Two shapes are never nearer than the gap between them along any direction, and moved along it by
their overlap they are apart. Both are found through the hierarchies in a few microseconds.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.convex import RADIUS, farthest
from collision_monitor.mesh_distance.bvh.mesh_tree import OBB, RSS, STACK
from collision_monitor.mesh_distance.packed_parts import MESH
from collision_monitor.mesh_distance.part_distance import tree_of
from collision_monitor.mesh_distance.poses import take_pose


@kernel
def solid_reach(shapes, part, placed, x, y, z):
    """Largest n . p over a solid at ``placed``, its radius included, for a unit n = (x, y, z)."""
    dx = placed[0, 0] * x + placed[1, 0] * y + placed[2, 0] * z
    dy = placed[0, 1] * x + placed[1, 1] * y + placed[2, 1] * z
    dz = placed[0, 2] * x + placed[1, 2] * y + placed[2, 2] * z
    px, py, pz = farthest(shapes.solids, part, dx, dy, dz)
    middle = placed[3, 0] * x + placed[3, 1] * y + placed[3, 2] * z
    return middle + px * dx + py * dy + pz * dz + shapes.solids[part, RADIUS]


@kernel
def _node_reach(tree, node, x, y, z):
    """At least the largest n . p over what the volume of a node encloses."""
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
def mesh_reach(tree, x, y, z, least):
    """Largest n . p over the triangles of a tree; ``least`` if none reaches beyond it."""
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
                least = max(least, height)
        base = size
        for child in range(first, first + count):
            reach = _node_reach(tree, child, x, y, z)
            if reach <= least:
                continue
            # Sorted in: what may reach farthest is on top.
            at = size
            while at > base and bounds[at - 1, 0] > reach:
                bounds[at, 0], waiting[at, 0] = bounds[at - 1, 0], waiting[at - 1, 0]
                at -= 1
            bounds[at, 0], waiting[at, 0] = reach, child
            size += 1
    return least


@kernel
def _part_reach(data, shapes, part, x, y, z, least):
    """Largest n . p over a part in its link's frame; ``least`` if it does not reach beyond it."""
    if shapes.parts[part, 0] == MESH:
        return mesh_reach(tree_of(data, shapes, part), x, y, z, least)
    place = work_space(least, 7, 3)
    take_pose(shapes.places, part, place)
    return max(least, solid_reach(shapes, part, place, x, y, z))


@kernel
def _reach(data, shapes, begin, count, x, y, z):
    """The same of parts of one link, ``count`` of them from ``begin`` on."""
    least = -math.inf
    balls = shapes.balls
    for part in range(begin, begin + count):
        ball = x * balls[part, 0] + y * balls[part, 1] + z * balls[part, 2] + balls[part, 3]
        if ball > least:
            least = _part_reach(data, shapes, part, x, y, z, least)
    return least


@kernel
def parts_gap(data, shapes, i, count_i, j, count_j, pose, x, y, z):
    """Gap along a unit vector between parts of a link and, beyond them, parts of another.

    Metres; below zero it is the overlap. Parts i to i + count_i, and j to j + count_j whose link
    is at ``pose`` in the first's, in whose frame the vector is.
    """
    own = _reach(data, shapes, i, count_i, x, y, z)
    other = _reach(
        data, shapes, j, count_j,
        -pose[0, 0] * x - pose[1, 0] * y - pose[2, 0] * z,
        -pose[0, 1] * x - pose[1, 1] * y - pose[2, 1] * z,
        -pose[0, 2] * x - pose[1, 2] * y - pose[2, 2] * z,
    )  # fmt: skip
    return pose[3, 0] * x + pose[3, 1] * y + pose[3, 2] * z - other - own
