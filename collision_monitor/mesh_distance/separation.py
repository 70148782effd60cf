# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Extents of parts and links along a direction, and the travel along it that separates them.

The distance of two shapes is at least the gap between them along any direction, and a travel by
their overlap separates them. Both are computed with the hierarchies in a few microseconds.

The separating travel may be shorter than the overlap. While the second part moves along n, two
triangles can only meet if their projections across n overlap, and they cannot meet once the highest
point of the first is below the lowest point of the second. The search proceeds from one such
position to the next, until nothing meets. The result is never shorter than the travel to the first
separated position, and may be longer.

Nodes of the hierarchies are tested by the intervals of their boxes along n and along four
directions across n; nothing else is computed for them.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import (
    ONE,
    THREE,
    TRUE,
    ZERO,
    kernel,
    part_kernel,
    small_kernel,
)
from collision_monitor.geometry.convex import RADIUS, farthest, solid_distance
from collision_monitor.geometry.triangles import triangles_intersect
from collision_monitor.mesh_distance.mesh_pair_distance import mesh_reach
from collision_monitor.mesh_distance.mesh_tree import OBB, RSS, STACK
from collision_monitor.mesh_distance.part_distance import tree_of
from collision_monitor.mesh_distance.parts import MESH
from collision_monitor.mesh_distance.poses import take_pose

# -- extents along a direction --


@kernel
def solid_reach(shapes, part, placed, x, y, z):
    """Largest n . p over a solid at ``placed``, its radius included, for a unit n = (x, y, z)."""
    dx = placed[0, 0] * x + placed[1, 0] * y + placed[2, 0] * z
    dy = placed[0, 1] * x + placed[1, 1] * y + placed[2, 1] * z
    dz = placed[0, 2] * x + placed[1, 2] * y + placed[2, 2] * z
    px, py, pz = farthest(shapes.solids, part, dx, dy, dz)
    middle = placed[3, 0] * x + placed[3, 1] * y + placed[3, 2] * z
    return middle + px * dx + py * dy + pz * dz + shapes.solids[part, RADIUS]


@part_kernel
def _part_reach(data, shapes, part, x, y, z, least):
    """Largest n . p over a part in its link's frame; ``least`` if it is not above it."""
    if shapes.parts[part, 0] == MESH:
        return mesh_reach(tree_of(data, shapes, part), x, y, z, least)
    place = work_space(least, 7, 3)
    take_pose(shapes.places, part, place)
    return max(least, solid_reach(shapes, part, place, x, y, z))


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
    own = _reach(data, shapes, i, count_i, x, y, z)
    other = _reach(
        data, shapes, j, count_j,
        -pose[0, 0] * x - pose[1, 0] * y - pose[2, 0] * z,
        -pose[0, 1] * x - pose[1, 1] * y - pose[2, 1] * z,
        -pose[0, 2] * x - pose[1, 2] * y - pose[2, 2] * z,
    )  # fmt: skip
    return pose[3, 0] * x + pose[3, 1] * y + pose[3, 2] * z - other - own


# -- separating travel along a direction --

_AXES = 5
# Metres beyond the position where triangles just touch.
_BEYOND = 1e-9
_DIAGONAL = math.sqrt(2.0)  # the length of the last two axes


@kernel
def fill_axes(x, y, z, axes):
    """Fill ``axes`` (5, 4): the unit vector n and four directions across it, with offsets 0."""
    if abs(x) < 0.6:
        ux, uy, uz = 0.0, z, -y
    else:
        ux, uy, uz = -z, 0.0, x
    length = math.sqrt(ux * ux + uy * uy + uz * uz)
    ux, uy, uz = ux / length, uy / length, uz / length
    vx, vy, vz = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux
    axes[0, 0], axes[0, 1], axes[0, 2] = x, y, z
    axes[1, 0], axes[1, 1], axes[1, 2] = ux, uy, uz
    axes[2, 0], axes[2, 1], axes[2, 2] = vx, vy, vz
    axes[3, 0], axes[3, 1], axes[3, 2] = ux + vx, uy + vy, uz + vz
    axes[4, 0], axes[4, 1], axes[4, 2] = ux - vx, uy - vy, uz - vz
    for k in range(_AXES):
        axes[k, 3] = 0.0


@kernel
def turn_axes(axes, pose, out):
    """Express the axes in coordinates of the frame at ``pose``."""
    for k in range(_AXES):
        x, y, z = axes[k, 0], axes[k, 1], axes[k, 2]
        for i in range(3):
            out[k, i] = pose[0, i] * x + pose[1, i] * y + pose[2, i] * z
        out[k, 3] = axes[k, 3] + pose[3, 0] * x + pose[3, 1] * y + pose[3, 2] * z


