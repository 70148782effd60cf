# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How near links are to objects of a live scene, in parts of the distances that count there."""

from __future__ import annotations

import numpy as np

from collision_monitor.live.live_proximity import LiveProximity
from collision_monitor.live.live_scene import LiveScene
from collision_monitor.nearness import part_of


class LiveNearness:
    """As `nearness.Nearness`, of the pairs with objects."""

    def __init__(self, live: LiveScene) -> None:
        self._live = live
        self._proximity = LiveProximity(live)

    def of_leaves(self, q: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """(links,), in the order of ``model.link_names``, at q (nq,).

        ``thresholds`` (pair numbers, 2): stop and warning distance, metres.
        """
        above = np.nextafter(thresholds[:, 1], np.inf)
        found = self._proximity.near(q, above, spread=0.0)
        links = self._live.links_of(found.pairs)
        of_link = links >= 0
        out = np.full(len(self._live.model.link_names), np.inf)
        part = part_of(found.distances[of_link], thresholds[found.pairs[of_link]])
        np.minimum.at(out, links[of_link], part)
        return out
