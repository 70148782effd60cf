# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How near links come while all joints brake (`braking`), certified between samples.

Joints move one way only while they brake. So between two instants a pair of links comes no
nearer than its distance at an instant between them less the way that both can go from there
(Schwarzer, Saha, Latombe, IEEE Trans. Robotics 21(3), 2005): intervals in which that says too
little are halved. The tree is asked once for a piece of the path that is not long; a half of an
interval is about those leaf pairs that the whole of it could not rule out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.continuous.braking import braked, braking_time, point_speed
from collision_monitor.geometry.segments import capsule_distance, capsule_witness, surely_farther
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import move, near_leaves

# Columns of ``rows``: one row a pair of links.
PAIR, GROUP, DISTANCE, RATE, LEAST, TRAVEL, SAMPLED, LEAF_A, LEAF_B = range(9)
COLUMNS = 9
# Leaf pairs within so many metres of the nearest have a say in whether two links part.
_ABREAST = 0.001
_DEPTH = 64
# Intervals in which links go farther than so many metres are halved without a look.
_LONG = 0.12
# A search that takes too long begins again, so many times as coarse.
_ATTEMPTS, _COARSER = 3, 6.0
# Configurations at most on a path of many pieces; beyond, only the length of the path counts.
_MOST_IN_PIECES = 4000


class Path(NamedTuple):
    """Where and how fast the joints are, how they brake, and when they stand."""

    q: np.ndarray
    velocities: np.ndarray
    decelerations: np.ndarray
    reaction: float
    end: float
    there: np.ndarray  # work space (nq,)
    steps: np.ndarray  # work space (joints,)


class Groups(NamedTuple):
    """Pairs of links and their classes; see `braking`."""

    leaf_links: np.ndarray
    pair_table: np.ndarray  # as in `near`
    class_table: np.ndarray  # the same with classes instead of pairs
    weights: np.ndarray
    stop: np.ndarray
    warn: np.ndarray
    reserve: float
    totals: np.ndarray  # limits of the whole path, as of `braking.braking_limits`


class Space(NamedTuple):
    """Arrays that are written."""

    size: np.ndarray  # (1,) rows so far
    slots: np.ndarray  # (pairs,) row of a pair, -1 without one
    found: np.ndarray  # (k, 3) leaf, leaf, class, then row
    values: np.ndarray  # (k, 2) distance, and nothing
    rows: np.ndarray
    limits: np.ndarray  # (classes,)
    least: np.ndarray  # (rows,)


@kernel
def _place(view, path, time):
    """Put all links where they are ``time`` seconds from now."""
    for k in range(len(path.q)):
        way = 0.0
        if time > 0.0:
            way = braked(path.velocities[k], path.decelerations[k], path.reaction, time)
        path.there[k] = path.q[k] + way
    move(view, path.there)


@kernel
def _near_now(view, groups, space, widest):
    """Leaf pairs nearer than ``space.limits``, with a row for each pair of links; -1: no room."""
    found, values, rows = space.found, space.values, space.rows
    count = near_leaves(
        view, groups.leaf_links, groups.class_table, space.limits, widest, found, values
    )
    if count > len(found):
        return -count
    for k in range(count):
        i, j, group = found[k, 0], found[k, 1], found[k, 2]
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
        found[k, 2] = row
        rows[row, SAMPLED] = min(rows[row, SAMPLED], values[k, 0])
    return count


@kernel
def _limits_now(groups, space):
    """How near a pair matters without any motion; the largest."""
    widest = -np.inf
    for group in range(len(space.limits)):
        space.limits[group] = groups.warn[group] + groups.reserve
        widest = max(widest, space.limits[group])
    return widest


@kernel
def _limits_between(view, groups, path, space, first, middle, last):
    """How near a pair matters in the middle of an interval; the largest, and the longest way."""
    for k in range(len(path.steps)):
        c = view.joint_table[k, 2]
        v, a = path.velocities[c], path.decelerations[c]
        path.steps[k] = 0.0
        if v != 0.0:
            half = braked(v, a, path.reaction, middle)
            before = abs(half - braked(v, a, path.reaction, first))
            after = abs(braked(v, a, path.reaction, last) - half)
            path.steps[k] = abs(view.joint_motion[k, 0]) * max(before, after)
    widest, longest = -np.inf, 0.0
    for group in range(len(space.limits)):
        travel = 0.0
        for k in range(len(path.steps)):
            travel += groups.weights[k, group] * path.steps[k]
        space.limits[group] = groups.warn[group] + groups.reserve + travel
        widest = max(widest, space.limits[group])
        longest = max(longest, travel)
    return widest, longest


@small_kernel
def _rate(view, i, j, velocities):
    """Rate at which two leaves part, m/s."""
    _, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
    rate = point_speed(view, j, bx, by, bz, nx, ny, nz, velocities)
    return rate - point_speed(view, i, ax, ay, az, nx, ny, nz, velocities)


