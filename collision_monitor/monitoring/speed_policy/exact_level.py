# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The braking check on exact distances: which pairs matter, how near they are and come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.continuous.near_pairs import DISTANCE, GROUP, LEAST, PAIR, RATE
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.monitoring.speed_policy.braking_paths import BrakingInputs, BrakingPaths
from collision_monitor.monitoring.speed_policy.candidate_kernels import (
    ENOUGH,
    LOOSE_NOW,
    MEASURABLE,
    NEEDS,
    NOW,
    ask,
    choose,
    conclude,
    drop_far,
    set_needs,
    take,
    take_paths,
    undecided,
)
from collision_monitor.monitoring.speed_policy.exact_paths import INTERVALS, ExactPaths, PathBounds

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# Function of (pairs (k,), leaves, within, loose, near) that returns lower bounds (k,) of their
# exact distances; each (k,) or a number, metres. ``leaves``, their distances by leaves, are raised
# up to ``within``, and to at most ``loose`` below the truth, but for bounds above ``near``.
_Each = float | np.ndarray
ExactBounds = Callable[[np.ndarray, np.ndarray, _Each, _Each, _Each], np.ndarray]
# Function of pairs (k,) that returns their exact distances (k,) and nearest points (k, 2, 3), base
# frame, metres; the points are valid above 0.
NearestPoints = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
# For exact distances on the braking path while a pair is too close; then the bounds decide.
_INSIDE_SECONDS = 1e-3
_ROUNDING = 1e-6  # metres: nearest points that are nearer have no direction


class Measured(NamedTuple):
    """Distances at one configuration.

    Attributes:
        nearest: the nearest pair without an object of the live scene, or with one if that is
            nearer. Pairs near by design may be nearer: they are not measured yet.
        exact: gives exact distances of further pairs; without it leaf distances are used.
        points: gives nearest points of pairs; without it those of their leaves are used.
        path_seconds: CPU time for exact distances on the braking path; none begins later.
    """

    nearest: Clearance
    exact: ExactBounds | None = None
    points: NearestPoints | None = None
    path_seconds: float = 8e-3


