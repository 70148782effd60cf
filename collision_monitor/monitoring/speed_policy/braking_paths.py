# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that come close while the joints brake: of the model, and with live objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.continuous import braking, braking_path
from collision_monitor.continuous.braking_path import COLUMNS
from collision_monitor.errors import LoadingLimitError
from collision_monitor.fitting.shapes import leaves_of
from collision_monitor.geometry.leaf import moved
from collision_monitor.model.live_objects import LiveObject
from collision_monitor.model.live_scene import LiveScene
from collision_monitor.model.proximity import link_tables
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.speed_policy.settings import SpeedSettings
from collision_monitor.robot.bodies import reach, relative_reach

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


# Maximum number of configurations per search; there are up to three searches.
_MOST = 24
_MOST_WEIGHTS = 20_000_000  # numbers; some arrays of this size are needed at a time
_NOWHERE = -1e6  # metres, a warning distance that is never reached
_TOUCHING = 0.001  # distance in metres that counts as a collision, for the time to collision
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

    def path(self, count: int) -> np.ndarray:
        """(count + 1, nq) configurations of the braking path, evenly spaced in time."""
        path = np.empty((count + 1, len(self.q)))
        braking.braking_path(
            self.q, self.initial_velocities, self.decelerations, self.reaction, path
        )
        return path


