# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The distance of two parts of links, meshes or convex solids, and containment tests.

A solid has a bounding volume of the same kind as the nodes of a mesh, and is tested exactly against
triangles. It has an interior: a triangle inside it touches it.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import borrow, work_space
from collision_monitor.common.compiled import (
    FALSE,
    ONE,
    TRUE,
    TWO,
    ZERO,
    kernel,
    part_kernel,
    reproducible_kernel,
    small_kernel,
)
from collision_monitor.geometry.bounding_volumes import OBB, OCTREE, RSS
from collision_monitor.geometry.convex import RADIUS, solid_distance
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.hierarchy.aabb_tree import STACK
from collision_monitor.mesh_distance.mesh_pair_distance import nearest_triangles
from collision_monitor.mesh_distance.mesh_tree import MeshTree, unpack_tree
from collision_monitor.mesh_distance.parts import MESH
from collision_monitor.mesh_distance.traversal import Search, next_leaves, start
from collision_monitor.robot.poses import (
    compose,
    compose_inverse,
    invert,
    move_points,
    take_pose,
    to_inner,
    to_outer,
)

# -- a mesh and a convex solid --



@kernel
def triangle_to_solid(tree, row, solids, solid, pose, corners, limit, points):
    """Like `convex.solid_distance`, for triangle ``row`` and a ``solid`` at ``pose`` in the tree.

    ``corners`` (4, 3) is work space; ``points`` (2, 3) gets the nearest points in the solid's
    frame, the solid's first.
    """
    for m in range(3):
        x, y, z = to_inner(
            pose,
            tree.corners[row, 3 * m],
            tree.corners[row, 3 * m + 1],
            tree.corners[row, 3 * m + 2],
        )
        corners[m, 0], corners[m, 1], corners[m, 2] = x, y, z
    return solid_distance(solids, solid, corners, TRUE, solid, limit, points)


@kernel
def nearest_to_solid(tree, volume, solids, solid, pose, guess, limit, search, points):
    """Return (distance, row) of the triangle nearest to a ``solid``; (limit, -1) if none is nearer.

    ``volume``: tree of the solid in its own frame; ``pose`` (4, 3) of that frame in the other
    tree's. The radius of the solid is ignored. ``points`` (2, 3) gets the nearest points in the
    tree's frame, on the mesh and on the solid. Without ``search`` only the guess is measured.
    """
    corners = work_space(limit, 4, 3)
    trial = work_space(limit, 2, 3)
    best, best_row = limit, np.int64(-1)
    if 0 <= guess < len(tree.corners):
        distance = triangle_to_solid(tree, guess, solids, solid, pose, corners, best, trial)
        if distance < best:
            best, best_row = distance, guess
            _to_mesh_frame(pose, trial, points)
    if not search:
        return best, best_row
    space = Search(work_space(best_row, STACK, 2), work_space(limit, STACK, 2))
    size = start(tree, volume, pose, best * best, space)
    while best > 0.0:
        size, node, _ = next_leaves(tree, volume, pose, best * best, -np.inf, space, size)
        if node < 0:
            break
        first, count = tree.nodes[node, 0], tree.nodes[node, 1]
        for slot in range(first, first - count):
            row = tree.slots[slot, 0]
            distance = triangle_to_solid(tree, row, solids, solid, pose, corners, best, trial)
            if distance < best:
                best, best_row = distance, row
                _to_mesh_frame(pose, trial, points)
    return best, best_row


