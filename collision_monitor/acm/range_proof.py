# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Prove by branch and bound that the surfaces of two links never meet, or find a contact.

Boxes of joint values are tested, lowest bound first. A box is proved by the leaves, by the
triangles or by a plane between the hulls; otherwise it is halved. The search ends if the surfaces
meet in the middle of a box. Only surfaces are tested: containment of one link in the other must be
tested at one configuration, since it cannot change while no surfaces cross.

Two lower bounds of the distance are used while the joints between the links stay within a box,
based on Schwarzer, Saha and Latombe (IEEE Trans. Robotics 21(3), 2005), but tighter.

First order: moving one joint by w rotates everything on one side of it relative to the other side,
so the distance of two bodies falls by at most w times the reach of the *one* that is nearer to the
axis; the joints may be moved one after another. For large w the chord 2 sin(w / 2) replaces w.

Second order: along the direction n of the nearest points in the middle, the gap is linear in the
joints except for half the accelerations of both points. With d2p / dq_j dq_k = z_j x (z_k x (p -
o_k)), j nearer than k to the body that is held, these are at most the sum over k of w_k R_k (w_k +
2 sum of w_j between k and that body). Any body in the chain may be held.

A joint that rotates the last body of the chain about its own axis can be ignored by sweeping the
leaves about that axis: many forearms are round.

A reach R_k is the distance from the axis in the middle of the box, plus the amount that the joints
between the axis and the body can add: it becomes exact as the box shrinks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.acm.link_pair import place_links, surface_distance
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.pair_sweep import axis_distance
from collision_monitor.geometry.segments import capsule_distance, capsule_witness, surely_farther
from collision_monitor.hierarchy.kinematics import place_point, point_rate
from collision_monitor.hierarchy.packed import PRISMATIC, unpack

# -- lower bounds of the distance within a box --

# Metres by which rounding may reduce a bound.
ROUNDING = 1e-9


@offline_kernel
def _slides(view, chain, joint):
    """Whether a joint between the links, counted from A, is prismatic."""
    return view.joint_table[chain.joints[joint], 1] == PRISMATIC


@offline_kernel
def spans(view, chain, half, widths, chords):
    """Write half widths (n,) of the joints, and their chords, from those of the columns."""
    for joint in range(len(widths)):
        row = chain.joints[joint]
        w = abs(view.joint_motion[row, 0]) * half[view.joint_table[row, 2]]
        widths[joint] = chords[joint] = w
        if not _slides(view, chain, joint):
            chords[joint] = 2.0 * math.sin(0.5 * min(w, math.pi))


@offline_kernel
def fill_reaches(view, chain, chords, reaches):
    """Write upper bounds (2 m, n) of the distance of every leaf from every axis in the box.

    1 for prismatic joints; 0 for the joint that a leaf is swept about. Two more rows are for A and
    B as a whole.
    """
    joints, ends, leaves = len(chain.joints), view.ends, len(view.ends)
    for side in range(2):
        for joint in range(joints):
            reaches[leaves + side, joint] = 0.0
    for i in range(leaves):
        first = i % chain.rows < chain.leaves
        still = i >= chain.rows and chain.swept[0 if first else 1]
        total = 0.0
        for step in range(joints):
            joint = step if first else joints - 1 - step
            if step == 0 and still:
                reach = 0.0
            elif _slides(view, chain, joint):
                reach = 1.0
            else:
                row = chain.joints[joint]
                reach = (
                    max(
                        axis_distance(view, row, ends[i, 0], ends[i, 1], ends[i, 2]),
                        axis_distance(view, row, ends[i, 3], ends[i, 4], ends[i, 5]),
                    )
                    + view.radii[i, 0]
                    + total
                )
            reaches[i, joint] = reach
            total += chords[joint] * reach
            whole = leaves if first else leaves + 1
            if i < chain.rows:
                reaches[whole, joint] = max(reaches[whole, joint], reach)


@offline_kernel
def fill_bends(view, chain, widths, reaches, bends):
    """Write upper bounds (2 m + 2, n + 1) of accelerations, for each body that may be held.

    Column s: the first s joints move A, the others B. Rows as in ``reaches``.
    """
    joints = len(widths)
    for i in range(len(reaches)):
        whole = i - 2 * chain.rows
        first = i % chain.rows < chain.leaves if whole < 0 else whole == 0
        bend, path = 0.0, 0.0
        bends[i, 0 if first else joints] = 0.0
        for step in range(joints):
            joint = step if first else joints - 1 - step
            w = widths[joint]
            if not _slides(view, chain, joint):
                bend += w * (w * reaches[i, joint] + 2.0 * path)
            path += w * reaches[i, joint]
            bends[i, joint + 1 if first else joint] = bend


