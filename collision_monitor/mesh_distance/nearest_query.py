# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled queries, one call each, from joint positions to the nearest two shapes of a robot.

Leaves select the pairs: only pairs of links are measured whose leaves are nearer than the current
distance of the last nearest shapes. The shapes of a pair are compared with the best distance so far
as a limit, nearest leaves first.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import (
    FOUR,
    ONE,
    THREE,
    TRUE,
    ZERO,
    kernel,
    part_kernel,
    small_kernel,
)
from collision_monitor.geometry.segments import ROUNDING, capsule_distance, capsule_witness
from collision_monitor.hierarchy.aabb_tree import (
    ROOT,
    STACK,
    Search,
    begin_search,
    nearest_leaves,
    next_leaves,
)
from collision_monitor.hierarchy.kinematics import first_bad, forward_kinematics
from collision_monitor.hierarchy.link_balls import surely_farther
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import move
from collision_monitor.mesh_distance.link_pair_distance import (
    TOUCH,
    copy_rows,
    guessed_distance,
    keep,
    moved_since,
    one_holds_the_other,
    pair_distance,
    parts_gap,
    place_link,
    relative_pose,
)
from collision_monitor.mesh_distance.mesh_pair_distance import reduced
from collision_monitor.mesh_distance.part_distance import tree_of
from collision_monitor.mesh_distance.parts import data_of, unpack_shapes, unpack_state
from collision_monitor.robot.poses import move_points

# Metres by which the distance of the last nearest pair may have changed to be a useful limit;
# otherwise the leaves give a better one first.
_MAX_CHANGE = 2e-3
# Metres beyond the best distance so far to which pairs are measured during slow motion, so that
# they need not be measured again in the next cycles.
LOOKAHEAD = 2e-2
# Tolerated error of a distance, as a part of what it is beyond what is needed.
_BEYOND_PART = 0.1
# Metres by which shapes may be nearer than their leaves: each may stick out of the leaves of a file
# by a micrometre.
_MAX_PROTRUSION = 2.5e-6


@kernel
def list_near(view, shapes, state, limit):
    """List the pairs of links whose leaves are nearer than ``limit``; return their number."""
    for k in range(state.last[0, 1]):
        state.least[state.near[k, 0], 0] = np.inf
    search = Search(work_space(ROOT, STACK, 2), work_space(limit, STACK, 1))
    size, count = begin_search(search), 0
    while True:
        size, a, b = next_leaves(view, limit, search, size)
        if a < 0:
            state.last[0, 1] = count
            return count
        pair = state.pair_table[shapes.leaf_links[a, 0], shapes.leaf_links[b, 0]]
        least = min(limit, state.least[pair, 0])
        if surely_farther(view.ends, view.reaches, a, b, least):
            continue
        distance = capsule_distance(view.ends, view.radii, a, b)
        if distance < least:
            if state.least[pair, 0] == np.inf:
                state.near[count, 0] = pair
                count += 1
            state.least[pair, 0] = distance
            state.near_leaves[pair, 0], state.near_leaves[pair, 1] = a, b


@kernel
def measure_pair(view, shapes, state, data, pair, limit, spare, overlap, enough, nearest, points):
    """`pair_distance` of a pair; the result is kept for the next query.

    ``overlap``: whether the leaves of the pair overlap. ``enough`` as in `nearest_triangles`. The
    pair is not measured if it cannot have come nearer than ``limit`` since its last measurement,
    which extends ``spare`` metres beyond the limit.
    """
    pose = work_space(limit, 4, 3)
    a, b = view.pairs[pair, 0], view.pairs[pair, 1]
    relative_pose(view, shapes, a, b, pose)
    kept = state.kept
    if kept[pair, 0] - moved_since(kept, pair, shapes.extents, a, b, pose) >= limit:
        return limit
    candidate = work_space(pair, 1, 4)
    # The last nearest triangles give an upper bound, and the plane between them a lower bound.
    # During a motion these are often sufficient, and the search is expensive.
    guess = guessed_distance(data, shapes, state, pair, pose, candidate, points)
    if guess > 0.0 and guess < np.inf:
        links = shapes.links
        gap = -ROUNDING + parts_gap(
            data, shapes, links[a, 1], links[a, 2], links[b, 1], links[b, 2], pose,
            points[2, 0], points[2, 1], points[2, 2],
        )  # fmt: skip
        least = reduced(guess, enough)
        if gap >= limit or (guess < limit and gap >= least - 2.0 * ROUNDING):
            keep(kept, pair, gap, pose)
            if gap < limit:
                copy_rows(candidate, nearest, ONE, FOUR)
                return least
            return gap
    wide = limit + spare
    value = pair_distance(data, shapes, state, pair, a, b, pose, wide, enough, candidate, points)
    if value != TOUCH and overlap and one_holds_the_other(data, shapes, a, b, pose):
        value = TOUCH
        candidate[0, 0] = -1
    keep(kept, pair, value, pose)
    if value < wide:
        for k in range(4):
            nearest[0, k] = state.guesses[pair, k] = candidate[0, k]
    return value


