# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on exact distances along braking paths."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.path_bounds import (
    next_place,
    raise_bounds,
    raise_bounds_by_all,
)

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_KEPT = 64  # distances of a pair; the paths of successive cycles are nearly the same
_STEADY = 0.9  # of the last distance, that a pair is expected to keep


class ExactPaths:
    """Measures pairs of links along braking paths, and remembers what it has measured."""

    def __init__(self, model: CollisionModel) -> None:
        """``model`` is used by nothing else: its queries are fast from place to nearby place."""
        self._model = model
        model.prepare_exact(depths=False)
        # By pair: where it was measured (kept, nq), the distances (kept,), and how often.
        self._kept: dict[int, tuple[np.ndarray, np.ndarray, list[int]]] = {}
        self._compile(len(model.joint_names))

    def least(
        self,
        pair: int,
        path: np.ndarray,
        weights: np.ndarray,
        distance: float,
        stop: float,
        enough: float,
        resolution: float,
        end_time: float,
    ) -> float:
        """Lower bound in metres of the exact distance of a pair on its braking path.

        Args:
            pair: its number in the model.
            path: (2 n + 1, nq) the ends and middles of n intervals; each joint is monotone.
            weights: (nq,) as in `continuous.path_bounds`.
            distance: at the first configuration, or less.
            stop: a place where the pair is nearer than that ends the search: its distance is the
                result.
            enough: the result need not exceed this.
            resolution: metres that the result may be too small, if it is below ``enough`` and
                the intervals are short enough for that.
            end_time: of `time.thread_time`; what is measured by then decides.
        """
        places, distances, count = self._kept.setdefault(
            pair, (np.zeros((_KEPT, path.shape[1])), np.full(_KEPT, -np.inf), [0])
        )
        intervals = len(path) // 2
        bounds, is_final = np.full(intervals, -np.inf), np.zeros(intervals, dtype=bool)
        raise_bounds(path, weights, path[0], distance, bounds)
        raise_bounds_by_all(path, weights, places, distances, bounds)
        lowest, spare = distance, _STEADY * distance - enough
        while time.thread_time() < end_time:
            wanted = min(enough, lowest - resolution)
            interval, row = next_place(path, weights, bounds, is_final, wanted, spare)
            if interval < 0:
                break
            found = float(self._model.surface_distances(path[row], np.array([pair]))[0])
            slot = count[0] % _KEPT
            places[slot], distances[slot] = path[row], found
            count[0] += 1
            lowest = min(lowest, found)
            if found <= stop:
                return found
            raise_bounds(path, weights, path[row], found, bounds)
            is_final[interval] = row == 2 * interval + 1
            # A place beyond the interval that does not settle it was too far.
            is_settled = bounds[interval] >= min(enough, lowest - resolution)
            spare = _STEADY * found - enough if is_settled else 0.0
        return min(float(bounds.min()), lowest)

    @staticmethod
    def _compile(joints: int) -> None:
        """Run the kernels once, so that no joint state has to wait for them."""
        path, weights, bounds = np.zeros((3, joints)), np.zeros(joints), np.zeros(1)
        raise_bounds(path, weights, path[0], 0.0, bounds)
        raise_bounds_by_all(path, weights, path, bounds, bounds)
        next_place(path, weights, bounds, np.zeros(1, dtype=bool), 0.0, 0.0)
