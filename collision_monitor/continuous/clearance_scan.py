# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Lower and upper bounds of the clearance of every pair of links along a motion, by bisection.

Time is divided into bins. The distance of each pair is measured at instants of every bin, which
gives an upper bound of the minimum; `pair_sweep` gives a lower bound in between. A piece of a bin
is halved only for pairs whose bounds are not close enough (`target_of`).

Paths may have separate clocks, each with a range of start times. A piece is then a box in time and
start times, and is halved along its longest side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.pair_sweep import (
    ROUNDING,
    ball_bound,
    leaf_bound,
    leaf_ready,
    pair_bound,
    pair_nearest,
)
from collision_monitor.continuous.scan_space import balls_at, balls_of, paths_of, set_out, sweep_of
from collision_monitor.geometry.segments import capsule_distance, capsule_witness
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import PRISMATIC, unpack

DEPTH = 96  # halvings of a bin: 2 ** -32 in each of three directions
LIMITS = 3  # thresholds of a pair


class Found(NamedTuple):
    """The minimum distance found of every pair of the model, and where.

    Attributes:
        best: (pairs,) metres.
        leaves: (pairs, 2) the leaves with this distance.
        instants: (pairs, 1 + paths) time, and start of each path; seconds.
        hints: (pairs, 2) two leaves of each pair that were nearest last.
    """

    best: np.ndarray
    leaves: np.ndarray
    instants: np.ndarray
    hints: np.ndarray


class Precision(NamedTuple):
    """Required precision of a scan, metres or relative.

    Attributes:
        accuracy: permitted error of the minimum distance of a pair; at most half of that distance,
            so that the clearance of separate pairs is known.
        share: the same, relative to that distance.
        bin_share: permitted relative error of the minimum in a bin, in addition to ``accuracy``.
        resolution: a threshold this close is treated as touched.
    """

    accuracy: float
    share: float
    bin_share: float
    resolution: float


@offline_kernel
def target_of(precision, limits, p, upper, best):
    """Return the lower bound to reach in a bin; ``upper`` is its upper bound, ``best`` the pair's.

    Metres. Each threshold that is met so far must be certified, no smaller minimum may remain, and
    the bounds of the bin must be close together.
    """
    target = upper - precision.accuracy - precision.bin_share * abs(upper)
    slack = precision.accuracy if best <= 0.0 else min(precision.accuracy, 0.5 * best)
    target = max(target, best - slack - precision.share * abs(best))
    for m in range(LIMITS):
        if limits[p, m] <= upper:
            target = max(target, limits[p, m])
    return target


@offline_kernel
def _update_minimum(nearest, p, distance, i, j, time, starts):
    """Store a distance if it is the minimum so far."""
    if distance < nearest.best[p]:
        nearest.best[p] = distance
        nearest.leaves[p, 0], nearest.leaves[p, 1] = i, j
        nearest.instants[p, 0] = time
        for g in range(len(starts)):
            nearest.instants[p, 1 + g] = starts[g]


@offline_kernel
def measure(numbers, index, space, motion, chosen, times, starts, q, nearest):
    """Measure the chosen pairs at ``times`` (n,), for paths started at ``starts`` (n, paths)."""
    view, paths = unpack(numbers, index), paths_of(motion)
    groups = len(paths.paths)
    balls, sweep = balls_of(view, space, groups), sweep_of(view, space, motion.groups)
    rates, still = np.zeros((len(q), 3)), np.zeros(groups)
    for row in range(len(times)):
        set_out(
            view, space, motion, paths, balls, sweep, times[row], 0.0, starts[row], still, q, rates
        )
        for m in range(len(chosen)):
            p = chosen[m]
            distance, i, j = pair_nearest(
                view, balls, view.pairs[p, 0], view.pairs[p, 1],
                nearest.hints[p, 0], nearest.hints[p, 1], np.inf,
            )  # fmt: skip
            nearest.hints[p, 0], nearest.hints[p, 1] = i, j
            _update_minimum(nearest, p, distance, i, j, times[row], starts[row])


@offline_kernel
def _longest_side(half, ranges):
    """Half of the longest side of a piece, and its path; -1: its length in time."""
    longest, side = half, -1
    for g in range(len(ranges)):
        if ranges[g] > longest:
            longest, side = ranges[g], g
    return longest, side


@offline_kernel
def _halve(times, begins, ranges, row, side):
    """Replace the piece in ``row`` by its halves in ``row`` and the next, the earlier one last."""
    times[row + 1, 0], times[row + 1, 1] = times[row, 0], times[row, 1]
    for g in range(begins.shape[1]):
        begins[row + 1, g], ranges[row + 1, g] = begins[row, g], ranges[row, g]
    if side < 0:
        half = 0.5 * times[row, 1]
        times[row, 0] += half
        times[row + 1, 0] -= half
        times[row, 1] = times[row + 1, 1] = half
    else:
        half = 0.5 * ranges[row, side]
        begins[row, side] += half
        begins[row + 1, side] -= half
        ranges[row, side] = ranges[row + 1, side] = half