@small_kernel
def _guess(view, shapes, state, data, pair, found, points):
    """`guessed_distance` of a pair."""
    pose = work_space(1.0, 4, 3)
    relative_pose(view, shapes, view.pairs[pair, 0], view.pairs[pair, 1], pose)
    return guessed_distance(data, shapes, state, pair, pose, found, points)


@part_kernel
def _nearest_in_list(state, count):
    """Return the list index of the pair with the nearest leaves."""
    best, at = np.inf, 0
    for k in range(count):
        least = state.least[state.near[k, 0], 0]
        if least < best:
            best, at = least, k
    return at


@part_kernel
def nearest_pair(view, shapes, state, data, every, nearest, points):
    """Return (pair, distance, touching pairs) of the nearest shapes.

    Unless ``every`` touching pair is required, the first one ends the search. ``nearest`` (1, 4)
    and ``points`` (3, 3) of the pair as in `link_pair_distance.pair_distance`. Touching pairs are
    listed in ``state.touching``, nearest leaves first, without their depths. The pair is -1 if no
    pair is closer than the touching ones.
    """
    last = state.last[0, 0]
    limit = np.inf
    if last >= 0:
        limit = _guess(view, shapes, state, data, last, nearest, points)
    spare = LOOKAHEAD
    if not abs(limit - (state.kept[last, 0] if last >= 0 else np.inf)) < _MAX_CHANGE:
        spare = 0.0
        leaves, i, j = nearest_leaves(view)
        if i < 0:
            return np.int64(-1), np.inf, 0
        pair = state.pair_table[shapes.leaf_links[i, 0], shapes.leaf_links[j, 0]]
        if pair != last:
            limit = min(limit, _guess(view, shapes, state, data, pair, nearest, points))
        if limit == np.inf:
            limit = measure_pair(
                view, shapes, state, data, pair, limit, 0.0, leaves < 0.0, np.inf, nearest, points
            )
    limit = max(limit, 0.0) + ROUNDING
    count = list_near(view, shapes, state, limit + _MAX_PROTRUSION)
    best, best_pair, touching = limit, np.int64(-1), 0
    candidate, trial = work_space(last, 1, 4), work_space(limit, 3, 3)
    left = count
    while left > 0 or (best_pair < 0 and touching == 0 and limit < np.inf):
        if left == 0:
            # Leaves that do not enclose their shapes are no bounds: measure every pair.
            limit = best = np.inf
            left = count = list_near(view, shapes, state, limit)
            continue
        at = _nearest_in_list(state, left)
        # Begin with the nearest pair of the last query.
        if left == count and last >= 0 and state.least[last, 0] < np.inf:
            for k in range(count):
                if state.near[k, 0] == last:
                    at = k
        pair = state.near[at, 0]
        leaves = state.least[pair, 0]
        left -= 1
        state.near[at, 0], state.near[left, 0] = state.near[left, 0], pair
        if leaves >= best + _MAX_PROTRUSION and pair != last:
            left = 0
            continue
        more = 0.0 if pair == last else spare
        value = measure_pair(
            view, shapes, state, data, pair, best, more, leaves < 0.0, np.inf, candidate, trial
        )
        if value == TOUCH:
            state.touching[touching, 0] = pair
            touching += 1
            if best > 0.0:
                best, best_pair = 0.0, np.int64(-1)
            if not every:
                break
        elif value < best:
            best, best_pair = value, pair
            copy_rows(candidate, nearest, ONE, FOUR)
            copy_rows(trial, points, THREE, THREE)
    state.last[0, 0] = best_pair if touching == 0 else state.touching[0, 0]
    return best_pair, best, touching


