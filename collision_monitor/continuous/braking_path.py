# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of distances while all joints brake (`braking`), certified between samples.

Joints are monotone while they brake. Between two instants the distance of a pair of links is
therefore at least its distance at an instant between them, less the travel of both links from there
(Schwarzer, Saha, Latombe, IEEE Trans. Robotics 21(3), 2005). Intervals with too low a bound are
halved. The tree is searched once for each short piece of the path; half an interval only uses those
leaf pairs that the whole interval did not exclude.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel, part_kernel
from collision_monitor.continuous.braking import braked, braking_time
from collision_monitor.continuous.near_pairs import (
    DISTANCE,
    GROUP,
    LEAF_A,
    LEAF_B,
    LEAST,
    NEARLY_NEAREST,
    PAIR,
    RATE,
    SAMPLED,
    TRAVEL,
    measure_links,
    separation_rate,
)
from collision_monitor.geometry.segments import capsule_distance, surely_farther
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import move, near_leaves

_DEPTH = 64
# Intervals in which links travel farther (metres) are halved without a query.
_MAX_TRAVEL = 0.12
# A search that takes too long is repeated with a resolution coarser by this factor.
_ATTEMPTS, _COARSER = 3, 6.0
# Maximum number of configurations on a path of many pieces; beyond, only the path length counts.
_MAX_QUERIES = 4000


class Path(NamedTuple):
    """Positions, velocities and decelerations of the joints, and the time when they stop."""

    q: np.ndarray
    velocities: np.ndarray
    decelerations: np.ndarray
    reaction: float
    end: float
    there: np.ndarray  # work space (nq,)


class PairGroups(NamedTuple):
    """Pairs of links and their classes; see `braking`."""

    leaf_links: np.ndarray
    pair_table: np.ndarray  # as in `hierarchy.query.near`
    class_table: np.ndarray  # the same with classes instead of pairs
    chosen: np.ndarray  # (k, 2) links of the only pairs that are searched; none: all
    searched: np.ndarray  # numbers of the classes that are searched
    weights: np.ndarray
    stop: np.ndarray
    warn: np.ndarray
    reserve: float
    totals: np.ndarray  # limits of the whole path, from `braking.braking_limits`


class PathSpace(NamedTuple):
    """Arrays that are written."""

    size: np.ndarray  # (1,) number of rows so far
    slots: np.ndarray  # (pairs,) row of a pair, or -1
    near: np.ndarray  # (k, 3) leaf, leaf, class, then row
    values: np.ndarray  # (k, 2) distance, distance at a sample
    rows: np.ndarray
    limits: np.ndarray  # (classes,)
    least: np.ndarray  # (rows,)


@kernel
def _place(view, path, time):
    """Place all links at ``time`` seconds from now."""
    for k in range(len(path.q)):
        way = 0.0
        if time > 0.0:
            way = braked(path.velocities[k], path.decelerations[k], path.reaction, time)
        path.there[k] = path.q[k] + way
    move(view, path.there)


@part_kernel
def _near_leaves_of(view, groups, space):
    """As `near_leaves`, of the chosen pairs."""
    near, values, count = space.near, space.values, 0
    for k in range(len(groups.chosen)):
        a, b = groups.chosen[k, 0], groups.chosen[k, 1]
        for i in range(view.links[a, 0], view.links[a, 1]):
            for j in range(view.links[b, 0], view.links[b, 1]):
                group = groups.class_table[a, b]
                if surely_farther(view.ends, view.radii, i, j, space.limits[group]):
                    continue
                distance = capsule_distance(view.ends, view.radii, i, j)
                if distance < space.limits[group]:
                    if count < len(near):
                        near[count, 0], near[count, 1], near[count, 2] = i, j, group
                        values[count, 0] = distance
                    count += 1
    return count


