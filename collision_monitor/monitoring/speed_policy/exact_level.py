# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The braking check on exact distances: which pairs matter, how near they are and come."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.continuous.near_pairs import (
    DISTANCE,
    GROUP,
    LEAST,
    PAIR,
    RATE,
    TRAVEL,
)
from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.model.proximity import part_of
from collision_monitor.monitoring.speed_policy.braking_paths import (
    BrakingInputs,
    BrakingPaths,
    released,
)
from collision_monitor.monitoring.speed_policy.exact_paths import (
    INTERVALS,
    ExactPaths,
    PathPairs,
)

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# Function of (pairs (k,), their leaf distances (k,), largest distances that matter (k,), tolerance;
# metres) that returns lower bounds (k,) of their exact distances.
ExactBounds = Callable[
    [np.ndarray, np.ndarray, np.ndarray, float | np.ndarray], np.ndarray
]
# Function of pairs (k,) that returns their exact distances (k,) and nearest points (k, 2, 3), base
# frame, metres; the points are valid above 0.
NearestPoints = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
# Tolerated error of a bound of a distance: metres, and a part of the warning distance of its pair.
LOOSE, _LOOSE_PART = 1e-3, 0.05
# Tolerance of a bound on the path, relative to the range between the stop and the warning distance.
_FINE_PART = 0.1
# For exact distances on the braking path while a pair is too close; then the bounds decide.
_INSIDE_SECONDS = 1e-3
_ROUNDING = 1e-6  # metres: nearest points that are nearer have no direction


