# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published two-level check of a motion of an arm's tip against one obstacle.

After Gao Jiacai, Li Lihong and Yuan Gang (Computer Simulation 39(6), 2022): a bound on the way of
the tip certifies parts that stay away from a ball around the obstacle; the rest is tested against
its box. Use `clearance_check`, which does the same for all links without gaps. This is the method
as it was published, with its errors corrected:

- The way is bounded by the sum over the joints of |dq| times the tip's greatest distance from the
  axis (Schwarzer, Saha, Latombe). The number that is printed is less than the true way.
- The gaps are those to the ball and not to its centre. ``printed`` takes the centre.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.pair_sweep import axis_distance
from collision_monitor.errors import ConfigurationError
from collision_monitor.hierarchy.kinematics import forward_kinematics
from collision_monitor.hierarchy.packed import PRISMATIC, unpack

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


# -- kernels; ``numbers`` and ``index`` are a packed model, the point is fixed to a body --


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


@offline_kernel
def _fill_arms(view, body, x, y, z, arms):
    """Way of the point (x, y, z) of ``body`` for a unit of each column of q, into ``arms`` (nq,).

    By its distance from the axes as the joints are now: turned one after another from the base
    outwards, each finds it as it is.
    """
    for column in range(len(arms)):
        arms[column] = 0.0
    while body > 0:
        k = body - 1
        arm = 1.0
        if view.joint_table[k, 1] != PRISMATIC:
            arm = axis_distance(view, k, x, y, z)
        arms[view.joint_table[k, 2]] += abs(view.joint_motion[k, 0]) * arm
        body = view.joint_table[k, 0]


@offline_kernel
def _covers(rows, k, gap, arms, low, high):
    """(first, last) row between ``low`` and ``high`` to which a gap at row k reaches."""
    first, last, way = k, k, 0.0
    while first > low:
        for m in range(len(arms)):
            way += arms[m] * abs(rows[first - 1, m] - rows[first, m])
        if way >= gap:
            break
        first -= 1
    way = 0.0
    while last < high:
        for m in range(len(arms)):
            way += arms[m] * abs(rows[last + 1, m] - rows[last, m])
        if way >= gap:
            break
        last += 1
    return first, last


@offline_kernel
def _look(view, rows, k, body, point, box, radius, places, arms):
    """Place the point at row k; its gap from the ball."""
    _place(view, rows[k], body, point, places, k)
    _fill_arms(view, body, places[k, 0], places[k, 1], places[k, 2], arms)
    return _ball_gap(places, k, box, radius)


@offline_kernel
def cover(numbers, index, rows, body, point, box, radius, places, chosen, found):
    """As `two_levels`, but each gap certifies as many rows about its own as it reaches to.

    (rows at which the point was placed, rows in the box.) The motion is linear from row to row,
    whatever way it takes.
    """
    view = unpack(numbers, index)
    count, hits = len(rows), 0
    first = np.empty(64, np.int64)
    last = np.empty(64, np.int64)
    for k in range(count):
        chosen[k] = found[k] = False
        places[k, 0] = np.nan
    arms = np.empty(rows.shape[1])
    gap = _look(view, rows, 0, body, point, box, radius, places, arms)
    chosen[0] = gap <= 0.0
    _, first[0] = _covers(rows, 0, gap, arms, 0, count - 1)
    if first[0] == count - 1:
        return 1, 0
    gap = _look(view, rows, count - 1, body, point, box, radius, places, arms)
    chosen[count - 1] = gap <= 0.0
    last[0], _ = _covers(rows, count - 1, gap, arms, first[0], count - 1)
    size, placed = 1, 2
    while size > 0:
        size -= 1
        a, b = first[size], last[size]
        if a >= b:
            continue
        if b - a == 1:
            chosen[a] = chosen[b] = True
            continue
        k = (a + b) // 2
        gap = _look(view, rows, k, body, point, box, radius, places, arms)
        placed += 1
        low, high = _covers(rows, k, gap, arms, a, b)
        first[size], last[size] = high, b
        first[size + 1], last[size + 1] = a, low
        size += 2
    for k in range(count):
        if chosen[k]:
            if np.isnan(places[k, 0]):
                _place(view, rows[k], body, point, places, k)
                placed += 1
            found[k] = _in_box(places, k, box)
            hits += found[k]
    return placed, hits