@kernel
def _near_now(view, groups, space, widest):
    """Find leaf pairs nearer than ``space.limits``, with a row for each pair of links; -1: full."""
    near, values, rows = space.near, space.values, space.rows
    if len(groups.chosen):
        count = _near_leaves_of(view, groups, space)
    else:
        count = near_leaves(
            view, groups.leaf_links, groups.class_table, space.limits, widest, near, values
        )
    if count > len(near):
        return -count
    for item in range(count):
        i, j, group = near[item, 0], near[item, 1], near[item, 2]
        pair = groups.pair_table[groups.leaf_links[i], groups.leaf_links[j]]
        row = space.slots[pair]
        if row < 0:
            row = space.size[0]
            if row == len(rows):
                return -1
            space.size[0] = row + 1
            space.slots[pair] = row
            rows[row, PAIR], rows[row, GROUP] = pair, group
            rows[row, LEAF_A], rows[row, LEAF_B] = i, j
            rows[row, DISTANCE], rows[row, RATE] = np.inf, np.inf
            rows[row, LEAST], rows[row, SAMPLED] = np.inf, np.inf
            rows[row, TRAVEL] = groups.totals[group] - groups.warn[group] - groups.reserve
        near[item, 2] = row
        rows[row, SAMPLED] = min(rows[row, SAMPLED], values[item, 0])
    return count


@part_kernel
def _limits_now(groups, space):
    """Set the limits of pairs without any motion; return the largest."""
    widest = -np.inf
    for group in groups.searched:
        space.limits[group] = groups.warn[group] + groups.reserve
        widest = max(widest, space.limits[group])
    return widest


@kernel
def _limits_between(view, groups, path, space, first, middle, last):
    """Set limits in the middle of an interval; return the largest, and the longest travel."""
    limits = space.limits
    for group in groups.searched:
        limits[group] = 0.0
    for joint in range(len(view.joint_table)):
        c = view.joint_table[joint, 2]
        v, a = path.velocities[c], path.decelerations[c]
        if v == 0.0:
            continue
        half = braked(v, a, path.reaction, middle)
        before = abs(half - braked(v, a, path.reaction, first))
        after = abs(braked(v, a, path.reaction, last) - half)
        step = abs(view.joint_motion[joint, 0]) * max(before, after)
        for group in groups.searched:
            limits[group] += groups.weights[joint, group] * step
    widest, longest = -np.inf, 0.0
    for group in groups.searched:
        longest = max(longest, limits[group])
        limits[group] += groups.warn[group] + groups.reserve
        widest = max(widest, limits[group])
    return widest, longest


@part_kernel
def _set_current(view, velocities, space, count):
    """Set distance and rate of the pairs that are near now."""
    near, values, rows = space.near, space.values, space.rows
    for item in range(count):
        row = near[item, 2]
        if values[item, 0] < rows[row, DISTANCE]:
            rows[row, DISTANCE] = rows[row, LEAST] = values[item, 0]
            rows[row, LEAF_A], rows[row, LEAF_B] = near[item, 0], near[item, 1]
    for item in range(count):
        row = near[item, 2]
        if values[item, 0] <= rows[row, DISTANCE] + NEARLY_NEAREST:
            rate = separation_rate(view, near[item, 0], near[item, 1], velocities)
            rows[row, RATE] = min(rows[row, RATE], rate)


@part_kernel
def _measure_now(view, groups, velocities, space):
    """Set distance and rate of pairs that only come near later."""
    rows = space.rows
    for row in range(space.size[0]):
        if rows[row, DISTANCE] < np.inf:
            continue
        i, j = int(rows[row, LEAF_A]), int(rows[row, LEAF_B])
        measure_links(view, groups.leaf_links[i], groups.leaf_links[j], rows, row)
        i, j = int(rows[row, LEAF_A]), int(rows[row, LEAF_B])
        rows[row, RATE] = separation_rate(view, i, j, velocities)


@kernel
def _is_decided(groups, resolution, space):
    """Whether a pair outside its stop distance comes within it, so that the result is decided."""
    rows = space.rows
    for row in range(space.size[0]):
        stop = groups.stop[int(rows[row, GROUP])]
        if rows[row, SAMPLED] <= stop and rows[row, DISTANCE] > stop + 4.0 * resolution:
            return True
    return False


@kernel
def _sample(view, path, space, count, time):
    """Write distances of the first ``count`` leaf pairs at ``time`` to column 1 of the values."""
    for column in range(len(path.q)):
        way = braked(path.velocities[column], path.decelerations[column], path.reaction, time)
        path.there[column] = path.q[column] + way
    forward_kinematics(view, path.there)
    place_leaves(view, view.moving_leaves)
    near, values, rows = space.near, space.values, space.rows
    for item in range(count):
        distance = capsule_distance(view.ends, view.radii, near[item, 0], near[item, 1])
        values[item, 1] = distance
        row = near[item, 2]
        rows[row, SAMPLED] = min(rows[row, SAMPLED], distance)


