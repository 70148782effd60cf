# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The distance of two meshes, with hierarchies over their triangles.

A guess, such as the nearest triangles of the last query, is measured first: the distance of any two
triangles is an upper bound of the distance of their meshes. It is improved to a local minimum
before the search, which then mostly proves that nothing is nearer.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import (
    ONE,
    THREE,
    ZERO,
    kernel,
    reproducible_kernel,
    small_kernel,
)
from collision_monitor.geometry.bounding_volumes import OBB, RSS
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.geometry.triangles import squared_distance_below
from collision_monitor.hierarchy.aabb_tree import STACK
from collision_monitor.mesh_distance.mesh_tree import MeshTree
from collision_monitor.mesh_distance.traversal import Search, next_leaves, start
from collision_monitor.robot.poses import to_inner

# -- exact extents along one direction of the triangles below the nodes of a tree --
#
# If a plane separates two bodies, few triangles extend beyond the nearest points along the
# direction between these. So, as soon as a good guess is known, two numbers exclude most pairs of
# nodes. A bounding box along that direction would be too coarse.


@kernel
def _node_reach(tree, node, x, y, z):
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
def mesh_reach(tree, x, y, z, least):
    """Largest n . p over the triangles of a tree; ``least`` if none is above it."""
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
            # Insertion sort: the largest bound is on top.
            at = size
            while at > base and bounds[at - 1, 0] > reach:
                bounds[at, 0], waiting[at, 0] = bounds[at - 1, 0], waiting[at - 1, 0]
                at -= 1
            bounds[at, 0], waiting[at, 0] = reach, child
            size += 1
    return least