@kernel
def _fill_intervals(tree, node, axes, out, row):
    """Write the intervals (5 pairs) of a node's volume along the axes."""
    v = tree.volumes
    oriented = tree.kind == OBB or tree.kind == RSS
    swept = v[node, 14] if tree.kind == RSS else 0.0
    for k in range(_AXES):
        x, y, z = axes[k, 0], axes[k, 1], axes[k, 2]
        middle = axes[k, 3] + x * v[node, 0] + y * v[node, 1] + z * v[node, 2]
        if oriented:
            half = (
                (v[node, 12] + swept) * abs(x * v[node, 3] + y * v[node, 4] + z * v[node, 5])
                + (v[node, 13] + swept) * abs(x * v[node, 6] + y * v[node, 7] + z * v[node, 8])
                + v[node, 14] * abs(x * v[node, 9] + y * v[node, 10] + z * v[node, 11])
            )
        else:
            half = v[node, 3] * abs(x) + v[node, 4] * abs(y) + v[node, 5] * abs(z)
        out[row, 2 * k], out[row, 2 * k + 1] = middle - half, middle + half


@kernel
def fill_triangle(corners, at, axes, out, row):
    """Write the intervals of a triangle, and its corners along the first three axes."""
    for k in range(_AXES):
        low, high = math.inf, -math.inf
        for m in range(3):
            height = (
                axes[k, 3]
                + axes[k, 0] * corners[at, 3 * m]
                + axes[k, 1] * corners[at, 3 * m + 1]
                + axes[k, 2] * corners[at, 3 * m + 2]
            )
            low, high = min(low, height), max(high, height)
            if k < 3:
                out[row, 10 + 3 * k + m] = height
        out[row, 2 * k], out[row, 2 * k + 1] = low, high


@kernel
def _adjust_solid(s, row, ends):
    """Correct the intervals of a solid: exact along n, and grown by its radius across it."""
    s[row, 0], s[row, 1] = ends[row, 0], ends[row, 1]
    for k in range(2, 10, 2):
        radius = ends[row, 2] * (1.0 if k < 6 else _DIAGONAL)
        s[row, k], s[row, k + 1] = s[row, k] - radius, s[row, k + 1] + radius


@kernel
def _projections_apart(s, i, j):
    """Whether an interval across n shows that two projections do not overlap."""
    for k in range(2, 10, 2):
        if s[i, k] > s[j, k + 1] or s[j, k] > s[i, k + 1]:
            return True
    return False


@kernel
def _edge_separates(s, i, j):
    """Whether the line of an edge of triangle i separates the projections of i and j."""
    for m in range(3):
        n = (m + 1) % 3
        # Perpendicular to the edge, in the plane of the projections.
        x, y = s[i, 16 + n] - s[i, 16 + m], s[i, 13 + m] - s[i, 13 + n]
        begin = x * s[i, 13 + m] + y * s[i, 16 + m]
        third = (n + 1) % 3
        own = x * s[i, 13 + third] + y * s[i, 16 + third] - begin
        low, high = math.inf, -math.inf
        for k in range(3):
            height = x * s[j, 13 + k] + y * s[j, 16 + k] - begin
            low, high = min(low, height), max(high, height)
        if (high < 0.0 and own >= 0.0) or (low > 0.0 and own <= 0.0):
            return True
    return False


@small_kernel
def _contact_range_end(s, way, anywhere):
    """End of the contact range of two rows of intervals, if it covers ``way``; else -infinity."""
    end = s[0, 1] - s[1, 0]
    if end <= way or (not anywhere and s[0, 0] - s[1, 1] > way) or _projections_apart(s, ZERO, ONE):
        return -math.inf
    return end


@kernel
def _triangles_meet(s, way):
    """Whether the triangles of both rows share a point after the second has moved by ``way``."""
    p = work_space(way, 6, 3)
    for row in range(2):
        for m in range(3):
            p[3 * row + m, 0] = s[row, 10 + m] + (way if row == 1 else 0.0)
            p[3 * row + m, 1], p[3 * row + m, 2] = s[row, 13 + m], s[row, 16 + m]
    return triangles_intersect(p, ZERO, THREE)


@kernel
def _solid_meets(s, row, way, axes, solids, k):
    """Whether the triangle of a row, moved by ``way``, meets a solid; ``axes`` are in its frame."""
    corners, points = work_space(way, 4, 3), work_space(way, 2, 3)
    for m in range(3):
        n = s[row, 10 + m] + way - axes[0, 3]
        u, v = s[row, 13 + m] - axes[1, 3], s[row, 16 + m] - axes[2, 3]
        for i in range(3):
            corners[m, i] = n * axes[0, i] + u * axes[1, i] + v * axes[2, i]
    radius = solids[k, RADIUS]
    return solid_distance(solids, k, corners, TRUE, k, radius + _BEYOND, points) <= radius


