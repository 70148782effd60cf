# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The two levels of Gao, Li and Yuan for a point of an arm: a ball by bisection, then a box.

``numbers`` and ``index`` are a packed model; the point is fixed to one of its bodies.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.kernels.jit import offline_kernel
from collision_monitor.kernels.kinematics import forward_kinematics
from collision_monitor.kernels.packed import unpack


@offline_kernel
def place_point(view, q, body, point):
    """The point (3,) of ``body`` in the base frame at q."""
    forward_kinematics(view, q)
    poses = view.poses
    x, y, z = point[0], point[1], point[2]
    return (
        poses[body, 0] * x + poses[body, 1] * y + poses[body, 2] * z + poses[body, 9],
        poses[body, 3] * x + poses[body, 4] * y + poses[body, 5] * z + poses[body, 10],
        poses[body, 6] * x + poses[body, 7] * y + poses[body, 8] * z + poses[body, 11],
    )


@offline_kernel
def _place(view, q, body, point, places, k):
    """The point at q into row k of ``places`` (n, 3)."""
    places[k, 0], places[k, 1], places[k, 2] = place_point(view, q, body, point)


@offline_kernel
def _ball_gap(places, k, box, radius):
    """Distance of a place from the ball about the middle of a box, negative inside; metres."""
    x, y, z = places[k, 0] - box[3, 0], places[k, 1] - box[3, 1], places[k, 2] - box[3, 2]
    return math.sqrt(x * x + y * y + z * z) - radius


@offline_kernel
def _in_box(places, k, box):
    """Whether a place is in a box; of a point the separating axes are three."""
    x, y, z = places[k, 0] - box[3, 0], places[k, 1] - box[3, 1], places[k, 2] - box[3, 2]
    for m in range(3):
        if abs(box[m, 0] * x + box[m, 1] * y + box[m, 2] * z) > box[4, m]:
            return False
    return True


@offline_kernel
def in_ball(numbers, index, rows, body, point, box, radius, places, found):
    """Mark in ``found`` (n,) the rows (n, nq) at which the point is in the ball about a box."""
    view = unpack(numbers, index)
    for k in range(len(rows)):
        _place(view, rows[k], body, point, places, k)
        found[k] = _ball_gap(places, k, box, radius) <= 0.0


@offline_kernel
def two_levels(
    numbers, index, rows, body, point, box, radius, reaches, both, places, chosen, found
):  # fmt: skip
    """Mark the rows (n, nq) between which the ball may be hit, and those in the box; how many.

    (tests, rows at which the point was placed, rows in the box.) The motion from one row to another
    is certified where the sum over the joints of |dq| times ``reaches`` (nq,) is less than the
    gaps between point and ball at both together; else it is halved, and suspected where it has no
    row in between: ``chosen`` (n,). With ``both`` levels these are tried against the box:
    ``found`` (n,). ``box`` (5, 3): its axes in rows, centre, half sides.
    """
    view = unpack(numbers, index)
    count, joints = rows.shape
    gaps = np.full(count, np.nan)
    first = np.empty(64, np.int64)
    last = np.empty(64, np.int64)
    for k in range(count):
        chosen[k] = found[k] = False
    first[0], last[0] = 0, count - 1
    size, tests, placed, hits = 1, 0, 0, 0
    while size > 0:
        size -= 1
        i, j = first[size], last[size]
        travel = 0.0
        for m in range(joints):
            travel += abs(rows[j, m] - rows[i, m]) * reaches[m]
        for k in (i, j):
            if np.isnan(gaps[k]):
                _place(view, rows[k], body, point, places, k)
                gaps[k] = _ball_gap(places, k, box, radius)
                placed += 1
        tests += 1
        if travel < gaps[i] + gaps[j]:
            continue
        if j - i <= 1:
            for k in (i, j):
                if both and not chosen[k] and _in_box(places, k, box):
                    found[k] = True
                    hits += 1
                chosen[k] = True
            continue
        middle = (i + j) // 2
        first[size], last[size] = middle, j
        first[size + 1], last[size + 1] = i, middle
        size += 2
    return tests, placed, hits
