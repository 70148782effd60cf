# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a point lies inside the closed surfaces of a mesh.

By the winding number: how often a ray from the point leaves, less how often it enters. The ray
runs along x. What it hits is decided by exact signs, and a ray through an edge or a corner hits
exactly one of the triangles that meet there, as if it ran a little to one side of it: so
the number is right wherever the surface is closed.
"""

from __future__ import annotations

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.orientation import orient2d, orient3d
from collision_monitor.mesh_distance.bvh.mesh_tree import OBB, OCTREE, RSS, STACK


@kernel
def _side_of_edge(p, a, b):
    """1 or -1 if the edge from row a to row b passes the ray of row 3 upwards or downwards.

    0 if it does not pass the ray's height, or on its right. Heights are z, half open; an edge is
    looked at from its lower end, so that both triangles at it see the same.
    """
    if (p[a, 2] > p[3, 2]) == (p[b, 2] > p[3, 2]):
        return 0
    upwards = 1 if p[b, 2] > p[3, 2] else -1
    low, high = (a, b) if upwards > 0 else (b, a)
    return upwards if orient2d(p, low, high, 3, 1, 2) > 0 else 0


@kernel
def _crossed(p):
    """How often the ray of row 3 along x passes outwards through the triangle of rows 0 to 2."""
    turn = _side_of_edge(p, 0, 1) + _side_of_edge(p, 1, 2) + _side_of_edge(p, 2, 0)
    if turn == 0:
        return 0
    return turn if orient3d(p, 0, 1, 2, 3) * turn < 0 else 0  # else it lies behind the point


@kernel
def _ray_misses(tree, node, x, y, z):
    """Whether the ray from (x, y, z) along x surely misses the box of a node."""
    v = tree.volumes
    if tree.kind != OBB and tree.kind != RSS:
        return (
            abs(y - v[node, 1]) > v[node, 4]
            or abs(z - v[node, 2]) > v[node, 5]
            or x > v[node, 0] + v[node, 3]
        )
    swept = v[node, 14] if tree.kind == RSS else 0.0
    dx, dy, dz = x - v[node, 0], y - v[node, 1], z - v[node, 2]
    begin, end = 0.0, 1e300
    for axis in range(3):
        k = 3 + 3 * axis
        half = v[node, 12 + axis] + (swept if axis < 2 else 0.0)
        at = v[node, k] * dx + v[node, k + 1] * dy + v[node, k + 2] * dz
        rate = v[node, k]
        if abs(rate) < 1e-12:
            if abs(at) > half * (1.0 + 1e-9) + 1e-9:
                return True
            continue
        near, far = (-half - at) / rate, (half - at) / rate
        if near > far:
            near, far = far, near
        begin, end = max(begin, near), min(end, far)
    return begin > end + 1e-9


@kernel
def _through(tree, row, closed, first_row, p):
    """`_crossed` of a triangle, 0 if it belongs to no closed surface."""
    if closed[first_row + row, 0] == 0:
        return 0
    for k in range(3):
        for axis in range(3):
            p[k, axis] = tree.corners[row, 3 * k + axis]
    return _crossed(p)


@kernel
def winding_number(tree, closed, first_row, x, y, z):
    """Of the closed surfaces of a mesh about a point in its frame; 0 is outside.

    ``closed`` (rows, 1): whether the triangle of row ``first_row`` + k belongs to a closed surface.
    """
    p = work_space(x, 4, 3)
    p[3, 0], p[3, 1], p[3, 2] = x, y, z
    total = 0
    if tree.kind == OCTREE:  # has a triangle in many leaves
        for row in range(len(tree.corners)):
            total += _through(tree, row, closed, first_row, p)
        return total
    waiting = work_space(first_row, STACK, 1)
    waiting[0, 0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = waiting[size, 0]
        if _ray_misses(tree, node, x, y, z):
            continue
        first, count = tree.nodes[node, 0], tree.nodes[node, 1]
        for slot in range(first, first - count):
            total += _through(tree, tree.slots[slot, 0], closed, first_row, p)
        for child in range(first, first + count):
            waiting[size, 0] = child
            size += 1
    return total
