# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How near links come while all joints brake, each with a deceleration of its own.

Every joint goes on at its velocity for a reaction time and then slows down evenly to a stand,
so it moves one way only. Between two instants a pair of links comes no nearer than its distance at
an instant between them less the way that both can go from there (Schwarzer, Saha, Latombe, IEEE
Trans. Robotics 21(3), 2005): intervals in which that says too little are halved.

Pairs of links whose ways are alike are of one class: with a large scene there are few. ``weights``
(joints, classes) is how far two links come nearer at most for a unit of a joint, and 0 for
joints that carry both or neither (`robot.reach`); ``class_warn`` (classes,) their warning distance.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.kernels.jit import kernel
from collision_monitor.kernels.kinematics import forward_kinematics, place_leaves, point_rate
from collision_monitor.kernels.near import near_leaves
from collision_monitor.kernels.packed import unpack
from collision_monitor.kernels.query import move
from collision_monitor.kernels.segments import capsule_distance, capsule_witness

# Columns of ``rows``: one row a pair of links.
PAIR, GROUP, DISTANCE, RATE, LEAST, TRAVEL, SAMPLED, PIECE, LEAF_A, LEAF_B = range(10)
COLUMNS = 10
# Leaf pairs within so many metres of the nearest have a say in whether two links part.
_ABREAST = 0.001
_DEPTH = 64
# A search that takes too long begins again, so many times as coarse.
_ATTEMPTS, _COARSER = 3, 6.0


@kernel
def braked(velocity, deceleration, reaction, time):
    """Way of a joint after ``time`` seconds, rad or m, with the sign of its velocity."""
    if time <= reaction:
        return velocity * time
    braking = min(time - reaction, abs(velocity) / deceleration)
    way = velocity * (reaction + braking)
    return way - math.copysign(0.5 * deceleration * braking * braking, velocity)


@kernel
def braking_time(velocities, decelerations, reaction):
    """Seconds until every joint stands."""
    longest = 0.0
    for k in range(len(velocities)):
        longest = max(longest, abs(velocities[k]) / decelerations[k])
    return reaction + longest if longest > 0.0 else 0.0


@kernel
def braking_limits(
    weights, columns, gains, velocities, decelerations, reaction, class_warn, reserve, limits
):
    """Farthest that a pair may be now and still matter while all joints brake, metres.

    A pair matters if it comes within its warning distance and ``reserve``: how far it may be apart
    for that is written into ``limits`` (classes,). Joint k of the kernels follows ``columns[k]``
    of q by ``gains[k]``.
    """
    for group in range(len(limits)):
        limits[group] = class_warn[group] + reserve
    for k in range(len(columns)):
        v = velocities[columns[k]]
        if v == 0.0:
            continue
        step = abs(gains[k] * braked(v, decelerations[columns[k]], reaction, np.inf))
        for group in range(len(limits)):
            limits[group] += weights[k, group] * step
    widest = -np.inf
    for group in range(len(limits)):
        widest = max(widest, limits[group])
    return widest


@kernel
def fastest_approach(weights, columns, gains, velocities):
    """How fast any two links can come nearer at these velocities, m/s."""
    fastest = 0.0
    for group in range(weights.shape[1]):
        speed = 0.0
        for k in range(len(columns)):
            speed += weights[k, group] * abs(gains[k] * velocities[columns[k]])
        fastest = max(fastest, speed)
    return fastest


@kernel
def point_speed(view, leaf, x, y, z, nx, ny, nz, velocities):
    """Speed n . dp/dt of the point p = (x, y, z) of a leaf's body."""
    total = 0.0
    body = view.leaf_bodies[leaf, 0]
    while body > 0:
        k = body - 1
        v = view.joint_motion[k, 0] * velocities[view.joint_table[k, 2]]
        if v != 0.0:
            total += v * point_rate(view, k, x, y, z, nx, ny, nz)
        body = view.joint_table[k, 0]
    return total


@kernel
def parting_rate(numbers, index, q, velocities, i, j, ax, ay, az, bx, by, bz, nx, ny, nz):
    """Rate at which the distance of points a and b of the links of leaves i and j grows, m/s."""
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    speed = point_speed(view, j, bx, by, bz, nx, ny, nz, velocities)
    return speed - point_speed(view, i, ax, ay, az, nx, ny, nz, velocities)


@kernel
def _move_along(view, q, velocities, decelerations, reaction, time, there):
    """Place all leaves where they are ``time`` seconds from now."""
    for k in range(len(q)):
        way = braked(velocities[k], decelerations[k], reaction, time) if time > 0.0 else 0.0
        there[k] = q[k] + way
    forward_kinematics(view, there)
    place_leaves(view, view.moving_leaves)