@part_kernel
def touching_rows(tree, volume, solids, solid, pose, out, column):
    """Return the number of triangles that meet a ``solid`` and its radius, at most rows of ``out``.

    Their rows are written to a column of ``out``. Other arguments as in `nearest_to_solid`.
    """
    corners, points = work_space(1.0, 4, 3), work_space(1.0, 2, 3)
    radius = solids[solid, RADIUS]
    limit = radius + ROUNDING
    space = Search(work_space(solid, STACK, 2), work_space(1.0, STACK, 2))
    size, count = start(tree, volume, pose, limit * limit, space), np.int64(0)
    while count < len(out):
        size, node, _ = next_leaves(tree, volume, pose, limit * limit, -np.inf, space, size)
        if node < 0:
            break
        first, children = tree.nodes[node, 0], tree.nodes[node, 1]
        for slot in range(first, first - children):
            row = tree.slots[slot, 0]
            if triangle_to_solid(tree, row, solids, solid, pose, corners, limit, points) > radius:
                continue
            is_new = count < len(out)
            if tree.kind == OCTREE:  # it has a triangle in several leaves
                for m in range(count):
                    is_new = is_new and out[m, column] != row
            if is_new:
                out[count, column] = row
                count += 1
    return count


@kernel
def _to_mesh_frame(pose, trial, points):
    """Convert points in the solid's frame, its own first, to the mesh's frame, the mesh's first."""
    for i in range(3):
        points[0, i], points[1, i] = trial[1, i], trial[0, i]
    move_points(pose, points)


# -- whether a point is inside the closed surfaces of a mesh --
#
# Winding number: how often a ray from the point leaves, less how often it enters. The ray runs
# along x. Both triangles at an edge compute on which side of it the ray passes from the same
# numbers in the same way. So a ray through an edge or a corner hits exactly one of the adjacent
# triangles, as if it were shifted slightly sideways, and the number is correct for every closed
# surface.


@reproducible_kernel
def _side_of_edge(p, a, b):
    """1 or -1 if the edge from row a to row b passes the ray of row 3 upwards or downwards.

    0 if it does not cross the ray's height, or passes on its right. Heights are z, half open. An
    edge is evaluated from its lower end, so that both adjacent triangles agree.
    """
    if (p[a, 2] > p[3, 2]) == (p[b, 2] > p[3, 2]):
        return 0
    upwards = 1 if p[b, 2] > p[3, 2] else -1
    low, high = (a, b) if upwards > 0 else (b, a)
    along = (p[high, 1] - p[low, 1]) * (p[3, 2] - p[low, 2])
    across = (p[high, 2] - p[low, 2]) * (p[3, 1] - p[low, 1])
    return upwards if along > across else 0


@part_kernel
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
def _crossings_of_triangle(tree, row, closed, first_row, p):
    """Return how often the ray of row 3 of ``p`` along x leaves through a triangle.

    0 if the triangle does not belong to a closed surface.
    """
    if closed[first_row + row, 0] == 0:
        return 0
    for k in range(3):
        for axis in range(3):
            p[k, axis] = tree.corners[row, 3 * k + axis]
    turn = _side_of_edge(p, ZERO, ONE) + _side_of_edge(p, ONE, TWO) + _side_of_edge(p, TWO, ZERO)
    if turn == 0:
        return 0
    x = p[3, 0]
    if min(p[0, 0], min(p[1, 0], p[2, 0])) > x:
        return turn
    if max(p[0, 0], max(p[1, 0], p[2, 0])) < x:
        return 0
    volume = 0.0  # with the point; its sign is opposite behind the triangle
    for k in range(3):
        one, other = (k + 1) % 3, (k + 2) % 3
        volume += (p[k, 0] - x) * (
            (p[one, 1] - p[3, 1]) * (p[other, 2] - p[3, 2])
            - (p[one, 2] - p[3, 2]) * (p[other, 1] - p[3, 1])
        )
    return turn if volume * turn > 0.0 else 0


@part_kernel
def winding_number(tree, closed, first_row, x, y, z):
    """Winding number of the closed surfaces of a mesh about a point in its frame; 0 is outside.

    ``closed`` (rows, 1): whether the triangle of row ``first_row`` + k belongs to a closed surface.
    """
    p = work_space(x, 4, 3)
    p[3, 0], p[3, 1], p[3, 2] = x, y, z
    total = 0
    if tree.kind == OCTREE:  # a triangle may be in several leaves
        for row in range(len(tree.corners)):
            total += _crossings_of_triangle(tree, row, closed, first_row, p)
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
            total += _crossings_of_triangle(tree, tree.slots[slot, 0], closed, first_row, p)
        for child in range(first, first + count):
            waiting[size, 0] = child
            size += 1
    return total