@offline_kernel
def scan(
    numbers, index, space, motion, starts, widths, edges, chosen, limits, precision, q, nearest,
    lows, ups, when, doubts,
):  # fmt: skip
    """Write bounds of the minimum distance for every bin (row) and chosen pair (column).

    ``numbers`` and ``index`` are the packed model, ``space`` and ``motion`` as in `scan_space`.
    Each path starts within ``widths`` (paths,) s of ``starts``. ``edges`` (bins + 1,) seconds;
    ``chosen`` (pairs,) indices of pairs; ``limits`` (pairs of the model, LIMITS) thresholds in
    metres, inf for none. ``q`` (nq,) holds the positions that no path moves; the others are
    written.

    Written: ``nearest`` is updated. ``lows`` and ``ups`` (bins, pairs) in metres; a threshold
    between them is undecided. ``when``: times of ``ups``, seconds. ``doubts``: times near which the
    bounds could not be brought together, seconds; otherwise unchanged.

    Returns the number of configurations queried, and of pairs measured at one.
    """
    view, paths = unpack(numbers, index), paths_of(motion)
    groups = len(paths.paths)
    balls, sweep = balls_of(view, space, groups), sweep_of(view, space, motion.groups)
    rates = np.zeros((len(q), 3))
    active = np.empty((DEPTH + 1, len(chosen)), np.int32)  # indices into ``chosen``
    counts = np.empty(DEPTH + 1, np.int64)
    times = np.empty((DEPTH + 1, 2))  # centre and half length of a piece
    begins = np.empty((DEPTH + 1, groups))
    ranges = np.empty((DEPTH + 1, groups))
    depths = np.empty(DEPTH + 1, np.int64)
    counts[0] = len(chosen)
    for m in range(len(chosen)):
        active[0, m] = m
    query, looks = 0, 0
    for b in range(len(edges) - 1):
        for m in range(len(chosen)):
            lows[b, m] = ups[b, m] = np.inf
        times[0, 0], times[0, 1] = 0.5 * (edges[b] + edges[b + 1]), 0.5 * (edges[b + 1] - edges[b])
        begins[0, :], ranges[0, :] = starts, widths
        depths[0], size = 0, 1
        while size > 0:
            size -= 1
            time, half, depth = times[size, 0], times[size, 1], depths[size]
            start = begins[size]
            _, side = _longest_side(half, ranges[size])
            set_out(
                view, space, motion, paths, balls, sweep, time, half, start, ranges[size], q, rates
            )
            query += 1
            looks += counts[depth]
            left = 0
            for n in range(counts[depth]):
                m = active[depth, n]
                p = chosen[m]
                i, j = nearest.hints[p, 0], nearest.hints[p, 1]
                distance = capsule_distance(view.ends, view.radii, i, j)
                if distance < ups[b, m]:
                    ups[b, m], when[b, m] = distance, time
                    _update_minimum(nearest, p, distance, i, j, time, start)
                bound, travel = ball_bound(view, balls, sweep, p, query)
                target = target_of(precision, limits, p, ups[b, m], nearest.best[p])
                if bound < target:
                    distance, i, j = pair_nearest(
                        view, balls, view.pairs[p, 0], view.pairs[p, 1], i, j, np.inf
                    )
                    nearest.hints[p, 0], nearest.hints[p, 1] = i, j
                    if distance < ups[b, m]:
                        ups[b, m], when[b, m] = distance, time
                        _update_minimum(nearest, p, distance, i, j, time, start)
                        target = target_of(precision, limits, p, ups[b, m], nearest.best[p])
                    bound = distance - travel - ROUNDING
                    if bound < target:
                        if travel <= precision.resolution or depth == DEPTH:
                            doubts[b, m] = time
                        else:
                            bound = pair_bound(
                                view, balls, sweep, groups, p, travel, target, i, j, query
                            )
                            if bound < target:
                                active[depth + 1, left] = m
                                left += 1
                                continue
                lows[b, m] = min(lows[b, m], bound)
            if left > 0:
                counts[depth + 1] = left
                depths[size] = depths[size + 1] = depth + 1
                _halve(times, begins, ranges, size, side)
                size += 2
    return query, looks


# -- first time at which two links are nearer than a limit, by bisection of time --