@kernel
def _joint_steps(view, velocities, decelerations, reaction, start, end, steps):
    """How far each joint goes between two instants."""
    for k in range(len(steps)):
        c = view.joint_table[k, 2]
        v, a = velocities[c], decelerations[c]
        way = braked(v, a, reaction, end) - braked(v, a, reaction, start)
        steps[k] = abs(view.joint_motion[k, 0] * way)


@kernel
def _gather(
    leaf_links, pair_table, class_warn, reserve, limits, found, values, count, slots, rows
):
    """One row for each pair of links among the leaf pairs; how many rows, -1 if more than fit.

    ``found`` (k, 3) is leaf, leaf, class, and becomes leaf, leaf, row.
    """
    size = 0
    for k in range(count):
        i, j, group = found[k, 0], found[k, 1], found[k, 2]
        pair = pair_table[leaf_links[i], leaf_links[j]]
        row = slots[pair]
        if row < 0:
            if size == len(rows):
                for written in range(size):
                    slots[int(rows[written, PAIR])] = -1
                return -1
            row = size
            size += 1
            slots[pair] = row
            rows[row, PAIR], rows[row, GROUP] = pair, group
            rows[row, DISTANCE], rows[row, RATE] = np.inf, np.inf
            rows[row, TRAVEL] = limits[group] - class_warn[group] - reserve
        if values[k, 0] < rows[row, DISTANCE]:
            rows[row, DISTANCE], rows[row, LEAF_A], rows[row, LEAF_B] = values[k, 0], i, j
        found[k, 2] = row
    for row in range(size):
        slots[int(rows[row, PAIR])] = -1
        rows[row, SAMPLED] = rows[row, DISTANCE]
        rows[row, LEAST] = rows[row, DISTANCE]
    return size


@kernel
def _rates(view, velocities, found, values, count, rows):
    """Least rate at which leaf pairs part that are as near as the nearest of their links."""
    for k in range(count):
        i, j, row = found[k, 0], found[k, 1], found[k, 2]
        if values[k, 0] > rows[row, DISTANCE] + _ABREAST:
            continue
        _, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
        rate = point_speed(view, j, bx, by, bz, nx, ny, nz, velocities)
        rate -= point_speed(view, i, ax, ay, az, nx, ny, nz, velocities)
        rows[row, RATE] = min(rows[row, RATE], rate)


@kernel
def _sample(view, found, values, count, rows):
    """Distances of ``count`` leaf pairs as they are now, into the second column of ``values``."""
    for k in range(count):
        distance = capsule_distance(view.ends, view.radii, found[k, 0], found[k, 1])
        values[k, 1] = distance
        row = found[k, 2]
        rows[row, SAMPLED] = min(rows[row, SAMPLED], distance)


@kernel
def _exchange(found, values, k, m):
    """Two leaf pairs change places."""
    for column in range(3):
        found[k, column], found[m, column] = found[m, column], found[k, column]
    for column in range(2):
        values[k, column], values[m, column] = values[m, column], values[k, column]


@kernel
def _bring_forward(class_warn, reserve, resolution, found, values, count, rows):
    """Put first those of ``count`` leaf pairs that may come nearer than is known; how many.

    ``values`` has their distances at some instant in its second column, ``rows`` how far they go
    from there in PIECE. The bounds of the others count.
    """
    kept = 0
    for k in range(count):
        row = found[k, 2]
        bound = values[k, 1] - rows[row, PIECE]
        enough = class_warn[int(rows[row, GROUP])] + reserve
        if bound < min(rows[row, SAMPLED] - resolution, enough):
            _exchange(found, values, k, kept)
            kept += 1
        else:
            rows[row, LEAST] = min(rows[row, LEAST], bound)
    return kept


@kernel
def _pieces(view, weights, velocities, decelerations, reaction, first, middle, last, rows, size,
            steps):  # fmt: skip
    """PIECE of each row: how far its links go from the middle of an interval to either end."""
    for row in range(size):
        rows[row, PIECE] = 0.0
    for half in range(2):
        if half == 0:
            _joint_steps(view, velocities, decelerations, reaction, first, middle, steps)
        else:
            _joint_steps(view, velocities, decelerations, reaction, middle, last, steps)
        for row in range(size):
            group, travel = int(rows[row, GROUP]), 0.0
            for k in range(len(steps)):
                travel += weights[k, group] * steps[k]
            rows[row, PIECE] = max(rows[row, PIECE], travel)


