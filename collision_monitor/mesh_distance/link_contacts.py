# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of two links: depths of pairs, the deepest pair, and crossing triangles.

Depths are computed after a query of `nearest_query`. They are separate kernels because contacts are
rare, and they take as long to compile as all other queries.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import borrow, work_space
from collision_monitor.common.compiled import FOUR, ONE, THREE, ZERO, kernel, small_kernel
from collision_monitor.geometry.segments import capsule_witness
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import first_bad, move
from collision_monitor.mesh_distance.link_pair_distance import copy_rows, place_link, relative_pose
from collision_monitor.mesh_distance.nearest_query import to_base, triangle_index
from collision_monitor.mesh_distance.part_calls import call_list_contacts, call_part_depth
from collision_monitor.mesh_distance.part_distance import balls_gap, tree_of
from collision_monitor.mesh_distance.parts import (
    data_of,
    unpack_shapes,
    unpack_state,
)
from collision_monitor.mesh_distance.poses import to_outer
from collision_monitor.mesh_distance.separation import parts_gap


@kernel
def _leaf_way(view, shapes, state, pair, pose, out):
    """Unit vector from the first link's nearest leaf to the second's, in the first's frame.

    If no leaves are known to be near, from the centre of one link to that of the other.
    """
    a, b = view.pairs[pair, 0], view.pairs[pair, 1]
    if state.least[pair, 0] < np.inf:
        i, j = state.near_leaves[pair, 0], state.near_leaves[pair, 1]
        if shapes.leaf_links[i, 0] != a:
            i, j = j, i
        found = capsule_witness(view.ends, view.radii, i, j)
        first = work_space(1.0, 7, 3)
        place_link(view, shapes, a, first)
        for k in range(3):
            out[0, k] = (
                first[0, k] * found[7] + first[1, k] * found[8] + first[2, k] * found[9]
            )
        return
    centers = shapes.extents
    x, y, z = to_outer(pose, centers[b, 0], centers[b, 1], centers[b, 2])
    x, y, z = x - centers[a, 0], y - centers[a, 1], z - centers[a, 2]
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-12:
        x, y, z, length = 0.0, 0.0, 1.0, 1.0
    out[0, 0], out[0, 1], out[0, 2] = x / length, y / length, z / length


@kernel
def _pair_depth(data, shapes, a, b, pose, enough, most, way, found, points):
    """Depth of links a and b, at most ``most``: that of their deepest parts.

    Metres; any value up to ``enough`` stops the search. ``way`` (1, 3), a unit vector, is tried
    first. ``found`` (1, 4) and ``points`` (3, 3) as in `link_pair_distance.pair_distance`.
    """
    best = -np.inf
    trial = work_space(most, 3, 3)
    for i in range(shapes.links[a, 1], shapes.links[a, 1] + shapes.links[a, 2]):
        for j in range(shapes.links[b, 1], shapes.links[b, 1] + shapes.links[b, 2]):
            if balls_gap(shapes.balls, i, j, pose) > 0.0 or best >= most:
                continue
            depth, row_a, row_b = call_part_depth(
                data, shapes, i, j, pose, max(enough, best), most,
                way[0, 0], way[0, 1], way[0, 2], trial,
            )  # fmt: skip
            if depth > best:
                best = depth
                found[0, 0], found[0, 1], found[0, 2], found[0, 3] = i, j, row_a, row_b
                copy_rows(trial, points, THREE, THREE)
    return best


@small_kernel
def _leaf_depth(state, pair):
    """Depth of the nearest leaves, an upper bound of the depth of a pair."""
    leaves = state.least[pair, 0]
    return -leaves if leaves < 0.0 else np.inf


@kernel
def _max_depth(view, shapes, state, data, pair):
    """Upper bound of the depth of a touching pair: overlap along the direction of its leaves."""
    pose, way = work_space(1.0, 7, 3), work_space(1.0, 1, 3)
    a, b = view.pairs[pair, 0], view.pairs[pair, 1]
    relative_pose(view, shapes, a, b, pose)
    _leaf_way(view, shapes, state, pair, pose, way)
    links = shapes.links
    gap = parts_gap(
        data, shapes, links[a, 1], links[a, 2], links[b, 1], links[b, 2], pose,
        way[0, 0], way[0, 1], way[0, 2],
    )  # fmt: skip
    return max(0.0, min(-gap, _leaf_depth(state, pair)))


