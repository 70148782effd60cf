# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Direction in which a stationary robot is commanded to move."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# A robot stands while no joint is faster than this, rad/s or m/s.
STANDING = 0.01
# A command counts for so many seconds: who wants to go on says so again.
_FRESH_SECONDS = 1.0


class Intention:
    """The last command's joint velocities.

    A robot that is stopped by a scale of 0 cannot show that it would move away. A command can, and
    it counts only while the robot stands: once it moves, what it does counts.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        """``joint_names`` of q."""
        self._rank = {name: k for k, name in enumerate(joint_names)}
        self._velocities = np.zeros(len(self._rank))
        self._time = -math.inf

    def update(self, names: Sequence[str], velocities: Sequence[float], now: float) -> bool:
        """Take in velocities by name, rad/s or m/s; others are meant to stand still.

        False, and nothing is intended, where a velocity is not finite, names and velocities are of
        different number, or no joint of the robot is named.
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

    def direction(self, speeds: np.ndarray, now: float) -> np.ndarray | None:
        """Velocities (nq,) that are intended at ``now``; None for a robot that moves or none."""
        if now - self._time > _FRESH_SECONDS or np.abs(speeds).max(initial=0.0) > STANDING:
            return None
        return self._velocities