class BrakingPaths(ABC):
    """Pairs of a packed model with their thresholds, and a work space.

    Pairs with the same reach and thresholds form a class.

    Attributes:
        leaf_links, pair_table: as of `hierarchy.near`.
        class_table: like ``pair_table``, with classes instead of pairs.
        thresholds: (pairs, 2) stop and warning distance of each pair, metres.
        widest_warning: the largest warning distance of the pairs that are there, metres.
        rows: results of the last search, as of `braking_path.outlook`.
        tests: number of configurations in the last search.
    """

    leaf_links: np.ndarray
    pair_table: np.ndarray
    class_table: np.ndarray
    thresholds: np.ndarray
    widest_warning: float

    def __init__(self, columns: np.ndarray, gains: np.ndarray, pairs: int) -> None:
        """``columns``, ``gains``: of the joints in kernels; ``pairs``: number of pairs."""
        self._columns = np.ascontiguousarray(columns, dtype=np.int64)
        self._gains = np.ascontiguousarray(gains, dtype=float)
        self._steps = np.empty(len(self._columns))
        self._size = np.zeros(1, dtype=np.int64)
        self._slots = np.full(pairs, -1, dtype=np.int64)
        self._room(256, 64)
        self.tests = 0

    @abstractmethod
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the packed model."""

    @abstractmethod
    def number_of(self, names: tuple[str, str]) -> int:
        """Number of a pair, by the names of its links or objects in any order."""

    @abstractmethod
    def name_of(self, leaf: int) -> str:
        """Name of the link or object that a leaf belongs to."""

    def set_classes(self, weights: np.ndarray, stop: np.ndarray, warn: np.ndarray) -> None:
        """Set ``weights`` (joints, classes) of `braking`, and thresholds (classes,) in metres."""
        self._weights = np.ascontiguousarray(weights)
        self._class_stop, self._class_warn = map(np.ascontiguousarray, (stop, warn))
        self._totals, self._limits = np.empty(len(stop)), np.empty(len(stop))
        self._never = np.full(len(stop), -np.inf)
        self.widest_warning = float(warn.max(initial=0.0))

    def _room(self, leaf_pairs: int, pairs: int) -> None:
        self._found = np.empty((leaf_pairs, 3), dtype=np.int64)
        self._values = np.empty((leaf_pairs, 2))
        self.rows, self._least = np.empty((pairs, COLUMNS)), np.empty(pairs)

    def limits(self, inputs: BrakingInputs) -> float:
        """Largest distance now at which a pair can still matter, metres."""
        return braking.braking_limits(
            self._weights, self._columns, self._gains, inputs.initial_velocities,
            inputs.decelerations, inputs.reaction, self._class_warn,
            inputs.settings.release_distance, self._totals,
        )  # fmt: skip

    def search(self, inputs: BrakingInputs) -> int:
        """Fill ``rows`` and return their number; call `limits` with the same inputs before.

        Ends at the first pair that comes within its stop distance.
        """
        return self._search(inputs, self._class_stop, self._class_warn, self._totals)

    def coarse_search(self, inputs: BrakingInputs) -> int:
        """Fill ``rows`` with all pairs, with LEAST at the start; returns their number.

        Call `limits` with the same inputs before.
        """
        return self._search(inputs, self._never, self._class_warn, self._totals, most=0)

    def fine_search(self, inputs: BrakingInputs, classes: np.ndarray | None = None) -> int:
        """Fill ``rows``, as `search`, with all pairs, or those of some ``classes``; their number.

        Call `limits` with the same inputs before.
        """
        if classes is None:
            return self._search(inputs, self._never, self._class_warn, self._totals)
        warn, totals = np.full((2, len(self._totals)), _NOWHERE)
        warn[classes], totals[classes] = self._class_warn[classes], self._totals[classes]
        return self._search(inputs, self._never, warn, totals)

    def _search(
        self,
        inputs: BrakingInputs,
        stop: np.ndarray,
        warn: np.ndarray,
        totals: np.ndarray,
        most: int = _MOST,
    ) -> int:
        """Fill ``rows``; see `braking_path.outlook`."""
        numbers, index = self.arrays()
        q, velocities, initial, decelerations, reaction, settings = inputs
        there, widest = np.empty_like(q), totals.max(initial=-np.inf)
        while True:
            self.tests = braking_path.outlook(
                numbers, index, self.leaf_links, self.pair_table, self.class_table, self._weights,
                stop, warn, settings.release_distance, totals, widest, q, velocities,
                initial, decelerations, reaction, settings.resolution, most,
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
        """`braking.parting_rate` of points on the links of leaves i and j, m/s."""
        return braking.parting_rate(*self.arrays(), q, velocities, i, j, *vectors)

    def collision_time(self, q: np.ndarray, velocities: np.ndarray, horizon: float) -> float:
        """Lower bound in seconds of the time until leaves touch at constant joint velocities.

        0 if leaves already touch; inf if it exceeds ``horizon``, or nothing moves.
        """
        speed = braking.fastest_approach(self._weights, self._columns, self._gains, velocities)
        if speed <= 0.0:
            return np.inf
        return braking.collision_time(
            *self.arrays(), q, velocities, speed, horizon, _TOUCHING, _TESTS, np.empty_like(q)
        )


def distinct_weights(
    reach: np.ndarray, ends: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """(weights (kinds, joints), kind of each pair).

    Args:
        reach: (links, joints) as of `CollisionModel.link_reach`.
        ends: (pairs, 2) numbers of links.
        name: of the robot, for the message.

    Raises:
        LoadingLimitError: they would not fit into memory.
    """
    if not reach.shape[1] or not len(ends):
        return np.zeros((1, reach.shape[1])), np.zeros(len(ends), dtype=np.int64)
    rows, of_link = np.unique(reach, axis=0, return_inverse=True)
    kinds, of_pair = np.unique(
        np.sort(of_link.ravel()[ends], axis=1), axis=0, return_inverse=True
    )
    if kinds.shape[0] * reach.shape[1] > _MOST_WEIGHTS:
        raise LoadingLimitError(
            f"'{name}' cannot be monitored: {len(kinds)} kinds of pairs times {reach.shape[1]} "
            f"joints are {len(kinds) * reach.shape[1]} weights of the braking check; at most "
            f"{_MOST_WEIGHTS} are possible: leave out links, or disable pairs in the SRDF"
        )
    weights = relative_reach(rows[kinds[:, 0]], rows[kinds[:, 1]])
    # By their bytes: sorting rows of many joints takes seconds.
    number: dict[bytes, int] = {}
    of_kind = np.array([number.setdefault(row.tobytes(), len(number)) for row in weights])
    first = np.unique(of_kind, return_index=True)[1]
    return weights[first], of_kind[of_pair.ravel()]


class ModelBrakingPaths(BrakingPaths):
    """Braking paths of the pairs of a model."""

    def __init__(self, model: CollisionModel) -> None:
        super().__init__(model.bodies.columns, model.bodies.gains, len(model.pairs))
        self._arrays = model.work_space()
        self.leaf_links, self.pair_table = link_tables(model)
        self._values_of_q = len(model.joint_names)
        self._names = model.link_names
        self._numbers = {frozenset(pair): k for k, pair in enumerate(model.pairs)}
        reach = model.link_reach()
        rank = {name: k for k, name in enumerate(model.link_names)}
        ends = np.array([[rank[a], rank[b]] for a, b in model.pairs], dtype=int).reshape(-1, 2)
        self._kinds, self._kind_of_pairs = distinct_weights(reach, ends, model.name)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the model, copied."""
        return self._arrays

    def number_of(self, names: tuple[str, str]) -> int:
        """Index in ``model.pairs``."""
        return self._numbers[frozenset(names)]

    def name_of(self, leaf: int) -> str:
        """Name of its link."""
        return self._names[self.leaf_links[leaf]]

    def set_thresholds(self, thresholds: np.ndarray) -> None:
        """Set ``thresholds`` (pairs, 2): stop and warning distance of each pair, metres."""
        self.thresholds = thresholds
        keys = np.column_stack([self._kind_of_pairs, thresholds])
        groups, group_of = np.unique(keys, axis=0, return_inverse=True)
        weights = self._kinds[groups[:, 0].astype(int)]
        self.set_classes(weights.T, groups[:, -2], groups[:, -1])
        # One more entry, so that -1 stays -1.
        self.class_table = np.append(group_of.ravel(), -1).astype(np.int64)[self.pair_table]
        # By class and value of q: several joints may follow one.
        self.joint_weights = np.zeros((len(groups), self._values_of_q))
        for column, gain, weights in zip(self._columns, self._gains, self._weights, strict=True):
            self.joint_weights[:, column] += abs(gain) * weights


