# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The distance of a mesh and a convex solid, through the mesh's hierarchy.

The solid has a volume of the same kind as the nodes of the mesh, and is asked itself at the
triangles. It has an inside: a triangle in it touches it.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import TRUE, ZERO, kernel
from collision_monitor.geometry.convex import RADIUS, solid_distance
from collision_monitor.mesh_distance.bvh.mesh_tree import OCTREE, STACK
from collision_monitor.mesh_distance.mesh_pair_distance import bound, centers_apart
from collision_monitor.mesh_distance.poses import move_points, to_inner

# Metres that rounding may take from a bound.
_ROUNDING = 1e-9


@kernel
def triangle_to_solid(tree, row, solids, k, pose, corners, limit, points):
    """As `convex.solid_distance`, of triangle ``row`` and solid k, whose pose in the tree is given.

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
    return solid_distance(solids, k, corners, TRUE, k, limit, points)


@kernel
def nearest_to_solid(tree, volumes, solids, k, pose, guess, limit, search, points):
    """(distance, row) of the triangle nearest to solid k; (limit, -1) if none is nearer.

    ``volumes`` (1, columns): around the solid in its own frame; ``pose`` (7, 3) of that frame in
    the tree's. The radius is left out. ``points`` (2, 3) gets the nearest points in the tree's
    frame, on the mesh and on the solid. Without ``search`` only the guess is measured.
    """
    corners = work_space(limit, 4, 3)
    trial = work_space(limit, 2, 3)
    best, best_row = limit, np.int64(-1)
    if 0 <= guess < len(tree.corners):
        found = triangle_to_solid(tree, guess, solids, k, pose, corners, best, trial)
        if found < best:
            best, best_row = found, guess
            _keep(pose, trial, points)
    waiting = work_space(best_row, STACK, 1)
    bounds = work_space(limit, STACK, 2)  # as in `mesh_distance`
    waiting[0, 0] = 0
    bounds[0, 0] = bound(tree.kind, tree.volumes, ZERO, volumes, ZERO, pose, best * best)
    size = 1 if search and best > 0.0 else 0
    while size > 0:
        size -= 1
        if bounds[size, 0] >= best * best:
            continue
        node = waiting[size, 0]
        first, count = tree.nodes[node, 0], tree.nodes[node, 1]
        for slot in range(first, first - count):
            row = tree.slots[slot, 0]
            found = triangle_to_solid(tree, row, solids, k, pose, corners, best, trial)
            if found < best:
                best, best_row = found, row
                _keep(pose, trial, points)
                if best == 0.0:
                    return best, best_row
        base = size
        for child in range(first, first + count):
            gap = bound(tree.kind, tree.volumes, child, volumes, ZERO, pose, best * best)
            if gap >= best * best:
                continue
            apart = centers_apart(tree.volumes, child, volumes, ZERO, pose)
            at = size
            while at > base and bounds[at - 1, 1] < apart:
                bounds[at, 0], bounds[at, 1] = bounds[at - 1, 0], bounds[at - 1, 1]
                waiting[at, 0] = waiting[at - 1, 0]
                at -= 1
            bounds[at, 0], bounds[at, 1] = gap, apart
            waiting[at, 0] = child
            size += 1
    return best, best_row


@kernel
def touching_rows(tree, volumes, solids, k, pose, out, column):
    """How many triangles meet solid k, its radius included, up to the rows of ``out``.

    Their rows go to a column of ``out``. The rest as of `nearest_to_solid`.
    """
    corners, points = work_space(1.0, 4, 3), work_space(1.0, 2, 3)
    radius = solids[k, RADIUS]
    limit = radius + _ROUNDING
    waiting = work_space(k, STACK, 1)
    waiting[0, 0] = 0
    size, count = 1, np.int64(0)
    while size > 0:
        size -= 1
        node = waiting[size, 0]
        least = bound(tree.kind, tree.volumes, node, volumes, ZERO, pose, limit * limit)
        if least >= limit * limit:
            continue
        first, children = tree.nodes[node, 0], tree.nodes[node, 1]
        for slot in range(first, first - children):
            row = tree.slots[slot, 0]
            if triangle_to_solid(tree, row, solids, k, pose, corners, limit, points) > radius:
                continue
            # An octree has a triangle in many leaves.
            known = False
            if tree.kind == OCTREE:
                for m in range(count):
                    known = known or out[m, column] == row
            if known:
                continue
            out[count, column] = row
            count += 1
            if count == len(out):
                return count
        for child in range(first, first + children):
            waiting[size, 0] = child
            size += 1
    return count


@kernel
def _keep(pose, trial, points):
    """Points in the solid's frame, its own first, into ``points``: the mesh's first, its frame."""
    for i in range(3):
        points[0, i], points[1, i] = trial[1, i], trial[0, i]
    move_points(pose, points)
