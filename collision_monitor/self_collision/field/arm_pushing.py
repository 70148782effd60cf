# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled: one link of an arm pushed by a distance, by the least joint motion.

An inner link is pushed such that the tip keeps its pose, if the arm can; otherwise freely.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.hierarchy.kinematics import forward_kinematics
from collision_monitor.hierarchy.packed import PRISMATIC, unpack
from collision_monitor.model.collision_model import CollisionModel

# A link that moves less than this per radian of all its joints (m, squared) is at the end of its
# reach in that direction, and cannot be pushed further.
_IMMOVABLE = 1e-8
# Keeping the tip pose may cost at most this many times the joint motion of a free tip: a
# near-singular inverse gives more, which would be a jump.
_HELD_COST = 10.0
_HELD_ERROR = 0.05  # of the push: maximum error and tip motion of a solution with fixed tip
_TURNING = 0.3  # metres per radian of the tip
_LARGEST = math.radians(2.0)  # largest linearised push, rad; metres for prismatic joints
_SINGULAR = 1e-4  # singular values below this fraction of the largest are ignored
_ORTHOGONAL = 1e-30  # squared cosine of two rows that need no rotation
_SWEEPS = 30  # over all pairs of rows; they are orthogonal after five or six


class ArmTables(NamedTuple):
    """An arm for kernels.

    Attributes:
        columns: (k,) columns of q.
        lower, upper: (k,) position limits, radians and metres.
        tip: (3,) its tip in the frame of the body ``tip_body``, metres.
        tip_body: a body of the model.
        may_move: whether the arm may be moved.
    """

    columns: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    tip: np.ndarray
    tip_body: int
    may_move: bool


def arm_tables(
    model: CollisionModel, columns: np.ndarray, tip_link: str, may_move: bool
) -> ArmTables:
    """An arm with the joints ``columns`` (k,) of q and the end link ``tip_link``."""
    lower, upper = (np.ascontiguousarray(limits[columns]) for limits in model.position_limits)
    tip = np.ascontiguousarray(model.bodies.link_poses[tip_link][:3, 3])
    body = model.bodies.link_bodies[tip_link]
    return ArmTables(np.asarray(columns, dtype=np.int64), lower, upper, tip, body, bool(may_move))


@offline_kernel
def add_jacobian(view, body, point, out):
    """Add to ``out`` (6, nq) how the point of ``body`` at ``point`` (3,) moves: velocity, turning.

    Per joint speed, in the base frame, where the last query placed the bodies.
    """
    poses = view.poses
    while body > 0:
        joint = body - 1
        gain, column = view.joint_motion[joint, 0], view.joint_table[joint, 2]
        x, y, z = gain * poses[body, 2], gain * poses[body, 5], gain * poses[body, 8]
        if view.joint_table[joint, 1] == PRISMATIC:
            out[0, column] += x
            out[1, column] += y
            out[2, column] += z
        else:
            px, py, pz = (
                point[0] - poses[body, 9], point[1] - poses[body, 10], point[2] - poses[body, 11]
            )  # fmt: skip
            out[0, column] += y * pz - z * py
            out[1, column] += z * px - x * pz
            out[2, column] += x * py - y * px
            out[3, column] += x
            out[4, column] += y
            out[5, column] += z
        body = view.joint_table[joint, 0]


# -- the least joint motion --


@offline_kernel
def least_push(gradient, amount, q, lower, upper, change):
    """Write the smallest ``change`` (k,) of joints within limits that makes gradient . dq = amount.

    ``q``, ``lower``, ``upper`` (k,): positions and limits. A joint that would leave its limits
    stays at its limit, and the others compensate. The result is too short if no joint can.
    """
    count = len(q)
    free = np.empty(count, dtype=np.bool_)
    for joint in range(count):
        change[joint], free[joint] = 0.0, True
    missing, stopped = amount, True
    while stopped and missing > 0.0:
        slope = 0.0
        for joint in range(count):
            if free[joint]:
                slope += gradient[joint] * gradient[joint]
        if slope <= _IMMOVABLE:
            return
        stopped = False
        for joint in range(count):
            if free[joint]:
                wanted = change[joint] + gradient[joint] * missing / slope
                change[joint] = min(max(wanted, lower[joint] - q[joint]), upper[joint] - q[joint])
                if change[joint] != wanted:
                    free[joint], stopped = False, True
        missing = amount
        for joint in range(count):
            missing -= gradient[joint] * change[joint]


@offline_kernel
def _solve_least(matrix, right, out):
    """Add the least ``out`` (k,) with matrix . out = right, in the sense of least squares.

    ``matrix`` (n, k) and ``right`` (n,) are overwritten: pairs of rows are rotated until all are
    orthogonal (Hestenes, 1958). Their lengths are the singular values then.
    """
    n, count = matrix.shape
    total = 0.0
    for i in range(n):
        for column in range(count):
            total += matrix[i, column] * matrix[i, column]
    nothing = 1e-24 * total  # squared length of a row that is rounding only
    turned, sweep = True, 0
    while turned and sweep < _SWEEPS:
        turned, sweep = False, sweep + 1
        for i in range(n - 1):
            for j in range(i + 1, n):
                a, b, ab = 0.0, 0.0, 0.0
                for column in range(count):
                    a += matrix[i, column] * matrix[i, column]
                    b += matrix[j, column] * matrix[j, column]
                    ab += matrix[i, column] * matrix[j, column]
                if ab * ab <= _ORTHOGONAL * a * b or min(a, b) <= nothing:
                    continue
                turned = True
                half = (b - a) / (2.0 * ab)
                tangent = math.copysign(1.0, half) / (abs(half) + math.sqrt(1.0 + half * half))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                sine = cosine * tangent
                for column in range(count):
                    x, y = matrix[i, column], matrix[j, column]
                    matrix[i, column] = cosine * x - sine * y
                    matrix[j, column] = sine * x + cosine * y
                x, y = right[i], right[j]
                right[i], right[j] = cosine * x - sine * y, sine * x + cosine * y
    squares, largest = np.zeros(n), 0.0
    for i in range(n):
        for column in range(count):
            squares[i] += matrix[i, column] * matrix[i, column]
        largest = max(largest, squares[i])
    for i in range(n):
        if squares[i] > _SINGULAR * _SINGULAR * largest:
            for column in range(count):
                out[column] += matrix[i, column] * (right[i] / squares[i])


