# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that come close while the joints brake: of the model, and with live objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.continuous import braking, braking_search, known_pairs, near_pairs
from collision_monitor.continuous.known_pairs import excess_of_slides, nothing_known
from collision_monitor.continuous.near_pairs import (
    COLUMNS,
    DISTANCE,
    GROUP,
    LEAST,
    PAIR,
    SAMPLED,
    TRAVEL,
)
from collision_monitor.continuous.scan_space import empty_tables, set_firsts
from collision_monitor.hierarchy.packed import windows
from collision_monitor.model.leaf_queries import ModelPairs
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.pair_rules import TOUCH
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy.decision import RELEASE_PART
from collision_monitor.monitoring.speed_policy.pair_classes import PairClasses
from collision_monitor.robot.bodies import SLIDES_BEYOND, largest_slides

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


# Configurations of a search. Searches of arms take 4 to 20; where 96 are not enough, in contact and
# at high speed, bounds are too low.
_MOST = 96
_TESTS = 300


class BrakingInputs(NamedTuple):
    """State of the joints, and parameters of their braking path.

    Attributes:
        q: (nq,) configuration.
        velocities: (nq,) rad/s or m/s; they decide which pairs move apart.
        initial_velocities: (nq,) at the start of braking; zeros without prediction.
        decelerations: (nq,) rad/s^2 or m/s^2.
        reaction: seconds until braking begins.
        settings: of the speed policy.
    """

    q: np.ndarray
    velocities: np.ndarray
    initial_velocities: np.ndarray
    decelerations: np.ndarray
    reaction: float
    settings: SpeedSettings

    @property
    def tolerance(self) -> float:
        """Metres that a pair that moves apart may come closer while it brakes."""
        return 2.0 * self.settings.resolution

    @property
    def moves(self) -> bool:
        """Whether any joint moves."""
        return bool(self.initial_velocities.any())

    @property
    def law(self) -> braking.BrakingPath:
        """The braking path, for kernels."""
        return braking.BrakingPath(
            self.q, self.initial_velocities, self.decelerations, self.reaction
        )

    def path(self, count: int) -> np.ndarray:
        """(nq, count + 1) configurations of the braking path, evenly spaced in time."""
        path = np.empty((len(self.q), count + 1))
        braking.braking_path(self.law, path)
        return path


def released(warn: np.ndarray, settings: SpeedSettings) -> np.ndarray:
    """Distances (k,) beyond which pairs with these warning distances hold no flag, metres.

    By `decision.reserve`, for arrays.
    """
    return warn + np.minimum(settings.release_distance, RELEASE_PART * warn)