@kernel
def tree_of(data, shapes, part):
    """Return the tree of a part; its reaches are in the thread's own array."""
    numbers, index, work, begin, _ = data
    tree = unpack_tree(numbers, index, shapes.parts[part, 1], shapes.parts[part, 2])
    reaches = borrow(work, begin + 2 * shapes.parts[part, 3], len(tree.nodes), 2)
    return MeshTree(
        tree.nodes, tree.slots, tree.names, tree.volumes, tree.corners, reaches, tree.kind
    )


@small_kernel
def balls_gap(balls, i, j, pose):
    """Gap between the balls of two parts; ``pose`` is the second frame in the first."""
    x, y, z = to_outer(pose, balls[j, 0], balls[j, 1], balls[j, 2])
    dx, dy, dz = x - balls[i, 0], y - balls[i, 1], z - balls[i, 2]
    return math.sqrt(dx * dx + dy * dy + dz * dz) - balls[i, 3] - balls[j, 3]


@kernel
def _contains_piece(data, shapes, outer, inner, pose):
    """Whether closed surfaces of part ``outer`` contain a piece of ``inner``, at ``pose`` to it."""
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
    """Whether one of two parts contains a piece of the other, if their surfaces do not cross.

    ``pose`` of the second's link in the first's.
    """
    if _contains_piece(data, shapes, i, j, pose):
        return True
    if shapes.parts[j, 5] == 0:
        return False
    back = work_space(1.0, 4, 3)
    invert(pose, back)
    return _contains_piece(data, shapes, j, i, back)


@kernel
def part_distance(data, shapes, i, j, pose, row_a, row_b, limit, enough, search, points):
    """Return (distance, row, row) of two parts below ``limit``, without radii; 0 if they meet.

    Returns (limit or more, -1, -1) above it. ``enough`` as in `nearest_triangles`, for meshes.
    ``pose`` of the second link in the first; ``points`` (3, 3) gets the nearest points in the first
    link's frame. Without ``search`` only the triangles of the given rows are measured.
    """
    none = np.int64(-1)
    i_is_mesh, j_is_mesh = shapes.parts[i, 0] == MESH, shapes.parts[j, 0] == MESH
    if i_is_mesh and j_is_mesh:
        a, b = tree_of(data, shapes, i), tree_of(data, shapes, j)
        square, row_a, row_b = nearest_triangles(
            a, b, pose, row_a, row_b, limit, enough, search, points
        )
        return math.sqrt(square), row_a, row_b
    place, placed, other = work_space(limit, 4, 3), work_space(limit, 4, 3), work_space(limit, 4, 3)
    if not i_is_mesh and not j_is_mesh:
        take_pose(shapes.places, j, place)
        compose(pose, place, placed)
        take_pose(shapes.places, i, place)
        compose_inverse(place, placed, other)
        distance = solid_distance(shapes.solids, i, other, FALSE, j, limit, points)
        if distance < limit:
            move_points(place, points)
        return distance, none, none
    mesh, solid, guess = (i, j, row_a) if i_is_mesh else (j, i, row_b)
    take_pose(shapes.places, solid, place)
    if i_is_mesh:
        compose(pose, place, placed)
    else:
        compose_inverse(pose, place, placed)
    tree, volume = tree_of(data, shapes, mesh), tree_of(data, shapes, solid)
    distance, row = nearest_to_solid(
        tree, volume, shapes.solids, solid, placed, guess, limit, search, points
    )
    if i_is_mesh:
        return distance, row, none
    if row >= 0:
        move_points(pose, points)
        for k in range(3):
            points[0, k], points[1, k] = points[1, k], points[0, k]
    return distance, none, row


@kernel
def finish(shapes, i, j, distance, points):
    """Signed distance of two parts whose cores do not meet; moves points to their surfaces.

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