@part_kernel
def _select_undecided(groups, resolution, space, count):
    """Move leaf pairs to the front that may come nearer than the known bounds; return their number.

    ``space.limits`` are those of the interval that was sampled in its middle. The bounds of the
    other pairs are final.
    """
    near, values, rows = space.near, space.values, space.rows
    kept = 0
    for item in range(count):
        row = near[item, 2]
        group = int(rows[row, GROUP])
        enough = groups.warn[group] + groups.reserve
        bound = values[item, 1] - (space.limits[group] - enough)
        if bound >= min(rows[row, SAMPLED] - resolution, enough):
            rows[row, LEAST] = min(rows[row, LEAST], bound)
            continue
        for column in range(3):
            near[item, column], near[kept, column] = near[kept, column], near[item, column]
        for column in range(2):
            values[item, column], values[kept, column] = values[kept, column], values[item, column]
        kept += 1
    return kept


@part_kernel
def _use_bounds(groups, space, count):
    """Use the bounds of ``count`` leaf pairs in the interval, however low they are."""
    for item in range(count):
        row = space.near[item, 2]
        group = int(space.rows[row, GROUP])
        travel = space.limits[group] - groups.warn[group] - groups.reserve
        space.rows[row, LEAST] = min(space.rows[row, LEAST], space.values[item, 1] - travel)


@kernel
def _search(view, groups, path, space, start, end, count, resolution, most, gives_up):
    """Bound LEAST from ``start`` to ``end`` for the first ``count`` leaf pairs.

    Returns (configurations queried, at most ``most``; whether each bound is within ``resolution``
    or irrelevant). With ``gives_up`` it ends as soon as that is impossible, and LEAST is invalid.
    """
    starts, ends = np.empty(_DEPTH), np.empty(_DEPTH)
    counts = np.empty(_DEPTH, np.int64)  # number of leading leaf pairs of each interval
    starts[0], ends[0], counts[0] = start, end, count
    waiting, tests, is_fine = 1, 0, True
    while waiting > 0:
        waiting -= 1
        first, last, count = starts[waiting], ends[waiting], counts[waiting]
        middle = 0.5 * (first + last)
        _limits_between(view, groups, path, space, first, middle, last)
        _sample(view, path, space, count, middle)
        tests += 1
        kept = _select_undecided(groups, resolution, space, count)
        if kept == 0:
            continue
        if tests + waiting + 2 <= most and waiting + 2 <= _DEPTH:
            # From the end of the path backwards: a robot is usually nearest there.
            starts[waiting], ends[waiting], counts[waiting] = first, middle, kept
            starts[waiting + 1], ends[waiting + 1], counts[waiting + 1] = middle, last, kept
            waiting += 2
            continue
        if gives_up:
            return tests, False
        is_fine = False
        _use_bounds(groups, space, kept)
    return tests, is_fine


@kernel
def _search_coarser(view, groups, path, space, start, end, count, resolution, most):
    """Like `_search`, as fine as ``most`` configurations allow; return the number of queries."""
    rows = space.rows
    before = space.least
    for row in range(space.size[0]):
        before[row] = rows[row, LEAST]
    tests = 0
    for attempt in range(_ATTEMPTS):
        if _is_decided(groups, resolution, space):
            break
        for row in range(space.size[0]):
            rows[row, LEAST] = before[row]
        more, is_fine = _search(
            view, groups, path, space, start, end, count, resolution * _COARSER**attempt, most,
            attempt + 1 < _ATTEMPTS,
        )  # fmt: skip
        tests += more
        if is_fine:
            break
    return tests


@part_kernel
def _search_pieces(view, groups, path, space, resolution, most):
    """Search the path in short pieces; return the configurations queried, or no room.

    0 if that would take more than `_MAX_QUERIES`.
    """
    starts, ends = np.empty(_DEPTH), np.empty(_DEPTH)
    starts[0], ends[0] = 0.0, path.end
    waiting, tests = 1, 0
    while waiting > 0:
        waiting -= 1
        first, last = starts[waiting], ends[waiting]
        middle = 0.5 * (first + last)
        widest, longest = _limits_between(view, groups, path, space, first, middle, last)
        if longest > _MAX_TRAVEL and waiting + 2 <= _DEPTH:
            starts[waiting], ends[waiting] = first, middle
            starts[waiting + 1], ends[waiting + 1] = middle, last
            waiting += 2
            continue
        _place(view, path, middle)
        count = _near_now(view, groups, space, widest)
        if count < 0:
            return count
        tests += 1
        if count > 0:
            _sample(view, path, space, count, last)
            tests += 1 + _search_coarser(
                view, groups, path, space, first, last, count, resolution, most
            )
        if _is_decided(groups, resolution, space):
            break
        if tests > _MAX_QUERIES:
            return 0
    return tests


