# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds and weights of pairs, for braking paths.

Each pair of the model is a class of its own. Pairs with objects form few classes: each link has one
with all static objects of the same warning distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.errors import LoadingLimitError
from collision_monitor.fitting.shapes import leaves_of
from collision_monitor.geometry.leaf import moved
from collision_monitor.model.leaf_queries import ModelPairs
from collision_monitor.model.live.live_objects import LiveObject
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.robot.bodies import by_position, reach, relative_reach

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

MOST_NUMBERS = 20_000_000  # in an array; some of this size are needed at a time


def check_size(pairs: int, joints: int, name: str) -> None:
    """Check that the weights of all pairs of a robot fit into memory.

    Raises:
        LoadingLimitError: they do not.
    """
    if pairs * joints > MOST_NUMBERS:
        raise LoadingLimitError(
            f"'{name}' cannot be monitored: {pairs} pairs times {joints} joints are "
            f"{pairs * joints} weights of the braking check; at most {MOST_NUMBERS} are possible: "
            "leave out links, or disable pairs in the SRDF"
        )


class PairClasses:
    """Thresholds and classes of the pairs of a model and its live scene.

    Classes are first the pairs of the model, then those with objects. An object that is added or
    removed changes only its own row of the tables.

    Attributes:
        tables: of the pairs, as of `ModelPairs`.
        live: the live scene, or None.
        table: like ``pair_table``, with classes instead of pairs.
        thresholds: (pairs, 2) stop and warning distance of each pair, metres.
        widest_warning: the largest warning distance of the pairs that are there, metres.
        warn: (classes,) warning distances, metres.
        object_classes: numbers of the classes of pairs with objects.
        joint_weights: (classes, nq) how far the links of a pair come nearer at most for a unit of a
            value of q, while no sliding joint is more than `SLIDES_BEYOND` beyond its limits;
            otherwise `BrakingPaths.weights`.
        turns: (nq,) how far joints turn for a unit of each value of q, rad.
    """

    def __init__(self, model: CollisionModel, live: LiveScene | None = None) -> None:
        self.tables, self.live = ModelPairs(model) if live is None else live, live
        count, model_count = len(self.tables.pair_rows), len(model.pairs)
        self.thresholds = np.zeros((count, 2))
        links = len(model.link_names)
        self.table = np.full_like(self.tables.pair_table, -1)
        self.table[:links, :links] = self.tables.pair_table[:links, :links]
        self._bodies = bodies = model.bodies
        (self.turns,) = by_position(bodies, np.where(bodies.slides, 0.0, 1.0)[None])
        self._reach, self._distances = model.link_reach(), model.axis_distances()
        check_size(model_count, self._reach.shape[1], model.name)
        self.joint_weights = self._of_model = by_position(bodies, model.pair_reach())
        self._of_objects = Thresholds()
        # Of carried objects, with the pose and geometry that they had then.
        self._known_reach: WeakKeyDictionary[LiveObject, tuple] = WeakKeyDictionary()
        self.set_thresholds(self.thresholds[:model_count])
        if live is not None:
            live.watch(self._on_change)

    def set_thresholds(self, thresholds: np.ndarray, of_objects: Thresholds | None = None) -> None:
        """Set ``thresholds`` (pairs, 2): stop and warning distance of each pair of the model.

        ``of_objects``: of all present and future pairs with objects. Metres.
        """
        pairs = len(thresholds)
        self.thresholds[:pairs] = thresholds
        if of_objects is not None:
            self._of_objects = of_objects
            self.thresholds[pairs:] = self._usual_thresholds
        # By object: thresholds of its pairs with all links.
        self._own: dict[str, np.ndarray] = {}
        self._on_change(None)

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
        self._reach_of_carried = [self._reach_of(each) for each in live.carried]
        warn = self._usual_thresholds[1]
        self._usual = np.array([self._class(k, -1, warn) for k in range(links)])
        objects = list(live.objects.values())
        if not self._of_objects.rules:
            standing = [each.slot for each in objects if each.carrier < 0]
            rows = links + np.array(standing, dtype=np.int64)
            self.table[rows, :links] = self._usual
            self.table[:links, rows] = self._usual[:, None]
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
            self._classes[key] = len(self._of_model) + len(self._rows)
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
        count = len(self._of_model)
        if not is_new and count + len(of_objects) == len(self.warn):
            return
        self.joint_weights, warn = self._of_model, self.thresholds[:count, 1].copy()
        if of_objects:
            weights, more = map(np.array, zip(*of_objects, strict=True))
            self.joint_weights = np.vstack([self._of_model, by_position(self._bodies, weights)])
            warn = np.r_[warn, more]
        self.warn = warn
        self.object_classes = range(count, len(warn))
        usual = 0.0 if self.live is None else self._usual_thresholds[1]
        self.widest_warning = max(float(warn.max(initial=0.0)), usual)

    def _add(self, thing: LiveObject) -> None:
        """Set the thresholds and classes of the pairs of an object."""
        links, live = len(self._reach), self.live
        row = links + thing.slot
        numbers = live.pair_table[row]
        if thing.carrier < 0 and not self._of_objects.rules:
            self.table[row, :links] = self.table[:links, row] = self._usual
        else:
            own = self._thresholds_with_links(live, thing)
            for k in np.flatnonzero(numbers[:links] >= 0).tolist():
                self.thresholds[numbers[k]] = own[k]
                number = self._class(k, thing.carrier, float(own[k, 1]))
                self.table[row, k] = self.table[k, row] = number
        for place in (links + np.flatnonzero(numbers[links:] >= 0)).tolist():
            other = live.objects[live.name_of(place)]
            one, two = sorted((thing.carrier, other.carrier))
            stop, warn = self._thresholds_with(thing, other)
            number = self._class(-2 - two, one, warn)
            self.table[row, place] = self.table[place, row] = number
            self.thresholds[numbers[place]] = stop, warn

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

    def _reach_of(self, thing: LiveObject) -> np.ndarray:
        """(joints,) as of `CollisionModel.link_reach`, of an object on a link that moves."""
        pose, geometry, travel = self._known_reach.get(thing, (None, None, None))
        if pose is not thing.pose or geometry is not thing.geometry:
            bodies = self._bodies
            placed = bodies.link_poses[thing.link] @ thing.pose
            travel = reach(bodies, thing.body, moved(leaves_of(thing.rows), placed, ""))
            self._known_reach[thing] = thing.pose, thing.geometry, travel
        return travel