@kernel
def fill_reaches(tree, column, x, y, z, least):
    """``tree.reaches[node, column]`` = largest (x, y, z) . p over the triangles below each node.

    Nodes that reach at most ``least`` get an upper bound, and those below them nothing.
    """
    reaches, corners = tree.reaches, tree.corners
    waiting = work_space(np.int64(0), STACK, 1)  # -1 - node: its children are done
    waiting[0, 0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = waiting[size, 0]
        if node < 0:
            node = -1 - node
            first = tree.nodes[node, 0]
            largest = -math.inf
            for child in range(first, first + tree.nodes[node, 1]):
                largest = max(largest, reaches[child, column])
            reaches[node, column] = largest
            continue
        largest = _node_reach(tree, node, x, y, z)
        first, count = tree.nodes[node, 0], tree.nodes[node, 1]
        if largest > least and count > 0:
            waiting[size, 0] = -1 - node
            size += 1
            for child in range(first, first + count):
                waiting[size, 0] = child
                size += 1
            continue
        if largest > least:
            largest = -math.inf
            for slot in range(first, first - count):
                row = tree.slots[slot, 0]
                for k in range(0, 9, 3):
                    reach = x * corners[row, k] + y * corners[row, k + 1] + z * corners[row, k + 2]
                    largest = max(largest, reach)
        reaches[node, column] = largest


@kernel
def fill_both_reaches(a, b, pose, points, apart):
    """Fill the reaches of both trees along the direction between ``points`` (2, 3).

    Returns the offset of B along that direction. The offset, less the reach of a node of A (column
    0), less the reach of a node of B (column 1), is a lower bound of the distance of the triangles
    below the nodes. Nodes below one that is at least ``apart`` metres from the other tree have no
    reaches. If the points coincide, everything is 0.
    """
    x, y, z = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
    length = math.sqrt(x * x + y * y + z * z)
    scale = 1.0 / length if length > 0.0 else 0.0
    x, y, z = scale * x, scale * y, scale * z
    bx = -pose[0, 0] * x - pose[1, 0] * y - pose[2, 0] * z
    by = -pose[0, 1] * x - pose[1, 1] * y - pose[2, 1] * z
    bz = -pose[0, 2] * x - pose[1, 2] * y - pose[2, 2] * z
    offset = x * pose[3, 0] + y * pose[3, 1] + z * pose[3, 2]
    enough = offset - apart - ROUNDING
    fill_reaches(a, ZERO, x, y, z, enough - mesh_reach(b, bx, by, bz, -math.inf))
    fill_reaches(b, ONE, bx, by, bz, enough - a.reaches[0, 0])
    return offset


# Reaches are filled where they matter: with a guess, and, for trees with at most _MAX_NODES nodes
# together, whenever the squared distance falls below _MIN_DECREASE times that of the last filling.
_MAX_NODES, _MIN_DECREASE = 20_000, 0.64
# Part of a distance beyond what is enough by which a result may be less: nearly parallel surfaces
# have many triangles that are hardly farther apart than the nearest ones.
_LESS = 0.5


@kernel
def take_corners(corners, row, out):
    """Write the corners of a triangle of A to rows 0 to 2 of ``out``."""
    for k in range(3):
        for i in range(3):
            out[k, i] = corners[row, 3 * k + i]


@reproducible_kernel
def place_corners(corners, row, pose, out):
    """Write the corners of a triangle of B to rows 3 to 5 of ``out``, in frame A.

    Rounding is the same wherever it is inlined, so all kernels agree on contact.
    """
    for k in range(3):
        x, y, z = corners[row, 3 * k], corners[row, 3 * k + 1], corners[row, 3 * k + 2]
        for i in range(3):
            out[3 + k, i] = pose[i, 0] * x + pose[i, 1] * y + pose[i, 2] * z + pose[3, i]


@small_kernel
def _copy_points(found, points):
    """Copy the points of `squared_distance_below` to ``points`` (2, 3)."""
    points[0, 0], points[0, 1], points[0, 2] = found[1], found[2], found[3]
    points[1, 0], points[1, 1], points[1, 2] = found[4], found[5], found[6]


@small_kernel
def reduced(distance, enough):
    """The least distance that a search may return instead of a measured one, metres."""
    return distance - max(0.0, _LESS * (distance - enough))


@small_kernel
def _reduced_square(square, enough):
    """`reduced`, of squares."""
    if square <= enough * enough:
        return square
    return reduced(math.sqrt(square), enough) ** 2


@kernel
def _descend(a, b, pose, best, row_a, row_b, search, pair, points):
    """Return (squared distance, row, row) of a local minimum, from two triangles that are apart.

    In turns, one of the two is replaced by one nearer to the other's nearest point, which is
    searched for as if it were a tree of one leaf. ``points`` are those of the given triangles.
    """
    nodes, volumes, reaches = (
        work_space(row_a, 1, 2), work_space(best, 1, 16), work_space(best, 1, 2)
    )  # fmt: skip
    nodes[0, 0], nodes[0, 1] = 0, -1
    reaches[0, 0] = reaches[0, 1] = 0.0
    for k in range(16):
        volumes[0, k] = 0.0
    if a.kind == OBB or a.kind == RSS:  # their axes
        volumes[0, 3] = volumes[0, 7] = volumes[0, 11] = 1.0
    point = MeshTree(nodes, a.slots, a.names, volumes, a.corners, reaches, a.kind)
    is_turn_of_a, failed = True, 0
    while failed < 2 and best > 0.0:
        failed += 1
        x, y, z = points[0, 0], points[0, 1], points[0, 2]
        if is_turn_of_a:
            x, y, z = to_inner(pose, points[1, 0], points[1, 1], points[1, 2])
            place_corners(b.corners, row_b, pose, pair)
            one, other, tree = a, point, a
        else:
            take_corners(a.corners, row_a, pair)
            one, other, tree = point, b, b
        volumes[0, 0], volumes[0, 1], volumes[0, 2] = x, y, z
        size = start(one, other, pose, best, search)
        while best > 0.0:
            size, i, j = next_leaves(one, other, pose, best, -np.inf, search, size)
            if i < 0:
                break
            node = i if is_turn_of_a else j
            first = tree.nodes[node, 0]
            for slot in range(first, first - tree.nodes[node, 1]):
                row = tree.slots[slot, 0]
                if is_turn_of_a:
                    take_corners(a.corners, row, pair)
                else:
                    place_corners(b.corners, row, pose, pair)
                measured = squared_distance_below(pair, ZERO, THREE, best)
                if measured[0] < best:
                    best, failed = measured[0], 0
                    row_a, row_b = (row, row_b) if is_turn_of_a else (row_a, row)
                    _copy_points(measured, points)
        is_turn_of_a = not is_turn_of_a
    return best, row_a, row_b


@kernel
def nearest_triangles(a, b, pose, guess_a, guess_b, limit, enough, search, points):
    """Return (squared distance, row, row) of the nearest triangles of trees a and b, of one kind.

    The rows are -1 if the meshes are at least ``limit`` metres apart. If they are more than
    ``enough`` metres apart (at least 0), the distance may be less than the true one by half of what
    that is beyond, with triangles that are not quite the nearest. ``guess_a`` and ``guess_b`` are
    rows of ``corners``; other values mean no guess. ``pose`` (4, 3) is B's in A's frame.
    ``points`` (2, 3) gets the nearest points, in frame A, if the distance is not 0. Without
    ``search`` only the guess is measured.
    """
    pair = work_space(limit, 6, 3)
    best, best_a, best_b = limit * limit, np.int64(-1), np.int64(-1)
    has_guess = 0 <= guess_a < len(a.corners) and 0 <= guess_b < len(b.corners)
    if search and not has_guess:
        guess_a, guess_b, has_guess = np.int64(0), np.int64(0), True
    if has_guess:
        take_corners(a.corners, guess_a, pair)
        place_corners(b.corners, guess_b, pose, pair)
        measured = squared_distance_below(pair, ZERO, THREE, best)
        if measured[0] < best:
            best, best_a, best_b = measured[0], guess_a, guess_b
            _copy_points(measured, points)
    if not search or best == 0.0:
        return best, best_a, best_b
    search_space = Search(work_space(best_a, STACK, 2), work_space(limit, STACK, 2))
    if best_a >= 0:
        best, best_a, best_b = _descend(
            a, b, pose, best, best_a, best_b, search_space, pair, points
        )
        if best == 0.0:
            return best, best_a, best_b
        best = _reduced_square(best, enough)
    size = start(a, b, pose, best, search_space)
    refills = len(a.nodes) + len(b.nodes) <= _MAX_NODES
    begin, filled = -np.inf, np.inf
    if best_a >= 0:
        begin, filled = fill_both_reaches(a, b, pose, points, math.sqrt(best)), best
    while True:
        size, i, j = next_leaves(a, b, pose, best, begin, search_space, size)
        if i < 0:
            return best, best_a, best_b
        first_a, count_a = a.nodes[i, 0], a.nodes[i, 1]
        first_b, count_b = b.nodes[j, 0], b.nodes[j, 1]
        for m in range(first_b, first_b - count_b):
            row_b = b.slots[m, 0]
            place_corners(b.corners, row_b, pose, pair)
            for k in range(first_a, first_a - count_a):
                row_a = a.slots[k, 0]
                take_corners(a.corners, row_a, pair)
                measured = squared_distance_below(pair, ZERO, THREE, best)
                if measured[0] < best:
                    best, best_a, best_b = _reduced_square(measured[0], enough), row_a, row_b
                    _copy_points(measured, points)
                    if best == 0.0:
                        return best, best_a, best_b
        if refills and best < _MIN_DECREASE * filled and best_a >= 0:
            begin, filled = fill_both_reaches(a, b, pose, points, math.sqrt(best)), best
