# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which leaves of a live scene are near, and how their distances change."""

from __future__ import annotations

import numpy as np

from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.proximity import Proximity


class LiveProximity(Proximity):
    """`Proximity.near` of the pairs with objects; numbers of pairs are those of the scene."""

    def __init__(self, live: LiveScene) -> None:
        self.model, self._live = live.model, live
        self._leaf_links, self._pair_table = live.leaf_links, live.pair_table
        self._room(64)

    @property
    def pair_count(self) -> int:
        """How many limits there are."""
        return self._live.pair_count

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return self._live.numbers, self._live.index
