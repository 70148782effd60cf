# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Prove by branch and bound that the surfaces of two links never meet, or find a contact.

Boxes of joint values are tested, depth first. A box is proved by the leaves, by the
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
between the axis and the body can add: it becomes exact as the box shrinks. For leaves it is that of
their axes, as their radii are constant.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.acm.link_pair import surface_distance
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.pair_sweep import axis_distance
from collision_monitor.geometry.segments import ROUNDING, capsule_distance, capsule_witness
from collision_monitor.hierarchy.kinematics import place_links, place_point, point_rate
from collision_monitor.hierarchy.link_balls import surely_farther
from collision_monitor.hierarchy.packed import PRISMATIC, unpack

# -- lower bounds of the distance within a box --


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
    """Write upper bounds (2 m, n) of the distance of every leaf's axis from joint axes in the box.

    1 for prismatic joints; 0 for the joint that a leaf is swept about. Two more rows are for all
    points of A and B. Radii of leaves are constant: leaves come nearer as their axes do.
    """
    joints, ends, leaves = len(chain.joints), view.ends, len(view.ends)
    for side in range(2):
        for joint in range(joints):
            reaches[leaves + side, joint] = 0.0
    for i in range(leaves):
        first = i % chain.rows < chain.leaves
        still = i >= chain.rows and chain.swept[0 if first else 1]
        moved, moved_points = 0.0, 0.0
        for step in range(joints):
            joint = step if first else joints - 1 - step
            if step == 0 and still:
                reach = reach_of_points = 0.0
            elif _slides(view, chain, joint):
                reach = reach_of_points = 1.0
            else:
                row = chain.joints[joint]
                distance = max(
                    axis_distance(view, row, ends[i, 0], ends[i, 1], ends[i, 2]),
                    axis_distance(view, row, ends[i, 3], ends[i, 4], ends[i, 5]),
                )
                reach = distance + moved
                reach_of_points = distance + view.radii[i, 0] + moved_points
            reaches[i, joint] = reach
            moved += chords[joint] * reach
            moved_points += chords[joint] * reach_of_points
            whole = leaves if first else leaves + 1
            if i < chain.rows:
                reaches[whole, joint] = max(reaches[whole, joint], reach_of_points)


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
def _highest(view, chain, widths, first, last, x, y, z, nx, ny, nz):
    """Largest coordinate along n of a point that joints ``first`` to ``last`` - 1 move.

    Without its acceleration.
    """
    height = nx * x + ny * y + nz * z
    for k in range(first, last):
        height += widths[k] * abs(point_rate(view, chain.joints[k], x, y, z, nx, ny, nz))
    return height


@offline_kernel
def leaves_gap(view, chain, widths, bends, i, j):
    """Second-order lower bound of the distance of leaf i of A and leaf j of B in the box."""
    ends, radii, joints = view.ends, view.radii, len(widths)
    _, _, _, _, _, _, _, nx, ny, nz = capsule_witness(ends, radii, i, j)
    s = _best_held_body(bends, i, j)
    a, b = -np.inf, -np.inf
    for m in range(0, 6, 3):
        x, y, z = ends[i, m], ends[i, m + 1], ends[i, m + 2]
        a = max(a, _highest(view, chain, widths, 0, s, x, y, z, nx, ny, nz))
        x, y, z = ends[j, m], ends[j, m + 1], ends[j, m + 2]
        b = max(b, _highest(view, chain, widths, s, joints, x, y, z, -nx, -ny, -nz))
    return -a - b - radii[i, 0] - radii[j, 0] - 0.5 * (bends[i, s] + bends[j, s])


@offline_kernel
def _hull_reach(view, chain, widths, hull, body, first, last, nx, ny, nz):
    """Largest coordinate along n of a link, as of `_highest`."""
    most = -np.inf
    for i in range(len(hull)):
        x, y, z = place_point(view, body, hull[i, 0], hull[i, 1], hull[i, 2])
        height = _highest(view, chain, widths, first, last, x, y, z, nx, ny, nz)
        most = max(most, height + hull[i, 3])
    return most


@offline_kernel
def hulls_gap(view, chain, widths, bends, nx, ny, nz):
    """Lower bound of the distance of A and B in the box, by a plane perpendicular to n."""
    a, b, joints = len(bends) - 2, len(bends) - 1, len(widths)
    s = _best_held_body(bends, a, b)
    return (
        -_hull_reach(view, chain, widths, chain.hull_a, chain.bodies[0], 0, s, nx, ny, nz)
        - _hull_reach(view, chain, widths, chain.hull_b, chain.bodies[1], s, joints, -nx, -ny, -nz)
        - 0.5 * (bends[a, s] + bends[b, s])
    )


@offline_kernel
def nearest_leaves(view, chain, widths, chords, reaches, bends, begin):
    """Return the two leaves whose distance in the box has the lowest bound; -1, -1: none can touch.

    ``begin``: 0 for the leaves, ``chain.rows`` for swept leaves.
    """
    ends, radii = view.ends, view.radii
    least, best_i, best_j = np.inf, -1, -1
    for i in range(begin, begin + chain.leaves):
        for j in range(begin + chain.leaves, begin + chain.rows):
            loss = travel(chords, reaches, i, j) + ROUNDING
            if surely_farther(ends, view.reaches, i, j, loss):
                continue
            apart = capsule_distance(ends, radii, i, j)
            if apart > loss:
                continue
            bound = apart - loss
            if apart > 0.0:
                bound = max(bound, leaves_gap(view, chain, widths, bends, i, j) - ROUNDING)
            if bound <= 0.0 and bound < least:
                least, best_i, best_j = bound, i, j
    return best_i, best_j


# -- the proof --

