# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Braking check: the clearance along the braking path, and the allowed speed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.continuous.near_pairs import (
    DISTANCE,
    GROUP,
    LEAF_A,
    LEAF_B,
    LEAST,
    PAIR,
    RATE,
    TRAVEL,
)
from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.proximity import part_of
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.speed_policy import decision_kernels
from collision_monitor.monitoring.speed_policy.braking_paths import (
    BrakingInputs,
    BrakingPaths,
    released,
)
from collision_monitor.monitoring.speed_policy.decision import CALM, Decision
from collision_monitor.monitoring.speed_policy.exact_paths import (
    INTERVALS,
    ExactPaths,
    PathPairs,
)
from collision_monitor.monitoring.speed_policy.settings import SpeedSettings

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# Function of (pairs (k,), their leaf distances (k,), largest distances that matter (k,), tolerance;
# metres) that returns lower bounds (k,) of their exact distances.
ExactBounds = Callable[
    [np.ndarray, np.ndarray, np.ndarray, float | np.ndarray], np.ndarray
]
# Tolerated error of a bound of a distance: metres, and a part of the warning distance of its pair.
_LOOSE, _LOOSE_PART = 1e-3, 0.05
# For exact distances on the braking path while a pair is too close; then the bounds decide.
_INSIDE_SECONDS = 1e-3


class Measured(NamedTuple):
    """Distances at one configuration.

    Attributes:
        nearest: the nearest pair, with an object of the live scene or without.
        exact: gives exact distances of further pairs; without it leaf distances are used.
        path_seconds: CPU time for exact distances on the braking path; none begins later.
    """

    nearest: Clearance
    exact: ExactBounds | None = None
    path_seconds: float = 8e-3