@kernel
def to_base(view, shapes, pair, points):
    """Transform points and normal from the frame of the pair's first link into the base frame."""
    pose, link = work_space(1.0, 4, 3), view.pairs[pair, 0]
    place_link(view, shapes, link, shapes.links[link, 0], pose)
    move_points(pose, points)
    x, y, z = points[2, 0], points[2, 1], points[2, 2]
    for i in range(3):
        points[2, i] = pose[i, 0] * x + pose[i, 1] * y + pose[i, 2] * z


@small_kernel
def triangle_index(shapes, data, nearest, side):
    """Index of the triangle of one side of ``nearest`` in the mesh of its link, or -1."""
    part, row = nearest[0, side], nearest[0, 2 + side]
    if part < 0 or row < 0:
        return np.int64(-1)
    return tree_of(data, shapes, part).names[row, 0]


@kernel
def exact_distance(numbers, index, shape_numbers, shape_index, work, work_index, calls, q, every):
    """Return the nearest shapes of the checked pairs at q; see `nearest_pair`.

    (pair, distance, touching pairs, triangle, triangle, 3 + 3 point coordinates, 3 normal
    components), metres, base frame. The pair is -2 - k if q[k] is not finite, -1 if no pair is
    checked or all found pairs touch; `touching_leaves` gives the deepest of these.
    """
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad, np.nan, 0, -1, -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    view = unpack(numbers, index)
    shapes, state = unpack_shapes(shape_numbers, shape_index), unpack_state(work, work_index)
    data = data_of(shape_numbers, shape_index, work, work_index, calls)
    move(view, q)
    nearest, points = work_space(bad, 1, 4), work_space(1.0, 3, 3)
    pair, distance, touching = nearest_pair(view, shapes, state, data, every, nearest, points)
    if pair < 0:
        return pair, distance, touching, -1, -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    to_base(view, shapes, pair, points)
    return (
        pair, distance, touching,
        triangle_index(shapes, data, nearest, ZERO), triangle_index(shapes, data, nearest, ONE),
        points[0, 0], points[0, 1], points[0, 2], points[1, 0], points[1, 1], points[1, 2],
        points[2, 0], points[2, 1], points[2, 2],
    )  # fmt: skip


@kernel
def _bounds_without_search(view, shapes, state, data, pair, within, loose, pose, nearest, points):
    """Return (lower, upper) bounds of a pair's distance without a search; TOUCH if it touches."""
    a, b = view.pairs[pair, 0], view.pairs[pair, 1]
    relative_pose(view, shapes, a, b, pose)
    kept, links = state.kept, shapes.links
    moved = moved_since(kept, pair, shapes.extents, a, b, pose)
    if kept[pair, 0] == TOUCH and moved == 0.0:
        return TOUCH, TOUCH
    least = kept[pair, 0] - moved
    if least >= within:
        return least, np.inf
    guess = guessed_distance(data, shapes, state, pair, pose, nearest, points)
    if guess <= 0.0:
        return TOUCH, TOUCH
    if least < guess - loose and guess < np.inf:
        gap = -ROUNDING + parts_gap(
            data, shapes, links[a, 1], links[a, 2], links[b, 1], links[b, 2], pose,
            points[2, 0], points[2, 1], points[2, 2],
        )  # fmt: skip
        if gap > least and gap > 0.0:
            least = gap
            keep(kept, pair, gap, pose)
    return least, guess


# Rows of what is ``asked`` of `exact_bounds`, for each pair: distances up to this one are raised;
# tolerated error; pairs whose bound is above this are not measured; possible error of the bound.
# Metres.
WITHIN, LOOSE, NEAR, UNSURE = range(4)


@kernel
def exact_bounds(
    numbers, index, shape_numbers, shape_index, work, work_index, calls, q, which, asked, out
):
    """Write lower bounds (n,) of the signed distances of the shapes of pairs ``which``, metres.

    ``out`` initially holds the distances of the leaves; those not above WITHIN in ``asked`` (4, n)
    are raised. Two bounds are used: the result of an earlier query less the motion of the links
    since then, and, unless that is above NEAR, a plane between the last nearest triangles. Touching
    shapes get the distance of their leaves. UNSURE is set to the possible errors of the bounds; 0
    where measuring is useless, or the bound is above NEAR.

    Returns -1, or the index of a value of q that is not finite.
    """
    bad = first_bad(q)
    if bad >= 0:
        return bad
    view = unpack(numbers, index)
    shapes, state = unpack_shapes(shape_numbers, shape_index), unpack_state(work, work_index)
    data = data_of(shape_numbers, shape_index, work, work_index, calls)
    forward_kinematics(view, q)
    pose, points = work_space(1.0, 4, 3), work_space(1.0, 3, 3)
    nearest = work_space(bad, 1, 4)
    for row in range(len(which)):
        asked[UNSURE, row] = 0.0
        leaves, limit, near = out[row], asked[WITHIN, row], asked[NEAR, row]
        if leaves > limit:
            continue
        least, guess = _bounds_without_search(
            view, shapes, state, data, which[row], min(limit, near), asked[LOOSE, row], pose,
            nearest, points,
        )  # fmt: skip
        if least > leaves and least > 0.0:
            out[row] = least
        if guess == TOUCH or out[row] > near:
            continue
        if out[row] > 0.0:
            asked[UNSURE, row] = min(guess, limit) - out[row]
        else:
            asked[UNSURE, row] = max(limit, asked[LOOSE, row]) + min(guess, limit)
    return bad


