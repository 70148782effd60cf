# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distance of two links, and its lower bound in a piece of motion.

Bounds from the cheapest to the most expensive: balls around links, balls around leaves, leaves, and
for the leaves that are still undecided

- *first order*: their distance less the travel of both (Schwarzer, Saha, Latombe, IEEE Trans.
  Robotics 21(3), 2005; for each pair of leaves separately);
- *second order*: along the normal n of their nearest points the end points a and b of their axes
  are separated by at least n . (b - a) less |n . (b' - a')|, half of both bends and both strays
  (`Sweep`), because a gap along any direction is a lower bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    offline_kernel,
    small_kernel,
)
from collision_monitor.geometry.segments import ROUNDING, capsule_distance, capsule_witness
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves, point_rate
from collision_monitor.hierarchy.link_balls import (
    link_gap,
    surely_farther,
    surely_farther_from_link,
)
from collision_monitor.hierarchy.packed import PRISMATIC, unpack

# -- travel of the axis of a leaf in a piece of motion: for each leaf and each joint --
#
# Radii of leaves are constant, so their distance changes as that of their axes. Around a
# configuration, kernel joint k moves by at most ``span[k]``; the straight motion moves it by at
# most ``turn[k]`` to both sides, and the true motion deviates from that by at most ``stray[k]``.
# Let r_k be the distance of the farthest point of the leaf's axis from joint axis k *at that
# configuration* (1 for a prismatic joint):
#
# - Its points go no farther than the sum of span_k r_k: turn the joints from the base outwards,
#   then everything beyond the joint that turns is still unchanged.
# - Along the straight motion r_k grows to at most R_k = r_k + the sum of turn_j r_j over the joints
#   j beyond k. So the path strays from it by at most the sum of stray_k R_k.
# - The straight motion's second derivative is at most the sum of turn_k R_k (turn_k + 2 sum of
#   turn_j before k), since d2p / dq_j dq_k = z_j x (z_k x (p - o_k)) for j not beyond k.
#
# A pair of links is moved by the joints that carry only one of them, which are the outer ends of
# both chains. So each sum is stored from every joint outwards: row ``leaf``, column k holds it for
# the joints from k on.
#
# All sums are linear in r_k. For points at most R from the leaf's axis they are larger by R times
# the same sums with 1 for each r_k of a revolute joint and 0 for a prismatic one, which are those
# of the body.


class Sweep(NamedTuple):
    """Windows; sums have a row for each leaf that may move, then for each link's ball and body.

    Attributes:
        firsts: (pairs, 2): the innermost joint that carries one link and not the other, or -1.
        filled: (rows, 1): number of the query that last filled a row. There may be more rows.
        joints: (kernel joints, 4): signed turn, |turn|, span, stray; see above.
        travel: (rows, kernel joints), metres: first sum.
        stray: (rows, kernel joints), metres: second sum.
        bend: (rows, kernel joints), metres: third sum.
    """

    firsts: np.ndarray
    filled: np.ndarray
    joints: np.ndarray
    travel: np.ndarray
    stray: np.ndarray
    bend: np.ndarray


TURN, SIZE, FAR, OFF = range(4)


@offline_kernel
def axis_distance(view, joint, x, y, z):
    """Distance of a point from the axis of the revolute ``joint``; metres."""
    poses, body = view.poses, joint + 1
    ax, ay, az = poses[body, 2], poses[body, 5], poses[body, 8]
    px, py, pz = x - poses[body, 9], y - poses[body, 10], z - poses[body, 11]
    cx, cy, cz = ay * pz - az * py, az * px - ax * pz, ax * py - ay * px
    return math.sqrt(cx * cx + cy * cy + cz * cz)