@offline_kernel
def travel(chords, reaches, i, j):
    """First-order bound of the approach of rows i and j, metres."""
    total = 0.0
    for k in range(len(chords)):
        total += chords[k] * min(reaches[i, k], reaches[j, k])
    return total


@offline_kernel
def _best_held_body(bends, i, j):
    """Number of joints that move A, for the held body with the least acceleration."""
    best, least = 0, np.inf
    for s in range(bends.shape[1]):
        if bends[i, s] + bends[j, s] < least:
            best, least = s, bends[i, s] + bends[j, s]
    return best


@offline_kernel
def _max_coordinate(view, chain, widths, s, x, y, z, nx, ny, nz):
    """Largest coordinate along n of a point of A, without its acceleration."""
    height = nx * x + ny * y + nz * z
    for k in range(s):
        height += widths[k] * abs(point_rate(view, chain.joints[k], x, y, z, nx, ny, nz))
    return height


@offline_kernel
def _min_coordinate(view, chain, widths, s, x, y, z, nx, ny, nz):
    """Smallest coordinate along n of a point of B, without its acceleration."""
    height = nx * x + ny * y + nz * z
    for k in range(s, len(widths)):
        height -= widths[k] * abs(point_rate(view, chain.joints[k], x, y, z, nx, ny, nz))
    return height


@offline_kernel
def leaves_gap(view, chain, widths, bends, i, j):
    """Second-order lower bound of the distance of leaf i of A and leaf j of B in the box."""
    ends, radii = view.ends, view.radii
    _, _, _, _, _, _, _, nx, ny, nz = capsule_witness(ends, radii, i, j)
    s = _best_held_body(bends, i, j)
    low, high = np.inf, -np.inf
    for m in range(0, 6, 3):
        x, y, z = ends[i, m], ends[i, m + 1], ends[i, m + 2]
        high = max(high, _max_coordinate(view, chain, widths, s, x, y, z, nx, ny, nz))
        x, y, z = ends[j, m], ends[j, m + 1], ends[j, m + 2]
        low = min(low, _min_coordinate(view, chain, widths, s, x, y, z, nx, ny, nz))
    return low - high - radii[i, 0] - radii[j, 0] - 0.5 * (bends[i, s] + bends[j, s])


@offline_kernel
def hulls_gap(view, chain, widths, bends, nx, ny, nz):
    """Lower bound of the distance of A and B in the box, by a plane perpendicular to n."""
    row_count = len(bends)
    s = _best_held_body(bends, row_count - 2, row_count - 1)
    low, high = np.inf, -np.inf
    hull = chain.hull_a
    for i in range(len(hull)):
        x, y, z = hull[i, 0], hull[i, 1], hull[i, 2]
        x, y, z = place_point(view, chain.bodies[0], x, y, z)
        high = max(high, _max_coordinate(view, chain, widths, s, x, y, z, nx, ny, nz))
    hull = chain.hull_b
    for i in range(len(hull)):
        x, y, z = hull[i, 0], hull[i, 1], hull[i, 2]
        x, y, z = place_point(view, chain.bodies[1], x, y, z)
        low = min(low, _min_coordinate(view, chain, widths, s, x, y, z, nx, ny, nz))
    bend = 0.5 * (bends[row_count - 2, s] + bends[row_count - 1, s])
    return low - high - chain.thick[0] - chain.thick[1] - bend


@offline_kernel
def leaves_bound(view, chain, widths, chords, reaches, bends, begin):
    """Return (bound, leaf, leaf): lower bound of the distance of any two leaves in the box.

    The bound is infinite, and the leaves -1, if none can touch. ``begin``: 0 for the leaves,
    ``chain.rows`` for swept leaves.
    """
    ends, radii = view.ends, view.radii
    least, best_i, best_j = np.inf, -1, -1
    for i in range(begin, begin + chain.leaves):
        for j in range(begin + chain.leaves, begin + chain.rows):
            loss = travel(chords, reaches, i, j) + ROUNDING
            if surely_farther(ends, radii, i, j, loss):
                continue
            apart = capsule_distance(ends, radii, i, j)
            if apart > loss:
                continue
            bound = apart - loss
            if apart > 0.0:
                bound = max(bound, leaves_gap(view, chain, widths, bends, i, j) - ROUNDING)
            if bound <= 0.0 and bound < least:
                least, best_i, best_j = bound, i, j
    return least, best_i, best_j


# -- the proof --

PROVED, MEETS, OPEN, TOUCHING = 0, 1, 2, 3

# An unproved box counts as touching if the distance can change by at most this in it, metres.
_RESOLUTION = 2e-5
# Triangles are not tested if leaves miss a proof by more than this, in metres of travel.
_MAX_SHORTFALL = 0.25
# Swept leaves are used while their loss is below this part of that of the leaves.
_SWEPT_LOSS = 0.3