@kernel
def _search(
    view, weights, class_warn, reserve, q, velocities, decelerations, reaction, end, resolution,
    most, gives_up, found, values, count, rows, size, there, steps,
):  # fmt: skip
    """Bound LEAST of each row from below, looking at no more than ``most`` configurations.

    (configurations looked at, whether each bound is within ``resolution`` or does not matter).
    With ``gives_up`` it ends where that cannot be, and LEAST is of no use.
    """
    starts, ends = np.empty(_DEPTH), np.empty(_DEPTH)
    counts = np.empty(_DEPTH, np.int64)  # leaf pairs that an interval is about: the first so many
    starts[0], ends[0], counts[0] = 0.0, end, count
    waiting, tests, is_fine = 1, 0, True
    while waiting > 0:
        waiting -= 1
        first, last, count = starts[waiting], ends[waiting], counts[waiting]
        middle = 0.5 * (first + last)
        _move_along(view, q, velocities, decelerations, reaction, middle, there)
        _sample(view, found, values, count, rows)
        tests += 1
        _pieces(
            view, weights, velocities, decelerations, reaction, first, middle, last, rows, size,
            steps,
        )  # fmt: skip
        kept = _bring_forward(class_warn, reserve, resolution, found, values, count, rows)
        if kept == 0:
            continue
        if tests + waiting + 2 <= most and waiting + 2 <= _DEPTH:
            # What comes last is looked at first: there a robot is nearest mostly.
            starts[waiting], ends[waiting], counts[waiting] = first, middle, kept
            starts[waiting + 1], ends[waiting + 1], counts[waiting + 1] = middle, last, kept
            waiting += 2
            continue
        is_fine = False
        if gives_up:
            break
        for k in range(kept):
            row = found[k, 2]
            rows[row, LEAST] = min(rows[row, LEAST], values[k, 1] - rows[row, PIECE])
    return tests, is_fine


@kernel
def _is_settled(class_stop, resolution, rows, size):
    """Whether some pair that is apart now comes within its stop distance, so that all is said."""
    for row in range(size):
        stop = class_stop[int(rows[row, GROUP])]
        if rows[row, SAMPLED] <= stop and rows[row, DISTANCE] > stop + 4.0 * resolution:
            return True
    return False


@kernel
def _follow(
    view, weights, class_stop, class_warn, reserve, q, velocities, decelerations, reaction, end,
    resolution, most, found, values, count, rows, size, there, steps,
):  # fmt: skip
    """Bound LEAST of each row; configurations that were looked at.

    As finely as ``resolution`` if ``most`` configurations are enough for it, else more coarsely.
    """
    _move_along(view, q, velocities, decelerations, reaction, end, there)
    _sample(view, found, values, count, rows)
    tests = 1
    for attempt in range(_ATTEMPTS):
        if _is_settled(class_stop, resolution, rows, size):
            for row in range(size):
                rows[row, LEAST] = rows[row, SAMPLED]
            return tests
        for row in range(size):
            rows[row, LEAST] = rows[row, DISTANCE]
        more, is_fine = _search(
            view, weights, class_warn, reserve, q, velocities, decelerations, reaction, end,
            resolution * _COARSER**attempt, most, attempt + 1 < _ATTEMPTS, found, values, count,
            rows, size, there, steps,
        )  # fmt: skip
        tests += more
        if is_fine:
            break
    for row in range(size):  # one bound may be better than what pieces say
        least = max(rows[row, LEAST], rows[row, DISTANCE] - rows[row, TRAVEL])
        rows[row, LEAST] = min(least, rows[row, SAMPLED])
    return tests


@kernel
def outlook(
    numbers, index, leaf_links, pair_table, class_table, weights, class_stop, class_warn,
    reserve, limits, widest, q, velocities, path, decelerations, reaction, resolution, most, slots,
    found, values, rows, there, steps,
):  # fmt: skip
    """(rows written, leaf pairs that there is room needed for, configurations looked at).

    A row for each pair of links that is nearer than its limit: its distance now, the rate at
    which it grows at ``velocities``, and a bound from below on its distance while braking, at most
    ``resolution`` metres off if ``most`` configurations are enough for that. Where a pair comes
    within its stop distance, ``class_stop`` (classes,), others are not looked at any further.
    ``limits`` and ``widest`` as of `braking_limits`. Where there are more leaf pairs than ``found``
    has rows, or more pairs of links than ``rows`` has, the number of rows written is -1.
    ``path``: velocities from which the robot brakes; zeros for no look ahead. All are finite.

    Work space: ``slots`` (pairs,) of -1, ``found`` (k, 3), ``values`` (k, 2), ``there`` (nq,),
    ``steps`` (joints,).
    """
    view = unpack(numbers, index)
    move(view, q)
    count = near_leaves(view, leaf_links, class_table, limits, widest, found, values)
    if count > len(found):
        return -1, count, 0
    size = _gather(
        leaf_links, pair_table, class_warn, reserve, limits, found, values, count, slots, rows
    )
    if size < 0:
        return -1, count, 0
    _rates(view, velocities, found, values, count, rows)
    tests = 1
    end = braking_time(path, decelerations, reaction)
    if end > 0.0 and size > 0:
        tests += _follow(
            view, weights, class_stop, class_warn, reserve, q, path, decelerations, reaction,
            end, resolution, most, found, values, count, rows, size, there, steps,
        )  # fmt: skip
    return size, count, tests
