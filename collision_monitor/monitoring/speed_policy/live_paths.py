# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Braking paths of the pairs with objects of a live scene, updated with the scene."""

from __future__ import annotations

import numpy as np

from collision_monitor.fitting.shapes import leaves_of
from collision_monitor.model.live.live_object import LiveObject
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.reach import reach
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.speed_policy.paths import Paths, weights_together


class LivePaths(Paths):
    """What an object that comes or goes changes is its own row of the tables.

    A link against what stands still is a class for each link, whatever stands there. Another
    threshold makes another class.

    Attributes:
        thresholds: (pair numbers, 2) stop and warning distance, metres; the caller's array.
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
        live.watch(self._take)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the scene."""
        return self.live.numbers, self.live.index

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Distances of all pairs that there are and will be."""
        self._set = thresholds
        self.thresholds[:] = thresholds.stop, max(thresholds.warn, thresholds.stop)
        self._own: dict[str, np.ndarray] = {}  # of an object's pairs with all links, by name
        self._take(None)

    def _take(self, thing: LiveObject | None) -> None:
        """Learn of an object whose pairs are new, or of all."""
        if thing is not None:
            if self.live.objects.get(thing.name) is thing:
                self._add(thing)
                self._publish_classes()
            return
        self._classes: dict[tuple, int] = {}
        self._rows: list[tuple[np.ndarray, float, float]] = []
        stop, warn = self._set.stop, max(self._set.warn, self._set.stop)
        still = np.zeros(self._reach.shape[1])
        self._usual = np.array(
            [self._class(k, -1, row, still, stop, warn) for k, row in enumerate(self._reach)]
        )
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

    def _class(
        self, one: int, other: int, first: np.ndarray, second: np.ndarray, stop: float, warn: float
    ) -> int:
        key = (one, other, stop, warn)
        if key not in self._classes:
            self._classes[key] = len(self._rows)
            self._rows.append((weights_together(first, second), stop, warn))
        return self._classes[key]

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
            reached = self._reach_of(thing)
            for k in np.flatnonzero(thing.is_allowed).tolist():
                number = self._class(
                    k, thing.carrier, self._reach[k], reached, *own[k].tolist()
                )
                self.class_table[row, k] = self.class_table[k, row] = number
        for other in self.live.partners(thing)[thing.is_allowed.sum() :]:
            # By carriers; below links there are no numbers, what stands still is -1.
            one, two = sorted((thing.carrier, other.carrier))
            stop, warn = self._thresholds_with(thing, other)
            first, second = self._reach_of(thing), self._reach_of(other)
            number = self._class(-2 - one, -2 - two, first, second, stop, warn)
            place = links + other.slot
            self.class_table[row, place] = self.class_table[place, row] = number
            self.thresholds[self.live.pair_number(thing, other)] = stop, warn

    def _thresholds_with_links(self, thing: LiveObject) -> np.ndarray:
        """(links, 2) stop and warn of the pairs with all links, of pairs that are none too."""
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
        """(joints,) as of `CollisionModel.link_reach`."""
        if thing.body == 0:
            return np.zeros(self._reach.shape[1])
        bodies = self.live.model.bodies
        pose = bodies.link_poses[thing.link] @ thing.pose
        leaves = [leaf.moved(pose, "") for leaf in leaves_of(thing.rows)]
        return reach(bodies, thing.body, leaves)
