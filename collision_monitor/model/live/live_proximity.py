# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which leaves of a live scene are near, and how their distances change."""

from __future__ import annotations

import numpy as np

from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.proximity import Proximity, part_of


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


# -- how near links are to objects of a live scene, in parts of the distances that count there --


class LiveNearness:
    """As `proximity.Nearness`, of the pairs with objects."""

    def __init__(self, live: LiveScene) -> None:
        self._live = live
        self._proximity = LiveProximity(live)

    def of_leaves(
        self, q: np.ndarray, thresholds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(links,), in the order of ``model.link_names``, and (slots,) of objects, at q (nq,).

        ``thresholds`` (pair numbers, 2): stop and warning distance, metres.
        """
        above = np.nextafter(thresholds[:, 1], np.inf)
        found = self._proximity.near(q, above, spread=0.0)
        part = part_of(found.distances, thresholds[found.pairs])
        of_links = np.full(len(self._live.model.link_names), np.inf)
        links = self._live.links_of(found.pairs)
        np.minimum.at(of_links, links[links >= 0], part[links >= 0])
        of_slots = np.full(1 + self._live.bounds.objects, np.inf)
        for slots in self._live.slots_of(found.pairs).T:
            np.minimum.at(of_slots, slots[slots >= 0], part[slots >= 0])
        return of_links, of_slots