@part_kernel
def pair_at(
    numbers, index, shape_numbers, shape_index, work, work_index, calls, q, pair, loose, enough
):
    """Lower bound of the distance of a pair of links at a finite ``q``; 0 if surfaces meet.

    At most ``loose`` metres too small, or a part of what it is beyond ``enough``.
    """
    view = unpack(numbers, index)
    shapes, state = unpack_shapes(shape_numbers, shape_index), unpack_state(work, work_index)
    data = data_of(shape_numbers, shape_index, work, work_index, calls)
    forward_kinematics(view, q)
    points, nearest = work_space(1.0, 3, 3), work_space(pair, 1, 4)
    if loose > 0.0:
        pose = work_space(1.0, 4, 3)
        least, guess = _bounds_without_search(
            view, shapes, state, data, pair, np.inf, loose, pose, nearest, points
        )
        if least >= guess - max(loose, _BEYOND_PART * (guess - enough)):
            return max(least, 0.0)
    value = measure_pair(
        view, shapes, state, data, pair, np.inf, 0.0, TRUE, np.inf, nearest, points
    )
    return 0.0 if value == TOUCH else value


@kernel
def measure_pairs(
    numbers, index, shape_numbers, shape_index, work, work_index, calls, q, which, asked, out
):
    """Write signed distances of the shapes of pairs ``which`` (k,), and nearest points, to ``out``.

    Rows of ``out`` (k, 7): distance, 3 + 3 coordinates, metres, base frame. The distance is `TOUCH`
    in contact, without points. Initially it is that of the leaves: if that is above 0, no link can
    be inside the other. Rows of ``asked`` (3, k), metres: from this limit on it may be any number
    that is not below it; beyond this distance it may be less than the true one, as in
    `nearest_triangles`; how far beyond the limit is searched, for the next queries. Without
    values in q the links are where the last query has placed them. Returns -1, or the index of a
    value of q that is not finite.
    """
    bad = first_bad(q)
    if bad >= 0:
        return bad
    view = unpack(numbers, index)
    shapes, state = unpack_shapes(shape_numbers, shape_index), unpack_state(work, work_index)
    data = data_of(shape_numbers, shape_index, work, work_index, calls)
    if len(q) > 0:
        forward_kinematics(view, q)
    points, nearest = work_space(1.0, 3, 3), work_space(bad, 1, 4)
    for row in range(len(which)):
        limit, overlap = asked[0, row], out[row, 0] <= 0.0
        out[row, 0] = measure_pair(
            view, shapes, state, data, which[row], limit, asked[2, row], overlap, asked[1, row],
            nearest, points,
        )  # fmt: skip
        if 0.0 < out[row, 0] < limit:
            to_base(view, shapes, which[row], points)
            for axis in range(3):
                out[row, 1 + axis], out[row, 4 + axis] = points[0, axis], points[1, axis]
    return bad


@kernel
def touching_leaves(numbers, index, work, work_index, touching):
    """Return the deepest leaves of the ``touching`` pairs of the last `exact_distance`.

    (pair, leaf i, leaf j, signed distance, 3 + 3 point coordinates, 3 normal components).
    """
    view, state = unpack(numbers, index), unpack_state(work, work_index)
    pair = state.touching[0, 0]
    for k in range(1, touching):
        if state.least[state.touching[k, 0], 0] < state.least[pair, 0]:
            pair = state.touching[k, 0]
    i, j = state.near_leaves[pair, 0], state.near_leaves[pair, 1]
    d, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
    return pair, i, j, d, ax, ay, az, bx, by, bz, nx, ny, nz
