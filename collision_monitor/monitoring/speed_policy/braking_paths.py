# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that come close while the joints brake: of the model, and with live objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.continuous import braking, braking_search, near_pairs
from collision_monitor.continuous.near_pairs import (
    COLUMNS,
    DISTANCE,
    GROUP,
    LEAST,
    PAIR,
    SAMPLED,
    TRAVEL,
)
from collision_monitor.continuous.scan_space import fill_balls
from collision_monitor.continuous.scan_tables import empty_tables
from collision_monitor.errors import LoadingLimitError
from collision_monitor.fitting.shapes import leaves_of
from collision_monitor.geometry.leaf import moved
from collision_monitor.hierarchy.packed import windows
from collision_monitor.model.live.live_objects import LiveObject
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.proximity import ModelPairs
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.speed_policy.decision_kernels import RELEASE_PART
from collision_monitor.monitoring.speed_policy.settings import SpeedSettings
from collision_monitor.robot.bodies import (
    SLIDES_BEYOND,
    largest_slides,
    reach,
    relative_reach,
)

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


_MOST = 96  # configurations of a search
_MOST_WEIGHTS = 20_000_000  # numbers; some arrays of this size are needed at a time
_NOWHERE = -1e6  # metres, a warning distance that is never reached
_TOUCHING = 0.001  # distance in metres that counts as a collision, for the time to collision
_TESTS = 300
# Objects of more parts are not measured on braking paths: those of clouds take most of a cycle, and
# are hardly nearer than their spheres.
_MOST_PARTS = 64


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
    def law(self) -> braking.BrakingPath:
        """The braking path, for kernels."""
        return braking.BrakingPath(
            self.q, self.initial_velocities, self.decelerations, self.reaction
        )

    def path(self, count: int) -> np.ndarray:
        """(count + 1, nq) configurations of the braking path, evenly spaced in time."""
        path = np.empty((count + 1, len(self.q)))
        braking.braking_path(
            self.q, self.initial_velocities, self.decelerations, self.reaction, path
        )
        return path