class LiveBrakingPaths(BrakingPaths):
    """Braking paths of the pairs with objects of a live scene, updated with the scene.

    An object that is added or removed changes only its own row of the tables: each link forms one
    class with all static objects of the same thresholds.

    ``thresholds`` (pair numbers, 2) are the caller's array.
    """

    def __init__(self, live: LiveScene, thresholds: np.ndarray) -> None:
        bodies = live.model.bodies
        super().__init__(bodies.columns, bodies.gains, live.pair_count)
        self.live, self.thresholds = live, thresholds
        self.leaf_links, self.pair_table = live.leaf_links, live.pair_table
        self.class_table = np.full_like(self.pair_table, -1)
        self._reach = live.model.link_reach()
        self._set = Thresholds()
        self.set_thresholds(self._set)
        live.watch(self._on_change)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the scene."""
        return self.live.numbers, self.live.index

    def number_of(self, names: tuple[str, str]) -> int:
        """Number as of the scene."""
        return self.live.number_of(names)

    def name_of(self, leaf: int) -> str:
        """Name of its link or object."""
        return self.live.link_or_object(int(self.leaf_links[leaf]))

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Set the distances of all present and future pairs."""
        self._set = thresholds
        self.thresholds[:] = thresholds.stop, max(thresholds.warn, thresholds.stop)
        # By object: thresholds of its pairs with all links.
        self._own: dict[str, np.ndarray] = {}
        self._on_change(None)

    def _on_change(self, thing: LiveObject | None) -> None:
        """Update the tables for one object, or for all."""
        if thing is not None:
            if self.live.objects.get(thing.name) is thing:
                self._add(thing)
                self._publish_classes()
            return
        self._classes: dict[tuple, int] = {}
        self._rows: list[tuple[np.ndarray, float, float]] = []
        stop, warn = self._set.stop, max(self._set.warn, self._set.stop)
        self._reach_of_carried = [self._reach_of(each) for each in self.live.carried]
        self._usual = np.array([self._class(k, -1, stop, warn) for k in range(len(self._reach))])
        if self._set.rules:
            for each in self.live.objects.values():
                self._add(each)
        else:
            standing = [each.slot for each in self.live.objects.values() if each.carrier < 0]
            rows = len(self._reach) + np.array(standing, dtype=np.int64)
            self.class_table[rows, : len(self._reach)] = self._usual
            self.class_table[: len(self._reach), rows] = self._usual[:, None]
            for each in self.live.objects.values():
                if each.carrier >= 0:
                    self._add(each)
        self._publish_classes(is_new=True)

    def _class(self, one: int, other: int, stop: float, warn: float) -> int:
        """Class of pairs.

        ``one``: a link, or -2 less the carrier of an object; ``other``: a carrier, or -1 for
        objects that stand still.
        """
        key = (one, other, stop, warn)
        if key not in self._classes:
            self._classes[key] = len(self._rows)
            first = self._reach[one] if one >= 0 else self._reach_of_carrier(-2 - one)
            weights = relative_reach(first, self._reach_of_carrier(other))
            self._rows.append((weights, stop, warn))
        return self._classes[key]

    def _reach_of_carrier(self, carrier: int) -> np.ndarray:
        if carrier < 0:
            return np.zeros(self._reach.shape[1])
        return self._reach_of_carried[carrier]

    def _publish_classes(self, is_new: bool = False) -> None:
        if is_new or len(self._rows) != len(self._class_stop):
            weights, stop, warn = zip(*self._rows, strict=True)
            self.set_classes(np.array(weights).T, np.array(stop), np.array(warn))

    def _add(self, thing: LiveObject) -> None:
        links = len(self._reach)
        row = links + thing.slot
        if thing.carrier < 0 and not self._set.rules:
            self.class_table[row, :links] = self.class_table[:links, row] = self._usual
        else:
            own = self._thresholds_with_links(thing)
            first = thing.slot * links
            self.thresholds[first : first + links] = own
            for k in np.flatnonzero(thing.is_allowed).tolist():
                number = self._class(k, thing.carrier, *own[k].tolist())
                self.class_table[row, k] = self.class_table[k, row] = number
        for other in self.live.partner_objects(thing):
            one, two = sorted((thing.carrier, other.carrier))
            stop, warn = self._thresholds_with(thing, other)
            number = self._class(-2 - two, one, stop, warn)
            place = links + other.slot
            self.class_table[row, place] = self.class_table[place, row] = number
            self.thresholds[self.live.pair_number(thing, other)] = stop, warn

    def _thresholds_with_links(self, thing: LiveObject) -> np.ndarray:
        """(links, 2) stop and warning distance of an object with all links."""
        if thing.name not in self._own:
            if len(self._own) > 10_000:
                self._own.clear()
            names = self.live.model.link_names
            pairs = [(name, thing.name) for name in names]
            self._own[thing.name] = self._set.of(pairs, must_name=False)
        return self._own[thing.name]

    def _thresholds_with(self, one: LiveObject, other: LiveObject) -> tuple[float, float]:
        if not self._set.rules:
            return self._set.stop, max(self._set.warn, self._set.stop)
        stop, warn = self._set.of([(one.name, other.name)], must_name=False)[0].tolist()
        return stop, warn

    def _reach_of(self, thing: LiveObject) -> np.ndarray:
        """(joints,) as of `CollisionModel.link_reach`, of an object on a link that moves."""
        bodies = self.live.model.bodies
        pose = bodies.link_poses[thing.link] @ thing.pose
        leaves = moved(leaves_of(thing.rows), pose, "")
        return reach(bodies, thing.body, leaves)