class Measured(NamedTuple):
    """Distances at one configuration.

    Attributes:
        nearest: a pair of which the distance is known: the nearest with or without an object of
            the live scene. Pairs near by design may be nearer.
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

    def fill(self, inputs: BrakingInputs, measured: Measured, holds: bool) -> int:
        """Fill the candidates of the paths; how many. ``holds``: whether an earlier stop is held.

        If a pair is too close now, and does not move away, it alone decides: the nearest pair, or
        one of those whose leaves are too close.
        """
        paths, nearest = self._paths, measured.nearest
        number, inside = paths.number_of(nearest.links), self._inside
        is_inside = not nearest.distance > paths.classes.thresholds[number, 0]
        if not is_inside and inside < 0:
            return self.search(inputs, measured, holds)
        # After a cycle inside, only pairs that are near now are searched: one probably decides.
        count = self._search_coarsely(inputs, inside >= 0, number, nearest.distance)
        candidates = paths.candidates[:count]
        pairs = candidates[:, PAIR].astype(int)
        candidates[pairs == number, DISTANCE] = nearest.distance
        stop = paths.classes.thresholds[pairs, 0]
        matters = ~(candidates[:, DISTANCE] > stop)
        candidates, pairs, stop = candidates[matters], pairs[matters], stop[matters]
        first = pairs == (number if is_inside else inside)
        order = np.argsort(np.where(first, -np.inf, candidates[:, DISTANCE] - stop))
        # A contact decides alone; otherwise there may be one among the others.
        for which, enough in ((order[:1], 0.0), (order, np.inf)):
            if (rest := which[pairs[which] != number]).size:
                candidates[rest, DISTANCE] = self._measured_now(
                    measured, pairs[rest], candidates[rest, DISTANCE], stop[rest] + LOOSE, LOOSE
                )
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
                return 1
        return self.search(inputs, measured, holds, None if inside >= 0 else count)

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
        loose: float | np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Distances (k,) of pairs, at most ``loose`` too small, but exact within a threshold."""
        distances = measured.exact(pairs, leaves, within, loose)
        # The distance itself decides whether a pair is within a threshold.
        below = self._paths.classes.thresholds[pairs] - distances[:, None]
        is_unsure = ((below >= 0.0) & (below < np.reshape(loose, (-1, 1)))).any(axis=1)
        if is_unsure.any():
            distances[is_unsure] = measured.exact(
                pairs[is_unsure], distances[is_unsure], within[is_unsure], 0.0
            )
        return distances

    def _search_coarsely(
        self, inputs: BrakingInputs, now: bool, nearest: int, distance: float
    ) -> int:
        """Number of candidates of `BrakingPaths.coarse_search`, which may replace the array."""
        count = self._paths.coarse_search(inputs, now, nearest, distance)
        if self._paths.has_forgotten:
            self.measurements.forget()
        return count

    def search(
        self,
        inputs: BrakingInputs,
        measured: Measured,
        holds: bool,
        count: int | None = None,
    ) -> int:
        """Fill the candidates of a coarse search with exact distances; how many matter.

        ``count``: of the candidates of a search of all pairs in this cycle; by default done here.

        Rates are those of leaves, except for the nearest pair. So are distances on the braking path
        to objects of many parts, such as point clouds, unless the distance now less the farthest
        way of both is more.
        """
        paths, nearest = self._paths, measured.nearest
        number, self._inside = paths.number_of(nearest.links), -1
        if count is None:
            count = self._search_coarsely(inputs, False, number, nearest.distance)
        if not count:
            return 0
        candidates = paths.candidates[:count]
        pairs = candidates[:, PAIR].astype(int)
        is_nearest, is_exact = pairs == number, paths.have_few_parts(pairs)
        thresholds = paths.classes.thresholds[pairs]
        enough = released(thresholds[:, 1], inputs.settings)
        distances = self._distances_now(measured, candidates, pairs, is_nearest, is_exact, enough)
        least = np.maximum(candidates[:, LEAST], distances - candidates[:, TRAVEL])
        is_open = self._is_open(inputs, distances, enough, least, is_exact)
        bounds = np.empty((count, INTERVALS))
        if is_open.any():
            bounds[is_open] = raised = self.measurements.known(
                inputs, pairs[is_open], self._weights(candidates[is_open]), distances[is_open],
                enough[is_open],
            )  # fmt: skip
            raised = np.minimum(raised.min(axis=1), distances[is_open])
            least[is_open] = np.maximum(least[is_open], raised)
        paths.keep(pairs, distances, least)
        matters = ~(least > enough)
        if not matters.any():
            return 0
        # A copy, since further searches write to those of the paths.
        candidates = candidates[matters]
        if len(candidates) < count:
            pairs, thresholds, distances, enough, least, is_exact, bounds = (
                each[matters]
                for each in (pairs, thresholds, distances, enough, least, is_exact, bounds)
            )
            count = len(candidates)
        self._set_rates(inputs, measured, candidates, np.where(is_exact, distances, np.inf))
        settings, (stop, warn) = inputs.settings, thresholds.T
        is_parting = candidates[:, RATE] > settings.parting_speed
        inside = np.flatnonzero(~is_parting & ~(distances > stop))
        if len(inside):
            self._inside = int(pairs[inside[0]])
        holding = stop
        if holds:
            is_nearing = candidates[:, RATE] < -settings.parting_speed
            holding = np.where(is_nearing, warn, stop + enough - warn)
        scale, needed, goes_on = math.inf, enough, np.zeros(count, dtype=bool)
        if (distances <= stop).any():
            # The scale is that of leaving at most: pairs that move away and allow it do not matter.
            scale = settings.escape_scale
            needed = np.minimum(enough, np.maximum(holding, stop + scale * (warn - stop)))
            goes_on = is_parting & (least >= needed)
        is_open = self._is_open(inputs, distances, enough, least, is_exact) & ~goes_on
        stops = self._raise_least(
            inputs, candidates, thresholds, distances, least, is_open, is_exact, bounds, holding,
            needed, scale, measured.path_seconds,
        )  # fmt: skip
        if math.isfinite(scale):
            goes_on = is_parting & (least >= needed)
        is_unproven = (least <= stop) & (distances > stop)
        may_turn = is_parting & (least < distances - inputs.tolerance)
        which = is_unproven | (may_turn | ~is_exact) & (least <= enough)
        which &= (~is_exact | (not stops)) & ~goes_on
        if which.any():
            some = candidates[which]
            paths.bound_leaves(inputs, some, np.full(len(some), -np.inf), enough[which])
            least[which] = np.maximum(least[which], some[:, LEAST])
            # Whether leaves of a pair that moves apart do not turn back while it brakes.
            goes_on[which] = some[:, LEAST] >= some[:, DISTANCE] - inputs.tolerance
        ignored = is_parting & goes_on & (least <= enough)
        candidates[:, LEAST] = np.where(ignored, distances, np.minimum(least, distances))
        candidates[:, DISTANCE] = distances
        paths.candidates[:count] = candidates
        return count

    def _distances_now(
        self, measured: Measured, candidates: np.ndarray, pairs: np.ndarray, is_nearest: np.ndarray,
        is_exact: np.ndarray, enough: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Exact distances (k,) of ``pairs`` now; lower bounds of those that do not matter.

        Pairs up to ``enough`` (k,) metres matter; see `search`.
        """
        paths, nearest, exact = self._paths, measured.nearest, measured.exact
        if is_nearest.all():
            return np.full(len(candidates), nearest.distance)
        warn = paths.classes.thresholds[pairs, 1]
        loose = np.minimum(LOOSE, _LOOSE_PART * warn)
        near = enough + 2.0 * loose
        # Farther away than this, a pair does not matter: now, or after it has braked.
        within = near + candidates[:, TRAVEL]
        if paths.classes.object_classes:
            is_live = pairs >= self._model_count
            others = is_live != is_live[is_nearest].any()
            if others.any():
                # The nearest of them, by its leaves, is measured exactly, too.
                loose[np.where(others, candidates[:, DISTANCE], np.inf).argmin()] = 0.0
        # What is known from earlier cycles is enough for pairs that are not near now: if they
        # come near, they are measured there, if they are measured on the path at all.
        near = np.where(is_exact, near, within)
        distances, moves = candidates[:, DISTANCE].copy(), within > near
        if moves.any():
            distances[moves] = exact(pairs[moves], distances[moves], within[moves], np.inf)
        which = np.flatnonzero(~is_nearest & ~(distances > near))
        if len(which):
            distances[which] = self._measured_now(
                measured, pairs[which], candidates[which, DISTANCE], within[which], loose[which]
            )
        distances[is_nearest] = nearest.distance
        return distances

    def _raise_least(
        self, inputs: BrakingInputs, candidates: np.ndarray, thresholds: np.ndarray,
        distances: np.ndarray, least: np.ndarray, is_open: np.ndarray, is_exact: np.ndarray,
        bounds: np.ndarray, holding: np.ndarray, needed: np.ndarray, scale: float, seconds: float,
    ) -> bool:  # fmt: skip
        """Raise ``least`` (k,), the bounds on the braking path, by exact distances along it.

        Of the pairs that are ``is_open`` (k,). ``is_exact`` (k,): whether a pair can be measured
        on the path; ``bounds`` (k, n): `ExactPaths.known`; ``holding`` (k,), ``needed`` (k,) and
        ``scale`` as of `PathPairs` and `ExactPaths.least`.

        Returns whether a pair stops the robot; then some others were not measured.
        """
        if not is_open.any():
            return False
        pairs, (stop, warn) = candidates[:, PAIR].astype(int), thresholds.T
        limits_speed = candidates[:, RATE] <= inputs.settings.parting_speed
        # Successive paths are nearly the same: most of them is known from earlier cycles.
        if math.isfinite(scale) and self.measurements.measurements.any():
            seconds = min(seconds, _INSIDE_SECONDS)
        known = is_exact & ~is_open & limits_speed & (least > stop)
        if known.any():
            if (least[known] <= holding[known]).any():
                least[is_open] = distances[is_open]
                return True
            scale = min(scale, float(part_of(least[known], thresholds[known]).min()))
        # A pair that moves away may be ignored unless it comes nearer than now.
        needed = np.where(limits_speed, needed, np.minimum(needed, distances - inputs.tolerance))
        fine = np.minimum(inputs.settings.resolution, _FINE_PART * (warn - stop))
        measured, proven, stops = self.measurements.least(
            inputs,
            PathPairs(
                pairs[is_open], self._weights(candidates[is_open]), distances[is_open],
                thresholds[is_open], holding[is_open], needed[is_open], fine[is_open],
                limits_speed[is_open],
            ),
            bounds[is_open], scale, time.thread_time() + seconds,
        )  # fmt: skip
        self._paths.keep(pairs[is_open], distances[is_open], proven)
        least[is_open] = np.maximum(least[is_open], measured)
        return stops

    def _is_open(
        self,
        inputs: BrakingInputs,
        distances: np.ndarray,
        enough: np.ndarray,
        least: np.ndarray,
        is_exact: np.ndarray,
    ) -> np.ndarray:
        """(k,) whether distances on the braking path may raise the bounds ``least``."""
        moves = inputs.initial_velocities.any()
        return moves & is_exact & (least <= enough) & (least < distances) & (distances > 0.0)

    def _weights(self, candidates: np.ndarray) -> np.ndarray:
        """(k, nq) how far the links of pairs come nearer at most for a unit of a joint."""
        return self._paths.weights(candidates[:, GROUP].astype(int))