def distinct_weights(
    reach: np.ndarray, distances: np.ndarray, ends: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """(weights (kinds, joints), kind of each pair).

    Args:
        reach: (links, joints) as of `CollisionModel.link_reach`.
        distances: (links, joints) as of `CollisionModel.axis_distances`.
        ends: (pairs, 2) numbers of links.
        name: of the robot, for the message.

    Raises:
        LoadingLimitError: they would not fit into memory.
    """
    if not reach.shape[1] or not len(ends):
        return np.zeros((1, reach.shape[1])), np.zeros(len(ends), dtype=np.int64)
    link_kinds, of_link = np.unique(np.hstack([reach, distances]), axis=0, return_inverse=True)
    kinds, of_pair = np.unique(
        np.sort(of_link.ravel()[ends], axis=1), axis=0, return_inverse=True
    )
    if kinds.shape[0] * reach.shape[1] > _MOST_WEIGHTS:
        raise LoadingLimitError(
            f"'{name}' cannot be monitored: {len(kinds)} kinds of pairs times {reach.shape[1]} "
            f"joints are {len(kinds) * reach.shape[1]} weights of the braking check; at most "
            f"{_MOST_WEIGHTS} are possible: leave out links, or disable pairs in the SRDF"
        )
    travel, away = np.hsplit(link_kinds, 2)
    one, other = kinds.T
    weights = relative_reach(travel[one], travel[other], (away[one], away[other]))
    # By their bytes: sorting rows of many joints takes seconds.
    number: dict[bytes, int] = {}
    of_kind = np.array([number.setdefault(row.tobytes(), len(number)) for row in weights])
    first = np.unique(of_kind, return_index=True)[1]
    return weights[first], of_kind[of_pair.ravel()]


def released(warn: np.ndarray, settings: SpeedSettings) -> np.ndarray:
    """Distances (k,) beyond which pairs with these warning distances hold no flag, metres."""
    return warn + np.minimum(settings.release_distance, RELEASE_PART * warn)


class BrakingPaths:
    """Pairs of a model and its live scene with their thresholds, and a work space.

    Pairs with the same reach and warning distance form a class: first those of the model, then
    those with objects. An object that is added or removed changes only its own row of the tables:
    each link forms one class with all static objects of the same warning distance.

    Attributes:
        tables: of the pairs, as of `model.proximity`.
        live: the live scene, or None.
        class_table: like ``pair_table``, with classes instead of pairs.
        thresholds: (pairs, 2) stop and warning distance of each pair, metres.
        widest_warning: the largest warning distance of the pairs that are there, metres.
        joint_weights: (classes, nq) how far the links of a pair come nearer at most for a unit of a
            joint, while no sliding joint is more than `SLIDES_BEYOND` beyond its limits.
        is_beyond: whether one was in this or the last `coarse_search`: then nothing is known from
            earlier configurations.
        rows: results of the last search, as of `near_pairs`.
        tests: number of configurations in the last search.
    """

    def __init__(self, model: CollisionModel, live: LiveScene | None = None) -> None:
        bodies = model.bodies
        self._columns = np.ascontiguousarray(bodies.columns, dtype=np.int64)
        self._gains = np.ascontiguousarray(bodies.gains, dtype=float)
        self.tables, self.live = ModelPairs(model) if live is None else live, live
        count = len(self.tables.pair_rows)
        self._slots = np.full(count, -1, dtype=np.int64)
        self.thresholds = np.zeros((count, 2))
        self.class_table = np.full_like(self.tables.pair_table, -1)
        model_count = len(model.pairs)
        self._room(256, 64 + model_count)
        self.tests = 0
        self._values_of_q = len(model.joint_names)
        slides = np.flatnonzero(bodies.slides)
        self._slide_columns, self._slide_gains = self._columns[slides], self._gains[slides]
        self._offsets = bodies.offsets[slides]
        self._largest = largest_slides(bodies)[slides] + SLIDES_BEYOND
        self.is_beyond = self._was_beyond = False
        self._reach, self._distances = model.link_reach(), model.axis_distances()
        self._kinds, self._kind_of_pairs = distinct_weights(
            self._reach, self._distances, self.tables.pair_rows[:model_count], model.name
        )
        self._earlier = near_pairs.nothing_known(
            self._by_value(self._kinds)[self._kind_of_pairs],
            windows(*self.tables.arrays()).links[self.tables.pair_rows[:model_count], 0],
        )
        self._space = empty_tables(*self.tables.arrays()).space(1)
        fill_balls(*self.tables.arrays(), self._space, np.arange(model_count))
        self._of_objects = Thresholds()
        self.set_thresholds(self.thresholds[: len(model.pairs)])
        if live is not None:
            live.watch(self._on_change)

    def have_few_parts(self, pairs: np.ndarray) -> np.ndarray:
        """Whether (k,) the objects of pairs have so few parts that the path can be measured."""
        if self.live is None:
            return np.ones(len(pairs), dtype=bool)
        return self.live.part_counts[self.live.pair_rows[pairs]].max(axis=1) <= _MOST_PARTS

    def number_of(self, names: tuple[str, str]) -> int:
        """Number of a pair, by the names of its links or objects in any order."""
        one, other = sorted(map(self.tables.row_of, names))
        return int(self.tables.pair_table[one, other])

    def set_thresholds(
        self, thresholds: np.ndarray, of_objects: Thresholds | None = None
    ) -> None:
        """Set ``thresholds`` (pairs, 2): stop and warning distance of each pair of the model.

        ``of_objects``: of all present and future pairs with objects. Metres.
        """
        pairs, links = len(thresholds), len(self._reach)
        self.thresholds[:pairs] = thresholds
        keys = np.column_stack([self._kind_of_pairs, thresholds[:, 1]])
        groups, group_of = np.unique(keys, axis=0, return_inverse=True)
        self._of_model = self._kinds[groups[:, 0].astype(int)], groups[:, 1]
        self._class_of_pairs = group_of.ravel().astype(np.int64)
        self._enough_for: tuple[float, np.ndarray] = (-1.0, thresholds)
        classes = np.append(self._class_of_pairs, -1)  # one more entry, so that -1 stays -1
        self.class_table[:links, :links] = classes[self.tables.pair_table[:links, :links]]
        if of_objects is not None:
            self._of_objects = of_objects
            self.thresholds[pairs:] = self._usual_thresholds
        # By object: thresholds of its pairs with all links.
        self._own: dict[str, np.ndarray] = {}
        self._on_change(None)

    def _by_value(self, weights: np.ndarray) -> np.ndarray:
        """(k, nq) weights (k, joints) by value of q: several joints may follow one."""
        by_value = np.zeros((len(weights), self._values_of_q))
        for column, gain, weight in zip(self._columns, self._gains, weights.T, strict=True):
            by_value[:, column] += abs(gain) * weight
        return by_value

    @property
    def _usual_thresholds(self) -> tuple[float, float]:
        return self._of_objects.stop, max(self._of_objects.warn, self._of_objects.stop)

    def _on_change(self, thing: LiveObject | None) -> None:
        """Update the tables for one object of the live scene, or for all."""
        if thing is not None:
            if self.live.objects.get(thing.name) is thing:
                self._add(thing)
            self._publish_classes()
            return
        # Those of objects, behind those of the model.
        self._classes: dict[tuple, int] = {}
        self._rows: list[tuple[np.ndarray, float]] = []
        if self.live is not None:
            self._add_all(self.live)
        self._publish_classes(is_new=True)

    def _add_all(self, live: LiveScene) -> None:
        links = len(self._reach)
        self._reach_of_carried = [self._reach_of(live, each) for each in live.carried]
        warn = self._usual_thresholds[1]
        self._usual = np.array([self._class(k, -1, warn) for k in range(links)])
        objects = list(live.objects.values())
        if not self._of_objects.rules:
            standing = [each.slot for each in objects if each.carrier < 0]
            rows = links + np.array(standing, dtype=np.int64)
            self.class_table[rows, :links] = self._usual
            self.class_table[:links, rows] = self._usual[:, None]
            objects = live.carried
        for each in objects:
            self._add(each)

    def _class(self, one: int, other: int, warn: float) -> int:
        """Class of pairs with an object.

        ``one``: a link, or -2 less the carrier of an object; ``other``: a carrier, or -1 for
        objects that stand still.
        """
        key = (one, other, warn)
        if key not in self._classes:
            self._classes[key] = len(self._of_model[0]) + len(self._rows)
            first, away = self._reach_of_carrier(-2 - one), np.inf
            if one >= 0:
                first, away = self._reach[one], self._distances[one]
            weights = relative_reach(first, self._reach_of_carrier(other), (away, np.inf))
            self._rows.append((weights, warn))
        return self._classes[key]

    def _reach_of_carrier(self, carrier: int) -> np.ndarray:
        if carrier < 0:
            return np.zeros(self._reach.shape[1])
        return self._reach_of_carried[carrier]

    def _publish_classes(self, is_new: bool = False) -> None:
        """Use all classes in the next search, those of objects only if there are any."""
        of_objects = [] if self.live is None or self.live.is_empty else self._rows
        weights, warn = self._of_model
        if not is_new and len(warn) + len(of_objects) == len(self._class_warn):
            return
        if of_objects:
            more = zip(*of_objects, strict=True)
            weights, warn = (
                np.concatenate(both) for both in zip(self._of_model, more, strict=True)
            )
        self._weights, self.joint_weights = np.ascontiguousarray(weights.T), self._by_value(weights)
        self._class_warn, self._totals = np.ascontiguousarray(warn), np.empty(len(warn))
        usual = 0.0 if self.live is None else self._usual_thresholds[1]
        self.widest_warning = max(float(warn.max(initial=0.0)), usual)

    def _add(self, thing: LiveObject) -> None:
        """Set the thresholds and classes of the pairs of an object."""
        links, live = len(self._reach), self.live
        row = links + thing.slot
        if thing.carrier < 0 and not self._of_objects.rules:
            self.class_table[row, :links] = self.class_table[:links, row] = self._usual
        else:
            own = self._thresholds_with_links(live, thing)
            first = live.pair_number(thing, 0)
            self.thresholds[first : first + links] = own
            for k in np.flatnonzero(thing.is_allowed).tolist():
                number = self._class(k, thing.carrier, float(own[k, 1]))
                self.class_table[row, k] = self.class_table[k, row] = number
        for other in live.partner_objects(thing):
            one, two = sorted((thing.carrier, other.carrier))
            stop, warn = self._thresholds_with(thing, other)
            number = self._class(-2 - two, one, warn)
            place = links + other.slot
            self.class_table[row, place] = self.class_table[place, row] = number
            self.thresholds[live.pair_number(thing, other)] = stop, warn

    def _thresholds_with_links(self, live: LiveScene, thing: LiveObject) -> np.ndarray:
        """(links, 2) stop and warning distance of an object with all links."""
        if thing.name not in self._own:
            if len(self._own) > 10_000:
                self._own.clear()
            pairs = [(name, thing.name) for name in live.model.link_names]
            self._own[thing.name] = self._of_objects.of(pairs, must_name=False)
        return self._own[thing.name]

    def _thresholds_with(self, one: LiveObject, other: LiveObject) -> tuple[float, float]:
        if not self._of_objects.rules:
            return self._usual_thresholds
        pairs = [(one.name, other.name)]
        stop, warn = self._of_objects.of(pairs, must_name=False)[0].tolist()
        return stop, warn

    @staticmethod
    def _reach_of(live: LiveScene, thing: LiveObject) -> np.ndarray:
        """(joints,) as of `CollisionModel.link_reach`, of an object on a link that moves."""
        bodies = live.model.bodies
        pose = bodies.link_poses[thing.link] @ thing.pose
        return reach(bodies, thing.body, moved(leaves_of(thing.rows), pose, ""))

    def _room(self, leaf_pairs: int, pairs: int) -> None:
        self._found = np.empty((leaf_pairs, 3), dtype=np.int64)
        self._values = np.empty((leaf_pairs, 2))
        self.rows = np.empty((pairs, COLUMNS))

    def limits(self, inputs: BrakingInputs) -> float:
        """Largest distance now at which a pair can still matter, metres."""
        return braking.braking_limits(
            self._weights, self._columns, self._gains, inputs.initial_velocities,
            inputs.decelerations, inputs.reaction, self._class_warn,
            inputs.settings.release_distance, self._totals,
        )  # fmt: skip

    def coarse_search(
        self, inputs: BrakingInputs, now: bool = False, nearest: int = -1, distance: float = np.inf
    ) -> int:
        """Fill ``rows`` with all pairs, with LEAST at the start; returns their number.

        Call `set_rates` after it. ``now``: only with pairs that are near without any motion.
        ``nearest`` is the nearest pair, which always gets a row, and ``distance`` its exact
        distance in metres: if what is known from earlier paths contradicts it, nothing of that is
        used.
        """
        positions = self._offsets + self._slide_gains * inputs.q[self._slide_columns]
        is_beyond = not (np.abs(positions) <= self._largest).all()
        self.is_beyond, self._was_beyond = is_beyond or self._was_beyond, is_beyond
        if self.is_beyond:
            near_pairs.forget(self._earlier)
        count, model_count = 0, len(self._class_of_pairs)
        if self.object_classes:
            count = self._search_objects(inputs, now)
            if len(self.rows) < count + model_count:
                rows = self.rows[:count]
                self._room(len(self._found), 2 * (count + model_count))
                self.rows[:count] = rows
        total = near_pairs.near_pairs(
            *self.tables.arrays(), inputs.law, self._enough(inputs.settings), now,
            nearest if nearest < model_count else -1, distance, self._earlier, self.rows, count,
        )  # fmt: skip
        own = self.rows[count:total]
        own[:, GROUP] = self._class_of_pairs[own[:, PAIR].astype(int)]
        return total

    def _enough(self, settings: SpeedSettings) -> np.ndarray:
        """(pairs,) distances beyond which pairs of the model hold no flag, metres."""
        if self._enough_for[0] != settings.release_distance:
            warn = self.thresholds[: len(self._class_of_pairs), 1]
            self._enough_for = settings.release_distance, released(warn, settings)
        return self._enough_for[1]

    def _search_objects(self, inputs: BrakingInputs, now: bool) -> int:
        """Fill ``rows`` with pairs with live objects; returns their number."""
        if now:
            inputs = inputs._replace(initial_velocities=np.zeros_like(inputs.q))
        self.limits(inputs)
        tables, limits = self.tables, np.full(len(self._totals), _NOWHERE)
        limits[self.object_classes] = self._totals[self.object_classes]
        while True:
            count = near_pairs.near_objects(
                *tables.arrays(), tables.leaf_links, tables.pair_table, self.class_table, limits,
                inputs.q, self._found, self._values, self._slots, self.rows,
            )  # fmt: skip
            if count >= 0:
                break
            if count == -1:
                self._room(len(self._found), 2 * len(self.rows))
            else:
                self._room(-2 * count, len(self.rows))
        rows = self.rows[:count]
        groups = rows[:, GROUP].astype(int)
        enough = self._class_warn[groups] + inputs.settings.release_distance
        rows[:, TRAVEL] = limits[groups] - enough
        rows[:, LEAST] = rows[:, DISTANCE] - rows[:, TRAVEL]
        return count

    def set_rates(self, inputs: BrakingInputs, rows: np.ndarray) -> None:
        """Set RATE in some rows (k, columns) of `coarse_search`."""
        near_pairs.set_rates(
            *self.tables.arrays(), inputs.q, inputs.velocities, rows
        )

    def keep(self, pairs: np.ndarray, distances: np.ndarray, bounds: np.ndarray) -> None:
        """Keep lower bounds (k,) of exact distances of pairs now, and on the braking path, metres.

        They must be in the rows of the last `coarse_search`. Those that stay away are left out of
        the next ones.
        """
        is_own, known = pairs < len(self._class_of_pairs), self._earlier
        pairs = pairs[is_own]
        known.distances[pairs] = np.maximum(known.distances[pairs], distances[is_own])
        known.bounds[pairs] = np.maximum(known.bounds[pairs], bounds[is_own])
        known.until[pairs] = known.bounds[pairs] + known.way[0]

    @property
    def object_classes(self) -> range:
        """Numbers of the classes of pairs with objects."""
        return range(len(self._of_model[0]), len(self._class_warn))

    def bound_leaves(
        self, inputs: BrakingInputs, rows: np.ndarray, stop: np.ndarray, enough: np.ndarray,
        most: int = _MOST,
    ) -> bool:  # fmt: skip
        """Raise LEAST in some rows (k, columns) of `coarse_search` by leaves along the path.

        It is searched up to ``enough`` (k,) metres, in ``most`` configurations. Returns whether a
        pair comes within its ``stop`` distance (k,), metres: then LEAST of all is a distance.
        """
        pairs = rows[:, PAIR].astype(int)
        with_objects = pairs[pairs >= len(self._class_of_pairs)]
        if len(with_objects):
            fill_balls(*self.tables.arrays(), self._space, with_objects)
        before = rows[:, LEAST].copy()
        self.tests, stops = braking_search.bound_leaves(
            *self.tables.arrays(), self._space, inputs.law, stop, enough,
            inputs.settings.resolution, most, rows,
        )  # fmt: skip
        if not stops:
            rows[:, LEAST] = np.minimum(
                np.maximum(rows[:, LEAST], before), rows[:, [DISTANCE, SAMPLED]].min(axis=1)
            )
        return stops

    def parting_rate(
        self, q: np.ndarray, velocities: np.ndarray, leaves: np.ndarray, points: np.ndarray,
        normal: np.ndarray,
    ) -> float:  # fmt: skip
        """`braking.parting_rate` of points on the links of two leaves, m/s."""
        return braking.parting_rate(
            *self.tables.arrays(), q, velocities, leaves, points, normal
        )

    def collision_time(self, q: np.ndarray, velocities: np.ndarray, horizon: float) -> float:
        """Lower bound in seconds of the time until leaves touch at constant joint velocities.

        0 if leaves already touch; inf if it exceeds ``horizon``, or nothing moves.
        """
        speed = braking.fastest_approach(self._weights, self._columns, self._gains, velocities)
        if speed <= 0.0:
            return np.inf
        return braking.collision_time(
            *self.tables.arrays(), q, velocities, speed, horizon, _TOUCHING, _TESTS,
            np.empty_like(q),
        )  # fmt: skip
