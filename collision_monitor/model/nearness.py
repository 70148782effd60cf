# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How near each link is to its nearest partner, relative to the pair's thresholds."""

from __future__ import annotations

import numpy as np

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.proximity import Proximity


def part_of(distances: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Distances (k,) in parts of ``thresholds`` (k, 2): 0 at the stop, 1 at the warning one."""
    stop, warn = thresholds.T
    width = np.where(warn > stop, warn - stop, 1.0)
    # Written so that a distance that is not a number is not taken for a far one.
    return np.where(distances > stop, (distances - stop) / width, 0.0)


class Nearness:
    """Nearness of the links of a model, by the warning and stop distances of every pair.

    It is 1 at a warning distance, 0 at a stop distance and below, linear between, and inf
    farther away; of several pairs the least counts.
    """

    def __init__(self, model: CollisionModel) -> None:
        rank = {name: k for k, name in enumerate(model.link_names)}
        self._pairs = np.array([[rank[a], rank[b]] for a, b in model.pairs], dtype=np.int64)
        self._pairs = self._pairs.reshape(-1, 2)
        self._links = len(rank)
        self._proximity = Proximity(model)

    def of_leaves(self, q: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """(links,), in the order of ``model.link_names``, at q (nq,).

        ``thresholds`` (pairs, 2): stop and warning distance, metres. Pairs
        farther apart than their warning distance are not measured.
        """
        above = np.nextafter(thresholds[:, 1], np.inf)  # a pair at its distance is near
        found = self._proximity.near(q, above, spread=0.0)
        return self._least(found.pairs, found.distances, thresholds[found.pairs])

    def of_distances(self, distances: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """The same of distances (pairs,) that are known, metres."""
        near = np.flatnonzero(~(distances > thresholds[:, 1]))
        return self._least(near, distances[near], thresholds[near])

    def _least(
        self, pairs: np.ndarray, distances: np.ndarray, thresholds: np.ndarray
    ) -> np.ndarray:
        part = part_of(distances, thresholds)
        out = np.full(self._links, np.inf)
        for side in (0, 1):
            np.minimum.at(out, self._pairs[pairs, side], part)
        return out