@kernel
def _take_now(view, velocities, space, count):
    """Distance now and rate of the pairs that are near now."""
    found, values, rows = space.found, space.values, space.rows
    for k in range(count):
        row = found[k, 2]
        if values[k, 0] < rows[row, DISTANCE]:
            rows[row, DISTANCE] = rows[row, LEAST] = values[k, 0]
            rows[row, LEAF_A], rows[row, LEAF_B] = found[k, 0], found[k, 1]
    for k in range(count):
        row = found[k, 2]
        if values[k, 0] <= rows[row, DISTANCE] + _ABREAST:
            rate = _rate(view, found[k, 0], found[k, 1], velocities)
            rows[row, RATE] = min(rows[row, RATE], rate)


@kernel
def _measure_now(view, groups, velocities, space):
    """The same of pairs that come near only later."""
    rows = space.rows
    for row in range(space.size[0]):
        if rows[row, DISTANCE] < np.inf:
            continue
        a = groups.leaf_links[int(rows[row, LEAF_A])]
        b = groups.leaf_links[int(rows[row, LEAF_B])]
        for i in range(view.links[a, 0], view.links[a, 1]):
            for j in range(view.links[b, 0], view.links[b, 1]):
                if surely_farther(view.ends, view.radii, i, j, rows[row, DISTANCE]):
                    continue
                distance = capsule_distance(view.ends, view.radii, i, j)
                if distance < rows[row, DISTANCE]:
                    rows[row, DISTANCE] = distance
                    rows[row, LEAF_A], rows[row, LEAF_B] = i, j
        i, j = int(rows[row, LEAF_A]), int(rows[row, LEAF_B])
        rows[row, RATE] = _rate(view, i, j, velocities)


@kernel
def _is_settled(groups, resolution, space):
    """Whether some pair that is apart now comes within its stop distance, so that all is said."""
    rows = space.rows
    for row in range(space.size[0]):
        stop = groups.stop[int(rows[row, GROUP])]
        if rows[row, SAMPLED] <= stop and rows[row, DISTANCE] > stop + 4.0 * resolution:
            return True
    return False


@kernel
def _sample(view, path, space, count, time):
    """Distances of the first ``count`` leaf pairs at ``time``, into the second column of values."""
    for k in range(len(path.q)):
        way = braked(path.velocities[k], path.decelerations[k], path.reaction, time)
        path.there[k] = path.q[k] + way
    forward_kinematics(view, path.there)
    place_leaves(view, view.moving_leaves)
    found, values, rows = space.found, space.values, space.rows
    for k in range(count):
        distance = capsule_distance(view.ends, view.radii, found[k, 0], found[k, 1])
        values[k, 1] = distance
        row = found[k, 2]
        rows[row, SAMPLED] = min(rows[row, SAMPLED], distance)


@kernel
def _bring_forward(groups, resolution, space, count):
    """Put first those of ``count`` leaf pairs that may come nearer than is known; how many.

    ``space.limits`` are those of the interval in whose middle they were sampled. The bounds of the
    others count.
    """
    found, values, rows = space.found, space.values, space.rows
    kept = 0
    for k in range(count):
        row = found[k, 2]
        group = int(rows[row, GROUP])
        enough = groups.warn[group] + groups.reserve
        bound = values[k, 1] - (space.limits[group] - enough)
        if bound >= min(rows[row, SAMPLED] - resolution, enough):
            rows[row, LEAST] = min(rows[row, LEAST], bound)
            continue
        for column in range(3):
            found[k, column], found[kept, column] = found[kept, column], found[k, column]
        for column in range(2):
            values[k, column], values[kept, column] = values[kept, column], values[k, column]
        kept += 1
    return kept


@kernel
def _take_bounds(groups, space, count):
    """The bounds of ``count`` leaf pairs in the interval count, however low they are."""
    for k in range(count):
        row = space.found[k, 2]
        group = int(space.rows[row, GROUP])
        travel = space.limits[group] - groups.warn[group] - groups.reserve
        space.rows[row, LEAST] = min(space.rows[row, LEAST], space.values[k, 1] - travel)


@kernel
def _search(view, groups, path, space, start, end, count, resolution, most, gives_up):
    """Bound LEAST from ``start`` to ``end`` for the first ``count`` leaf pairs.

    (configurations looked at, at most ``most``; whether each bound is within ``resolution`` or
    does not matter). With ``gives_up`` it ends where that cannot be, and LEAST is of no use.
    """
    starts, ends = np.empty(_DEPTH), np.empty(_DEPTH)
    counts = np.empty(_DEPTH, np.int64)  # leaf pairs that an interval is about: the first so many
    starts[0], ends[0], counts[0] = start, end, count
    waiting, tests, is_fine = 1, 0, True
    while waiting > 0:
        waiting -= 1
        first, last, count = starts[waiting], ends[waiting], counts[waiting]
        middle = 0.5 * (first + last)
        _limits_between(view, groups, path, space, first, middle, last)
        _sample(view, path, space, count, middle)
        tests += 1
        kept = _bring_forward(groups, resolution, space, count)
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
        _take_bounds(groups, space, kept)
    return tests, is_fine