@kernel
def _end_of_contact(
    a, b, a_is_mesh, b_is_mesh, solids, first, second, axes, turned, ends, way, anywhere, limit,
    looks,
):
    """Return the end of the contact ranges that cover ``way`` (``way`` if none), and looks left.

    The range that may end last is tested first. Returns ``limit`` if no looks are left.
    """
    s = work_space(way, 2, 19)
    waiting, bounds = work_space(np.int64(0), STACK, 2), work_space(way, STACK, 1)
    waiting[0, 0], waiting[0, 1] = 0, 0
    bounds[0, 0] = math.inf
    size = 1
    while size > 0:
        size -= 1
        if bounds[size, 0] <= way:
            continue
        looks -= 1
        if looks < 0:
            return limit, looks
        i, j = waiting[size, 0], waiting[size, 1]
        first_a, count_a = a.nodes[i, 0], a.nodes[i, 1]
        first_b, count_b = b.nodes[j, 0], b.nodes[j, 1]
        if count_a <= 0 and count_b <= 0:
            if not a_is_mesh:
                _fill_intervals(a, i, axes, s, ZERO)
                _adjust_solid(s, ZERO, ends)
            if not b_is_mesh:
                _fill_intervals(b, j, turned, s, ONE)
                _adjust_solid(s, ONE, ends)
            for m in range(first_b, first_b + (-count_b if b_is_mesh else 1)):
                if b_is_mesh:
                    fill_triangle(b.corners, b.slots[m, 0], turned, s, ONE)
                for k in range(first_a, first_a + (-count_a if a_is_mesh else 1)):
                    if a_is_mesh:
                        fill_triangle(a.corners, a.slots[k, 0], axes, s, ZERO)
                    end = _contact_range_end(s, way, anywhere)
                    if end <= way:
                        continue
                    if a_is_mesh and b_is_mesh:
                        if _edge_separates(s, ZERO, ONE) or _edge_separates(s, ONE, ZERO):
                            continue
                        if not anywhere and not _triangles_meet(s, way + _BEYOND):
                            continue
                    elif not anywhere and a_is_mesh:
                        if not _solid_meets(s, ZERO, -way - _BEYOND, turned, solids, second):
                            continue
                    elif not anywhere and b_is_mesh:
                        if not _solid_meets(s, ONE, way + _BEYOND, axes, solids, first):
                            continue
                    way = end
                    if way >= limit:
                        return way, looks
            continue
        last = 15 if a.kind == OBB or a.kind == RSS else 6
        opens_a = count_b <= 0 or (count_a > 0 and a.volumes[i, last] >= b.volumes[j, last])
        if opens_a:
            _fill_intervals(b, j, turned, s, ONE)
            if not b_is_mesh:
                _adjust_solid(s, ONE, ends)
        else:
            _fill_intervals(a, i, axes, s, ZERO)
            if not a_is_mesh:
                _adjust_solid(s, ZERO, ends)
        base = size
        for child in range(count_a if opens_a else count_b):
            if opens_a:
                i = first_a + child
                _fill_intervals(a, i, axes, s, ZERO)
            else:
                j = first_b + child
                _fill_intervals(b, j, turned, s, ONE)
            end = _contact_range_end(s, way, anywhere)
            if end <= way:
                continue
            at = size
            while at > base and bounds[at - 1, 0] > end:
                bounds[at, 0] = bounds[at - 1, 0]
                waiting[at, 0], waiting[at, 1] = waiting[at - 1, 0], waiting[at - 1, 1]
                at -= 1
            bounds[at, 0] = end
            waiting[at, 0], waiting[at, 1] = i, j
            size += 1
    return way, looks


@kernel
def way_out(
    a, b, a_is_mesh, b_is_mesh, solids, first, second, axes, turned, ends, way, anywhere, limit,
    looks,
):
    """Return the first travel along n, from ``way`` on, at which two parts are separated, metres.

    Also returns the remaining ``looks`` (pairs of nodes). Any travel from ``limit`` on stops the
    search, as do exhausted looks, whose count is then negative. For a solid, tree a or b has only
    its volume; the solid is row ``first`` or ``second`` of ``solids``, and ``ends`` (2, 3) has its
    lowest and highest position along n, and its radius. ``axes`` by `fill_axes` in frame a,
    ``turned`` by `turn_axes` in frame b. ``anywhere``: the parts must remain separated beyond that
    travel.
    """
    while way < limit:
        further, looks = _end_of_contact(
            a, b, a_is_mesh, b_is_mesh, solids, first, second, axes, turned, ends, way, anywhere,
            limit, looks,
        )  # fmt: skip
        if further <= way:
            return way, looks
        way = further
    return way, looks
