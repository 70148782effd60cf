# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Input and work space of a scan of a motion, as flat arrays: paths, buffers, tables of a model."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.pair_sweep import FAR, OFF, SIZE, TURN, Sweep
from collision_monitor.hierarchy.kinematics import place_links
from collision_monitor.hierarchy.packed import unpack, windows

# -- positions of joints on piecewise polynomials, and their range around an instant --
#
# The motion of a path around an instant is described by a straight motion and the deviation from
# it: q(c + s) = q(c) + slope s + rest, |s| <= half. Beyond its ends a path is at rest.


class ScanMotion(NamedTuple):
    """Piecewise polynomials of joints, in flat arrays.

    Attributes:
        breaks: (pieces + 1,) seconds, increasing.
        coefficients: (pieces x width x order): ascending powers of the time since a piece began,
            for each of the ``width`` moving columns of q.
        columns: (width,) entries of q that move.
        order: of the polynomials.
    """

    breaks: np.ndarray
    coefficients: np.ndarray
    columns: np.ndarray
    order: int


def straight_motion(start: np.ndarray, end: np.ndarray) -> ScanMotion:
    """Return the motion of one second from ``start`` to ``end`` (nq,) at constant velocity."""
    return ScanMotion(
        np.array([0.0, 1.0]), np.column_stack([start, end - start]).ravel(),
        np.arange(len(start)), 2,
    )  # fmt: skip


class Path(NamedTuple):
    """`ScanMotion` as windows: row ``piece * width + m`` of the coefficients is of column m."""

    breaks: np.ndarray
    coefficients: np.ndarray
    columns: np.ndarray


