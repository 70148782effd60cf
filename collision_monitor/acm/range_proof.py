# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Prove by branch and bound that the surfaces of two links never meet, or find where they do.

Boxes of joint values, that with the least bound first: proved by the leaves, by the triangles or
by a plane between the hulls (`range_bound`), or else halved. A box in whose middle the surfaces
meet ends the search. Surfaces: whether one link is inside the other has to be asked in one
configuration, since it stays so while no surfaces cross.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.acm.chain import place_chain, place_ends, rate, surface_distance
from collision_monitor.acm.range_bound import (
    ROUNDING,
    fill_bends,
    fill_reaches,
    hulls_gap,
    leaves_bound,
    spans,
    travel,
)
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.geometry.segments import capsule_distance, capsule_witness

PROVED, MEETS, OPEN, TOUCHING = 0, 1, 2, 3

# A box that is not proved though the links can lose no more than so many metres in it: they touch.
_RESOLUTION = 2e-5
# Triangles are not asked where leaves are so far from sufficing, in metres of travel.
_HOPELESS = 0.25
# Swept leaves count while they lose this part of what leaves as they are do.
_WORTH = 0.3


class Boxes(NamedTuple):
    """Boxes that are still to be proved, as a heap, and what was found.

    ``bounds`` (room, columns, 2) low and high; ``keys`` (room,) lower bounds of the distance,
    metres; ``cuts`` (room,) the column to be halved next; ``order`` (room,) the heap, then the free
    rows. ``counts`` (4,): boxes that wait, proved by leaves, proved by triangles, halved.
    ``guess`` (k, 2) nearest triangles of the last query; ``found`` (columns,) where they meet.
    ``deep`` (1,): whether keys of open boxes are their sizes, so that few of them wait.
    """

    bounds: np.ndarray
    keys: np.ndarray
    cuts: np.ndarray
    order: np.ndarray
    counts: np.ndarray
    guess: np.ndarray
    found: np.ndarray
    deep: np.ndarray


class _Work(NamedTuple):
    q: np.ndarray
    half: np.ndarray
    widths: np.ndarray
    chords: np.ndarray
    axes: np.ndarray
    poses: np.ndarray
    ends: np.ndarray
    reaches: np.ndarray
    bends: np.ndarray
    point: np.ndarray
    points: np.ndarray
    scores: np.ndarray


@offline_kernel
def _work_space(chain, columns):
    joints, leaves = len(chain.joints), len(chain.ends)
    return _Work(
        np.empty(columns),
        np.empty(columns),
        np.empty(joints),
        np.empty(joints),
        np.empty((joints, 6)),
        np.empty((2, 12)),
        np.empty((leaves, 6)),
        np.empty((leaves + 2, joints)),
        np.empty((leaves + 2, joints + 1)),
        np.empty((1, 3)),
        np.empty((3, 3)),
        np.empty(columns),
    )


@offline_kernel
def _cut(chain, work, i, j, points, nx, ny, nz):
    """The column whose joints take most of the bound of rows i and j of the reaches."""
    scores = work.scores
    for c in range(len(scores)):
        scores[c] = 0.0
    for k in range(len(work.widths)):
        side = 0 if k < chain.up else 1
        w = work.widths[k]
        reach = min(work.reaches[i, k], work.reaches[j, k])
        if reach <= 0.0:  # swept over
            continue
        speed = rate(
            chain, work.axes, k, points[side, 0], points[side, 1], points[side, 2], nx, ny, nz
        )
        scores[chain.joints[k, 1]] += w * (abs(speed) + w * reach)
    best = 0
    for c in range(1, len(scores)):
        if scores[c] > scores[best]:
            best = c
    return best


@offline_kernel
def _cut_by_leaves(chain, work, i, j):
    """As `_cut`, by the nearest points of two leaves."""
    points = work.points
    _, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(work.ends, chain.radii, i, j)
    points[0, 0], points[0, 1], points[0, 2] = ax, ay, az
    points[1, 0], points[1, 1], points[1, 2] = bx, by, bz
    return _cut(chain, work, i, j, points, nx, ny, nz)