@offline_kernel
def first_below(
    numbers, index, space, motion, starts, widths, low, high, p, limit, instant, q, hints
):  # fmt: skip
    """Return the first time from ``low`` to ``high`` with pair p below ``limit``; inf: never.

    Seconds, with a resolution of ``instant``: shorter pieces are not halved. Paths start within
    ``widths`` of ``starts``; the earliest possible time counts.
    """
    view, paths = unpack(numbers, index), paths_of(motion)
    groups = len(paths.paths)
    balls, sweep = balls_of(view, space, groups), sweep_of(view, space, motion.groups)
    rates = np.zeros((len(q), 3))
    times = np.empty((DEPTH + 1, 2))
    begins = np.empty((DEPTH + 1, groups))
    ranges = np.empty((DEPTH + 1, groups))
    times[0, 0], times[0, 1] = 0.5 * (low + high), 0.5 * (high - low)
    begins[0, :], ranges[0, :] = starts, widths
    size, query, first = 1, 0, np.inf
    while size > 0:
        size -= 1
        time, half, start = times[size, 0], times[size, 1], begins[size]
        if time - half >= first:
            continue
        longest, side = _longest_side(half, ranges[size])
        set_out(
            view, space, motion, paths, balls, sweep, time, half, start, ranges[size], q, rates
        )
        query += 1
        distance, i, j = pair_nearest(
            view, balls, view.pairs[p, 0], view.pairs[p, 1], hints[p, 0], hints[p, 1], np.inf
        )
        hints[p, 0], hints[p, 1] = i, j
        if distance < limit:
            first = min(first, time)
        _, travel = ball_bound(view, balls, sweep, p, query)
        if (
            2.0 * longest <= instant
            or size >= DEPTH
            or pair_bound(view, balls, sweep, groups, p, travel, limit, i, j, query) >= limit
        ):
            continue
        _halve(times, begins, ranges, size, side)
        size += 2
    return first


# -- bounds for one pair, by its leaves or by its convex hulls --


@offline_kernel
def interval_leaf_bound(numbers, index, space, motion, starts, widths, time, half, p, target, q):
    """Return (bound, travel) of pair p for ``half`` s around ``time``, by its leaves.

    ``bound``: lower bound of the distance, metres. ``travel``: maximum approach of any two leaves
    that are not certified to keep ``target``; -1 if all are. Writes the configuration to q.
    """
    view, paths = unpack(numbers, index), paths_of(motion)
    groups = len(paths.paths)
    balls, sweep = balls_of(view, space, groups), sweep_of(view, space, motion.groups)
    rates = np.zeros((len(q), 3))
    set_out(view, space, motion, paths, balls, sweep, time, half, starts, widths, q, rates)
    _, travel = ball_bound(view, balls, sweep, p, 0)
    return leaf_bound(view, balls, sweep, groups, p, travel, target, 0)


@offline_kernel
def witness(numbers, index, q, i, j):
    """Return `capsule_witness` of leaves i and j at configuration q."""
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    return capsule_witness(view.ends, view.radii, i, j)


# -- second-order lower bound of the distance of the convex hulls of two links --
#
# Along a unit vector n, the position of a point x of a link is n . x; after turning the joints by s
# times their turns it is, to first order, n . x + s n . v(x), and n . v(x) is linear in x:
#
#     n . (z_k x (x - o_k)) = (n x z_k) . (x - o_k).
#
# So the extent of a hull is again the support of its points, for a slightly rotated direction. The
# gap between two hulls is concave in s: it is minimal at one end. The remainder is half of the
# second derivative, and the deviation of the motion from a straight one, both as in `pair_sweep`,
# for those leaves of a link that travel farthest.


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
def _extent(view, sweep, hull, points, link, body, first, signs, nx, ny, nz):
    """First-order extent of a link along n, at one end of the motion.

    Bit g of ``signs`` selects the end for path g.
    """
    dx, dy, dz, shift = nx, ny, nz, 0.0
    at = body
    while first >= 0 and at > first:
        joint = at - 1
        turn = sweep.joints[joint, 0]
        if (signs >> sweep.groups[joint, 0]) & 1:
            turn = -turn
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
def _remainder(view, balls, sweep, link, first):
    """Largest sum of half the second derivative and stray over the leaves of a link."""
    if first < 0:
        return 0.0
    most = 0.0
    for i in range(view.links[link, 0], view.links[link, 1]):
        leaf_ready(view, balls, sweep, i, 0)
        most = max(most, 0.5 * sweep.bend[i, first] + sweep.stray[i, first])
    return most


@offline_kernel
def hull_bound(numbers, index, space, motion, hulls, p, normal):
    """Lower bound (m) of the distance of pair p in the last interval of `interval_leaf_bound`.

    ``normal`` (3,): a unit vector from its first link to its second.
    """
    view, groups = unpack(numbers, index), len(motion.paths) // 4
    balls, sweep = balls_at(view, space, groups), sweep_of(view, space, motion.groups)
    points = borrow(hulls.points, 0, len(hulls.points) // 4, 4)
    hull = borrow(hulls.links, 0, len(hulls.links) // 2, 2)
    nx, ny, nz = normal[0], normal[1], normal[2]
    a, b = view.pairs[p, 0], view.pairs[p, 1]
    first_a, first_b = balls.firsts[p, 0], balls.firsts[p, 1]
    body_a, body_b = int(balls.link_centers[a, 0]), int(balls.link_centers[b, 0])
    least = np.inf
    for signs in range(1 << groups):
        gap = -_extent(
            view, sweep, hull, points, b, body_b, first_b, signs, -nx, -ny, -nz
        ) - _extent(view, sweep, hull, points, a, body_a, first_a, signs, nx, ny, nz)
        least = min(least, gap)
    return (
        least
        - _remainder(view, balls, sweep, a, first_a)
        - _remainder(view, balls, sweep, b, first_b)
        - ROUNDING
    )
