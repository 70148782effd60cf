# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Second-order lower bound of the distance of the convex hulls of two links in motion.

Along a unit vector n, the position of a point x of a link is n . x; after turning the joints by s
times their turns it is, to first order, n . x + s n . v(x), and n . v(x) is linear in x:

    n . (z_k x (x - o_k)) = (n x z_k) . (x - o_k).

So the extent of a hull is again the support of its points, for a slightly rotated direction. The
gap between two hulls is concave in s: it is minimal at one end. The remainder is half of the
second derivative, and the deviation of the motion from a straight one, both as in `pair_sweep`,
for those leaves of a link that travel farthest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import ZERO, offline_kernel
from collision_monitor.continuous.pair_sweep import TURN, leaf_ready
from collision_monitor.continuous.scan_space import last_sweep
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.hierarchy.packed import PRISMATIC, unpack


class Hulls(NamedTuple):
    """Points whose hull encloses a link, as flat arrays.

    Attributes:
        points: (k x 4) positions in the frame of the body, and the radius of a ball around each.
        links: (links x 2) first point of each link and one past its last.
    """

    points: np.ndarray
    links: np.ndarray


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
def _remainder(view, sweep, link, first):
    """Largest sum of half the second derivative and stray over the leaves of a link."""
    if first < 0:
        return 0.0
    most = 0.0
    for i in range(view.links[link, 0], view.links[link, 1]):
        leaf_ready(view, sweep, i, ZERO)
        most = max(most, 0.5 * sweep.bend[i, first] + sweep.stray[i, first])
    return most


@offline_kernel
def hull_bound(numbers, index, space, hulls, p, normal):
    """Lower bound (m) of the distance of pair p in the last interval of `interval_leaf_bound`.

    ``normal`` (3,): a unit vector from its first link to its second.
    """
    view = unpack(numbers, index)
    sweep = last_sweep(view, space)
    points = borrow(hulls.points, 0, len(hulls.points) // 4, 4)
    hull = borrow(hulls.links, 0, len(hulls.links) // 2, 2)
    nx, ny, nz = normal[0], normal[1], normal[2]
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
        - _remainder(view, sweep, a, first_a)
        - _remainder(view, sweep, b, first_b)
        - ROUNDING
    )
