# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The distance of the shapes of two links."""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import (
    FALSE,
    THREE,
    TRUE,
    inlined_kernel,
    kernel,
    part_kernel,
    small_kernel,
)
from collision_monitor.geometry.convex import RADIUS, farthest
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.mesh_distance.mesh_pair_distance import mesh_reach
from collision_monitor.mesh_distance.part_calls import call_holds, call_part_distance
from collision_monitor.mesh_distance.part_distance import balls_gap, finish, tree_of
from collision_monitor.mesh_distance.parts import MESH, SOLID
from collision_monitor.robot.poses import compose, compose_inverse, take_pose

# The result for links whose shapes touch, cross or contain one another.
TOUCH = -1e300


@small_kernel
def place_link(view, shapes, link, body, out):
    """Write the pose in the base frame of a link, which is a part of a body."""
    pose, frame = work_space(1.0, 4, 3), work_space(1.0, 4, 3)
    take_pose(view.poses, body, pose)
    take_pose(shapes.frames, link, frame)
    compose(pose, frame, out)


@kernel
def relative_pose(view, shapes, a, b, out):
    """Write the pose of link b in the frame of link a."""
    first, second = work_space(1.0, 4, 3), work_space(1.0, 4, 3)
    place_link(view, shapes, a, shapes.links[a, 0], first)
    place_link(view, shapes, b, shapes.links[b, 0], second)
    compose_inverse(first, second, out)


@small_kernel
def _farthest_corner(boxes, link, x, y, z, turn):
    """Largest length of (x, y, z) plus ``turn`` (3, 3) times a point of the box of a link, m."""
    most = 0.0
    for i in range(3):
        c = boxes[link, i]
        x, y, z = x + turn[0, i] * c, y + turn[1, i] * c, z + turn[2, i] * c
    for corner in range(8):
        px, py, pz = x, y, z
        for i in range(3):
            h = boxes[link, 3 + i] if (corner >> i) & 1 else -boxes[link, 3 + i]
            px, py, pz = px + turn[0, i] * h, py + turn[1, i] * h, pz + turn[2, i] * h
        most = max(most, px * px + py * py + pz * pz)
    return math.sqrt(most)


@kernel
def moved_since(kept, pair, boxes, a, b, pose):
    """Upper bound (m) of the motion of links a and b relative to each other since the kept pose.

    The motion of a point of a link, seen from the other link, is a linear function of the point, so
    it is greatest at a corner of the link's box. The smaller one of both links counts: that of
    a link that turns about its own axis is small.
    """
    turn, back = work_space(1.0, 3, 3), work_space(1.0, 3, 3)
    x, y, z = pose[3, 0] - kept[pair, 10], pose[3, 1] - kept[pair, 11], pose[3, 2] - kept[pair, 12]
    for i in range(3):
        for j in range(3):
            turn[i, j] = back[j, i] = pose[i, j] - kept[pair, 1 + 3 * i + j]
    forth = _farthest_corner(boxes, b, x, y, z, turn)
    # Of the first link in the frame of the second: the origin there is -R' t.
    u = work_space(1.0, 1, 3)
    for i in range(3):
        u[0, i] = 0.0
        for j in range(3):
            u[0, i] += kept[pair, 1 + 3 * j + i] * kept[pair, 10 + j] - pose[j, i] * pose[3, j]
    return min(forth, _farthest_corner(boxes, a, u[0, 0], u[0, 1], u[0, 2], back))


@kernel
def keep(kept, pair, value, pose):
    """Store a lower bound of the distance of a pair, and its pose."""
    kept[pair, 0] = value
    for i in range(3):
        kept[pair, 10 + i] = pose[3, i]
        for j in range(3):
            kept[pair, 1 + 3 * i + j] = pose[i, j]


@kernel
def one_holds_the_other(data, shapes, a, b, pose):
    """Whether `holds` is true for any two parts of two links."""
    for i in range(shapes.links[a, 1], shapes.links[a, 1] + shapes.links[a, 2]):
        for j in range(shapes.links[b, 1], shapes.links[b, 1] + shapes.links[b, 2]):
            if call_holds(data, shapes, i, j, pose):
                return True
    return False


@kernel
def copy_rows(source, out, rows, columns):
    """Copy one window into another."""
    for i in range(rows):
        for j in range(columns):
            out[i, j] = source[i, j]


