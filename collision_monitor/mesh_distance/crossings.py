# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Crossing triangles of two meshes and of two links, which markers show.

Method of Chen and Xie: boxes select the pairs of triangles, by the 15 separating axes in the
relative pose of the links. All kinds of hierarchies give the same result as a test of all pairs of
triangles, with those of B transformed into frame A in floating point. The kernels are separate
because contacts are rare.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.array_views import borrow, work_space
from collision_monitor.common.compiled import FALSE, ONE, THREE, ZERO, kernel
from collision_monitor.geometry.bounding_volumes import OCTREE
from collision_monitor.geometry.convex import RADIUS, solid_distance
from collision_monitor.geometry.triangles import triangles_touch
from collision_monitor.hierarchy.aabb_tree import STACK
from collision_monitor.hierarchy.kinematics import first_bad
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import move
from collision_monitor.mesh_distance.link_pair_distance import place_link, relative_pose
from collision_monitor.mesh_distance.mesh_pair_distance import place_corners, take_corners
from collision_monitor.mesh_distance.part_calls import call_list_contacts
from collision_monitor.mesh_distance.part_distance import balls_gap, touching_rows, tree_of
from collision_monitor.mesh_distance.parts import MESH, data_of, unpack_shapes
from collision_monitor.mesh_distance.traversal import Search, next_leaves, start
from collision_monitor.robot.poses import compose, compose_inverse, take_pose, to_outer

# Metres by which rounding may enlarge the bound of two volumes that touch, with a reserve. Where
# edges are nearly parallel, errors are divided by the sine of their angle, at least 1e-5.
CROSSING_ROUNDING = 1e-7


@kernel
def _is_listed(out, count, row_a, row_b):
    """Whether the first ``count`` rows of ``out`` contain a pair."""
    for k in range(count):
        if out[k, 0] == row_a and out[k, 1] == row_b:
            return True
    return False


@kernel
def crossing_triangles(a, b, pose, out):
    """Return the number of pairs of triangles of two trees of one kind that touch.

    At most the rows of ``out`` (k, 2), which gets the rows of ``corners`` of the pairs, unordered;
    one row gives a yes/no test. ``pose`` (4, 3) is B's in A's frame. Only surfaces are tested: a
    mesh completely inside another one crosses nothing.
    """
    pair = work_space(1.0, 6, 3)
    search = Search(work_space(np.int64(0), STACK, 2), work_space(1.0, STACK, 2))
    near = CROSSING_ROUNDING * CROSSING_ROUNDING
    count, most = np.int64(0), len(out)
    size = start(a, b, pose, near, search) if most > 0 else 0
    while True:
        size, i, j = next_leaves(a, b, pose, near, -np.inf, search, size)
        if i < 0:
            return count
        first_a, count_a = a.nodes[i, 0], a.nodes[i, 1]
        first_b, count_b = b.nodes[j, 0], b.nodes[j, 1]
        for m in range(first_b, first_b - count_b):
            row_b = b.slots[m, 0]
            place_corners(b.corners, row_b, pose, pair)
            for k in range(first_a, first_a - count_a):
                row_a = a.slots[k, 0]
                take_corners(a.corners, row_a, pair)
                if not triangles_touch(pair, ZERO, THREE, near):
                    continue
                # An octree has a triangle in several leaves.
                if a.kind == OCTREE and _is_listed(out, count, row_a, row_b):
                    continue
                out[count, 0], out[count, 1] = row_a, row_b
                count += 1
                if count == most:
                    return count


@kernel
def list_contacts(data, shapes, i, j, pose, out):
    """Return the number of crossing pairs of triangles of two parts, at most k of ``out`` (k, 2).

    ``out`` gets the rows of the triangles; -1 for a solid, which is tested as a whole.
    """
    i_is_mesh, j_is_mesh = shapes.parts[i, 0] == MESH, shapes.parts[j, 0] == MESH
    if i_is_mesh and j_is_mesh:
        a, b = tree_of(data, shapes, i), tree_of(data, shapes, j)
        return crossing_triangles(a, b, pose, out)
    place, placed = work_space(1.0, 4, 3), work_space(1.0, 4, 3)
    points = work_space(1.0, 2, 3)
    if not i_is_mesh and not j_is_mesh:
        take_pose(shapes.places, j, place)
        compose(pose, place, placed)
        take_pose(shapes.places, i, place)
        other = work_space(1.0, 4, 3)
        compose_inverse(place, placed, other)
        radii = shapes.solids[i, RADIUS] + shapes.solids[j, RADIUS]
        found = solid_distance(shapes.solids, i, other, FALSE, j, radii + CROSSING_ROUNDING, points)
        out[0, 0] = out[0, 1] = -1
        return np.int64(1 if found <= radii else 0)
    mesh, solid = (i, j) if i_is_mesh else (j, i)
    take_pose(shapes.places, solid, place)
    if i_is_mesh:
        compose(pose, place, placed)
    else:
        compose_inverse(pose, place, placed)
    tree, volume = tree_of(data, shapes, mesh), tree_of(data, shapes, solid)
    count = touching_rows(tree, volume, shapes.solids, solid, placed, out, 0 if i_is_mesh else 1)
    for k in range(count):
        out[k, 1 if i_is_mesh else 0] = -1
    return count


@kernel
def _write_triangle(tree, row, place, names, corners, pair, side):
    """Write index and corners of a triangle in the base frame; -1 and nan for a solid."""
    names[pair, side] = tree.names[row, 0] if row >= 0 else np.int64(-1)
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
        corners[pair, at], corners[pair, at + 1], corners[pair, at + 2] = x, y, z


@kernel
def list_crossings(
    numbers, index, shape_numbers, shape_index, work, work_index, calls, q, a, b, names, corners
):
    """Return the number of crossing pairs of triangles of links a and b at q, at most the rows.

    ``names`` (k, 2) gets the triangles' indices in the meshes of their links, ``corners`` (k, 18)
    their corners in the base frame, metres; -1 and nan for a solid. -2 - k if q[k] is not finite.
    """
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view, shapes = unpack(numbers, index), unpack_shapes(shape_numbers, shape_index)
    data = data_of(shape_numbers, shape_index, work, work_index, calls)
    move(view, q)
    pose, first, second = work_space(1.0, 4, 3), work_space(1.0, 4, 3), work_space(1.0, 4, 3)
    relative_pose(view, shapes, a, b, pose)
    place_link(view, shapes, a, shapes.links[a, 0], first)
    place_link(view, shapes, b, shapes.links[b, 0], second)
    most = len(names)
    flat = names.reshape(-1)
    count = 0
    for i in range(shapes.links[a, 1], shapes.links[a, 1] + shapes.links[a, 2]):
        for j in range(shapes.links[b, 1], shapes.links[b, 1] + shapes.links[b, 2]):
            if count >= most or balls_gap(shapes.balls, i, j, pose) > 0.0:
                continue
            rows = borrow(flat, 2 * count, most - count, 2)
            added = call_list_contacts(data, shapes, i, j, pose, rows)
            tree_a, tree_b = tree_of(data, shapes, i), tree_of(data, shapes, j)
            for k in range(added):
                row_a, row_b = rows[k, 0], rows[k, 1]
                _write_triangle(tree_a, row_a, first, names, corners, count + k, ZERO)
                _write_triangle(tree_b, row_b, second, names, corners, count + k, ONE)
            count += added
    return count