@offline_kernel
def _fill_row(view, sweep, row, body, px, py, pz, qx, qy, qz, is_body):
    """Write the sums of a segment from p to q on ``body``, or of the body itself, to ``row``."""
    joints = sweep.joints
    travel, stray, bend, size, grown = 0.0, 0.0, 0.0, 0.0, 0.0
    while body > 0:
        joint = body - 1
        turn = joints[joint, SIZE]
        if view.joint_table[joint, 1] == PRISMATIC:
            near = far = 0.0 if is_body else 1.0
        else:
            near = 1.0
            if not is_body:
                near = max(
                    axis_distance(view, joint, px, py, pz), axis_distance(view, joint, qx, qy, qz)
                )
            far = near + grown
        travel += joints[joint, FAR] * near
        stray += joints[joint, OFF] * far
        bend += turn * turn * far + 2.0 * turn * size
        size += turn * far
        grown += turn * near
        sweep.travel[row, joint] = travel
        sweep.stray[row, joint] = stray
        sweep.bend[row, joint] = bend
        body = view.joint_table[joint, 0]


@offline_kernel
def leaf_ready(view, sweep, i, query):
    """Fill the row of `Sweep` of a moving leaf, unless this query has done so."""
    if sweep.filled[i, 0] != query:
        sweep.filled[i, 0] = query
        ends = view.ends
        _fill_row(
            view, sweep, i, view.leaf_bodies[i, 0],
            ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3], ends[i, 4], ends[i, 5], FALSE,
        )  # fmt: skip


@small_kernel
def body_row(view, link):
    """Row of `Sweep` of the body of a link."""
    return view.moving_leaves + len(view.links) + link


@offline_kernel
def link_ready(view, sweep, link, query):
    """Fill the rows of `Sweep` of a moving link's ball and body; return the first of them."""
    row = view.moving_leaves + link
    if sweep.filled[row, 0] != query:
        sweep.filled[row, 0] = query
        centers, body = view.link_centers, view.leaf_bodies[view.links[link, 0], 0]
        x, y, z = centers[link, 0], centers[link, 1], centers[link, 2]
        _fill_row(view, sweep, row, body, x, y, z, x, y, z, FALSE)
        _fill_row(view, sweep, body_row(view, link), body, x, y, z, x, y, z, TRUE)
    return row


@offline_kernel
def _sum_of_pair(table, i, first_a, j, first_b):
    """Sum of a table of `Sweep` for two rows, over the joints that carry only one of them."""
    total = 0.0
    if first_a >= 0:
        total += table[i, first_a]
    if first_b >= 0:
        total += table[j, first_b]
    return total


@offline_kernel
def _end_travel(view, sweep, leaf, end, first, nx, ny, nz):
    """Travel along n of an end of a leaf's axis by the straight motion, from joint ``first`` on."""
    total = 0.0
    if first < 0:
        return total
    ends, m, body = view.ends, 3 * end, view.leaf_bodies[leaf, 0]
    while body > first:
        joint = body - 1
        total += sweep.joints[joint, TURN] * point_rate(
            view, joint, ends[leaf, m], ends[leaf, m + 1], ends[leaf, m + 2], nx, ny, nz
        )
        body = view.joint_table[joint, 0]
    return total


@offline_kernel
def second_order(view, sweep, i, first_a, j, first_b):
    """Second-order lower bound of the distance of leaves i and j in the whole piece, metres."""
    ends, radii = view.ends, view.radii
    _, _, _, _, _, _, _, nx, ny, nz = capsule_witness(ends, radii, i, j)
    loss = radii[i, 0] + radii[j, 0]
    loss += 0.5 * _sum_of_pair(sweep.bend, i, first_a, j, first_b)
    loss += _sum_of_pair(sweep.stray, i, first_a, j, first_b)
    travel_0 = _end_travel(view, sweep, j, ZERO, first_b, nx, ny, nz)
    travel_1 = _end_travel(view, sweep, j, ONE, first_b, nx, ny, nz)
    least = np.inf
    for one in range(2):
        m = 3 * one
        travel = _end_travel(view, sweep, i, one, first_a, nx, ny, nz)
        for other in range(2):
            n = 3 * other
            gap = (
                nx * (ends[j, n] - ends[i, m])
                + ny * (ends[j, n + 1] - ends[i, m + 1])
                + nz * (ends[j, n + 2] - ends[i, m + 2])
            )
            gap -= abs((travel_0 if other == 0 else travel_1) - travel)
            least = min(least, gap)
    return least - loss


