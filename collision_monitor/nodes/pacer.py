# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far a simulation should have come by now."""

from __future__ import annotations

_SLIP = 0.2  # s on the wall: what is behind by more is given up, not caught up with
_SPAN = 0.5  # s on the wall over which the pace is measured, at least


class Pacer:
    """Ties simulated time to a steady clock by a factor; what cannot be kept is let go."""

    def __init__(self, factor: float) -> None:
        """``factor``: simulated seconds for each on the wall."""
        self._factor = factor
        self._anchor: tuple[float, float] | None = None
        self._mark: tuple[float, float] | None = None
        self.achieved = 0.0

    @property
    def factor(self) -> float:
        """Simulated seconds for each on the wall."""
        return self._factor

    @factor.setter
    def factor(self, value: float) -> None:
        self._factor, self._anchor = value, None

    def due(self, simulated: float, wall: float) -> float:
        """Up to which simulated time to go at ``wall`` s on a steady clock."""
        if self._anchor is None:
            self._anchor = simulated, wall
        if self._mark is None:
            self._mark = simulated, wall
        target = self._anchor[0] + (wall - self._anchor[1]) * self._factor
        if target - simulated > _SLIP * self._factor:
            self._anchor = simulated, wall
            target = simulated
        if wall - self._mark[1] >= _SPAN:
            self.achieved = (simulated - self._mark[0]) / (wall - self._mark[1])
            self._mark = simulated, wall
        return target