@kernel
def _depth_of(view, shapes, state, data, pair, enough, found, points):
    """Depth of a touching pair, at most that of its leaves; ``enough`` as in `part_depth`."""
    pose, way = work_space(1.0, 7, 3), work_space(1.0, 1, 3)
    a, b = view.pairs[pair, 0], view.pairs[pair, 1]
    relative_pose(view, shapes, a, b, pose)
    _leaf_way(view, shapes, state, pair, pose, way)
    most = _leaf_depth(state, pair)
    depth = max(0.0, _pair_depth(data, shapes, a, b, pose, enough, most, way, found, points))
    if depth > enough:
        for k in range(4):
            state.guesses[pair, k] = found[0, k]
    return depth


@kernel
def _take_deepest(view, shapes, state, data, touching, best):
    """Remove from ``state.touching`` the pair that may be deepest and return it, or -1.

    Also -1 if no pair can be below ``best``. ``state.kept`` holds the depth of the leaves of each
    pair until its overlap is computed, which is done only for pairs in question.
    """
    kept = state.kept
    while True:
        at, least = np.int64(-1), np.inf
        for k in range(touching):
            pair = state.touching[k, 0]
            if pair >= 0 and (at < 0 or kept[pair, 0] < least):
                at, least = k, kept[pair, 0]
        if at < 0 or least > best:
            return np.int64(-1)
        pair = state.touching[at, 0]
        now = -_max_depth(view, shapes, state, data, pair)
        if now <= least:
            state.touching[at, 0] = -1
            return pair
        kept[pair, 0] = now


@kernel
def deepest_pair(
    numbers, index, shape_numbers, shape_index, work, work_index, calls, touching, best
):
    """Like `nearest_query.exact_distance`, for the first ``touching`` pairs of ``state.touching``.

    The pair is -1 if none is at or below ``best``, metres.
    """
    view = unpack(numbers, index)
    shapes, state = unpack_shapes(shape_numbers, shape_index), unpack_state(work, work_index)
    data = data_of(shape_numbers, shape_index, work, work_index, calls)
    found, points = work_space(touching, 1, 4), work_space(best, 3, 3)
    rows, trial = work_space(touching, 1, 4), work_space(best, 3, 3)
    best_pair = np.int64(-1)
    for k in range(touching):
        pair = state.touching[k, 0]
        state.kept[pair, 0] = -_leaf_depth(state, pair)
    for _ in range(touching):
        pair = _take_deepest(view, shapes, state, data, touching, best)
        if pair < 0:
            break
        enough = -best if best_pair >= 0 else -np.inf
        distance = -_depth_of(view, shapes, state, data, pair, enough, rows, trial)
        if distance < best or (best_pair < 0 and distance <= best):
            best, best_pair = distance, pair
            copy_rows(rows, found, ONE, FOUR)
            copy_rows(trial, points, THREE, THREE)
    if best_pair < 0:
        return best_pair, best, 0, -1, -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    to_base(view, shapes, best_pair, points)
    return (
        best_pair, best, 0,
        triangle_index(shapes, data, found, ZERO), triangle_index(shapes, data, found, ONE),
        points[0, 0], points[0, 1], points[0, 2], points[1, 0], points[1, 1], points[1, 2],
        points[2, 0], points[2, 1], points[2, 2],
    )  # fmt: skip


@kernel
def depths(numbers, index, shape_numbers, shape_index, work, work_index, calls, touching, out):
    """out[p] = -depth of the first ``touching`` pairs p of ``state.touching``, metres."""
    view = unpack(numbers, index)
    shapes, state = unpack_shapes(shape_numbers, shape_index), unpack_state(work, work_index)
    data = data_of(shape_numbers, shape_index, work, work_index, calls)
    found, points = work_space(touching, 1, 4), work_space(1.0, 3, 3)
    for k in range(touching):
        pair = state.touching[k, 0]
        out[pair] = -_depth_of(view, shapes, state, data, pair, -np.inf, found, points)


@kernel
def _write_triangle(tree, row, place, names, corners, k, side):
    """Write index and corners of a triangle in the base frame; -1 and nan for a solid."""
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
                _write_triangle(tree_a, row_a, first, names, corners, count + k, ZERO)
                _write_triangle(tree_b, row_b, second, names, corners, count + k, ONE)
            count += found
    return count