@kernel
def _search_coarser(view, groups, path, space, start, end, count, resolution, most):
    """As `_search`, as finely as ``most`` configurations allow; how many were looked at."""
    rows = space.rows
    before = space.least
    for row in range(space.size[0]):
        before[row] = rows[row, LEAST]
    tests = 0
    for attempt in range(_ATTEMPTS):
        if _is_settled(groups, resolution, space):
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


@kernel
def _search_pieces(view, groups, path, space, resolution, most):
    """The whole path in pieces that are not long; configurations looked at, or no room.

    0 where that would be more than `_MOST_IN_PIECES`.
    """
    starts, ends = np.empty(_DEPTH), np.empty(_DEPTH)
    starts[0], ends[0] = 0.0, path.end
    waiting, tests = 1, 0
    while waiting > 0:
        waiting -= 1
        first, last = starts[waiting], ends[waiting]
        middle = 0.5 * (first + last)
        widest, longest = _limits_between(view, groups, path, space, first, middle, last)
        if longest > _LONG and waiting + 2 <= _DEPTH:
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
        if _is_settled(groups, resolution, space):
            break
        if tests > _MOST_IN_PIECES:
            return 0
    return tests


@kernel
def _look(view, groups, path, velocities, space, widest, resolution, most):
    """Fill the rows; configurations looked at, less than 0: no room, 0: too long a path."""
    rows = space.rows
    longest = 0.0
    for group in range(len(groups.totals)):
        space.limits[group] = groups.totals[group]
        longest = max(longest, groups.totals[group] - groups.warn[group] - groups.reserve)
    is_short = longest <= _LONG or most == 0
    _place(view, path, 0.0)
    count = _near_now(view, groups, space, widest if is_short else _limits_now(groups, space))
    if count < 0:
        return count
    _take_now(view, velocities, space, count)
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
    settled = _is_settled(groups, resolution, space)
    for row in range(space.size[0]):
        if settled:
            rows[row, LEAST] = rows[row, SAMPLED]
        group = int(rows[row, GROUP])
        # Intervals in which a pair was not found say no more than this of it.
        least = min(rows[row, LEAST], groups.warn[group] + groups.reserve)
        # One bound from now on may be better than what pieces say.
        least = max(least, rows[row, DISTANCE] - rows[row, TRAVEL])
        rows[row, LEAST] = min(least, min(rows[row, SAMPLED], rows[row, DISTANCE]))
    return tests + 1


@kernel
def outlook(
    numbers, index, leaf_links, pair_table, class_table, weights, class_stop, class_warn, reserve,
    totals, widest, q, velocities, path, decelerations, reaction, resolution, most, size, slots,
    found, values, rows, limits, least, there, steps,
):  # fmt: skip
    """Configurations looked at; -1: ``rows`` has no room, -k: ``found`` has no room for k.

    Writes ``size[0]`` rows, one for each pair of links that is nearer than its warning distance
    and ``reserve``, or may come as near while braking: its distance now, the rate at which it
    grows at ``velocities``, and a bound from below on its distance while braking from ``path``
    (velocities; zeros for no look ahead), at most ``resolution`` metres off if ``most``
    configurations a piece are enough for that, and no more than the warning distance and
    ``reserve`` where a pair stays beyond them. With ``most`` of 0, and on a path that is too long
    to be searched, it is the distance now less the farthest that the pair can go. Where a pair
    comes within its stop distance others are not searched any further, and LEAST is the least
    distance so far.

    ``totals`` and ``widest`` as of `braking.braking_limits`. All is finite. Work space: ``slots``
    (pairs,) of -1, ``found`` (k, 3), ``values`` (k, 2), ``limits`` (classes,), ``least`` (one a
    row), ``there`` (nq,), ``steps`` (joints,).
    """
    view = unpack(numbers, index)
    groups = Groups(
        leaf_links, pair_table, class_table, weights, class_stop, class_warn, reserve, totals
    )
    end = braking_time(path, decelerations, reaction)
    way = Path(q, path, decelerations, reaction, end, there, steps)
    space = Space(size, slots, found, values, rows, limits, least)
    for _ in range(2):
        size[0] = 0
        tests = _look(view, groups, way, velocities, space, widest, resolution, most)
        for row in range(size[0]):
            slots[int(rows[row, PAIR])] = -1
        if tests != 0:
            break
        most = 0
    return tests
