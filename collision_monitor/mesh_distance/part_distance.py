# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The distance of two parts of links, meshes or convex solids, and whether one holds the other."""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import borrow, work_space
from collision_monitor.common.compiled import FALSE, ONE, THREE, TWO, ZERO, kernel, small_kernel
from collision_monitor.geometry.convex import RADIUS, solid_distance
from collision_monitor.geometry.orientation import orient2d, orient3d
from collision_monitor.mesh_distance.bvh.mesh_tree import (
    OBB,
    OCTREE,
    RSS,
    STACK,
    MeshTree,
    unpack_tree,
)
from collision_monitor.mesh_distance.mesh_pair_distance import nearest_triangles
from collision_monitor.mesh_distance.mesh_solid import nearest_to_solid
from collision_monitor.mesh_distance.packed_parts import MESH
from collision_monitor.mesh_distance.poses import (
    compose,
    compose_inverse,
    fill_absolute,
    invert,
    move_points,
    take_pose,
    to_outer,
)

# -- whether a point lies inside the closed surfaces of a mesh --
#
# By the winding number: how often a ray from the point leaves, less how often it enters. The ray
# runs along x. What it hits is decided by exact signs, and a ray through an edge or a corner hits
# exactly one of the triangles that meet there, as if it ran a little to one side of it: so
# the number is right wherever the surface is closed.


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
    return upwards if orient2d(p, low, high, THREE, ONE, TWO) > 0 else 0


@kernel
def _crossed(p):
    """How often the ray of row 3 along x passes outwards through the triangle of rows 0 to 2."""
    turn = _side_of_edge(p, ZERO, ONE) + _side_of_edge(p, ONE, TWO) + _side_of_edge(p, TWO, ZERO)
    if turn == 0:
        return 0
    side = orient3d(p, ZERO, ONE, TWO, THREE)
    return turn if side * turn < 0 else 0  # else it lies behind the point


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


@kernel
def tree_of(data, shapes, part):
    """The tree of a part; the reaches in it are the thread's own."""
    numbers, index, work, begin, _ = data
    tree = unpack_tree(numbers, index, shapes.parts[part, 1], shapes.parts[part, 2])
    reaches = borrow(work, begin + 2 * shapes.parts[part, 3], len(tree.nodes), 2)
    return MeshTree(
        tree.nodes, tree.slots, tree.names, tree.volumes, tree.corners, reaches, tree.kind
    )


@small_kernel
def balls_gap(balls, i, j, pose):
    """Gap between the balls of two parts, the second one's frame at ``pose`` in the first's."""
    x, y, z = to_outer(pose, balls[j, 0], balls[j, 1], balls[j, 2])
    dx, dy, dz = x - balls[i, 0], y - balls[i, 1], z - balls[i, 2]
    return math.sqrt(dx * dx + dy * dy + dz * dz) - balls[i, 3] - balls[j, 3]


@kernel
def _holds(data, shapes, outer, inner, pose):
    """Whether closed surfaces of part ``outer`` hold a piece of ``inner``, at ``pose`` to it."""
    if shapes.parts[outer, 5] == 0:
        return False
    box, begin = shapes.boxes, shapes.parts[inner, 6]
    for probe in range(begin, begin + shapes.parts[inner, 7]):
        x, y, z = to_outer(
            pose, shapes.probes[probe, 0], shapes.probes[probe, 1], shapes.probes[probe, 2]
        )
        if (
            box[outer, 0] < x < box[outer, 3]
            and box[outer, 1] < y < box[outer, 4]
            and box[outer, 2] < z < box[outer, 5]
        ):
            tree = tree_of(data, shapes, outer)
            if winding_number(tree, shapes.closed, shapes.parts[outer, 4], x, y, z) != 0:
                return True
    return False


@kernel
def holds(data, shapes, i, j, pose):
    """Whether one of two parts holds a piece of the other, if their surfaces do not cross.

    ``pose`` of the second's link in the first's.
    """
    if _holds(data, shapes, i, j, pose):
        return True
    if shapes.parts[j, 5] == 0:
        return False
    back = work_space(1.0, 7, 3)
    invert(pose, back)
    return _holds(data, shapes, j, i, back)


@kernel
def part_distance(data, shapes, i, j, pose, row_a, row_b, limit, search, points):
    """(distance, row, row) of two parts below ``limit``, radii left out; 0 where they meet.

    (limit or more, -1, -1) above it. ``pose`` of the second's link in the first's; ``points``
    (3, 3) gets the nearest points in the first link's frame. Without ``search`` only the triangles
    of the rows given are measured.
    """
    none = np.int64(-1)
    i_is_mesh, j_is_mesh = shapes.parts[i, 0] == MESH, shapes.parts[j, 0] == MESH
    if i_is_mesh and j_is_mesh:
        a, b = tree_of(data, shapes, i), tree_of(data, shapes, j)
        square, row_a, row_b = nearest_triangles(
            a, b, pose, row_a, row_b, limit, search, points
        )
        return math.sqrt(square), row_a, row_b
    place, placed, other = work_space(limit, 7, 3), work_space(limit, 7, 3), work_space(limit, 7, 3)
    if not i_is_mesh and not j_is_mesh:
        take_pose(shapes.places, j, place)
        compose(pose, place, placed)
        take_pose(shapes.places, i, place)
        compose_inverse(place, placed, other)
        found = solid_distance(shapes.solids, i, other, FALSE, j, limit, points)
        if found < limit:
            move_points(place, points)
        return found, none, none
    if i_is_mesh:
        take_pose(shapes.places, j, place)
        compose(pose, place, placed)
        fill_absolute(placed)
        tree, volume = tree_of(data, shapes, i), tree_of(data, shapes, j)
        found, row = nearest_to_solid(
            tree, volume.volumes, shapes.solids, j, placed, row_a, limit, search, points
        )
        return found, row, none
    take_pose(shapes.places, i, place)
    compose_inverse(pose, place, placed)
    fill_absolute(placed)
    tree, volume = tree_of(data, shapes, j), tree_of(data, shapes, i)
    found, row = nearest_to_solid(
        tree, volume.volumes, shapes.solids, i, placed, row_b, limit, search, points
    )
    if row >= 0:
        move_points(pose, points)
        for k in range(3):
            points[0, k], points[1, k] = points[1, k], points[0, k]
    return found, none, row


@kernel
def finish(shapes, i, j, distance, points):
    """Signed distance of two parts that do not meet at their cores; points go to their surfaces.

    Row 2 of ``points`` gets the normal.
    """
    x, y, z = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
    length = math.sqrt(x * x + y * y + z * z)
    scale = 1.0 / length
    x, y, z = scale * x, scale * y, scale * z
    first, second = shapes.solids[i, RADIUS], shapes.solids[j, RADIUS]
    points[0, 0], points[0, 1], points[0, 2] = (
        points[0, 0] + first * x, points[0, 1] + first * y, points[0, 2] + first * z
    )  # fmt: skip
    points[1, 0], points[1, 1], points[1, 2] = (
        points[1, 0] - second * x, points[1, 1] - second * y, points[1, 2] - second * z
    )  # fmt: skip
    points[2, 0], points[2, 1], points[2, 2] = x, y, z
    return distance - first - second
