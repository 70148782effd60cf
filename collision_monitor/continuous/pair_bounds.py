# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds for one pair of links in a piece of motion: by its leaves, or by its convex hulls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.pair_sweep import ROUNDING, ball_bound, leaf_ready, pair_suspects
from collision_monitor.continuous.scan_space import balls_at, balls_of, paths_of, set_out, sweep_of
from collision_monitor.geometry.segments import capsule_witness
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import PRISMATIC, unpack


@offline_kernel
def suspects(numbers, index, space, motion, starts, widths, time, half, p, target, q):
    """(bound, travel) of pair p for ``half`` s about ``time``, by its leaves.

    ``bound``: no leaves come nearer, metres. ``travel``: how far at most two leaves come nearer
    that are not shown to keep ``target``; -1 where all are. Writes the configuration into q.
    """
    view, paths = unpack(numbers, index), paths_of(motion)
    groups = len(paths.paths)
    balls, sweep = balls_of(view, space, groups), sweep_of(view, space, motion)
    rates = np.zeros((len(q), 3))
    set_out(view, space, motion, paths, balls, sweep, time, half, starts, widths, q, rates)
    _, travel = ball_bound(view, balls, sweep, p, 0)
    return pair_suspects(view, balls, sweep, groups, p, travel, target, 0)


@offline_kernel
def witness(numbers, index, q, i, j):
    """What `capsule_witness` says of leaves i and j at configuration q."""
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    return capsule_witness(view.ends, view.radii, i, j)


# -- how near the convex hulls of two links can come, of second order --
#
# Along a unit vector n, a point x of a link is at n . x; with the joints turned by s times their
# turns, to first order at n . x + s n . v(x), and n . v(x) is linear in x:
#
#     n . (z_k x (x - o_k)) = (n x z_k) . (x - o_k).
#
# So the extent of a hull is again the support of its points, for a direction that is turned a
# little. The gap between two hulls is concave in s: it is least at one end. The remainder is half
# of the second derivative, and the deviation of the motion from the straight one: both as in
# `pair_sweep`, of those leaves of a link that go farthest.


class Hulls(NamedTuple):
    """Points whose hull holds a link, as flat arrays.

    Attributes:
        points: (k x 4) places in the frame of the body, and the radius of a ball about each.
        links: (links x 2) first point of each link and one past its last.
    """

    points: np.ndarray
    links: np.ndarray


@offline_kernel
def farthest(view, points, first, last, body, dx, dy, dz):
    """Largest d . x + radius of the points of a link, by its pose; radii count in full."""
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
def _reach(view, sweep, hull, points, link, body, first, signs, groups, nx, ny, nz):
    """How far a link reaches along n, to first order, at one end of the motion.

    Bit g of ``signs`` tells to which end path g goes.
    """
    dx, dy, dz, shift = nx, ny, nz, 0.0
    at = body
    while first >= 0 and at > first:
        k = at - 1
        turn = sweep.joints[k, 0]
        if (signs >> sweep.groups[k, 0]) & 1:
            turn = -turn
        zx, zy, zz = view.poses[at, 2], view.poses[at, 5], view.poses[at, 8]
        if view.joint_table[k, 1] == PRISMATIC:
            shift += turn * (nx * zx + ny * zy + nz * zz)
        else:
            cx, cy, cz = ny * zz - nz * zy, nz * zx - nx * zz, nx * zy - ny * zx
            dx, dy, dz = dx + turn * cx, dy + turn * cy, dz + turn * cz
            ox, oy, oz = view.poses[at, 9], view.poses[at, 10], view.poses[at, 11]
            shift -= turn * (cx * ox + cy * oy + cz * oz)
        at = view.joint_table[k, 0]
    return shift + farthest(view, points, hull[link, 0], hull[link, 1], body, dx, dy, dz)


@offline_kernel
def _left_out(view, balls, sweep, link, first):
    """Half of the second derivative and the stray of that leaf of a link that has most of both."""
    if first < 0:
        return 0.0
    most = 0.0
    for i in range(view.links[link, 0], view.links[link, 1]):
        leaf_ready(view, balls, sweep, i, 0)
        most = max(most, 0.5 * sweep.bend[i, first] + sweep.stray[i, first])
    return most


@offline_kernel
def hull_bound(numbers, index, space, motion, hulls, p, normal):
    """Lower bound of the distance of pair p in the piece that `suspects` was asked about last.

    ``normal`` (3,): a unit vector from its first link to its second.
    """
    view, groups = unpack(numbers, index), len(motion.paths) // 4
    balls, sweep = balls_at(view, space, groups), sweep_of(view, space, motion)
    points = borrow(hulls.points, 0, len(hulls.points) // 4, 4)
    hull = borrow(hulls.links, 0, len(hulls.links) // 2, 2)
    nx, ny, nz = normal[0], normal[1], normal[2]
    a, b = view.pairs[p, 0], view.pairs[p, 1]
    first_a, first_b = balls.firsts[p, 0], balls.firsts[p, 1]
    body_a, body_b = int(balls.link_centers[a, 0]), int(balls.link_centers[b, 0])
    least = np.inf
    for signs in range(1 << groups):
        gap = -_reach(
            view, sweep, hull, points, b, body_b, first_b, signs, groups, -nx, -ny, -nz
        ) - _reach(view, sweep, hull, points, a, body_a, first_a, signs, groups, nx, ny, nz)
        least = min(least, gap)
    return (
        least
        - _left_out(view, balls, sweep, a, first_a)
        - _left_out(view, balls, sweep, b, first_b)
        - ROUNDING
    )