@offline_kernel
def held_push(gradient, tip, amount, change):
    """Write the smallest ``change`` (k,) with a fixed tip pose; return whether the arm can do both.

    The tip's pose is the second task, in the null space of the first (Siciliano, Slotine,
    ICAR 1991)::

        dq = g+ amount - N (J N)+ J g+ amount,    N = 1 - g+ g

    ``gradient`` (k,) is g, ``tip`` (n, k) is J with rotational rows scaled to metres.
    """
    n, count = tip.shape
    gg = 0.0
    for joint in range(count):
        gg += gradient[joint] * gradient[joint]
    if gg <= _IMMOVABLE:
        return False
    projected, right = np.empty((n, count)), np.empty(n)
    for i in range(n):
        along = 0.0
        for joint in range(count):
            along += tip[i, joint] * gradient[joint]
        right[i] = -along * amount / gg
        for joint in range(count):
            projected[i, joint] = tip[i, joint] - along / gg * gradient[joint]
    alone = 0.0
    for joint in range(count):
        change[joint] = gradient[joint] * amount / gg
        alone = max(alone, abs(change[joint]))
    _solve_least(projected, right, change)
    for joint in range(count):
        if not abs(change[joint]) <= _HELD_COST * alone:
            return False
    for i in range(n):
        moved = 0.0
        for joint in range(count):
            moved += tip[i, joint] * change[joint]
        if not abs(moved) <= _HELD_ERROR * amount:
            return False
    return True


# -- one push of one arm --


@offline_kernel
def _tip_jacobian(view, arm, count):
    """(6, ``count``) of the tip of an arm, its turning in metres."""
    poses, body, point = view.poses, arm.tip_body, np.empty(3)
    for row in range(3):
        point[row] = poses[body, 9 + row]
        for k in range(3):
            point[row] += poses[body, 3 * row + k] * arm.tip[k]
    out = np.zeros((6, count))
    add_jacobian(view, body, point, out)
    for row in range(3, 6):
        for k in range(count):
            out[row, k] *= _TURNING
    return out


@offline_kernel
def _keeps_tip(view, arm, of_point, gradient, amount, q, change):
    """Write the ``change`` (k,) with a fixed tip; return whether inverse and limits allow it."""
    columns = arm.columns
    of_tip, beyond = _tip_jacobian(view, arm, len(q)), False
    tip = np.empty((6, len(columns)))
    for joint in range(len(columns)):
        of_both, of_one = 0.0, 0.0
        for row in range(6):
            tip[row, joint] = of_tip[row, columns[joint]]
            of_one += abs(tip[row, joint])
            of_both += abs(of_point[row, columns[joint]])
        if of_both == 0.0 and of_one > 0.0:
            beyond = True  # a joint between the point and the tip
    if not beyond or not held_push(gradient, tip, amount, change):
        return False
    for joint in range(len(columns)):
        reached = q[columns[joint]] + change[joint]
        if reached < arm.lower[joint] or reached > arm.upper[joint]:
            return False
    return True


@offline_kernel
def push_arm(view, arm, body, point, direction, amount, hold, q):
    """Change ``q`` (nq,), where the bodies are, so that a point of ``body`` moves by ``amount``.

    An inner link is moved such that the tip keeps its pose, if inverse kinematics and limits
    allow. Otherwise, and for an end link, the joint motion is minimal. The motion is linearised,
    and no joint moves by more than 2 degrees: repeat the call.

    ``arm``: `ArmTables`; ``body`` is one of it. ``point`` (3,) and the unit vector ``direction``
    (3,): base frame, metres. ``amount``: metres, not negative. ``hold``: whether to keep the tip.
    """
    columns = arm.columns
    count = len(columns)
    of_point = np.zeros((6, len(q)))
    add_jacobian(view, body, point, of_point)
    gradient, position, change = np.empty(count), np.empty(count), np.empty(count)
    for k in range(count):
        position[k], gradient[k] = q[columns[k]], 0.0
        for axis in range(3):
            gradient[k] += direction[axis] * of_point[axis, columns[k]]
    if not hold or not _keeps_tip(view, arm, of_point, gradient, amount, q, change):
        least_push(gradient, amount, position, arm.lower, arm.upper, change)
    largest = 0.0
    for k in range(count):
        largest = max(largest, abs(change[k]))
    part = 1.0 if largest <= _LARGEST else _LARGEST / largest
    for k in range(count):
        reached = position[k] + part * change[k]
        q[columns[k]] = min(max(reached, arm.lower[k]), arm.upper[k])


@offline_kernel
def pushed(numbers, index, arm, body, point, direction, amount, hold, q):
    """As `push_arm`, for the packed arrays of a model; bodies are placed at ``q`` first."""
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    push_arm(view, arm, body, point, direction, amount, hold, q)