class JointBoxes(NamedTuple):
    """Unproved boxes as a heap, and the results.

    Attributes:
        bounds: (room, columns, 2) lower and upper joint values.
        keys: (room,) lower bounds of the distance, metres.
        cuts: (room,) the column to halve next.
        order: (room,) the heap, followed by the free rows.
        counts: (4,) boxes on the heap, proved by leaves, proved by triangles, halved.
        found: (columns,) a configuration of contact.
        deep: (1,) whether keys of open boxes are their sizes, for depth-first search.
    """

    bounds: np.ndarray
    keys: np.ndarray
    cuts: np.ndarray
    order: np.ndarray
    counts: np.ndarray
    found: np.ndarray
    deep: np.ndarray


class _Work(NamedTuple):
    q: np.ndarray
    half: np.ndarray
    widths: np.ndarray
    chords: np.ndarray
    reaches: np.ndarray
    bends: np.ndarray
    points: np.ndarray
    scores: np.ndarray


@offline_kernel
def _work_space(chain, columns):
    joints, leaves = len(chain.joints), 2 * chain.rows
    return _Work(
        np.empty(columns),
        np.empty(columns),
        np.empty(joints),
        np.empty(joints),
        np.empty((leaves + 2, joints)),
        np.empty((leaves + 2, joints + 1)),
        np.empty((3, 3)),
        np.empty(columns),
    )


@offline_kernel
def _column_to_halve(view, chain, work, i, j, points, nx, ny, nz):
    """Return the column whose joints reduce the bound of rows i and j of the reaches most."""
    scores = work.scores
    for c in range(len(scores)):
        scores[c] = 0.0
    for joint in range(len(work.widths)):
        side = 0 if joint < chain.up else 1
        w = work.widths[joint]
        reach = min(work.reaches[i, joint], work.reaches[j, joint])
        if reach <= 0.0:  # swept about this axis
            continue
        row = chain.joints[joint]
        speed = point_rate(
            view, row, points[side, 0], points[side, 1], points[side, 2], nx, ny, nz
        )
        scores[view.joint_table[row, 2]] += w * (abs(speed) + w * reach)
    best = 0
    for c in range(1, len(scores)):
        if scores[c] > scores[best]:
            best = c
    return best


@offline_kernel
def _column_by_leaves(view, chain, work, i, j):
    """Like `_column_to_halve`, by the nearest points of two leaves."""
    points = work.points
    _, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
    points[0, 0], points[0, 1], points[0, 2] = ax, ay, az
    points[1, 0], points[1, 1], points[1, 2] = bx, by, bz
    return _column_to_halve(view, chain, work, i, j, points, nx, ny, nz)


@offline_kernel
def _test(view, chain, boxes, row, work):
    """Return (state, key, cut) of a box: PROVED, MEETS in the middle, OPEN or TOUCHING."""
    q, half = work.q, work.half
    for c in range(len(q)):
        low, high = boxes.bounds[row, c, 0], boxes.bounds[row, c, 1]
        # The middle may be rounded: the half width must still reach both ends.
        q[c] = 0.5 * (low + high)
        half[c] = max(high - q[c], q[c] - low)
    spans(view, chain, half, work.widths, work.chords)
    place_links(view, q)
    fill_reaches(view, chain, work.chords, work.reaches)
    fill_bends(view, chain, work.widths, work.reaches, work.bends)
    key, i, j = leaves_bound(
        view, chain, work.widths, work.chords, work.reaches, work.bends, 0
    )
    if i < 0:
        boxes.counts[1] += 1
        return PROVED, key, 0
    swept, swept_i, swept_j = -np.inf, -1, -1
    if chain.swept[0] or chain.swept[1]:
        swept, swept_i, swept_j = leaves_bound(
            view, chain, work.widths, work.chords, work.reaches, work.bends, chain.rows
        )
        if swept_i < 0:
            boxes.counts[1] += 1
            return PROVED, swept, 0
    key = max(key, swept)
    points = work.points
    d = capsule_distance(view.ends, view.radii, i, j)
    row_count = len(work.reaches)
    loss = travel(work.chords, work.reaches, row_count - 2, row_count - 1) + ROUNDING
    # Share of the required bound reached by swept leaves. If they are nearly at zero distance, only
    # halving the joint that they are swept about can help.
    done = 0.0
    if swept_i >= 0:
        swept_loss = travel(work.chords, work.reaches, swept_i, swept_j) + ROUNDING
        if swept_loss > _SWEPT_LOSS * loss:
            done = capsule_distance(view.ends, view.radii, swept_i, swept_j) / swept_loss
    if d > 0.0 and loss > d + _MAX_SHORTFALL:
        if done * loss > d:
            return OPEN, key, _column_by_leaves(view, chain, work, swept_i, swept_j)
        return OPEN, key, _column_by_leaves(view, chain, work, i, j)
    apart = surface_distance(view, chain, np.inf, points)
    if apart <= 0.0:
        return MEETS, apart, 0
    if apart > loss:
        boxes.counts[2] += 1
        return PROVED, apart - loss, 0
    nx, ny, nz = 0.0, 0.0, 0.0
    for m in range(3):
        points[2, m] = points[1, m] - points[0, m]
    length = math.sqrt(points[2, 0] ** 2 + points[2, 1] ** 2 + points[2, 2] ** 2)
    if length > 0.0:
        nx, ny, nz = points[2, 0] / length, points[2, 1] / length, points[2, 2] / length
        bound = hulls_gap(view, chain, work.widths, work.bends, nx, ny, nz)
        if bound > ROUNDING:
            boxes.counts[2] += 1
            return PROVED, bound, 0
        key = max(key, bound)
    key = max(key, apart - loss)
    if loss < _RESOLUTION:
        return TOUCHING, key, 0
    if done * loss > apart:
        return OPEN, key, _column_by_leaves(view, chain, work, swept_i, swept_j)
    return OPEN, key, _column_to_halve(
        view, chain, work, row_count - 2, row_count - 1, points, nx, ny, nz
    )


