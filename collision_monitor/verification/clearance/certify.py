# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Yes or no: whether a motion is certainly clear at every instant. Two levels, no series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.clearance_scan import LIMITS, Wanted
from collision_monitor.errors import ConfigurationError
from collision_monitor.verification.clearance.mesh_level import Decider
from collision_monitor.verification.clearance.mesh_shapes import exact_level
from collision_monitor.verification.clearance.scanner import Scanner
from collision_monitor.verification.clearance.schedule import Schedule

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_NO_SERIES = 1e9  # m: how near bounds are to the distance does not matter


class Certifier:
    """Certifies motions of one model; for one thread.

    The two levels of Gao, Li and Yuan (Computer Simulation 39(6), 2022), for all links: leaves
    with bounds of their way, and the shapes of those pairs for which that is not enough.
    """

    def __init__(
        self,
        model: CollisionModel,
        exact: Decider | bool = True,
        resolution: float = 1e-5,
        instant: float = 1e-4,
    ) -> None:
        """``exact``: whether shapes are asked where leaves do not do, or what measures them.

        ``resolution``: metres about the margin, and ``instant``: seconds, which are not told from
        touching it.
        """
        for name, value in (("resolution", resolution), ("instant", instant)):
            if not (np.isfinite(value) and value > 0.0):
                raise ConfigurationError(f"{name}: {value!r} is not a number above 0")
        self.scanner = Scanner(model)
        self._level = exact_level(self.scanner, exact)
        self._wanted = Wanted(_NO_SERIES, 0.0, 0.0, resolution)
        self._instant = instant

    def suspects(self, schedule: Schedule, margin: float = 0.0) -> list[int]:
        """Pairs that leaves alone do not show to keep ``margin`` metres, as indices."""
        limits = np.full((len(self.scanner.model.pairs), LIMITS), np.inf)
        limits[:, 0] = margin
        edges = np.array([schedule.begin, schedule.end])
        lows = self.scanner.bounds(schedule, edges, limits, self._wanted)
        return np.flatnonzero(lows[0] < margin).tolist()

    def certify(self, schedule: Schedule, margin: float = 0.0) -> bool:
        """Whether all pairs keep ``margin`` metres at every instant, and that is certain."""
        suspects = self.suspects(schedule, margin)
        if not suspects or self._level is None:
            return not suspects
        return all(
            self._level.keeps(schedule, pair, margin, schedule.begin, schedule.end, self._instant)
            for pair in suspects
        )