PROVED, MEETS, OPEN = range(3)

# An unproved box counts as touching if the distance can change by at most this in it, metres.
_RESOLUTION = 2e-5
# Triangles are not tested if leaves miss a proof by more than this, in metres of travel.
_MAX_SHORTFALL = 0.25
# Swept leaves are used while their loss is below this part of that of the leaves.
_SWEPT_LOSS = 0.3


class JointBoxes(NamedTuple):
    """A stack of boxes that are not proved yet, and the result.

    Attributes:
        bounds: (room, columns, 2) lower and upper joint values; the last box is tested next.
        counts: (2,) boxes on the stack, and boxes tested so far.
        found: (columns,) a configuration of contact.
    """

    bounds: np.ndarray
    counts: np.ndarray
    found: np.ndarray


def whole_range(low: np.ndarray, high: np.ndarray) -> JointBoxes:
    """Return one box, from ``low`` to ``high`` (columns,), and room for all that it is halved to.

    A double cannot be halved more often than it has bits, so a stack cannot become higher.
    """
    bounds = np.empty((64 * len(low), len(low), 2))
    bounds[0] = np.column_stack([low, high])
    return JointBoxes(bounds, np.array([1, 0]), np.empty(len(low)))


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
        np.empty((2, 3)),
        np.empty(columns),
    )


@offline_kernel
def _column_to_halve(view, chain, work, i, j, radius, nx, ny, nz):
    """Return the column whose joints reduce the bound of rows i and j of the reaches most.

    ``radius`` is added to these: halving what only turns leaves about their axes helps later, when
    shapes are tested.
    """
    scores, points = work.scores, work.points
    for c in range(len(scores)):
        scores[c] = 0.0
    for joint in range(len(work.widths)):
        side = 0 if joint < chain.up else 1
        w = work.widths[joint]
        reach = min(work.reaches[i, joint], work.reaches[j, joint])
        if reach <= 0.0 and i >= chain.rows:  # swept about this axis
            continue
        row = chain.joints[joint]
        speed = point_rate(view, row, points[side, 0], points[side, 1], points[side, 2], nx, ny, nz)
        scores[view.joint_table[row, 2]] += w * (abs(speed) + w * (reach + radius))
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
    radius = min(view.radii[i, 0], view.radii[j, 0])
    return _column_to_halve(view, chain, work, i, j, radius, nx, ny, nz)


@offline_kernel
def _test(view, chain, bounds, row, work):
    """Return (state, column to halve) of a box: PROVED, MEETS in the middle, or OPEN."""
    q, half = work.q, work.half
    for c in range(len(q)):
        low, high = bounds[row, c, 0], bounds[row, c, 1]
        # The middle may be rounded: the half width must still reach both ends.
        q[c] = 0.5 * (low + high)
        half[c] = max(high - q[c], q[c] - low)
    spans(view, chain, half, work.widths, work.chords)
    place_links(view, q)
    fill_reaches(view, chain, work.chords, work.reaches)
    fill_bends(view, chain, work.widths, work.reaches, work.bends)
    i, j = nearest_leaves(view, chain, work.widths, work.chords, work.reaches, work.bends, 0)
    if i < 0:
        return PROVED, 0
    swept_i = swept_j = -1
    if chain.swept[0] or chain.swept[1]:
        swept_i, swept_j = nearest_leaves(
            view, chain, work.widths, work.chords, work.reaches, work.bends, chain.rows
        )
        if swept_i < 0:
            return PROVED, 0
    points, row_count = work.points, len(work.reaches)
    d = capsule_distance(view.ends, view.radii, i, j)
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
            return OPEN, _column_by_leaves(view, chain, work, swept_i, swept_j)
        return OPEN, _column_by_leaves(view, chain, work, i, j)
    apart = surface_distance(view, chain, np.inf, points)
    if apart <= 0.0:
        return MEETS, 0
    if apart > loss:
        return PROVED, 0
    nx, ny = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1]
    nz = points[1, 2] - points[0, 2]
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    if length > 0.0:
        nx, ny, nz = nx / length, ny / length, nz / length
        if hulls_gap(view, chain, work.widths, work.bends, nx, ny, nz) > ROUNDING:
            return PROVED, 0
    if loss < _RESOLUTION:
        return MEETS, 0
    if done * loss > apart:
        return OPEN, _column_by_leaves(view, chain, work, swept_i, swept_j)
    return OPEN, _column_to_halve(
        view, chain, work, row_count - 2, row_count - 1, 0.0, nx, ny, nz
    )


@offline_kernel
def prove(chain, boxes, most):
    """Test ``most`` boxes at most; return PROVED, MEETS or OPEN.

    OPEN: boxes are left; call again. MEETS: the surfaces touch or cross at ``found``, or they are
    so near there that this cannot be distinguished from touching. The box stays on the stack: it
    does not count as proved.
    """
    view, work = unpack(chain.numbers, chain.index), _work_space(chain, len(boxes.found))
    bounds, counts = boxes.bounds, boxes.counts
    last = counts[1] + most
    while counts[0] > 0:
        if counts[1] >= last:
            return OPEN
        counts[1] += 1
        top = counts[0] - 1
        state, cut = _test(view, chain, bounds, top, work)
        if state == PROVED:
            counts[0] = top
        elif state == MEETS or counts[0] == len(bounds):
            for c in range(len(work.q)):
                boxes.found[c] = work.q[c]
            return MEETS
        else:
            for c in range(len(work.q)):
                bounds[top + 1, c, 0], bounds[top + 1, c, 1] = bounds[top, c, 0], bounds[top, c, 1]
            bounds[top, cut, 1] = bounds[top + 1, cut, 0] = work.q[cut]
            counts[0] += 1
    return PROVED