@offline_kernel
def _test(chain, boxes, row, work):
    """(state, key, cut) of a box: PROVED, MEETS in the middle, OPEN or TOUCHING."""
    q, half = work.q, work.half
    for c in range(len(q)):
        low, high = boxes.bounds[row, c, 0], boxes.bounds[row, c, 1]
        # The middle may be rounded: what is half of the box must reach both ends all the same.
        q[c] = 0.5 * (low + high)
        half[c] = max(high - q[c], q[c] - low)
    spans(chain, half, work.widths, work.chords)
    place_chain(chain, q, work.axes, work.poses)
    place_ends(chain, work.poses, work.ends)
    fill_reaches(chain, work.axes, work.chords, work.ends, work.reaches)
    fill_bends(chain, work.widths, work.reaches, work.bends)
    key, i, j = leaves_bound(
        chain, work.axes, work.widths, work.chords, work.reaches, work.bends, work.ends, 0
    )
    if i < 0:
        boxes.counts[1] += 1
        return PROVED, key, 0
    swept, swept_i, swept_j = -np.inf, -1, -1
    if chain.swept[0] or chain.swept[1]:
        swept, swept_i, swept_j = leaves_bound(
            chain, work.axes, work.widths, work.chords, work.reaches, work.bends, work.ends,
            chain.rows,
        )  # fmt: skip
        if swept_i < 0:
            boxes.counts[1] += 1
            return PROVED, swept, 0
    key = max(key, swept)
    points = work.points
    d = capsule_distance(work.ends, chain.radii, i, j)
    rows = len(work.reaches)
    loss = travel(work.chords, work.reaches, rows - 2, rows - 1) + ROUNDING
    # The part of what is needed that swept leaves have. Where they are as good as at zero, only the
    # joint that they are swept about can help.
    done = 0.0
    if swept_i >= 0:
        swept_loss = travel(work.chords, work.reaches, swept_i, swept_j) + ROUNDING
        if swept_loss > _WORTH * loss:
            done = capsule_distance(work.ends, chain.radii, swept_i, swept_j) / swept_loss
    if d > 0.0 and loss > d + _HOPELESS:
        if done * loss > d:
            return OPEN, key, _cut_by_leaves(chain, work, swept_i, swept_j)
        return OPEN, key, _cut_by_leaves(chain, work, i, j)
    apart = surface_distance(chain, work.poses, np.inf, boxes.guess, points)
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
        bound = hulls_gap(
            chain, work.axes, work.poses, work.widths, work.bends, nx, ny, nz, work.point
        )
        if bound > ROUNDING:
            boxes.counts[2] += 1
            return PROVED, bound, 0
        key = max(key, bound)
    key = max(key, apart - loss)
    if loss < _RESOLUTION:
        return TOUCHING, key, 0
    if done * loss > apart:
        return OPEN, key, _cut_by_leaves(chain, work, swept_i, swept_j)
    return OPEN, key, _cut(chain, work, rows - 2, rows - 1, points, nx, ny, nz)


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

    Boxes that meet or touch go there too, so that nobody takes them for proved.
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
    """Take the first box off the heap and halve it: rows of the halves, now free."""
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
    """Test ``most`` boxes or one more; returns PROVED, MEETS, OPEN or TOUCHING.

    OPEN: the work or the room has run out; call again, with more room where none is left. MEETS:
    ``found`` is a configuration in which the surfaces touch or cross. TOUCHING: there they are
    nearer than can be told from touching. With no box on the heap nor halved, row 0 is the whole.
    """
    work = _work_space(chain, len(boxes.found))
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
        state, key, cut = _test(chain, boxes, row, work)
        if state == PROVED:
            if spare >= 0:  # it is to lie where the heap grows
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
