# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How much of a push each of two arms takes: by how fast it approaches."""

from __future__ import annotations

import numpy as np

from collision_monitor.robot.bodies import Bodies, Jacobians
from collision_monitor.self_collision.field.cross_pairs import CrossPairs
from collision_monitor.self_collision.field.nine_cases import control_points

_TOUCHING = 1e-12  # m, below which two control points are one
_STILL = 1e-9  # m a waypoint, below which nobody approaches


def direction(first: np.ndarray, second: np.ndarray, approach: np.ndarray) -> np.ndarray:
    """Unit vector n (3,) from the first to the second of two segments (2, 3).

    As printed n is C_left - C_right, not of unit length, and nothing at d = 0. Where
    the segments touch, n is square to both, or to the longer of parallel ones, and of the two
    senses that which ``approach`` (3,), the velocity of the first relative to the second, has:
    they touched from there.
    """
    found = control_points(first, second)
    if found.distance > _TOUCHING:
        return (found.second - found.first) / found.distance
    u, v = first[1] - first[0], second[1] - second[0]
    normal = np.cross(u, v)
    scale = np.linalg.norm(u) * np.linalg.norm(v)
    if np.linalg.norm(normal) <= 1e-9 * scale or scale == 0.0:
        along = u if u @ u >= v @ v else v
        # What of the approach is square to the segment, or any direction that is.
        for side in (approach, *np.eye(3)):
            normal = side - along * (along @ side) / max(along @ along, 1e-300)
            if np.linalg.norm(normal) > 1e-9 * max(np.linalg.norm(side), 1e-300):
                break
    normal = normal / np.linalg.norm(normal)
    return -normal if approach @ normal < 0.0 else normal


def share(right: float, left: float, movable: tuple[bool, bool]) -> float:
    """Part of a push that the right arm takes, in [0, 1].

    ``right`` and ``left`` are n . v of the two control points, n from right to left, so that
    the right one approaches when its rate is positive and the left one when it is negative::

        w_right = max(0, right) / (max(0, right) + max(0, -left))

    Printed is right / (right - left): 0/0 when the rates are equal, and outside [0, 1] when both
    have one sign, which made jumps of over 100 degrees. One half each when nobody approaches;
    all to the one that may move when the other may not.
    """
    if movable[0] != movable[1]:
        return float(movable[0])
    a, b = max(0.0, right), max(0.0, -left)
    return a / (a + b) if a + b > _STILL else 0.5


class Shares:
    """The right arm's share in every pair at every waypoint, worked out where asked for.

    Rates are those of the *desired* motion, at its own poses. Rates from the last adjusted pose
    towards the next desired one feed back: the arm that has given way most has the longest way
    back, hence approaches fastest, hence is told to give way most. On the symmetric motion
    of the paper that drove the arms to 14.6 and 5.4 degrees instead of 11.4 each.
    """

    def __init__(
        self,
        desired: np.ndarray,
        bodies: Bodies,
        pairs: CrossPairs,
        movable: tuple[bool, bool],
    ) -> None:
        """``desired`` (n, nq); ``movable`` tells whether the right and the left arm may."""
        self._desired, self._bodies, self._pairs = desired, bodies, pairs
        self._movable = movable
        self._known: dict[tuple[int, int], float] = {}

    def of(self, waypoint: int, pair: int) -> float:
        """Share of pair number ``pair`` of the cross pairs on the way to ``waypoint`` > 0."""
        key = (waypoint, pair)
        if key not in self._known:
            self._known[key] = self._work_out(waypoint, pair)
        return self._known[key]

    def _work_out(self, waypoint: int, pair: int) -> float:
        q = self._desired[waypoint]
        step = q - self._desired[waypoint - 1]
        right, left = self._pairs.segments(q, pair)
        found = control_points(right, left)
        jacobians = Jacobians(self._bodies, q)
        bodies = self._pairs.bodies_of(pair)
        velocities = [
            jacobians.of_point(body, point)[:3] @ step
            for body, point in zip(bodies, (found.first, found.second), strict=True)
        ]
        n = direction(right, left, velocities[0] - velocities[1])
        return share(n @ velocities[0], n @ velocities[1], self._movable)