@part_kernel
def _look(view, groups, path, velocities, space, widest, resolution, most):
    """Fill the rows; return configurations queried; below 0: no room; 0: the path is too long."""
    rows = space.rows
    longest = 0.0
    space.limits[:] = groups.totals
    for group in groups.searched:
        longest = max(longest, groups.totals[group] - groups.warn[group] - groups.reserve)
    is_short = longest <= _MAX_TRAVEL or most == 0
    _place(view, path, 0.0)
    count = _near_now(view, groups, space, widest if is_short else _limits_now(groups, space))
    if count < 0:
        return count
    _set_current(view, velocities, space, count)
    if path.end <= 0.0:
        return 1
    if most == 0:
        for row in range(space.size[0]):
            rows[row, LEAST] = rows[row, DISTANCE] - rows[row, TRAVEL]
        return 1
    if is_short:
        tests = 0
        if count > 0:
            _sample(view, path, space, count, path.end)
            tests = 1 + _search_coarser(
                view, groups, path, space, 0.0, path.end, count, resolution, most
            )
    else:
        tests = _search_pieces(view, groups, path, space, resolution, most)
        if tests <= 0:
            return tests
        forward_kinematics(view, path.q)
        place_leaves(view, view.moving_leaves)
        _measure_now(view, groups, velocities, space)
    settled = _is_decided(groups, resolution, space)
    for row in range(space.size[0]):
        if settled:
            rows[row, LEAST] = rows[row, SAMPLED]
        group = int(rows[row, GROUP])
        # For intervals without the pair this is the best bound.
        least = min(rows[row, LEAST], groups.warn[group] + groups.reserve)
        # One bound from now on may be better than those of the pieces.
        least = max(least, rows[row, DISTANCE] - rows[row, TRAVEL])
        rows[row, LEAST] = min(least, min(rows[row, SAMPLED], rows[row, DISTANCE]))
    return tests + 1


@kernel
def outlook(
    numbers, index, leaf_links, pair_table, class_table, chosen, searched, weights, class_stop,
    class_warn, reserve, totals, widest, q, velocities, path, decelerations, reaction, resolution,
    most, size, slots, near, values, rows, limits, least, there,
):  # fmt: skip
    """Return the number of configurations queried; -1: ``rows`` is full, -k: ``near`` needs k.

    Writes ``size[0]`` rows, one for each pair of links that is nearer than its warning distance
    plus ``reserve``, or may come as near while braking: its distance now (m), the rate at which it
    grows at ``velocities`` (m/s), and LEAST, a lower bound on its distance while braking from
    ``path`` (velocities; zeros for no look-ahead). LEAST is at most ``resolution`` metres too low
    if ``most`` configurations for each piece are enough, and at most the warning distance plus
    ``reserve``. With ``most`` of 0, or if the path is too long, it is the current distance less the
    maximum travel. Once a pair comes within its stop distance the others are not refined, and LEAST
    is the lowest distance so far.

    ``chosen`` (k, 2): links of the only pairs that are searched, moving links first; none: all.
    ``searched``: numbers of their classes; without chosen pairs, ``totals`` of the others are below
    0, so that they are not near.
    ``totals`` and ``widest`` as in `braking.braking_limits`. All values are finite. Work space:
    ``slots`` (pairs,) of -1, ``near`` (k, 3), ``values`` (k, 2), ``limits`` (classes,), ``least``
    (rows,), ``there`` (nq,).
    """
    view = unpack(numbers, index)
    groups = PairGroups(
        leaf_links, pair_table, class_table, chosen, searched, weights, class_stop, class_warn,
        reserve, totals,
    )  # fmt: skip
    end = braking_time(path, decelerations, reaction)
    braking = Path(q, path, decelerations, reaction, end, there)
    space = PathSpace(size, slots, near, values, rows, limits, least)
    for _ in range(2):
        size[0] = 0
        tests = _look(view, groups, braking, velocities, space, widest, resolution, most)
        for row in range(size[0]):
            slots[int(rows[row, PAIR])] = -1
        if tests != 0:
            break
        most = 0
    return tests
