# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Lower and upper bounds of the clearance of every pair of links along a motion, by bisection.

Time is divided into bins. The distance of each pair is measured at instants of every bin, between
leaves or between shapes, which gives an upper bound of the minimum; `pair_sweep` and `shape_sweep`
give a lower bound in between. A piece of a bin is halved only for pairs whose bounds are not close
enough (`target_of`). A scan brackets the minimum of every pair in every bin, or it certifies that
all pairs keep their limits and ends at the first that does not (`Precision.ends`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import lend, work_space
from collision_monitor.common.compiled import (
    FALSE,
    TRUE,
    inlined_kernel,
    offline_kernel,
    small_kernel,
)
from collision_monitor.continuous.pair_sweep import ball_bound, pair_bound
from collision_monitor.continuous.scan_space import ScanTables, path_of, set_out, sweep_of
from collision_monitor.continuous.shape_sweep import hull_bound, shape_distance, unpack_tables
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import nearest_of_links

DEPTH = 62  # halvings of a bin; with resolutions above 1e-18 of it fewer are needed
# Where links approach by more than this, in metres, the bounds of leaves hardly ever hold: a scan
# that ends halves the piece at once.
_LONG = 0.35
FINISHED, OPEN, TOO_NEAR, UNDECIDED = range(4)
# Metres: a distance within this of a threshold counts as touching it, since no bound can prove a
# distance that is above its threshold by less.
RESOLUTION = 1e-5


class Minima(NamedTuple):
    """The minimum measured distance of every pair of the model, and where.

    Attributes:
        best: (pairs,) metres.
        leaves: (pairs, 2) the leaves with this distance, -1 if it is one of shapes.
        times: (pairs,) seconds.
        hints: (pairs, 2) two leaves of each pair that were nearest last.
    """

    best: np.ndarray
    leaves: np.ndarray
    times: np.ndarray
    hints: np.ndarray


def no_minima(tables: ScanTables) -> Minima:
    """Return the minima of all pairs of a model before anything is measured."""
    pairs = len(tables.hints)
    return Minima(
        np.full(pairs, np.inf), np.full((pairs, 2), -1), np.full(pairs, np.nan),
        tables.hints.copy(),
    )  # fmt: skip


class BinBounds(NamedTuple):
    """Bounds of the distance of every chosen pair (column) in every bin (row).

    Attributes:
        lows: (bins, pairs) metres, certified.
        ups: (bins, pairs) metres, measured. A threshold between both is undecided.
        when: (bins, pairs) times of ``ups``, seconds.
        doubts: (bins, pairs) times near which the bounds could not be brought together, seconds;
            otherwise unchanged.
    """

    lows: np.ndarray
    ups: np.ndarray
    when: np.ndarray
    doubts: np.ndarray


def no_bounds(bins: int, pairs: int) -> BinBounds:
    """Return room for the bounds of a number of pairs in some bins."""
    return BinBounds(*np.full((4, bins, pairs), np.nan))


class Precision(NamedTuple):
    """Required precision of a scan, metres or relative.

    Attributes:
        accuracy: permitted error of the minimum distance of a pair; at most half of that distance,
            so that the clearance of separate pairs is known.
        share: the same, relative to that distance.
        bin_share: permitted relative error of the minimum in a bin, in addition to ``accuracy``.
        resolution: a threshold this close is treated as touched.
        instant: a piece of at most this length is not halved, seconds.
        ends: whether only the first threshold of a pair counts, and the scan ends where the first
            pair does not keep it.
        most: after so many measurements of pairs no piece is halved.
        depth_share, depth_bin_share: the shares of depths of contact, if more.
    """

    accuracy: float
    share: float
    bin_share: float
    resolution: float
    instant: float = 0.0
    ends: bool = False
    most: int = 2**62
    depth_share: float = 0.0
    depth_bin_share: float = 0.0


def certifying(resolution: float, instant: float) -> Precision:
    """Return the precision of a scan that ends at the first pair that does not keep its limit."""
    return Precision(0.0, 0.0, 0.0, resolution, instant, True)


# Arrays that pass from kernel to kernel are not counted: that would take half of the time.


@small_kernel
def _lent_minima(m):
    return Minima(lend(m.best), lend(m.leaves), lend(m.times), lend(m.hints))


@small_kernel
def _lent_bounds(b):
    return BinBounds(lend(b.lows), lend(b.ups), lend(b.when), lend(b.doubts))


@inlined_kernel
def target_of(precision, limits, p, upper, best):
    """Return the lower bound to reach in a bin; ``upper`` is its upper bound, ``best`` the pair's.

    Metres. Each threshold that is met so far must be certified, no smaller minimum may remain, and
    the bounds of the bin must be close together. Infinite as long as nothing is measured.
    """
    if precision.ends:
        return limits[p, 0]
    if upper == np.inf:
        return upper
    share, bin_share = precision.share, precision.bin_share
    slack = min(precision.accuracy, 0.5 * best)
    if best <= 0.0:
        slack = precision.accuracy
        share = max(share, precision.depth_share)
        bin_share = max(bin_share, precision.depth_bin_share)
    target = upper - precision.accuracy - bin_share * abs(upper)
    target = max(target, best - slack - share * abs(best))
    for m in range(limits.shape[1]):
        if limits[p, m] <= upper:
            target = max(target, limits[p, m])
    return target


@offline_kernel
def _update_minimum(minima, p, distance, i, j, time):
    """Store a distance if it is the minimum so far."""
    if distance < minima.best[p]:
        minima.best[p] = distance
        minima.leaves[p, 0], minima.leaves[p, 1] = i, j
        minima.times[p] = time


@offline_kernel
def _update_bin(bounds, minima, b, m, p, distance, i, j, time):
    """Store a distance of pair p, column m, if it is the minimum of its bin or of all so far."""
    if distance < bounds.ups[b, m]:
        bounds.ups[b, m], bounds.when[b, m] = distance, time
        _update_minimum(minima, p, distance, i, j, time)


@offline_kernel
def measure(numbers, index, space, motion, chosen, times, q, minima):
    """Measure the chosen pairs at ``times`` (n,), seconds."""
    view, path = unpack(numbers, index), path_of(motion)
    sweep = sweep_of(view, space)
    rates = np.zeros((len(q), 3))
    for row in range(len(times)):
        set_out(view, space, path, sweep, times[row], 0.0, q, rates)
        for m in range(len(chosen)):
            p = chosen[m]
            distance, i, j = nearest_of_links(
                view, view.pairs[p, 0], view.pairs[p, 1],
                minima.hints[p, 0], minima.hints[p, 1], np.inf,
            )  # fmt: skip
            minima.hints[p, 0], minima.hints[p, 1] = i, j
            _update_minimum(minima, p, distance, i, j, times[row])


@inlined_kernel
def _bound_leaves(view, sweep, piece, place, precision, limits, minima, bounds, query):
    """Return (state, lower bound, distance) of the leaves of a pair in a piece of a bin, metres.

    ``piece``: centre and half length in seconds, and whether it may be halved. ``place``: bin,
    column and pair. The distance is that measured at the centre, or a bound of it. FINISHED: the
    bound is good enough. OPEN: it is in halves of the piece. TOO_NEAR: the distance is less than
    the threshold at which the scan ends. UNDECIDED: the bound is valid, and cannot be raised.
    """
    time, half, may_halve = piece
    b, m, p = place
    bound, travel = ball_bound(view, sweep, p, query)
    target = target_of(precision, limits, p, bounds.ups[b, m], minima.best[p])
    if bound >= target:
        return FINISHED, bound, bound
    may_halve = may_halve and travel > precision.resolution and 2.0 * half > precision.instant
    reserve = travel + ROUNDING if travel > 0.0 else 0.0  # rounding matters if a pair moves
    distance, i, j = nearest_of_links(
        view, view.pairs[p, 0], view.pairs[p, 1],
        minima.hints[p, 0], minima.hints[p, 1], target + reserve,
    )  # fmt: skip
    minima.hints[p, 0], minima.hints[p, 1] = i, j
    if distance < target + reserve:
        _update_bin(bounds, minima, b, m, p, distance, i, j, time)
        if precision.ends and distance < target:
            return TOO_NEAR, distance, distance
        target = target_of(precision, limits, p, bounds.ups[b, m], minima.best[p])
    bound = max(bound, distance - reserve)
    if bound >= target:
        return FINISHED, bound, distance
    if distance >= target + reserve:
        return FINISHED, max(bound, target), distance
    if precision.ends and may_halve and travel > _LONG:
        return OPEN, bound, distance
    by_leaves, _ = pair_bound(view, sweep, p, travel, target, i, j, FALSE, query)
    if by_leaves >= target:
        return FINISHED, by_leaves, distance
    return OPEN if may_halve else UNDECIDED, bound, distance


@offline_kernel
def _bound_shapes(view, sweep, shapes, piece, place, precision, limits, minima, bounds, query):
    """As `_bound_leaves`, of shapes: windows as of `unpack_tables`, and what is known by leaves."""
    time, half, may_halve = piece
    b, m, p = place
    shapes, by_leaves = shapes
    i, j, normal = minima.hints[p, 0], minima.hints[p, 1], work_space(time, 1, 3)
    bound, travel = ball_bound(view, sweep, p, query)
    target = target_of(precision, limits, p, bounds.ups[b, m], minima.best[p])
    distance = np.inf
    if target == np.inf:  # what has to be proved is not known before something is measured
        distance = shape_distance(view, shapes, p, i, j, np.inf, np.inf, normal)
        _update_bin(bounds, minima, b, m, p, distance, -1, -1, time)
        target = target_of(precision, limits, p, bounds.ups[b, m], minima.best[p])
    bound = max(bound, by_leaves[b, m])
    if bound >= target:
        return FINISHED, bound, distance
    bound, travel = pair_bound(view, sweep, p, travel, target, i, j, TRUE, query)
    if travel < 0.0:
        return FINISHED, bound, distance
    if distance == np.inf:
        limit = target + travel + 2.0 * ROUNDING
        enough = max(target, 0.0) if precision.ends else np.inf
        distance = shape_distance(view, shapes, p, i, j, limit, enough, normal)
        if distance < limit:
            _update_bin(bounds, minima, b, m, p, distance, -1, -1, time)
    if precision.ends and distance < target:
        return TOO_NEAR, distance, distance
    bound = max(bound, min(target, distance - travel - ROUNDING))
    if bound < target and distance > 0.0:
        bound = max(bound, hull_bound(view, sweep, shapes, p, normal, query))
    if bound >= target_of(precision, limits, p, bounds.ups[b, m], minima.best[p]):
        return FINISHED, bound, distance
    may_halve = may_halve and travel > precision.resolution and 2.0 * half > precision.instant
    return OPEN if may_halve else UNDECIDED, bound, distance


@inlined_kernel
def _bound_pair(view, sweep, shapes, piece, place, precision, limits, minima, bounds, query):
    """`_bound_leaves` without ``shapes``, else `_bound_shapes`."""
    if shapes is None:
        return _bound_leaves(view, sweep, piece, place, precision, limits, minima, bounds, query)
    return _bound_shapes(
        view, sweep, shapes, piece, place, precision, limits, minima, bounds, query
    )


@offline_kernel
def _halve(times, row):
    """Replace the piece in ``row`` by its halves in ``row`` and the next, the earlier one last."""
    half = 0.5 * times[row, 1]
    times[row + 1, 0], times[row, 0] = times[row, 0] - half, times[row, 0] + half
    times[row, 1] = times[row + 1, 1] = half


@offline_kernel
def scan(
    numbers, index, tables, space, motion, bins, chosen, limits, precision, q, minima, bounds
):  # fmt: skip
    """Write ``bounds`` of the minimum distance of every chosen pair in every bin.

    ``numbers`` and ``index`` are the packed model, ``tables`` its `ShapeTables`, or None to measure
    leaves, ``space`` and ``motion`` as in `scan_space`. ``bins`` (bins, 2) begin and end, seconds;
    ``chosen`` (pairs,) indices of pairs; ``limits`` (pairs of the model, m) thresholds in metres,
    inf for none. ``q`` (nq,) holds the positions of joints that do not move; the others are
    written. ``minima`` is updated.

    Returns (state, piece, pair, distance, configurations queried, pairs measured at one). The state
    is FINISHED, unless ``precision.ends``. TOO_NEAR: the pair is nearer than its threshold in the
    middle of the piece (middle and half length, seconds). UNDECIDED: it keeps it there, but no
    bound can decide: it is within ``resolution`` of it, the piece is no longer than ``instant``, or
    ``most`` was measured. Pieces are searched in the order of time: before that piece every pair
    keeps its threshold.
    """
    if tables is None:
        shapes = None
    else:
        shapes = unpack_tables(tables), lend(tables.by_leaves)
    view, path = unpack(numbers, index), path_of(motion)
    sweep = sweep_of(view, space)
    limits, minima, bounds = lend(limits), _lent_minima(minima), _lent_bounds(bounds)
    lows, ups = bounds.lows, bounds.ups
    rates = np.zeros((len(q), 3))
    active = np.empty((DEPTH + 1, len(chosen)), np.int32)  # indices into ``chosen``
    counts = np.empty(DEPTH + 1, np.int64)
    times = np.empty((DEPTH + 1, 2))  # centre and half length of a piece
    depths = np.empty(DEPTH + 1, np.int64)
    counts[0] = len(chosen)
    for m in range(len(chosen)):
        active[0, m] = m
    query, looks = 0, 0
    for b in range(len(bins)):
        for m in range(len(chosen)):
            lows[b, m] = ups[b, m] = np.inf
        times[0, 0], times[0, 1] = 0.5 * (bins[b, 0] + bins[b, 1]), 0.5 * (bins[b, 1] - bins[b, 0])
        depths[0], size = 0, 1
        while size > 0:
            size -= 1
            time, half, depth = times[size, 0], times[size, 1], depths[size]
            set_out(view, space, path, sweep, time, half, q, rates)
            query += 1
            looks += counts[depth]
            left = 0
            for n in range(counts[depth]):
                m = active[depth, n]
                p = chosen[m]
                piece = (time, half, depth < DEPTH and looks < precision.most)
                state, bound, distance = _bound_pair(
                    view, sweep, shapes, piece, (b, m, p), precision, limits, minima, bounds, query
                )
                if state == OPEN:
                    active[depth + 1, left] = m
                    left += 1
                    continue
                if state != FINISHED and precision.ends:
                    return state, (time, half), p, distance, query, looks
                if state == UNDECIDED:
                    bounds.doubts[b, m] = time
                lows[b, m] = min(lows[b, m], bound)
            if left > 0:
                counts[depth + 1] = left
                depths[size] = depths[size + 1] = depth + 1
                _halve(times, size)
                size += 2
    return FINISHED, (bins[len(bins) - 1, 1], 0.0), -1, np.inf, query, looks