class BrakingCheck:
    """Checks the braking path of one robot. It has its own work space, for one thread."""

    def __init__(
        self,
        model: CollisionModel,
        decelerations: np.ndarray,
        settings: SpeedSettings | None = None,
        live: LiveScene | None = None,
    ) -> None:
        """Compile all kernels.

        Args:
            model: the robot.
            decelerations: (nq,) rad/s^2 or m/s^2.
            settings: of the speed policy, by default its defaults.
            live: objects of the same model that change at run time.
        """
        self.model = model
        self._exact_paths: ExactPaths | None = None
        self.decelerations = np.ascontiguousarray(decelerations, dtype=float)
        self._still = np.zeros(len(model.joint_names))
        self._path_seconds = math.inf  # `Measured.path_seconds` of this cycle
        self._decides_alone = True  # one pair that is too close, in the last cycle
        self._memory = np.zeros(decision_kernels.MEMORY)
        self._reset()
        self._settings = SpeedSettings() if settings is None else settings
        self._paths = BrakingPaths(model, live)
        self._compile()

    @property
    def tests(self) -> int:
        """Number of configurations in the last search."""
        return self._paths.tests

    @property
    def settings(self) -> SpeedSettings:
        """Settings of the speed policy; may be set at any time."""
        return self._settings

    @settings.setter
    def settings(self, settings: SpeedSettings) -> None:
        # A longer ring buffer is filled with its minimum: a change does not release anything.
        ring = self._memory[decision_kernels.RING :]
        ring[:] = ring[: self._settings.release_cycles].min()
        self._settings = settings

    @property
    def _tolerance(self) -> float:
        """Metres that a pair that moves apart may come closer while it brakes."""
        return 2.0 * self._settings.resolution

    @property
    def widest_warning(self) -> float:
        """Largest warning distance of all pairs, metres."""
        return self._paths.classes.widest_warning

    def prepare_exact(self) -> None:
        """Get ready for decisions with exact distances."""
        if self._exact_paths is None:
            live = self._paths.live
            self._exact_paths = ExactPaths(self.model.twin() if live is None else self.model, live)

    def set_thresholds(
        self, thresholds: np.ndarray, of_objects: Thresholds | None = None
    ) -> None:
        """Set ``thresholds`` (pairs, 2): stop and warning distance of each pair of the model.

        ``of_objects``: thresholds of pairs with objects of a live scene. Metres.
        """
        self._paths.classes.set_thresholds(thresholds, of_objects)

    @property
    def thresholds(self) -> np.ndarray:
        """(pairs, 2) stop and warning distance of the pairs of the model, then of objects."""
        return self._paths.classes.thresholds

    def pair(self, number: int) -> tuple[str, str]:
        """Names of the pair with this number; see `Decision.pair`."""
        tables = self._paths.tables
        one, other = tables.pair_rows[number].tolist()
        return tables.name_of(one), tables.name_of(other)

    def decide(
        self,
        q: np.ndarray,
        velocities: np.ndarray,
        measured: Measured,
        passed: float = math.inf,
        late: float = 0.0,
        commanded: np.ndarray | None = None,
        known: bool = True,
    ) -> Decision:
        """The decision at q; call it once for each joint state.

        Args:
            q: (nq,), finite.
            velocities: (nq,) rad/s or m/s; 0 where they are unknown.
            measured: distances at q.
            passed: seconds since the last call.
            late: seconds since q was measured.
            commanded: velocities (nq,) of the last command to a stationary robot, which decide
                whether pairs move away. Predictions use ``velocities`` only.
            known: whether all velocities are known. Otherwise no pair counts as moving away.
        """
        s = self._settings
        inputs = BrakingInputs(
            q,
            velocities if commanded is None else commanded,
            velocities if s.prediction else self._still,
            self.decelerations,
            s.reaction_time + max(late, 0.0),
            s,
        )
        paths, count, distance = self._paths, 0, measured.nearest.distance
        # Written so that NaN counts as near.
        is_calm = distance > paths.classes.widest_warning + s.release_distance
        is_calm = is_calm and distance > paths.limits(inputs)
        if not is_calm and measured.exact is None:
            count = self._use_leaves(inputs, measured.nearest)
        elif not is_calm:
            self._path_seconds = measured.path_seconds
            count = self._use_exact(inputs, measured.nearest, measured.exact)
        rows = paths.rows
        if is_calm and self._calm:
            return CALM
        if not known:
            rows[:count, RATE] = 0.0
        rise = passed / s.rise_time if s.rise_time > 0.0 else math.inf
        scale, inside, near, stop, slow, approach, row, least, self._calm = decision_kernels.decide(
            rows, count, paths.classes.thresholds, s.release_distance, s.release_cycles, rise,
            s.escape_scale, s.parting_speed, self._tolerance, self._memory,
        )  # fmt: skip
        if row < 0:
            return Decision(scale, inside, near, stop, slow, approach)
        deciding = rows[row]
        pair = int(deciding[PAIR])
        low, high = paths.classes.thresholds[pair].tolist()
        rate = float(deciding[RATE]) if known else math.nan
        distance = float(deciding[DISTANCE])
        is_measured = measured.exact is None or pair == paths.number_of(measured.nearest.links)
        if not is_measured and high < distance:  # it may be a lower bound
            bound = measured.exact(np.array([pair]), deciding[[DISTANCE]], math.inf, _LOOSE)
            distance = max(distance, float(bound[0]))
        return Decision(
            scale, inside, near, stop, slow, approach, pair, distance, low, high, rate, least
        )

    def _use_leaves(self, inputs: BrakingInputs, nearest: Clearance) -> int:
        """Fill the rows of the paths, with distances of leaves; how many."""
        paths = self._paths
        count = paths.coarse_search(
            inputs, nearest=paths.number_of(nearest.links), distance=nearest.distance
        )
        rows = paths.rows[:count]
        rows[:, LEAST] = np.minimum(rows[:, LEAST], rows[:, DISTANCE])
        pairs = rows[:, PAIR].astype(int)
        stop, warn = paths.classes.thresholds[pairs].T
        enough = released(warn, inputs.settings)
        is_open = ~(rows[:, LEAST] > enough)
        if is_open.any() and inputs.initial_velocities.any():
            some = rows[is_open]
            stops = paths.bound_leaves(inputs, some, stop[is_open], enough[is_open])
            rows[is_open] = some
            if not stops:
                paths.keep(pairs[is_open], some[:, DISTANCE], some[:, LEAST])
        rows = rows[~(rows[:, LEAST] > enough)]
        paths.set_rates(inputs, rows)
        paths.rows[: len(rows)] = rows
        return len(rows)

    def _use_exact(self, inputs: BrakingInputs, nearest: Clearance, exact: ExactBounds) -> int:
        """Fill the rows of the paths, with exact distances; how many.

        If a pair is too close now, and does not move away, it alone decides: the nearest pair, or
        one of those whose leaves are too close.
        """
        paths = self._paths
        number = paths.number_of(nearest.links)
        if not nearest.distance > paths.classes.thresholds[number, 0]:
            # The same pair probably decides alone as in the last cycle; others are not searched.
            is_short = self._decides_alone
            count = self._search_coarsely(inputs, is_short, number, nearest.distance)
            rows = paths.rows[:count]
            pairs = rows[:, PAIR].astype(int)
            stop = paths.classes.thresholds[pairs, 0]
            matters = (pairs == number) | ~(rows[:, DISTANCE] > stop)
            rows, pairs, stop = rows[matters], pairs[matters], stop[matters]
            paths.set_rates(inputs, rows)
            is_nearest = pairs == number
            for row in np.flatnonzero(is_nearest):
                rows[row, DISTANCE] = nearest.distance
                rows[row, RATE] = _rate_of(paths, inputs, nearest, rows[row])
            stays = ~(rows[:, RATE] > self._settings.parting_speed)
            which = np.flatnonzero(stays & ~(rows[:, DISTANCE] > stop))
            if not is_nearest[which].any():
                which = which[np.argsort(rows[which, DISTANCE] - stop[which])]
                for some in (which[:1], which[1:]):  # the first is probably enough
                    if not len(some):
                        break
                    leaves = rows[some, DISTANCE]
                    rows[some, DISTANCE] = exact(pairs[some], leaves, stop[some] + _LOOSE, _LOOSE)
                    which = some[~(rows[some, DISTANCE] > stop[some])]
                    if len(which):
                        break
            self._decides_alone = len(which) > 0
            if self._decides_alone:
                worst = which[np.argmax(is_nearest[which])]
                paths.rows[0] = rows[worst]
                paths.rows[0, LEAST] = paths.rows[0, DISTANCE]
                return 1
            if not is_short:
                return self._measure(inputs, nearest, exact, count)
        return self._measure(inputs, nearest, exact)

    def _search_coarsely(
        self, inputs: BrakingInputs, now: bool, nearest: int, distance: float
    ) -> int:
        """Call `BrakingPaths.coarse_search`, which may replace the rows; returns their number."""
        count = self._paths.coarse_search(inputs, now, nearest, distance)
        if self._paths.is_beyond:
            self._exact_paths.forget()
        return count

    def _measure(
        self,
        inputs: BrakingInputs,
        nearest: Clearance,
        exact: ExactBounds,
        count: int | None = None,
    ) -> int:
        """Fill the rows of a coarse search with exact distances; how many matter.

        ``count``: of the rows of a search of all pairs in this cycle; by default it is done here.

        Rates are those of leaves, except for the nearest pair. So are distances on the braking path
        to objects of many parts, such as point clouds, unless the distance now less the farthest
        way of both is more.
        """
        paths = self._paths
        number, model_count = paths.number_of(nearest.links), len(self.model.pairs)
        if count is None:
            count = self._search_coarsely(inputs, False, number, nearest.distance)
        rows = paths.rows[:count]
        pairs = rows[:, PAIR].astype(int)
        is_nearest, is_live = pairs == number, pairs >= model_count
        is_exact = paths.have_few_parts(pairs)
        stop, warn = paths.classes.thresholds[pairs].T
        enough = released(warn, inputs.settings)
        distances = np.full(count, nearest.distance)  # no pair is closer
        if not is_nearest.all():
            loose = np.minimum(_LOOSE, _LOOSE_PART * warn)
            near = enough + 2.0 * loose
            # Farther away than this, a pair does not matter: now, or after it has braked.
            within = near + rows[:, TRAVEL]
            others = is_live != (number >= model_count)
            if paths.classes.object_classes and others.any():
                # The nearest of them, by its leaves, is measured exactly, too.
                loose[np.where(others, rows[:, DISTANCE], np.inf).argmin()] = 0.0
            # What is known from earlier cycles is enough for pairs that are not near now: if they
            # come near, they are measured there, if they are measured on the path at all.
            near = np.where(is_exact, near, within)
            distances, moves = rows[:, DISTANCE].copy(), within > near
            if moves.any():
                distances[moves] = exact(pairs[moves], distances[moves], within[moves], np.inf)
            which = np.flatnonzero(~is_nearest & ~(distances > near))
            if len(which):
                leaves = rows[which, DISTANCE]
                distances[which] = exact(pairs[which], leaves, within[which], loose[which])
                # The distance itself decides whether a pair is within a threshold.
                within_stop, within_warn = stop - distances, warn - distances
                is_unsure = (within_stop >= 0.0) & (within_stop < loose)
                is_unsure |= (within_warn >= 0.0) & (within_warn < loose)
                which = which[is_unsure[which]]
                if len(which):
                    leaves = distances[which]
                    distances[which] = exact(pairs[which], leaves, within[which], 0.0)
            distances = np.maximum(distances, nearest.distance)
            distances[is_nearest] = nearest.distance
        least = np.maximum(rows[:, LEAST], distances - rows[:, TRAVEL])
        is_open = self._is_open(inputs, distances, enough, least, is_exact)
        bounds = np.empty((count, INTERVALS))
        if is_open.any():
            bounds[is_open] = raised = self._exact_paths.known(
                inputs.path, pairs[is_open], self._weights(rows[is_open]), distances[is_open],
                enough[is_open],
            )  # fmt: skip
            raised = np.minimum(raised.min(axis=1), distances[is_open])
            least[is_open] = np.maximum(least[is_open], raised)
        paths.keep(pairs, distances, least)
        matters = ~(least > enough)
        if not matters.any():
            return 0
        rows = rows[matters]  # a copy, since further searches write to those of the paths
        if len(rows) < count:
            pairs, distances, stop, enough, least, is_live, is_nearest, is_exact, bounds = (
                each[matters]
                for each in (
                    pairs, distances, stop, enough, least, is_live, is_nearest, is_exact, bounds
                )
            )  # fmt: skip
            count = len(rows)
        paths.set_rates(inputs, rows)
        for row in np.flatnonzero(is_nearest):
            rows[row, RATE] = _rate_of(paths, inputs, nearest, rows[row])
        is_parting = rows[:, RATE] > self._settings.parting_speed
        goes_on = np.zeros(count, dtype=bool)
        stops = self._raise_least(inputs, rows, distances, enough, least, is_exact, bounds)
        is_unproven = (least <= stop) & (distances > stop)
        may_turn = is_parting & (least < distances - self._tolerance)
        which = is_unproven | (may_turn | ~is_exact) & (least <= enough)
        which &= ~is_exact | (not stops)
        if which.any():
            some = rows[which]
            paths.bound_leaves(inputs, some, np.full(len(some), -np.inf), enough[which])
            least[which] = np.maximum(least[which], some[:, LEAST])
            # Whether leaves of a pair that moves apart do not turn back while it brakes.
            goes_on[which] = some[:, LEAST] >= some[:, DISTANCE] - self._tolerance
        ignored = is_parting & goes_on & (least <= enough)
        rows[:, LEAST] = np.where(ignored, distances, np.minimum(least, distances))
        rows[:, DISTANCE] = distances
        paths.rows[:count] = rows
        return count

    def _raise_least(
        self,
        inputs: BrakingInputs,
        rows: np.ndarray,
        distances: np.ndarray,
        enough: np.ndarray,
        least: np.ndarray,
        is_exact: np.ndarray,
        bounds: np.ndarray,
    ) -> bool:
        """Raise ``least`` (k,), the bounds on the braking path, by exact distances along it.

        ``is_exact`` (k,): whether a pair is measured there; ``bounds`` (k, n): `ExactPaths.known`.

        Returns whether a pair stops the robot; then some others were not measured.
        """
        is_open = self._is_open(inputs, distances, enough, least, is_exact)
        if not is_open.any():
            return False
        pairs, rates = rows[:, PAIR].astype(int), rows[:, RATE]
        thresholds, parting = self._paths.classes.thresholds[pairs], self._settings.parting_speed
        limits_speed = rates <= parting
        holding, warn = thresholds.T
        if self._memory[decision_kernels.STOP] > 0.0:
            holding = np.where(rates < -parting, warn, holding + enough - warn)
        # While a pair is too close, the scale is at most that of leaving.
        is_inside = (distances <= thresholds[:, 0]).any()
        scale = self._settings.escape_scale if is_inside else math.inf
        # Successive paths are nearly the same: most of them is known from earlier cycles.
        is_known = self._exact_paths.measurements.any()
        seconds = self._path_seconds
        if is_inside and is_known:
            seconds = min(seconds, _INSIDE_SECONDS)
        known = np.flatnonzero(is_exact & ~is_open & limits_speed & (least > thresholds[:, 0]))
        if len(known):
            if (least[known] <= holding[known]).any():
                least[is_open] = distances[is_open]
                return True
            scale = min(scale, float(part_of(least[known], thresholds[known]).min()))
        chosen = np.flatnonzero(is_open)
        measured, proven, stops = self._exact_paths.least(
            inputs.path,
            PathPairs(
                pairs[chosen], self._weights(rows[chosen]), distances[chosen], thresholds[chosen],
                holding[chosen], enough[chosen], limits_speed[chosen],
            ),
            bounds[chosen], scale, self._settings.resolution, self._tolerance,
            time.thread_time() + seconds,
        )  # fmt: skip
        self._paths.keep(pairs[chosen], distances[chosen], proven)
        least[chosen] = np.maximum(least[chosen], measured)
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

    def _weights(self, rows: np.ndarray) -> np.ndarray:
        """(k, nq) how far the links of pairs come nearer at most for a unit of a joint."""
        return self._paths.classes.joint_weights[rows[:, GROUP].astype(int)]

    def collision_time(
        self, q: np.ndarray, velocities: np.ndarray, horizon: float = 10.0
    ) -> float:
        """Lower bound in seconds of the time until leaves touch at constant joint velocities.

        0 if leaves already touch; inf if it exceeds ``horizon``, or nothing moves.
        """
        return self._paths.collision_time(q, velocities, horizon)

    def take_over(self, old: BrakingCheck) -> None:
        """Copy flags and speed scale of the check of another model."""
        self._memory[:], self._calm = old._memory, old._calm

    def _reset(self) -> None:
        """Clear all flags and set the scale to 1."""
        self._memory.fill(0.0)
        self._memory[decision_kernels.GIVEN :] = 1.0
        self._calm = True

    def _compile(self) -> None:
        """Run everything once, so that no joint state has to wait for it."""
        q, moving = self._still, np.ones_like(self._still)
        # At rest: the search of a long path takes seconds on robots of hundreds of joints.
        inputs = BrakingInputs(q, moving, self._still, self.decelerations, 0.0, self._settings)
        inputs.path(2)
        self._paths.limits(inputs)
        count = self._paths.coarse_search(inputs)
        rows = self._paths.rows[:count].copy()
        self._paths.set_rates(inputs, rows)
        self._paths.bound_leaves(inputs, rows[:0], np.empty(0), np.empty(0))
        decision_kernels.decide(
            self._paths.rows, 0, self._paths.classes.thresholds, 0.0, 1, 1.0, 1.0, 0.0, 0.0,
            self._memory,
        )
        self._reset()
        self.collision_time(q, moving, 0.0)
        if len(self.model.leaves):
            self._paths.parting_rate(
                q, moving, np.zeros(2, dtype=np.int64), np.zeros((2, 3)), np.zeros(3)
            )


def _rate_of(
    paths: BrakingPaths, inputs: BrakingInputs, nearest: Clearance, row: np.ndarray
) -> float:
    """Rate of separation of the nearest points, m/s; any leaf of a link represents it."""
    leaves = row[[LEAF_A, LEAF_B]].astype(np.int64)
    points, normal = nearest.points, nearest.normal
    if paths.tables.leaf_links[leaves[0]] != paths.tables.row_of(nearest.links[0]):
        leaves = leaves[::-1].copy()
    return paths.parting_rate(inputs.q, inputs.velocities, leaves, points, normal)
