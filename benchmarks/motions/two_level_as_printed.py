# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published two-level check of the motion of an arm's tip against one obstacle.

Method of Gao Jiacai, Li Lihong and Yuan Gang (Computer Simulation 39(6), 2022): a bound of the
tip's path length certifies the parts of the motion that stay away from a ball around the obstacle;
the rest is tested against its box. Use `clearance_check` instead, which checks all links without
gaps. Two errors of the paper are corrected:

- The path length is bounded by the sum over the joints of |dq| times the tip's greatest distance
  from the axis (Schwarzer, Saha, Latombe). The printed value is below the true length.
- Gaps are measured to the ball and not to its centre. ``printed`` uses the centre.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.errors import ConfigurationError
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_point
from collision_monitor.hierarchy.packed import unpack

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


# -- kernels; ``numbers`` and ``index`` are a packed model, the point is fixed to a body --


@offline_kernel
def place(view, q, body, point, places, row):
    """Write the point at q, base frame, to a ``row`` of ``places`` (n, 3)."""
    forward_kinematics(view, q)
    x, y, z = place_point(view, body, point[0], point[1], point[2])
    places[row, 0], places[row, 1], places[row, 2] = x, y, z


@offline_kernel
def ball_gap(places, row, box, radius):
    """Distance of a point from the ball about the middle of a box, negative inside; metres."""
    x, y, z = places[row, 0] - box[3, 0], places[row, 1] - box[3, 1], places[row, 2] - box[3, 2]
    return math.sqrt(x * x + y * y + z * z) - radius


@offline_kernel
def _in_box(places, row, box):
    """Whether a point is in a box."""
    x, y, z = places[row, 0] - box[3, 0], places[row, 1] - box[3, 1], places[row, 2] - box[3, 2]
    for m in range(3):
        if abs(box[m, 0] * x + box[m, 1] * y + box[m, 2] * z) > box[4, m]:
            return False
    return True


@offline_kernel
def two_levels(
    numbers, index, waypoints, body, point, box, radius, reaches, both, places, chosen, inside
):  # fmt: skip
    """Mark ``waypoints`` (n, nq) between which the ball may be hit, and those in the box.

    Returns (tests, rows at which the point was placed, rows in the box). The motion between two
    rows is certified if the sum over the joints of |dq| times ``reaches`` (nq,) is less than the
    sum of the gaps between point and ball at both. Otherwise it is halved, or marked in ``chosen``
    (n,) if there is no row in between. With ``both`` levels the marked rows are tested against the
    box: ``inside`` (n,). ``box`` (5, 3): its axes in rows, centre, half sides.
    """
    view = unpack(numbers, index)
    count, joints = waypoints.shape
    gaps = np.full(count, np.nan)
    first = np.empty(64, np.int64)
    last = np.empty(64, np.int64)
    for row in range(count):
        chosen[row] = inside[row] = False
    first[0], last[0] = 0, count - 1
    size, tests, placed, hits = 1, 0, 0, 0
    while size > 0:
        size -= 1
        i, j = first[size], last[size]
        travel = 0.0
        for m in range(joints):
            travel += abs(waypoints[j, m] - waypoints[i, m]) * reaches[m]
        for row in (i, j):
            if np.isnan(gaps[row]):
                place(view, waypoints[row], body, point, places, row)
                gaps[row] = ball_gap(places, row, box, radius)
                placed += 1
        tests += 1
        if travel < gaps[i] + gaps[j]:
            continue
        if j - i <= 1:
            for row in (i, j):
                if both and not chosen[row] and _in_box(places, row, box):
                    inside[row] = True
                    hits += 1
                chosen[row] = True
            continue
        middle = (i + j) // 2
        first[size], last[size] = middle, j
        first[size + 1], last[size + 1] = i, middle
        size += 2
    return tests, placed, hits


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
        tests: number of bounds computed.
        placed: points at which the tip was placed for these.
        suspects: points that the first level cannot certify, from 0.
        hits: suspects that are in the box.
    """

    tests: int
    placed: int
    suspects: tuple[int, ...]
    hits: tuple[int, ...]


class Tip:
    """The tip of an arm: the origin of ``link``.

    ``reaches`` (nq,): its greatest distance from each axis in metres (1 for a prismatic joint).
    """

    def __init__(self, model: CollisionModel, link: str, reaches: np.ndarray) -> None:
        if link not in model.bodies.link_bodies:
            raise ConfigurationError(f"'{model.name}' has no link {link!r} to be the tip")
        self.reaches = np.ascontiguousarray(reaches, dtype=float)
        if self.reaches.shape != (len(model.joint_names),):
            raise ConfigurationError(
                f"reaches have shape {self.reaches.shape}, not ({len(model.joint_names)},): "
                "one for each joint"
            )
        self._arrays = model.work_space()
        self._body = model.bodies.link_bodies[link]
        self._point = np.ascontiguousarray(model.bodies.link_poses[link][:3, 3])

    def arguments(self, waypoints: np.ndarray, box: Box) -> tuple:
        """Return the first arguments of `two_levels`, up to ``radius``."""
        return *self._arrays, waypoints, self._body, self._point, box.rows, box.radius

    def two_levels(self, waypoints: np.ndarray, box: Box, printed: bool = False) -> TwoLevel:
        """Check a motion through ``waypoints`` (n, nq), linear in the joints, as published.

        ``printed``: measure gaps to the centre of the ball, as printed; this certifies nothing.
        """
        marks = np.empty((2, len(waypoints)), dtype=bool)
        tests, placed, hits = two_levels(
            *self.arguments(waypoints, box)[:-1], 0.0 if printed else box.radius, self.reaches,
            True, np.empty((len(waypoints), 3)), marks[0], marks[1],
        )  # fmt: skip
        chosen, inside = (tuple(mark.nonzero()[0].tolist()) for mark in marks)
        return TwoLevel(tests, placed, chosen, inside if hits else ())
