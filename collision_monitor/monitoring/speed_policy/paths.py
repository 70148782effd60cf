# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of one packed model that come close while its joints brake."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.continuous import braking, braking_path, time_to_collision
from collision_monitor.continuous.braking_path import COLUMNS
from collision_monitor.model.proximity import link_tables
from collision_monitor.monitoring.speed_policy.settings import Settings

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


# Configurations that one search may look at; there are up to three searches.
_MOST = 24
_TOUCHING = 0.001  # metres at which two leaves meet, for the time to it
_TESTS = 300


class Way(NamedTuple):
    """Where joints are, how fast they go, and how they are looked ahead for.

    Attributes:
        q: (nq,).
        velocities: (nq,) that say which way pairs go.
        path: (nq,) velocities that the joints brake from; zeros for no look ahead.
        decelerations: (nq,).
        reaction: seconds.
        settings: how cautious.
    """

    q: np.ndarray
    velocities: np.ndarray
    path: np.ndarray
    decelerations: np.ndarray
    reaction: float
    settings: Settings


class Paths:
    """Pairs of a packed model with their classes and thresholds; has its work space.

    Attributes:
        leaf_links, pair_table: as of `hierarchy.near`.
        class_table: the same with classes instead of pairs.
        rows: what was found, as of `braking_path.outlook`.
    """

    leaf_links: np.ndarray
    pair_table: np.ndarray
    class_table: np.ndarray

    def __init__(self, columns: np.ndarray, gains: np.ndarray, pairs: int) -> None:
        """``columns``, ``gains``: of the joints of the kernels; ``pairs``: how many there are."""
        self._columns = np.ascontiguousarray(columns, dtype=np.int64)
        self._gains = np.ascontiguousarray(gains, dtype=float)
        self._steps = np.empty(len(self._columns))
        self._size = np.zeros(1, dtype=np.int64)
        self._slots = np.full(pairs, -1, dtype=np.int64)
        self._room(256, 64)
        self.tests = 0  # configurations that the last look took
        self.widest = -np.inf

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the packed model as it is now."""
        raise NotImplementedError

    def set_classes(self, weights: np.ndarray, stop: np.ndarray, warn: np.ndarray) -> None:
        """``weights`` (joints, classes) of `braking`, and the thresholds of each class."""
        self._weights = np.ascontiguousarray(weights)
        self._class_stop, self._class_warn = map(np.ascontiguousarray, (stop, warn))
        self._totals, self._limits = np.empty(len(stop)), np.empty(len(stop))
        self._never = np.full(len(stop), -np.inf)

    def _room(self, leaf_pairs: int, pairs: int) -> None:
        self._found = np.empty((leaf_pairs, 3), dtype=np.int64)
        self._values = np.empty((leaf_pairs, 2))
        self.rows, self._least = np.empty((pairs, COLUMNS)), np.empty(pairs)

    def limits(self, way: Way) -> float:
        """Farthest that any pair may be apart now and still matter, metres."""
        self.widest = braking.braking_limits(
            self._weights, self._columns, self._gains, way.path, way.decelerations, way.reaction,
            self._class_warn, way.settings.release_distance, self._totals,
        )  # fmt: skip
        return self.widest

    def search(self, way: Way, may_settle: bool = True) -> int:
        """Fill ``rows``, with `limits` as they are for this way; how many.

        ``may_settle``: whether one pair that comes within its stop distance is enough.
        """
        numbers, index = self.arrays()
        there = np.empty_like(way.q)
        while True:
            self.tests = braking_path.outlook(
                numbers, index, self.leaf_links, self.pair_table, self.class_table, self._weights,
                self._class_stop if may_settle else self._never, self._class_warn,
                way.settings.release_distance, self._totals, self.widest, way.q, way.velocities,
                way.path, way.decelerations, way.reaction, way.settings.resolution, _MOST,
                self._size, self._slots, self._found, self._values, self.rows, self._limits,
                self._least, there, self._steps,
            )  # fmt: skip
            if self.tests >= 0:
                return int(self._size[0])
            if self.tests == -1:
                self._room(len(self._found), 2 * len(self.rows))
            else:
                self._room(-2 * self.tests, len(self.rows))

    def parting_rate(
        self, q: np.ndarray, velocities: np.ndarray, i: int, j: int, *vectors: float
    ) -> float:
        """`braking.parting_rate` of points of the links of leaves i and j."""
        return braking.parting_rate(*self.arrays(), q, velocities, i, j, *vectors)

    def collision_time(self, q: np.ndarray, velocities: np.ndarray, horizon: float) -> float:
        """Seconds until leaves touch if the joints go on as they do; inf beyond ``horizon``.

        A bound from below; 0 where they touch already, inf where nothing moves.
        """
        speed = braking.fastest_approach(self._weights, self._columns, self._gains, velocities)
        if speed <= 0.0:
            return np.inf
        return time_to_collision.collision_time(
            *self.arrays(), q, velocities, speed, horizon, _TOUCHING, _TESTS, np.empty_like(q)
        )


# -- `Paths` of the pairs of a model --


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