class ExactLevel:
    """Fills the candidates of braking paths with exact distances.

    Attributes:
        measurements: measures pairs along braking paths.
    """

    def __init__(self, model: CollisionModel, paths: BrakingPaths) -> None:
        """``paths``: searches of leaves of the same model and live scene."""
        live = paths.live
        self._paths, self._model_count = paths, len(model.pairs)
        self.measurements = ExactPaths(model.twin() if live is None else model, live)
        self._inside = -1  # a pair that was too close in the last cycle, and did not move away
        self._compile()

    def fill(self, inputs: BrakingInputs, measured: Measured, holds: bool) -> int:
        """Fill the candidates of the paths; how many. ``holds``: whether an earlier stop is held.

        If a pair is too close now, and does not move away, it alone decides: the nearest pair, or
        one of those whose leaves are too close.
        """
        paths, nearest, inside = self._paths, measured.nearest, self._inside
        if inside < 0 and nearest.distance > paths.classes.widest_warning:
            return self.search(inputs, measured, holds)
        number = paths.number_of(nearest.links)
        is_inside = not nearest.distance > paths.classes.thresholds[number, 0]
        if not is_inside and inside < 0:
            return self.search(inputs, measured, holds)
        # After a cycle inside, only pairs that are near now are searched: one probably decides.
        count = paths.coarse_search(inputs, now=inside >= 0)
        if self._one_decides(inputs, measured, count, number, number if is_inside else inside):
            return 1
        return self.search(inputs, measured, holds, None if inside >= 0 else count)

    def _one_decides(
        self, inputs: BrakingInputs, measured: Measured, count: int, number: int, first: int
    ) -> bool:
        """Whether one of the candidates is too close now, and does not move away.

        The nearest of these is then the only candidate. ``number``: the pair that is measured
        already, ``first``: the one that is measured first.
        """
        paths = self._paths
        candidates = paths.candidates[:count]
        pairs = candidates[:, PAIR].astype(int)
        candidates[pairs == number, DISTANCE] = measured.nearest.distance
        stop = paths.classes.thresholds[pairs, 0]
        matters = ~(candidates[:, DISTANCE] > stop)
        candidates, pairs, stop = candidates[matters], pairs[matters], stop[matters]
        order = np.argsort(np.where(pairs == first, -np.inf, candidates[:, DISTANCE] - stop))
        # The first pair decides alone if its shapes touch; otherwise all are measured.
        for which, enough in ((order[:1], 0.0), (order, np.inf)):
            if (rest := which[pairs[which] != number]).size:
                none = np.full(len(rest), np.inf)
                candidates[rest, DISTANCE] = self._measured_now(
                    measured, pairs[rest], candidates[rest, DISTANCE], stop[rest] + LOOSE_NOW,
                    np.full(len(rest), LOOSE_NOW), none,
                )  # fmt: skip
            distances = candidates[which, DISTANCE]
            some = candidates[which[~(distances > np.minimum(stop[which], enough))]]
            if not len(some):
                continue
            self._set_rates(inputs, measured, some, some[:, DISTANCE])
            some = some[~(some[:, RATE] > inputs.settings.parting_speed)]
            if len(some):
                deciding = some[some[:, DISTANCE].argmin()]
                deciding[LEAST] = deciding[DISTANCE]
                paths.candidates[0], self._inside = deciding, int(deciding[PAIR])
                return True
        return False

    def _set_rates(
        self, inputs: BrakingInputs, measured: Measured, candidates: np.ndarray,
        distances: np.ndarray,
    ) -> None:  # fmt: skip
        """Set RATE in candidates (k, columns), of shapes for the nearest pairs, else of leaves.

        These are the nearest of all, by ``distances`` (k,), and the one that is measured already. A
        pair in contact has no nearest points of shapes.
        """
        points = np.full((len(candidates), 2, 3), np.nan)
        if measured.points is not None and len(candidates):
            pairs, nearest = candidates[:, PAIR].astype(int), measured.nearest
            apart = np.where(distances > _ROUNDING, distances, np.inf)
            row = apart.argmin()
            if apart[row] < np.inf:
                distance, found = measured.points(pairs[row : row + 1])
                points[row] = found[0] if distance[0] > _ROUNDING else np.nan
            if nearest.distance > _ROUNDING:
                tables, number = self._paths.tables, self._paths.number_of(nearest.links)
                is_first = nearest.links[0] == tables.name_of(tables.pair_rows[number, 0])
                points[pairs == number] = nearest.points if is_first else nearest.points[::-1]
        self._paths.set_rates(inputs, candidates, points)

    def _measured_now(
        self, measured: Measured, pairs: np.ndarray, leaves: np.ndarray, within: np.ndarray,
        loose: np.ndarray, near: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """As `ExactBounds`; exact where a threshold is within the tolerance."""
        distances = measured.exact(pairs, leaves, within, loose, near)
        thresholds, rows = self._paths.classes.thresholds, np.empty(len(pairs), dtype=np.int64)
        count = undecided(thresholds, pairs, distances, loose, rows)
        if count:
            which = rows[:count]
            distances[which] = measured.exact(
                pairs[which], distances[which], within[which], 0.0, near[which]
            )
        return distances

    def search(
        self, inputs: BrakingInputs, measured: Measured, holds: bool, count: int | None = None
    ) -> int:
        """Fill the candidates of a coarse search with exact distances; how many matter.

        ``count``: of the candidates of a search of all pairs in this cycle; by default done here.

        Rates are those of leaves, except for the nearest pair. So are distances on the braking path
        to objects of many parts, such as point clouds, unless the distance now less the farthest
        way of both is more.
        """
        paths, settings = self._paths, inputs.settings
        self._inside = -1
        if count is None:
            count = paths.coarse_search(inputs)
        if not count:
            return 0
        number = paths.number_of(measured.nearest.links)
        candidates, needs = paths.candidates[:count], np.empty((count, NEEDS))
        bounds = self._bounds_so_far(inputs, measured, number, candidates, needs)
        count = drop_far(candidates, needs, bounds.intervals, *paths.known)
        if not count:
            return 0
        candidates, needs = candidates[:count], needs[:count]
        known = np.where(needs[:, MEASURABLE] > 0.0, needs[:, NOW], np.inf)
        self._set_rates(inputs, measured, candidates, known)
        parting, tolerance = settings.parting_speed, inputs.tolerance
        is_inside, self._inside = set_needs(
            candidates, needs, holds, parting, settings.escape_scale, tolerance, settings.resolution
        )
        scale = settings.escape_scale if is_inside else np.inf
        chosen, unproven = np.empty((2, count), dtype=np.int64)
        size, scale, stops = choose(candidates, needs, inputs.moves, scale, chosen)
        if size:
            seconds = measured.path_seconds
            # Successive paths are nearly the same: most of them is known from earlier cycles.
            if is_inside and self.measurements.measurements.any():
                seconds = min(seconds, _INSIDE_SECONDS)
            end = time.thread_time() + seconds
            stops = self.measurements.raise_least(
                inputs, candidates, needs, chosen[:size], bounds, scale, end
            )
        size = take_paths(
            candidates, needs, *paths.known, stops, is_inside, parting, tolerance, unproven
        )
        unproven = unproven[:size]
        some = candidates[unproven]
        if size:
            paths.bound_leaves(inputs, some, np.full(size, -np.inf), needs[unproven, ENOUGH])
        conclude(candidates, needs, unproven, some, parting, tolerance)
        return count

    def _bounds_so_far(
        self, inputs: BrakingInputs, measured: Measured, number: int, candidates: np.ndarray,
        needs: np.ndarray,
    ) -> PathBounds:  # fmt: skip
        """Bounds on the path, of those that earlier measurements may raise.

        Measures what is near now; ``number``: the pair that is measured already.
        """
        paths, count = self._paths, len(candidates)
        raisable, asked = np.empty((2, count), dtype=np.int64)
        request = np.empty((4, count))
        size = ask(
            candidates, paths.classes.thresholds, inputs.settings.release_distance,
            paths.tables.pair_rows, paths.part_counts, self._model_count, number, needs, asked,
            request,
        )  # fmt: skip
        asked, distances = asked[:size], request[0, :size]
        if size:
            distances = self._measured_now(measured, asked, *request[:, :size])
        nearest = measured.nearest.distance
        size = take(candidates, needs, asked, distances, number, nearest, inputs.moves, raisable)
        some, needed = candidates[raisable[:size]], needs[raisable[:size]].T.copy()
        weights = paths.weights(some[:, GROUP].astype(int))
        return self.measurements.known(
            inputs, some[:, PAIR].astype(int), weights, needed[NOW], needed[ENOUGH]
        )

    def _compile(self) -> None:
        """Run the kernels once, so that no joint state has to wait for them."""
        paths, empty, none = self._paths, np.empty(0, dtype=np.int64), np.empty(0)
        candidates, needs = paths.candidates[:0], np.empty((0, NEEDS))
        ask(
            candidates, paths.classes.thresholds, 0.0, paths.tables.pair_rows, paths.part_counts, 0,
            0, needs, empty, np.empty((4, 0)),
        )  # fmt: skip
        undecided(paths.classes.thresholds, empty, none, none, empty)
        take(candidates, needs, empty, none, 0, 0.0, False, empty)
        drop_far(candidates, needs, np.empty((0, INTERVALS)), *paths.known)
        set_needs(candidates, needs, False, 0.0, 0.0, 0.0, 0.0)
        choose(candidates, needs, False, 0.0, empty)
        take_paths(candidates, needs, *paths.known, False, False, 0.0, 0.0, empty)
        conclude(candidates, needs, empty, candidates, 0.0, 0.0)