@offline_kernel
def ball_bound(view, sweep, p, query):
    """Return (bound, travel) of pair p by balls: lower bound of the distance, travel of both.

    The distance of two balls changes as that of their centres; ``travel`` is that of all points.
    """
    centers, travel = 0.0, 0.0
    for m in range(2):
        link, first = view.pairs[p, m], sweep.firsts[p, m]
        if first >= 0:
            row = link_ready(view, sweep, link, query)
            centers += sweep.travel[row, first]
            travel += view.link_balls[link, 3] * sweep.travel[body_row(view, link), first]
    gap = link_gap(view.link_centers, view.link_balls, view.pairs[p, 0], view.pairs[p, 1])
    return gap - centers - ROUNDING, centers + travel


@offline_kernel
def _travel_of_radius(view, sweep, leaf, link, first):
    """How much farther than its axis points of a leaf travel, from joint ``first`` on; metres."""
    if first < 0:
        return 0.0
    return view.radii[leaf, 0] * sweep.travel[body_row(view, link), first]


@offline_kernel
def pair_bound(view, sweep, p, travel, target, hint_i, hint_j, every, query):
    """Return (bound, approach) of pair p in the whole piece, by its leaves; metres.

    ``bound``: lower bound of the distance, if it is above ``target``. Otherwise the search ends at
    the first leaves that are not certified to keep ``target``, with their bound, unless ``every``:
    then the bound is valid in any case, but at most ``target``, and ``approach`` is the most that
    points within two leaves approach that are not certified, or -1.

    The hint is the pair of nearest leaves, ``travel`` is that of `ball_bound`, called before.
    """
    a, b = view.pairs[p, 0], view.pairs[p, 1]
    first_a, first_b = sweep.firsts[p, 0], sweep.firsts[p, 1]
    links, ends, radii, reaches = view.links, view.ends, view.radii, view.reaches
    least, longest = target + ROUNDING if every else np.inf, -1.0
    for turn in range(2):  # nearest leaves first: they bound all others
        rows = (hint_i, hint_i + 1) if turn == 0 else (links[a, 0], links[a, 1])
        columns = (hint_j, hint_j + 1) if turn == 0 else (links[b, 0], links[b, 1])
        for i in range(rows[0], rows[1]):
            reach = travel + (target + ROUNDING if every else least)
            if turn > 0 and surely_farther_from_link(
                ends, reaches, view.link_centers, view.link_balls, i, b, reach
            ):
                continue
            for j in range(columns[0], columns[1]):
                reach = travel + (target + ROUNDING if every else least)
                if turn > 0 and surely_farther(ends, reaches, i, j, reach):
                    continue
                if first_a >= 0:
                    leaf_ready(view, sweep, i, query)
                if first_b >= 0:
                    leaf_ready(view, sweep, j, query)
                approach = _sum_of_pair(sweep.travel, i, first_a, j, first_b)
                bound = capsule_distance(ends, radii, i, j) - approach
                if bound < target + ROUNDING and (every or bound < least):
                    bound = max(bound, second_order(view, sweep, i, first_a, j, first_b))
                least = min(least, bound)
                if bound < target + ROUNDING:
                    if not every:
                        return bound - ROUNDING, approach
                    approach += _travel_of_radius(view, sweep, i, a, first_a)
                    approach += _travel_of_radius(view, sweep, j, b, first_b)
                    longest = max(longest, approach)
    return least - ROUNDING, longest


@offline_kernel
def witness(numbers, index, q, i, j):
    """Return `capsule_witness` of leaves i and j at configuration q."""
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    return capsule_witness(view.ends, view.radii, i, j)
