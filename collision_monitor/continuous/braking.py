# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Braking joints: their path, upper bounds of approach, and the time to collision.

Every joint keeps its velocity for a reaction time and then brakes at its own constant deceleration
until it stops.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel, part_kernel, small_kernel
from collision_monitor.hierarchy.aabb_tree import nearest_leaves
from collision_monitor.hierarchy.kinematics import point_rate
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import move


class BrakingPath(NamedTuple):
    """Positions (nq,), velocities and decelerations of the joints, and the reaction time."""

    q: np.ndarray
    velocities: np.ndarray
    decelerations: np.ndarray
    reaction: float


@kernel
def braked(velocity, deceleration, reaction, time):
    """Travel of a joint after ``time`` seconds, rad or m, with the sign of its velocity."""
    if time <= reaction:
        return velocity * time
    braking = min(time - reaction, abs(velocity) / deceleration)
    way = velocity * (reaction + braking)
    return way - math.copysign(0.5 * deceleration * braking * braking, velocity)


@kernel
def braking_time(velocities, decelerations, reaction):
    """Seconds until every joint has stopped."""
    longest = 0.0
    for k in range(len(velocities)):
        longest = max(longest, abs(velocities[k]) / decelerations[k])
    return reaction + longest if longest > 0.0 else 0.0


@kernel
def braking_path(law, path):
    """Write positions of braking joints to ``path`` (nq, m), evenly spaced in time.

    ``law``: a `BrakingPath`. At the last position, every joint of it has stopped.
    """
    end = braking_time(law.velocities, law.decelerations, law.reaction)
    for joint in range(len(path)):
        v, a = law.velocities[joint], law.decelerations[joint]
        for column in range(path.shape[1]):
            time = end * column / (path.shape[1] - 1)
            path[joint, column] = law.q[joint] + braked(v, a, law.reaction, time)


@kernel
def point_speed(view, leaf, x, y, z, nx, ny, nz, velocities):
    """Speed n . dp/dt of the point p = (x, y, z) of a leaf's body, m/s."""
    total = 0.0
    body = view.leaf_bodies[leaf, 0]
    while body > 0:
        k = body - 1
        v = view.joint_motion[k, 0] * velocities[view.joint_table[k, 2]]
        if v != 0.0:
            total += v * point_rate(view, k, x, y, z, nx, ny, nz)
        body = view.joint_table[k, 0]
    return total


# -- lower bounds on the distance of two links along a path, from measured distances --
#
# A distance measured at one configuration is valid at any other one, less the travel of both links
# between them (Schwarzer, Saha, Latombe, IEEE Trans. Robotics 21(3), 2005). The measured
# configuration need not be on the path. Arrays have a row for each joint: ``weights`` (nq,) is the
# maximum approach per unit of the joint, 0 unless it moves the two links relative to each other,
# ``ends`` (nq, n + 1) its positions at the ends of n intervals of the path, and ``places`` (nq, m)
# those where the pair was measured. Inner loops run over intervals or places, so that they are
# vectorised.


@small_kernel
def travels_to(weights, places, begin, end):
    """Maximum approach (m,) of two links from each place to any configuration between two, metres.

    ``begin`` and ``end`` (nq,): each joint is monotone between them, so it is farthest away at one
    of both.
    """
    travels = np.zeros(places.shape[1])
    for k in range(len(weights)):
        if weights[k] != 0.0:
            for m in range(len(travels)):
                one, other = abs(begin[k] - places[k, m]), abs(end[k] - places[k, m])
                travels[m] += weights[k] * max(one, other)
    return travels


@small_kernel
def raise_bounds(ends, weights, place, distance, enough, bounds):
    """Raise ``bounds`` (n,) on the distance in all intervals by that at ``place`` (nq,).

    Bounds of at least ``enough`` are not changed.
    """
    travels = np.zeros(len(bounds))
    for k in range(len(weights)):
        if weights[k] != 0.0:
            for i in range(len(bounds)):
                one, other = abs(ends[k, i] - place[k]), abs(ends[k, i + 1] - place[k])
                travels[i] += weights[k] * max(one, other)
    for i in range(len(bounds)):
        if bounds[i] < enough:
            bounds[i] = max(bounds[i], distance - travels[i])


@kernel
def raise_lowest(ends, weights, places, distances, enough, bounds):
    """Raise ``bounds`` (n,) until no known distance raises the lowest; return its interval.

    ``distances`` (m,) were measured at ``places``. Each step uses the one that raises the lowest
    bound most in all intervals: few of them are needed. Ends as soon as all bounds are at least
    ``enough``.
    """
    while True:
        lowest = np.argmin(bounds)
        best, at = bounds[lowest], -1
        if best >= enough:
            return lowest
        travels = travels_to(weights, places, ends[:, lowest], ends[:, lowest + 1])
        for m in range(len(distances)):
            if distances[m] - travels[m] > best:
                best, at = distances[m] - travels[m], m
        if at < 0:
            return lowest
        raise_bounds(ends, weights, places[:, at], distances[at], enough, bounds)
        bounds[lowest] = max(bounds[lowest], best)  # also if rounding differs: it must rise


@kernel
def bounds_of_pairs(path, weights, now, enough, slots, places, distances, counts, bounds):
    """Write ``bounds`` (pairs, n) of the distance in the intervals of ``path`` (nq, n + 1).

    ``weights`` (pairs, nq); ``now`` (pairs,): distances at its start. Each ``pair`` was measured at
    ``places[slots[pair]]`` with ``distances[slots[pair]]`` (m,), a ring buffer with
    ``counts[slots[pair]]`` entries so far. Of each pair the lowest bound is the best one; others
    may be too low.
    """
    for pair in range(len(now)):
        bounds[pair] = -np.inf
        slot, of_pair = slots[pair], weights[pair]
        raise_bounds(path, of_pair, path[:, 0], now[pair], enough[pair], bounds[pair])
        known = min(counts[slot], distances.shape[1])
        raise_lowest(
            path, of_pair, places[slot, :, :known], distances[slot, :known], enough[pair],
            bounds[pair],
        )  # fmt: skip


@part_kernel
def is_worth_measuring(ends, middle, weights, places, distances, interval, bound):
    """Whether a distance in the ``middle`` (nq,) of an interval may raise its bound above a value.

    ``bound``: this value. The pair was measured at ``places`` with ``distances`` (m,). These give
    an upper bound of the distance in the middle.
    """
    end_travel = 0.0
    for k in range(len(weights)):
        one, other = abs(ends[k, interval] - middle[k]), abs(ends[k, interval + 1] - middle[k])
        end_travel += weights[k] * max(one, other)
    travels = travels_to(weights, places, middle, middle)
    for m in range(len(distances)):
        if distances[m] + travels[m] <= bound + end_travel:
            return False
    return True


# -- time to collision, by conservative advancement --


@kernel
def collision_time(numbers, index, q, velocities, speed, horizon, tolerance, budget, there):
    """Seconds until the nearest leaves are within ``tolerance`` metres; inf beyond ``horizon``.

    Never too long: no two links approach faster than ``speed`` m/s, so the motion is safe for the
    corresponding time. If ``budget`` tests are not enough, the result is the time reached.
    ``there`` (nq,) is work space.
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
