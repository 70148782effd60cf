# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which triangles of two links cross, and where they are: for pictures, not for the way to them."""

from __future__ import annotations

import numpy as np

from collision_monitor.common.array_views import borrow, work_space
from collision_monitor.common.compiled import ONE, ZERO, kernel
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import first_bad, move
from collision_monitor.mesh_distance.link_pair_distance import place_link, relative_pose
from collision_monitor.mesh_distance.packed_parts import data_of, unpack_shapes
from collision_monitor.mesh_distance.part_calls import call_list_contacts
from collision_monitor.mesh_distance.part_distance import balls_gap, tree_of
from collision_monitor.mesh_distance.poses import to_outer


@kernel
def _write(tree, row, place, names, corners, k, side):
    """Number of a triangle and its corners in the base frame; -1 and nan for a solid."""
    names[k, side] = tree.names[row, 0] if row >= 0 else np.int64(-1)
    for m in range(3):
        x = y = z = np.nan
        if row >= 0:
            x, y, z = to_outer(
                place,
                tree.corners[row, 3 * m],
                tree.corners[row, 3 * m + 1],
                tree.corners[row, 3 * m + 2],
            )
        at = 9 * side + 3 * m
        corners[k, at], corners[k, at + 1], corners[k, at + 2] = x, y, z


@kernel
def list_crossings(
    numbers, index, shape_numbers, shape_index, work, work_index, calls, q, a, b, names, corners
):
    """How many pairs of triangles of links a and b cross at q, up to the rows of ``names``.

    ``names`` (k, 2) gets their numbers in their links' meshes, ``corners`` (k, 18) where they are
    in the base frame; -1 and nan for a solid. -2 - k when q[k] is not finite.
    """
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view, shapes = unpack(numbers, index), unpack_shapes(shape_numbers, shape_index)
    data = data_of(shape_numbers, shape_index, work, work_index, calls)
    move(view, q)
    pose, first, second = work_space(1.0, 7, 3), work_space(1.0, 7, 3), work_space(1.0, 7, 3)
    relative_pose(view, shapes, a, b, pose)
    place_link(view, shapes, a, first)
    place_link(view, shapes, b, second)
    most = len(names)
    flat = names.reshape(-1)
    count = 0
    for i in range(shapes.links[a, 1], shapes.links[a, 1] + shapes.links[a, 2]):
        for j in range(shapes.links[b, 1], shapes.links[b, 1] + shapes.links[b, 2]):
            if count >= most or balls_gap(shapes.balls, i, j, pose) > 0.0:
                continue
            rows = borrow(flat, 2 * count, most - count, 2)
            found = call_list_contacts(data, shapes, i, j, pose, rows)
            tree_a, tree_b = tree_of(data, shapes, i), tree_of(data, shapes, j)
            for k in range(found):
                row_a, row_b = rows[k, 0], rows[k, 1]
                _write(tree_a, row_a, first, names, corners, count + k, ZERO)
                _write(tree_b, row_b, second, names, corners, count + k, ONE)
            count += found
    return count