@offline_kernel
def _sift_up(boxes, at):
    order, keys = boxes.order, boxes.keys
    while at > 0:
        above = (at - 1) // 2
        if keys[order[above]] <= keys[order[at]]:
            return
        order[above], order[at] = order[at], order[above]
        at = above


@offline_kernel
def _sift_down(boxes, size):
    order, keys = boxes.order, boxes.keys
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and keys[order[below + 1]] < keys[order[below]]:
            below += 1
        if keys[order[at]] <= keys[order[below]]:
            return
        order[below], order[at] = order[at], order[below]
        at = below


@offline_kernel
def _push(boxes, row, state, key, cut):
    """Put a box on the heap; ``order[counts[0]]`` must be its row.

    Boxes that meet or touch are stored as well, so that they do not count as proved.
    """
    boxes.keys[row], boxes.cuts[row] = key, cut
    if boxes.deep[0] and state == OPEN:
        size = 1.0
        for c in range(len(boxes.found)):
            size *= boxes.bounds[row, c, 1] - boxes.bounds[row, c, 0]
        boxes.keys[row] = size
    boxes.counts[0] += 1
    _sift_up(boxes, boxes.counts[0] - 1)


@offline_kernel
def _pop_halves(boxes):
    """Remove the first box from the heap and halve it; return the rows of the halves, now free."""
    order, counts, bounds = boxes.order, boxes.counts, boxes.bounds
    size = counts[0]
    row, spare = order[0], order[size]
    order[0], order[size - 1] = order[size - 1], row
    counts[0] = size - 1
    _sift_down(boxes, size - 1)
    counts[3] += 1
    cut = boxes.cuts[row]
    for c in range(len(boxes.found)):
        bounds[spare, c, 0], bounds[spare, c, 1] = bounds[row, c, 0], bounds[row, c, 1]
    middle = 0.5 * (bounds[row, cut, 0] + bounds[row, cut, 1])
    bounds[row, cut, 1] = bounds[spare, cut, 0] = middle
    return row, spare


@offline_kernel
def prove(chain, boxes, most):
    """Test ``most`` boxes, or one more; return PROVED, MEETS, OPEN or TOUCHING.

    OPEN: the number of boxes or the capacity is exhausted; call again, with more capacity if
    needed. MEETS: the surfaces touch or cross at ``found``. TOUCHING: they are so near there that
    this cannot be distinguished from touching. If no box is on the heap and none was halved, row 0
    is the whole range.
    """
    view, work = unpack(chain.numbers, chain.index), _work_space(chain, len(boxes.found))
    order, counts = boxes.order, boxes.counts
    row, spare = np.int64(-1), np.int64(-1)
    if counts[0] == 0 and counts[3] == 0:
        for k in range(len(order)):
            order[k] = k
        row = 0
    tests = 0
    while True:
        if row < 0:
            if counts[0] == 0:
                return PROVED
            if tests >= most or counts[0] + 1 >= len(order):
                return OPEN
            row, spare = _pop_halves(boxes)
        tests += 1
        state, key, cut = _test(view, chain, boxes, row, work)
        if state == PROVED:
            if spare >= 0:  # `_push` requires it at this place
                order[counts[0]], order[counts[0] + 1] = spare, row
        else:
            _push(boxes, row, state, key, cut)
        if state == MEETS or state == TOUCHING:
            for c in range(len(work.q)):
                boxes.found[c] = work.q[c]
            if spare >= 0:
                _push(boxes, spare, OPEN, -np.inf, 0)
            return state
        row, spare = spare, np.int64(-1)
