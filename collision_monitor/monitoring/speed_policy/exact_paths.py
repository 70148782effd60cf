# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on exact distances along braking paths."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.braking import bounds_of_pairs, lowest_interval, raise_bounds

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_KEPT = 64  # distances of a pair; the paths of successive cycles are nearly the same


class ExactPaths:
    """Measures pairs of links along braking paths, and keeps the results for the next cycles."""

    def __init__(self, model: CollisionModel) -> None:
        """``model`` is used by nothing else: its queries are fast from place to nearby place."""
        self._model = model
        model.prepare_exact(depths=False)
        self._slot_of = np.full(len(model.pairs), -1, dtype=np.int64)
        # By slot: where a pair was measured, and the distances.
        self._places = np.zeros((0, _KEPT, len(model.joint_names)))
        self._distances = np.zeros((0, _KEPT))
        self._counts = np.zeros(0, dtype=np.int64)
        self._used = 0
        self._compile()

    def least(
        self,
        pairs: np.ndarray,
        path: np.ndarray,
        weights: np.ndarray,
        now: np.ndarray,
        stop: np.ndarray,
        enough: np.ndarray,
        resolution: float,
        end_time: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower bounds (k,) in metres of the exact distances of pairs on their braking path.

        And (k,) whether a distance was measured there that is at most ``stop``.

        Args:
            pairs: (k,) their numbers in the model.
            path: (2 n + 1, nq) the ends and middles of n intervals; each joint is monotone.
            weights: (k, nq) how far the links come nearer at most for a unit of a joint.
            now: (k,) distances at the first configuration, or less.
            stop: (k,) a place where the pair is nearer than that ends its search: the distance
                there is the result.
            enough: (k,) results need not exceed this.
            resolution: metres that a result may be too small, if it is below ``enough`` and the
                intervals are short enough for that.
            end_time: of `time.thread_time`; no pair is measured after it.
        """
        bounds = np.empty((len(pairs), len(path) // 2))
        slots = self._slots(pairs)
        bounds_of_pairs(
            path, weights, now, enough, slots, self._places, self._distances, self._counts, bounds
        )
        least, is_inside = np.minimum(bounds.min(axis=1), now), np.zeros(len(pairs), dtype=bool)
        unsettled = np.flatnonzero(least < np.minimum(enough, now - resolution))
        # The worst first: there may be no time for the others.
        for k in unsettled[np.argsort((least - stop)[unsettled])]:
            if time.thread_time() >= end_time:
                break
            least[k], is_inside[k] = self._measured(
                pairs[k], slots[k], path, weights[k], bounds[k], now[k], stop[k], enough[k],
                resolution, end_time,
            )  # fmt: skip
        return least, is_inside

    def _slots(self, pairs: np.ndarray) -> np.ndarray:
        """Slots (k,) of pairs; those that have none get one."""
        new = pairs[self._slot_of[pairs] < 0]
        self._slot_of[new] = self._used + np.arange(len(new))
        self._used += len(new)
        if self._used > len(self._counts):
            more = [(0, self._used)]
            self._places = np.pad(self._places, [*more, (0, 0), (0, 0)])
            self._distances = np.pad(self._distances, [*more, (0, 0)], constant_values=np.inf)
            self._counts = np.pad(self._counts, more)
        return self._slot_of[pairs]

    def _measured(
        self,
        pair: int,
        slot: int,
        path: np.ndarray,
        weights: np.ndarray,
        bounds: np.ndarray,
        now: float,
        stop: float,
        enough: float,
        resolution: float,
        end_time: float,
    ) -> tuple[float, bool]:
        """`least` of one pair, whose ``bounds`` (n,) are not enough.

        No interval is measured twice, as the first half of each is at least as long as the second:
        robots brake. Then `lowest_interval` expects no more than a distance in the middle gives.
        """
        places, distances = self._places[slot], self._distances[slot]
        joints, lowest = np.flatnonzero(weights), now
        while time.thread_time() < end_time:
            interval, is_worth_it = lowest_interval(
                path, weights, places, distances, bounds, 0.5 * resolution
            )
            if bounds[interval] >= min(enough, lowest - resolution) or not is_worth_it:
                break
            q = path[2 * interval + 1]
            found = float(self._model.surface_distances(q, np.array([pair]))[0])
            oldest = self._counts[slot] % _KEPT
            places[oldest], distances[oldest] = q, found
            self._counts[slot] += 1
            lowest = min(lowest, found)
            if found <= stop:
                return found, True
            raise_bounds(path, joints, weights, q, found, enough, bounds)
        return min(float(bounds.min()), lowest), False

    def _compile(self) -> None:
        """Run the kernels once, so that no joint state has to wait for them."""
        joints = self._places.shape[2]
        path, weights, bounds = np.zeros((3, joints)), np.zeros((0, joints)), np.zeros((0, 1))
        none = np.empty(0)
        slots = none.astype(np.int64)
        bounds_of_pairs(
            path, weights, none, none, slots, self._places, self._distances, self._counts, bounds
        )
        one = np.zeros(1)
        raise_bounds(path, slots, path[0], path[0], 0.0, 0.0, one)
        lowest_interval(path, path[0], path, np.zeros(3), one, 0.0)