# -- the check --


class Box:
    """An obstacle.

    Attributes:
        rows: (5, 3) its axes, its centre and its half sides in the base frame, metres.
        radius: of the ball around it, metres.
    """

    def __init__(self, pose: np.ndarray, size: np.ndarray) -> None:
        """``pose`` (4, 4) in the base frame; ``size`` (3,) edges, metres."""
        half = 0.5 * np.asarray(size, dtype=float)
        self.rows = np.vstack([pose[:3, :3].T, pose[:3, 3], half])
        self.radius = float(np.linalg.norm(half))


@dataclass(frozen=True)
class TwoLevel:
    """Result of checking a motion of n points.

    Attributes:
        tests: of a bound on the way.
        placed: points at which the tip was placed for these.
        suspects: points that the first level cannot certify, from 0.
        hits: those of them that are in the box.
    """

    tests: int
    placed: int
    suspects: tuple[int, ...]
    hits: tuple[int, ...]


class Tip:
    """The tip of an arm; ``link`` is the link whose origin it is.

    ``reaches`` (nq,): its greatest distance from each axis, metres (1 for a joint that slides).
    """

    def __init__(self, model: CollisionModel, link: str, reaches: np.ndarray) -> None:
        if link not in model.bodies.link_bodies:
            raise ConfigurationError(f"'{model.name}' has no link {link!r} to be the tip")
        self.reaches = np.ascontiguousarray(reaches, dtype=float)
        if self.reaches.shape != (len(model.joint_names),):
            raise ConfigurationError(
                f"reaches have shape {self.reaches.shape}; ({len(model.joint_names)},) is right, "
                "one for each joint"
            )
        self._arrays = model.work_space()
        self._body = model.bodies.link_bodies[link]
        self._point = np.ascontiguousarray(model.bodies.link_poses[link][:3, 3])

    def arguments(self, rows: np.ndarray, box: Box) -> tuple:
        """First arguments of the kernels."""
        return *self._arrays, rows, self._body, self._point, box.rows, box.radius

    def two_levels(self, rows: np.ndarray, box: Box, printed: bool = False) -> TwoLevel:
        """Check a straight motion of the joints through ``rows`` (n, nq), as published.

        ``printed``: with gaps to the centre of the ball, as it is printed: no certificate.
        """
        marks = np.empty((2, len(rows)), dtype=bool)
        tests, placed, hits = two_levels(
            *self.arguments(rows, box)[:-1], 0.0 if printed else box.radius, self.reaches, True,
            np.empty((len(rows), 3)), marks[0], marks[1],
        )  # fmt: skip
        chosen, found = (tuple(mark.nonzero()[0].tolist()) for mark in marks)
        return TwoLevel(tests, placed, chosen, found if hits else ())

    def check(self, rows: np.ndarray, box: Box) -> TwoLevel:
        """As `two_levels`, in fewer tests, and for any way through ``rows`` (n, nq).

        The distances from the axes are those where the arm is, and a gap certifies as many rows
        about its own as it reaches to: no test asks again about what another has certified.
        """
        marks = np.empty((2, len(rows)), dtype=bool)
        placed, hits = cover(
            *self.arguments(rows, box), np.empty((len(rows), 3)), marks[0], marks[1]
        )
        chosen, found = (tuple(mark.nonzero()[0].tolist()) for mark in marks)
        return TwoLevel(placed, placed, chosen, found if hits else ())

    def all_points(self, rows: np.ndarray, box: Box) -> tuple[int, ...]:
        """Rows at which the tip is in the ball around the box: every point is tested."""
        found = np.empty(len(rows), dtype=bool)
        in_ball(*self.arguments(rows, box), np.empty((len(rows), 3)), found)
        return tuple(found.nonzero()[0].tolist())

    def way_bound(self, start: np.ndarray, end: np.ndarray) -> float:
        """Metres that the tip can go from one configuration (nq,) to another at most."""
        return float(np.abs(end - start) @ self.reaches)
