# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The way of joints that brake, each with a deceleration of its own, and how far it carries links.

Every joint goes on at its velocity for a reaction time and then slows down evenly to a stand.

Pairs of links whose ways are alike are of one class: with a large scene there are few. ``weights``
(joints, classes) is how far two links come nearer at most for a unit of a joint, and 0 for
joints that carry both or neither (`model.reach`); ``class_warn`` (classes,) their warning distance.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.hierarchy.kinematics import forward_kinematics, point_rate
from collision_monitor.hierarchy.packed import unpack


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