class BrakingPaths:
    """Searches of braking paths of a model and its live scene, with their work space.

    Attributes:
        classes: thresholds and weights of the pairs.
        tables: of the pairs, as of `ModelPairs`.
        candidates: pairs of the last search, in rows as of `near_pairs`.
        known: what is known of the pairs of the model from earlier searches, as of `known_pairs`.
        tests: number of configurations in the last search.
    """

    def __init__(self, model: CollisionModel, live: LiveScene | None = None) -> None:
        self.classes = PairClasses(model, live)
        self.tables, self.live = self.classes.tables, live
        # Searches of a live scene find pairs with objects only.
        self._trees = [self.tables] if live is None else [ModelPairs(model), live]
        self._slots = np.full(len(self.tables.pair_rows), -1, dtype=np.int64)
        model_count = len(model.pairs)
        self._room(256, 64 + model_count)
        self.tests = 0
        self._no_parts = np.zeros(len(model.link_names), dtype=np.int64)
        bodies = model.bodies
        slides = np.column_stack(
            [
                bodies.columns, bodies.gains, bodies.offsets,
                largest_slides(bodies) + SLIDES_BEYOND,
            ]
        )[bodies.slides]  # fmt: skip
        self.known = nothing_known(
            self.classes.joint_weights[:model_count],
            windows(*self.tables.arrays()).links[self.tables.pair_rows[:model_count], 0],
            slides, self.classes.turns,
        )  # fmt: skip
        self._excess = excess_of_slides(*self.known)
        self._has_slides = len(slides) > 0
        self._lower, self._upper = model.lower - SLIDES_BEYOND, model.upper + SLIDES_BEYOND
        self._enough_for = np.nan, np.empty(0)
        self._space = empty_tables(*self.tables.arrays(), self.tables.most_moving_leaves).space(1)
        set_firsts(*self.tables.arrays(), self._space, np.arange(model_count))

    def set_thresholds(self, thresholds: np.ndarray, of_objects: Thresholds | None = None) -> None:
        """As `PairClasses.set_thresholds`.

        What is known is forgotten: it may be of shapes, and the new thresholds for leaves.
        """
        self.classes.set_thresholds(thresholds, of_objects)
        self._enough_for = np.nan, np.empty(0)
        known_pairs.forget(*self.known)

    def weights(self, groups: np.ndarray | slice, excess: np.ndarray | None = None) -> np.ndarray:
        """(k, nq) how far the links of pairs of classes (k,) come nearer for a unit of q, metres.

        At most, while slides are beyond their range by ``excess`` (nq,), by default that of the
        path of the last `coarse_search`: the farther out they are, the farther the joints that turn
        them move a link.
        """
        weights = self.classes.joint_weights[groups]
        if excess is None:
            excess = self._excess
        if not excess.any():
            return weights
        beyond = (weights > 0.0) @ excess
        return weights + (weights > 0.0) * np.outer(beyond, self.classes.turns)

    @property
    def part_counts(self) -> np.ndarray:
        """(rows,) of objects, the number of parts that exact distances measure; 0 of links."""
        return self._no_parts if self.live is None else self.live.part_counts

    def number_of(self, names: tuple[str, str]) -> int:
        """Number of a pair, by the names of its links or objects in any order."""
        one, other = sorted(map(self.tables.row_of, names))
        return int(self.tables.pair_table[one, other])

    def _room(self, leaf_pairs: int, pairs: int) -> None:
        self._found = np.empty((leaf_pairs, 3), dtype=np.int64)
        self._values = np.empty((leaf_pairs, 2))
        self.candidates = np.empty((pairs, COLUMNS))

    def coarse_search(self, inputs: BrakingInputs, now: bool = False) -> int:
        """Fill ``candidates`` with all pairs, with LEAST at the start; returns their number.

        Call `set_rates` after it. ``now``: only with pairs that are near without any motion.
        """
        count, classes = 0, self.classes
        model_count = classes.object_classes.start
        if self._has_slides:
            known_pairs.set_excess(*self.known, inputs.law)
        if classes.object_classes:
            count = self.search_objects(inputs, now)
            if len(self.candidates) < count + model_count:
                candidates = self.candidates[:count]
                self._room(len(self._found), 2 * (count + model_count))
                self.candidates[:count] = candidates
        return near_pairs.near_pairs(
            *self.tables.arrays(), inputs.law, self._enough(inputs.settings), now, *self.known,
            self.candidates, count,
        )  # fmt: skip

    def _enough(self, settings: SpeedSettings) -> np.ndarray:
        """(pairs,) distances beyond which pairs of the model hold no flag, metres."""
        if self._enough_for[0] != settings.release_distance:
            warn = self.classes.warn[: self.classes.object_classes.start]
            self._enough_for = settings.release_distance, released(warn, settings)
        return self._enough_for[1]

    def search_objects(self, inputs: BrakingInputs, now: bool) -> int:
        """The part of `coarse_search` for pairs with live objects."""
        tables, classes, q = self.tables, self.classes, inputs.q
        objects = slice(classes.object_classes.start, None)
        travel = np.zeros(len(classes.warn))
        if not now:
            travel[objects] = self.weights(objects) @ abs(inputs.path(1)[:, 1] - q)
            travel[np.isnan(travel)] = np.inf  # too fast for numbers
        # The distances now up to which pairs can still matter.
        limits = np.full(len(travel), -np.inf)
        limits[objects] = released(classes.warn[objects], inputs.settings) + travel[objects]
        while True:
            count = near_pairs.near_objects(
                *tables.arrays(), tables.leaf_links, tables.pair_table, classes.table, limits,
                q, self._found, self._values, self._slots, self.candidates,
            )  # fmt: skip
            if count >= 0:
                break
            if count == -1:
                self._room(len(self._found), 2 * len(self.candidates))
            else:
                self._room(-2 * count, len(self.candidates))
        candidates = self.candidates[:count]
        groups = candidates[:, GROUP].astype(int)
        candidates[:, TRAVEL] = travel[groups]
        candidates[:, LEAST] = candidates[:, DISTANCE] - candidates[:, TRAVEL]
        return count

    def set_rates(
        self, inputs: BrakingInputs, candidates: np.ndarray, points: np.ndarray | None = None
    ) -> None:
        """Set RATE in some candidates (k, columns) of `coarse_search`.

        ``points`` (k, 2, 3): nearest points of the shapes of each pair; NaN, or None for all, if
        leaves are used.
        """
        if points is None:
            points = np.full((len(candidates), 2, 3), np.nan)
        near_pairs.set_rates(*self.tables.arrays(), inputs.q, inputs.velocities, points, candidates)

    def keep(self, pairs: np.ndarray, distances: np.ndarray, bounds: np.ndarray) -> None:
        """Keep lower bounds (k,) of distances of pairs now, and on the braking path, metres.

        The path is that of the last `coarse_search`. Those that stay away are left out of the next
        ones.
        """
        known_pairs.keep(*self.known, pairs, *map(np.ascontiguousarray, (distances, bounds)))

    def bound_leaves(
        self, inputs: BrakingInputs, candidates: np.ndarray, stop: np.ndarray, enough: np.ndarray,
        most: int = _MOST,
    ) -> bool:  # fmt: skip
        """Raise LEAST in some candidates (k, columns) of `coarse_search` by leaves along the path.

        It is searched up to ``enough`` (k,) metres, in ``most`` configurations. Returns whether a
        pair comes within its ``stop`` distance (k,), metres: then LEAST of all is a distance.
        """
        pairs = candidates[:, PAIR].astype(int)
        with_objects = pairs[pairs >= self.classes.object_classes.start]
        if len(with_objects):
            set_firsts(*self.tables.arrays(), self._space, with_objects)
        before = candidates[:, LEAST].copy()
        self.tests, stops = braking_search.bound_leaves(
            *self.tables.arrays(), self._space, inputs.law, stop, enough,
            inputs.settings.resolution, most, candidates,
        )  # fmt: skip
        if not stops:
            candidates[:, LEAST] = np.minimum(
                np.maximum(candidates[:, LEAST], before),
                candidates[:, [DISTANCE, SAMPLED]].min(axis=1),
            )
            # Too fast for numbers: samples of such a path say nothing.
            candidates[~np.isfinite(before), LEAST] = -np.inf
        return stops

    def collision_time(self, q: np.ndarray, velocities: np.ndarray, horizon: float) -> float:
        """Lower bound in seconds of the time until leaves touch at constant joint velocities.

        0 if leaves already touch; inf if it exceeds ``horizon``, or nothing moves.
        """
        here, there = self._beyond(q), self._beyond(q + horizon * velocities)
        # Within its limits a slide stops there.
        is_out = (here > 0.0) | (q < self._lower) | (q > self._upper)
        excess = np.maximum(here, there) * is_out
        speed = float((self.weights(slice(None), excess) @ abs(velocities)).max(initial=0.0))
        if speed <= 0.0:
            return np.inf
        time = min(
            braking.collision_time(
                *tables.arrays(), q, velocities, speed, horizon, TOUCH, _TESTS, np.empty_like(q)
            )
            for tables in self._trees
        )
        return time if time < horizon else np.inf

    def _beyond(self, q: np.ndarray) -> np.ndarray:
        """How far slides are beyond their range at q (nq,), for each value of q; metres."""
        beyond = np.empty(len(q))
        known_pairs.beyond_range(*self.known, q, beyond)
        return beyond
