# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distance of the shapes of two links, and its lower bound in a piece of motion.

No point leaves its leaf, so the distance falls by at most the travel of the leaves that may come
too near (`pair_sweep`). Along the normal of the nearest points the convex hulls of both links give
a bound of second order: along a unit vector n, the position of a point x of a link is n . x; after
turning the joints by s times their turns it is, to first order, n . x + s n . v(x), and n . v(x) is
linear in x:

    n . (z_k x (x - o_k)) = (n x z_k) . (x - o_k).

So the extent of a hull is again the support of its points, for a slightly rotated direction. The
gap between two hulls is concave in s: it is minimal at one end. The remainder is half of the
second derivative, and the deviation of the motion from a straight one, both as in `pair_sweep`,
for those leaves of a link that travel farthest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow, work_space
from collision_monitor.common.compiled import offline_kernel, small_kernel
from collision_monitor.continuous.pair_sweep import TURN, body_row, leaf_ready, link_ready
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.hierarchy.packed import PRISMATIC
from collision_monitor.hierarchy.query import nearest_of_links
from collision_monitor.mesh_distance.link_pair_distance import TOUCH
from collision_monitor.mesh_distance.nearest_query import LOOKAHEAD, measure_pair, to_base
from collision_monitor.mesh_distance.parts import data_of, unpack_shapes, unpack_state


class Hulls(NamedTuple):
    """Points whose hull encloses a link, as flat arrays.

    Attributes:
        points: (k x 4) positions in the frame of the body, and the radius of a ball around each.
        links: (links x 2) first point of each link and one past its last.
    """

    points: np.ndarray
    links: np.ndarray


class ShapeTables(NamedTuple):
    """What a scan by shapes reads and writes besides the packed model.

    Attributes:
        arrays: of the shapes and of their queries, as of `nearest_query`.
        hulls: of the links.
        by_leaves: (bins, pairs) lower bounds of the distances in bins that are known already, in
            metres; -inf: none.
    """

    arrays: tuple[np.ndarray, ...]
    hulls: Hulls
    by_leaves: np.ndarray


@small_kernel
def unpack_tables(tables):
    """Windows of `ShapeTables`: shapes, state and data of queries, points and links of hulls."""
    numbers, index, work, work_index, calls = tables.arrays
    points, links = tables.hulls.points, tables.hulls.links
    return (
        unpack_shapes(numbers, index),
        unpack_state(work, work_index),
        data_of(numbers, index, work, work_index, calls),
        borrow(points, 0, len(points) // 4, 4),
        borrow(links, 0, len(links) // 2, 2),
    )


@offline_kernel
def shape_distance(view, shapes, p, i, j, limit, enough, normal):
    """Signed distance of the shapes of pair p, metres; where surfaces meet that of its leaves.

    ``i`` and ``j`` are leaves of the pair. From ``limit`` on it may be any number that is not
    below; beyond ``enough`` it may be less than the true one (`nearest_triangles`). Below the limit
    and without contact ``normal`` (1, 3) gets the direction between the nearest points.
    """
    shapes, state, data, _, _ = shapes
    a, b = view.pairs[p, 0], view.pairs[p, 1]
    depth, _, _ = nearest_of_links(view, a, b, i, j, 0.0)
    nearest, points = work_space(p, 1, 4), work_space(limit, 3, 3)
    distance = measure_pair(
        view, shapes, state, data, p, limit, LOOKAHEAD, depth < 0.0, enough, nearest, points
    )
    if not distance > 0.0:  # a distance of 0 is a collision
        return min(depth if distance == TOUCH else distance, -ROUNDING)
    if distance < limit:
        to_base(view, shapes, p, points)
        for axis in range(3):
            normal[0, axis] = points[2, axis]
    return distance


# -- hulls in motion --


@offline_kernel
def farthest(view, points, first, last, body, dx, dy, dz):
    """Largest d . x + radius of the points of a link at its pose; radii are not scaled by |d|."""
    poses = view.poses
    lx = poses[body, 0] * dx + poses[body, 3] * dy + poses[body, 6] * dz
    ly = poses[body, 1] * dx + poses[body, 4] * dy + poses[body, 7] * dz
    lz = poses[body, 2] * dx + poses[body, 5] * dy + poses[body, 8] * dz
    best = -np.inf
    for k in range(first, last):
        far = lx * points[k, 0] + ly * points[k, 1] + lz * points[k, 2] + points[k, 3]
        best = max(best, far)
    return best + dx * poses[body, 9] + dy * poses[body, 10] + dz * poses[body, 11]


@offline_kernel
def _extent(view, sweep, hull, points, link, body, first, sign, nx, ny, nz):
    """First-order extent of a link along n, at the end (``sign`` 1) or the begin (-1)."""
    dx, dy, dz, shift = nx, ny, nz, 0.0
    at = body
    while first >= 0 and at > first:
        joint = at - 1
        turn = sign * sweep.joints[joint, TURN]
        zx, zy, zz = view.poses[at, 2], view.poses[at, 5], view.poses[at, 8]
        if view.joint_table[joint, 1] == PRISMATIC:
            shift += turn * (nx * zx + ny * zy + nz * zz)
        else:
            cx, cy, cz = ny * zz - nz * zy, nz * zx - nx * zz, nx * zy - ny * zx
            dx, dy, dz = dx + turn * cx, dy + turn * cy, dz + turn * cz
            ox, oy, oz = view.poses[at, 9], view.poses[at, 10], view.poses[at, 11]
            shift -= turn * (cx * ox + cy * oy + cz * oz)
        at = view.joint_table[joint, 0]
    return shift + farthest(view, points, hull[link, 0], hull[link, 1], body, dx, dy, dz)


@offline_kernel
def _remainder(view, sweep, link, first, query):
    """Largest sum of half the second derivative and stray over the leaves of a link."""
    if first < 0:
        return 0.0
    link_ready(view, sweep, link, query)
    most, body = 0.0, body_row(view, link)
    of_radius = 0.5 * sweep.bend[body, first] + sweep.stray[body, first]
    for i in range(view.links[link, 0], view.links[link, 1]):
        leaf_ready(view, sweep, i, query)
        of_axis = 0.5 * sweep.bend[i, first] + sweep.stray[i, first]
        most = max(most, of_axis + view.radii[i, 0] * of_radius)
    return most


@offline_kernel
def hull_bound(view, sweep, shapes, p, normal, query):
    """Lower bound (m) of the distance of pair p in the whole piece.

    ``normal`` (1, 3): a unit vector from its first link to its second.
    """
    _, _, _, points, hull = shapes
    nx, ny, nz = normal[0, 0], normal[0, 1], normal[0, 2]
    a, b = view.pairs[p, 0], view.pairs[p, 1]
    first_a, first_b = sweep.firsts[p, 0], sweep.firsts[p, 1]
    body_a, body_b = view.leaf_bodies[view.links[a, 0], 0], view.leaf_bodies[view.links[b, 0], 0]
    least = np.inf
    for sign in (-1.0, 1.0):
        gap = -_extent(
            view, sweep, hull, points, b, body_b, first_b, sign, -nx, -ny, -nz
        ) - _extent(view, sweep, hull, points, a, body_a, first_a, sign, nx, ny, nz)
        least = min(least, gap)
    return (
        least
        - _remainder(view, sweep, a, first_a, query)
        - _remainder(view, sweep, b, first_b, query)
        - ROUNDING
    )