@offline_kernel
def path_of(motion):
    """Return the `Path` of a motion as windows."""
    return Path(
        borrow(motion.breaks, 0, len(motion.breaks), 1),
        borrow(motion.coefficients, 0, len(motion.coefficients) // motion.order, motion.order),
        borrow(motion.columns, 0, len(motion.columns), 1),
    )


SLOPE, SPAN, STRAY = range(3)


@offline_kernel
def piece_at(breaks, time):
    """Return the piece of a path that contains ``time``; beyond its ends, the nearest."""
    low, high = 0, len(breaks) - 2
    while low < high:
        middle = (low + high + 1) // 2
        if breaks[middle, 0] <= time:
            low = middle
        else:
            high = middle - 1
    return low


@offline_kernel
def polynomial(coefficients, row, order, x):
    """Value at ``x`` of the polynomial in a row."""
    value = coefficients[row, order - 1]
    for m in range(order - 2, -1, -1):
        value = value * x + coefficients[row, m]
    return value


@offline_kernel
def shifted(coefficients, row, order, x, work):
    """Write coefficients about ``x`` of the polynomial in a row to ``work`` (order, 1)."""
    for m in range(order):
        work[m, 0] = coefficients[row, m]
    for low in range(order - 1):
        for m in range(order - 2, low - 1, -1):
            work[m, 0] += x * work[m + 1, 0]


@offline_kernel
def path_range(path, center, half, work, q, motion):
    """Write the position of a path at ``center`` s to ``q``, and its motion to ``motion``.

    For each of its columns of q, row c of ``motion`` (nq, 3) gets, for ``half`` s to both sides:
    the slope of a straight motion in units per second, the maximum deviation from q, and the
    maximum deviation from the straight motion. ``work`` (order, 1) is work space.
    """
    breaks, coefficients = path.breaks, path.coefficients
    width, order = len(path.columns), len(work)
    begin, end = breaks[0, 0], breaks[len(breaks) - 1, 0]
    low, high = center - half, center + half
    middle = min(max(center, begin), end)
    at = piece_at(breaks, middle)
    i, j = at, at
    if half > 0.0:
        i = piece_at(breaks, low)
        j = piece_at(breaks, high)
    one = i == j and low >= begin and high <= end
    for m in range(width):
        column = path.columns[m, 0]
        row = at * width + m
        since = middle - breaks[at, 0]
        if one:
            shifted(coefficients, row, order, since, work)
            stray, power = 0.0, half
            for n in range(2, order):
                power *= half
                stray += abs(work[n, 0]) * power
            slope = work[1, 0] if order > 1 else 0.0
            q[column] = work[0, 0]
            motion[column, SLOPE] = slope
            motion[column, SPAN] = abs(slope) * half + stray
            motion[column, STRAY] = stray
            continue
        place = polynomial(coefficients, row, order, since)
        q[column] = place
        u, v = min(max(low, begin), end), min(max(high, begin), end)
        row = i * width + m
        start = polynomial(coefficients, row, order, u - breaks[i, 0])
        row = j * width + m
        stop = polynomial(coefficients, row, order, v - breaks[j, 0])
        slope = (stop - start) / (high - low)
        span = max(abs(start - place), abs(stop - place))
        stray = 0.0
        if low < begin:
            stray = abs(start - place + slope * half)
        if high > end:
            stray = max(stray, abs(stop - place - slope * half))
        for piece in range(i, j + 1):
            since = breaks[piece, 0]
            u, v = max(low, since), min(high, breaks[piece + 1, 0])
            if v < u:
                continue
            about, side = 0.5 * (u + v), 0.5 * (v - u)
            shifted(coefficients, piece * width + m, order, about - since, work)
            tail, power = 0.0, side
            for n in range(2, order):
                power *= side
                tail += abs(work[n, 0]) * power
            rate = work[1, 0] if order > 1 else 0.0
            off = work[0, 0] - place
            span = max(span, abs(off) + abs(rate) * side + tail)
            off -= slope * (about - center)
            stray = max(stray, abs(off) + abs(rate - slope) * side + tail)
        motion[column, SLOPE] = slope
        motion[column, SPAN] = span
        motion[column, STRAY] = stray


# -- work space of one thread --


class Space(NamedTuple):
    """Tables and work space of one thread, flat; see `Sweep`."""

    firsts: np.ndarray
    filled: np.ndarray
    joints: np.ndarray
    travel: np.ndarray
    stray: np.ndarray
    bend: np.ndarray
    work: np.ndarray


@offline_kernel
def set_firsts(numbers, index, space, pairs):
    """Set the innermost joints that move one link of ``pairs`` (k,) and not the other."""
    view, firsts = unpack(numbers, index), space.firsts
    for p in pairs:
        a = view.leaf_bodies[view.links[view.pairs[p, 0], 0], 0]
        b = view.leaf_bodies[view.links[view.pairs[p, 1], 0], 0]
        firsts[2 * p] = firsts[2 * p + 1] = -1
        while a != b:  # a body has a larger number than the one that carries it
            if a > b:
                firsts[2 * p] = a - 1
                a = view.joint_table[a - 1, 0]
            else:
                firsts[2 * p + 1] = b - 1
                b = view.joint_table[b - 1, 0]


@offline_kernel
def sweep_of(view, space):
    """Return the `Sweep` of a model as windows, of which no row is filled."""
    joints, row_count = len(view.joint_table), len(space.filled)
    for row in range(row_count):
        space.filled[row] = -1
    return Sweep(
        borrow(space.firsts, 0, len(view.pairs), 2),
        borrow(space.filled, 0, row_count, 1),
        borrow(space.joints, 0, joints, 4),
        borrow(space.travel, 0, row_count, joints),
        borrow(space.stray, 0, row_count, joints),
        borrow(space.bend, 0, row_count, joints),
    )


@offline_kernel
def turn(view, sweep, rates, half):
    """Set the rows of `Sweep.joints` from the motion of the columns of q, ``half`` s both ways."""
    for joint in range(len(view.joint_table)):
        column, gain = view.joint_table[joint, 2], view.joint_motion[joint, 0]
        turn = gain * rates[column, SLOPE] * half
        sweep.joints[joint, TURN], sweep.joints[joint, SIZE] = turn, abs(turn)
        sweep.joints[joint, FAR] = abs(gain) * rates[column, SPAN]
        sweep.joints[joint, OFF] = abs(gain) * rates[column, STRAY]


@offline_kernel
def set_out(view, space, path, sweep, time, half, q, rates):
    """Place everything at ``time``, and set the motion for ``half`` s to both sides.

    Writes ``q`` (nq,), ``rates`` (nq, 3) and `sweep.joints`.
    """
    work = borrow(space.work, 0, len(space.work), 1)
    path_range(path, time, half, work, q, rates)
    place_links(view, q)
    turn(view, sweep, rates, half)


# -- tables of a model: the joints between two links --


class ScanTables(NamedTuple):
    """What all scans of one model have in common.

    Attributes:
        firsts: (pairs, 2) the innermost joint (index in kernels) that moves one link of a pair and
            not the other; -1 if there is none.
        hints: (pairs, 2) a leaf of each link of a pair.
        rows: of a `Sweep`: leaves that may move, and two for each link.
        joints: number of joints in kernels.
    """

    firsts: np.ndarray
    hints: np.ndarray
    rows: int
    joints: int

    def space(self, order: int) -> Space:
        """Work space of one thread, for motions of polynomials of ``order``."""
        table = self.rows * self.joints
        return Space(
            self.firsts.ravel(),
            np.full(self.rows, -1, dtype=np.int64),
            np.zeros(4 * self.joints),
            np.empty(table),
            np.empty(table),
            np.empty(table),
            np.empty(order),
        )


_TABLES: WeakKeyDictionary[Any, ScanTables] = WeakKeyDictionary()


def scan_tables(model: Any) -> ScanTables:
    """Return the tables of a CollisionModel; they are kept as long as the model."""
    if model not in _TABLES:
        arrays = model.work_space()
        tables = empty_tables(*arrays, windows(*arrays).moving_leaves)
        set_firsts(*arrays, tables.space(1), np.arange(len(tables.firsts)))
        _TABLES[model] = tables
    return _TABLES[model]


def empty_tables(numbers: np.ndarray, index: np.ndarray, most_moving: int) -> ScanTables:
    """Return tables for a packed model with nothing in them, but for ``hints``.

    ``most_moving``: how many leaves may ever move; in a live scene more than do so now.
    """
    view = windows(numbers, index)
    return ScanTables(
        np.full((len(view.pairs), 2), -1), view.links[view.pairs, 0],
        int(most_moving) + 2 * len(view.links), len(view.joint_table),
    )  # fmt: skip
