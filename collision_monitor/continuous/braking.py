# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Braking joints: their path, how near links can come on it, and the time to collision.

Every joint keeps its velocity for a reaction time and then slows down at a constant deceleration
of its own until it stops.

Pairs of links with equal weights form a class: in a large scene there are few. ``weights``
(joints, classes) is how far two links come nearer at most for a unit of a joint, and 0 for
joints that carry both or neither (`model.reach`); ``class_warn`` (classes,) their warning distance.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.hierarchy.aabb_tree import nearest_leaves
from collision_monitor.hierarchy.kinematics import forward_kinematics, point_rate
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import move


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
def braking_path(q, velocities, decelerations, reaction, path):
    """Write configurations of joints that brake into ``path`` (count, nq), evenly spaced in time.

    The first is ``q`` (nq,), the last the one in which every joint stands.
    """
    end = braking_time(velocities, decelerations, reaction)
    for row in range(len(path)):
        seconds = end * row / (len(path) - 1)
        for k in range(len(q)):
            path[row, k] = q[k] + braked(velocities[k], decelerations[k], reaction, seconds)


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


@small_kernel
def parting_rate(numbers, index, q, velocities, i, j, ax, ay, az, bx, by, bz, nx, ny, nz):
    """Rate at which the distance of points a and b of the links of leaves i and j grows, m/s."""
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    speed = point_speed(view, j, bx, by, bz, nx, ny, nz, velocities)
    return speed - point_speed(view, i, ax, ay, az, nx, ny, nz, velocities)


# -- bounds on the distance of two links along a path, from distances at some configurations --
#
# A distance that was measured at a configuration holds at any other one, less the travel of both
# links between them (Schwarzer, Saha, Latombe, IEEE Trans. Robotics 21(3), 2005). The first one
# need not be on the path. ``weights`` (nq,) is how far two links come nearer at most for a unit of
# a joint.


@kernel
def travel_between(weights, a, b):
    """How far two links come nearer at most between two configurations (nq,), metres."""
    travel = 0.0
    for k in range(len(weights)):
        travel += weights[k] * abs(a[k] - b[k])
    return travel


@kernel
def raise_bounds(path, joints, weights, place, distance, enough, bounds):
    """Raise ``bounds`` (n,) on the distance in the intervals of ``path`` (2 n + 1, nq).

    Every other row is the middle of an interval. ``distance`` was measured at ``place`` (nq,).
    Each joint is monotone on the path, so that it is farthest from there at an end of an interval.
    ``joints``: the indices of all weights that are not 0. Bounds of at least ``enough`` stay as
    they are. Returns the least bound.
    """
    least = np.inf
    for i in range(len(bounds)):
        if bounds[i] < enough:
            travel = 0.0
            for k in joints:
                before, after = path[2 * i, k] - place[k], path[2 * i + 2, k] - place[k]
                travel += weights[k] * max(abs(before), abs(after))
            bounds[i] = max(bounds[i], distance - travel)
        least = min(least, bounds[i])
    return least


@kernel
def bounds_of_pairs(path, weights, now, enough, slots, places, distances, counts, bounds):
    """Write ``bounds`` (pairs, n): all that is known of the intervals of ``path``.

    ``weights`` (pairs, nq); ``now`` (pairs,) at the first row of the path; pair k was measured at
    ``places[slots[k]]`` (m, nq) with ``distances[slots[k]]`` (m,): the last ``counts[slots[k]]``
    times, one after another and round again.
    """
    for k in range(len(now)):
        bounds[k] = -np.inf
        slot, kept = slots[k], distances.shape[1]
        joints = np.flatnonzero(weights[k])
        least = raise_bounds(path, joints, weights[k], path[0], now[k], enough[k], bounds[k])
        for m in range(min(counts[slot], kept)):
            if least >= enough[k]:
                break
            last = (counts[slot] - 1 - m) % kept
            least = raise_bounds(
                path, joints, weights[k], places[slot, last], distances[slot, last], enough[k],
                bounds[k],
            )  # fmt: skip


@kernel
def lowest_interval(path, weights, places, distances, bounds, gain):
    """(interval with the lowest bound, whether measuring in its middle may raise it by ``gain``).

    The pair was measured at ``places`` (m, nq), with ``distances`` (m,), inf where it was not: how
    far it can be apart in the middle is known.
    """
    interval = np.argmin(bounds)
    first, middle, last = path[2 * interval], path[2 * interval + 1], path[2 * interval + 2]
    half = max(travel_between(weights, first, middle), travel_between(weights, middle, last))
    for k in range(len(distances)):
        if distances[k] - half <= bounds[interval] + gain:
            most = distances[k] + travel_between(weights, places[k], middle)
            if most - half <= bounds[interval] + gain:
                return interval, False
    return interval, True


# -- time to collision, by conservative advancement --


@kernel
def collision_time(numbers, index, q, velocities, speed, horizon, tolerance, budget, there):
    """Seconds until the nearest leaves are within ``tolerance`` metres; inf beyond ``horizon``.

    Never too long: no two links come nearer by more than ``speed`` m/s, so that much time passes
    untested; where ``budget`` tests do not reach as far, it is how far they reach. ``there``
    (nq,) is work space.
    """
    view = unpack(numbers, index)
    time = 0.0
    for _ in range(budget):
        for k in range(len(q)):
            there[k] = q[k] + time * velocities[k]
        move(view, there)
        distance, i, _ = nearest_leaves(view)
        if i < 0:
            return np.inf
        if distance <= tolerance:
            return time
        time += distance / speed
        if time >= horizon:
            return np.inf
    return time
