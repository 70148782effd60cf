# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""`Paths` of the pairs of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.model.proximity import link_tables
from collision_monitor.monitoring.speed_policy.paths import Paths

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


def weights_together(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How far two links come nearer at most for a unit of a joint, of how far each can go."""
    return np.where((first > 0.0) != (second > 0.0), first + second, 0.0)


class ModelPaths(Paths):
    """Pairs whose ways and thresholds are alike are of one class, of which there are few."""

    def __init__(self, model: CollisionModel) -> None:
        super().__init__(model.bodies.columns, model.bodies.gains, len(model.pairs))
        self._arrays = model.work_space()
        self.leaf_links, self.pair_table = link_tables(model)
        reach = model.link_reach()
        rank = {name: k for k, name in enumerate(model.link_names)}
        ends = np.array([[rank[a], rank[b]] for a, b in model.pairs], dtype=int).reshape(-1, 2)
        self._weights_of_pairs = weights_together(reach[ends[:, 0]], reach[ends[:, 1]])

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index): a copy of those of the model."""
        return self._arrays

    def set_thresholds(self, thresholds: np.ndarray) -> None:
        """``thresholds`` (pairs, 2): stop and warning distance of each pair, metres."""
        keys = np.column_stack([self._weights_of_pairs, thresholds])
        groups, group_of = np.unique(keys, axis=0, return_inverse=True)
        self.set_classes(groups[:, :-2].T, groups[:, -2], groups[:, -1])
        # One more than there are pairs, so that -1 stays -1.
        self.class_table = np.append(group_of.ravel(), -1).astype(np.int64)[self.pair_table]
