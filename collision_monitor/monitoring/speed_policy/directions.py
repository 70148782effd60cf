# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Directions of a stopped robot: out of contact, and the one that is commanded."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls

from collision_monitor.continuous.near_pairs import NEARLY_NEAREST
from collision_monitor.model.proximity import Proximity

_STUCK = 1e-6  # relative to the steepest gradient: no direction separates all pairs
_STATIONARY = 0.01  # maximum joint velocity of a stationary robot, rad/s or m/s
_COMMAND_SECONDS = 1.0  # validity of a command


class EscapeDirection:
    """Computes escape directions. It has its own work space, for use in one thread."""

    def __init__(self, proximity: Proximity) -> None:
        """Compile all kernels."""
        self._proximity = proximity
        nothing = np.full(proximity.pair_count, -np.inf)
        self.direction(np.zeros(len(proximity.model.joint_names)), nothing)
        nnls(np.eye(2), np.ones(2))

    def direction(self, q: np.ndarray, limits: np.ndarray) -> np.ndarray | None:
        """Joint direction that separates all pairs within their limits, or None.

        It maximises the minimum rate of separation: the shortest vector in the convex hull of the
        gradients of all distances, computed by non-negative least squares.

        Args:
            q: (nq,) configuration.
            limits: (pairs,) distances in metres, as of `Proximity.near`.

        Returns:
            (nq,), radians or metres, scaled to a largest entry of 1 or -1. None if no pair is
            within its limit, or no direction separates all pairs.
        """
        # Contiguous: a column of a table would need another compilation.
        limits = np.ascontiguousarray(limits)
        gradients = self._proximity.near(q, limits, NEARLY_NEAREST).gradients
        norms = np.linalg.norm(gradients, axis=1)
        if not len(norms) or norms.min() <= 1e-9:
            return None
        unit = gradients / norms[:, None]
        # The minimum of |G' x|^2 + (1'x - 1)^2 over x >= 0 is that vector up to its length.
        shares, _ = nnls(np.vstack([unit.T, np.ones(len(unit))]), np.r_[np.zeros(len(q)), 1.0])
        direction = unit.T @ shares
        size = np.abs(direction).max()
        if size <= _STUCK or (unit @ direction).min() <= _STUCK * size:
            return None
        return direction / size


class CommandedDirection:
    """Joint velocities of the last command.

    The velocity of a robot stopped by a scale of 0 does not show that it would move away; a command
    does. It is used only while the robot is stationary; otherwise the measured velocities are.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        """``joint_names``: the joints of q."""
        self._rank = {name: k for k, name in enumerate(joint_names)}
        self._velocities = np.zeros(len(self._rank))
        self._time = -math.inf

    def update(self, names: Sequence[str], velocities: Sequence[float], now: float) -> bool:
        """Set velocities by joint name, rad/s or m/s; those of other joints are 0.

        Returns False, and clears the command, if a velocity is not finite, the numbers of names and
        velocities differ, or no joint belongs to the robot.
        """
        self._velocities.fill(0.0)
        self._time = -math.inf
        known = [(self._rank[n], v) for n, v in zip(names, velocities) if n in self._rank]  # noqa: B905
        is_usable = len(names) == len(velocities) and known
        if not is_usable or not all(math.isfinite(v) for _, v in known):
            return False
        for rank, velocity in known:
            self._velocities[rank] = velocity
        self._time = now
        return True

    def direction(self, velocities: np.ndarray, now: float) -> np.ndarray | None:
        """Commanded velocities (nq,) of a stationary robot; None if it moves or has no command.

        ``velocities``: measured, (nq,); ``now``: seconds.
        """
        is_old = now - self._time > _COMMAND_SECONDS
        if is_old or np.abs(velocities).max(initial=0.0) > _STATIONARY:
            return None
        return self._velocities