@kernel
def _measure_parts(data, shapes, state, pair, i, j, pose, limit, enough, search, nearest, points):
    """Return the signed distance of two parts if below ``limit``, else any number from it on.

    TOUCH if they meet, except for overlapping radii of two solids, whose depth follows from the
    distance of their cores. Without ``search`` only the nearest triangles of the last query are
    measured.
    """
    radii = shapes.solids[i, RADIUS] + shapes.solids[j, RADIUS]
    row_a = row_b = np.int64(-1)
    if state.guesses[pair, 0] == i and state.guesses[pair, 1] == j:
        row_a, row_b = state.guesses[pair, 2], state.guesses[pair, 3]
    core_limit = max(limit + radii, ROUNDING)  # nearer is contact
    trial = work_space(limit, 3, 3)
    core, row_a, row_b = call_part_distance(
        data, shapes, i, j, pose, row_a, row_b, core_limit, enough + radii, search, trial
    )
    solids = shapes.parts[i, 0] == SOLID and shapes.parts[j, 0] == SOLID
    if core >= core_limit:  # nothing was found
        return limit
    if core == 0.0 or (core <= radii and not solids):
        value = TOUCH
    elif core - radii < limit:
        value = finish(shapes, i, j, core, trial)
    else:
        return limit
    nearest[0, 0], nearest[0, 1], nearest[0, 2], nearest[0, 3] = i, j, row_a, row_b
    copy_rows(trial, points, THREE, THREE)
    return value


@small_kernel
def guessed_distance(data, shapes, state, pair, pose, nearest, points):
    """Signed distance of the nearest parts and triangles of a pair at the last query.

    TOUCH if they meet, infinity if nothing is known. Otherwise like `pair_distance`.
    """
    i, j = state.guesses[pair, 0], state.guesses[pair, 1]
    if i < 0:
        return np.inf
    return _measure_parts(
        data, shapes, state, pair, i, j, pose, np.inf, np.inf, FALSE, nearest, points
    )


@inlined_kernel
def pair_distance(data, shapes, state, pair, a, b, pose, limit, enough, nearest, points):
    """Signed distance of links a and b if below ``limit``, else any number from it on.

    Metres; ``enough`` as in `nearest_triangles`. TOUCH if solids or surfaces meet. ``pose`` (4, 3)
    of link b in link a. Below the limit ``nearest`` (1, 4) gets both parts and the rows of their
    nearest triangles (-1 in a solid), ``points`` (3, 3) the nearest points and the normal in the
    frame of link a.
    """
    best = limit
    last_i, last_j = state.guesses[pair, 0], state.guesses[pair, 1]
    if last_i >= 0 and shapes.links[a, 2] * shapes.links[b, 2] > 1:
        value = _measure_parts(
            data, shapes, state, pair, last_i, last_j, pose, best, enough, TRUE, nearest, points
        )
        if value == TOUCH:
            return TOUCH
        best = min(best, value)
    first_i, first_j = shapes.links[a, 1], shapes.links[b, 1]
    for i in range(first_i, first_i + shapes.links[a, 2]):
        for j in range(first_j, first_j + shapes.links[b, 2]):
            if balls_gap(shapes.balls, i, j, pose) >= best:
                continue
            if i == last_i and j == last_j and shapes.links[a, 2] * shapes.links[b, 2] > 1:
                continue
            value = _measure_parts(
                data, shapes, state, pair, i, j, pose, best, enough, TRUE, nearest, points
            )
            if value == TOUCH:
                return TOUCH
            best = min(best, value)
    return best


# -- extents along a direction --


@part_kernel
def _part_reach(data, shapes, part, x, y, z, least):
    """Largest n . p over a part in its link's frame; ``least`` if it is not above it."""
    if shapes.parts[part, 0] == MESH:
        return mesh_reach(tree_of(data, shapes, part), x, y, z, least)
    place = work_space(least, 4, 3)
    take_pose(shapes.places, part, place)
    dx = place[0, 0] * x + place[1, 0] * y + place[2, 0] * z
    dy = place[0, 1] * x + place[1, 1] * y + place[2, 1] * z
    dz = place[0, 2] * x + place[1, 2] * y + place[2, 2] * z
    px, py, pz = farthest(shapes.solids, part, dx, dy, dz)
    middle = place[3, 0] * x + place[3, 1] * y + place[3, 2] * z
    return max(least, middle + px * dx + py * dy + pz * dz + shapes.solids[part, RADIUS])


@kernel
def _reach(data, shapes, begin, count, x, y, z):
    """Largest n . p over ``count`` parts of one link, from ``begin`` on."""
    least = -math.inf
    balls = shapes.balls
    for part in range(begin, begin + count):
        ball = x * balls[part, 0] + y * balls[part, 1] + z * balls[part, 2] + balls[part, 3]
        if ball > least:
            least = _part_reach(data, shapes, part, x, y, z, least)
    return least


@kernel
def parts_gap(data, shapes, i, count_i, j, count_j, pose, x, y, z):
    """Gap (m) along a unit vector between parts of a link and parts of another; negative: overlap.

    Parts i to i + count_i, and j to j + count_j, whose link is at ``pose`` in the first's frame.
    The vector points from the first to the second, in the first's frame.
    """
    reach = _reach(data, shapes, i, count_i, x, y, z)
    other_reach = _reach(
        data, shapes, j, count_j,
        -pose[0, 0] * x - pose[1, 0] * y - pose[2, 0] * z,
        -pose[0, 1] * x - pose[1, 1] * y - pose[2, 1] * z,
        -pose[0, 2] * x - pose[1, 2] * y - pose[2, 2] * z,
    )  # fmt: skip
    return pose[3, 0] * x + pose[3, 1] * y + pose[3, 2] * z - other_reach - reach
