# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Near leaves of a model or a live scene: distances, gradients, certificates and nearness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.continuous.clearance_scan import (
    FINISHED,
    RESOLUTION,
    certifying,
    no_bounds,
    no_minima,
    scan,
)
from collision_monitor.continuous.scan_space import scan_tables, straight_motion
from collision_monitor.errors import CancelledError, ConfigurationError
from collision_monitor.hierarchy.kinematics import first_bad
from collision_monitor.hierarchy.query import near
from collision_monitor.model.leaf_queries import ModelPairs

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.model.live.live_scene import LiveScene


_ALL = np.array([[0.0, 1.0]])  # from start to end of a straight motion
_CERTIFYING = certifying(RESOLUTION, 0.0)


class Near(NamedTuple):
    """Leaf pairs nearer than the limit of their pair of links.

    Attributes:
        pairs: (k,) indices into ``model.pairs``.
        distances: (k,) signed, metres.
        gradients: (k, nq) of the distances with respect to q.
    """

    pairs: np.ndarray
    distances: np.ndarray
    gradients: np.ndarray


@dataclass(frozen=True)
class Certificate:
    """Result of certifying a straight joint motion by a bound on the travel.

    Attributes:
        holds: whether every pair keeps its limit at every instant.
        s: where it fails, 0 at the start and 1 at the end.
        pair: index into ``model.pairs`` of the pair that fails there, or -1.
        distance: of the first two leaves of that pair found too near at s, or above its limit by
            less than `RESOLUTION`, metres.
    """

    holds: bool
    s: float
    pair: int
    distance: float


class _Scan:
    """Work space of certificates; see the arguments of `clearance_scan.scan`."""

    def __init__(self, model: CollisionModel) -> None:
        tables = scan_tables(model)
        self.space, self.minima = tables.space(2), no_minima(tables)
        self.bounds = no_bounds(1, len(tables.hints))


class Proximity:
    """Queries of single pairs of leaves, for one thread, with the work space of its tables.

    Attributes:
        tables: of the pairs; ``limits`` are in their order.
        cancelled: called in each query; if it returns true, the query raises CancelledError.
        measured: number of distances between meshes that were measured for certificates.
    """

    cancelled: Callable[[], bool] | None = None
    measured = 0

    def __init__(
        self, model: CollisionModel, live: LiveScene | None = None, kept: np.ndarray | None = None
    ) -> None:
        """``live``: a live scene of the model, whose pairs are included.

        ``kept`` (pairs,) bool: the pairs of the model that are ever asked for; None: all.
        """
        self.model = model
        self.tables = ModelPairs(model, kept) if live is None else live
        # Searches of a live scene find pairs with objects only.
        self._of_robot = None if live is None else Proximity(model)
        self._scan: _Scan | None = None
        self._allocate(64)

    @property
    def pair_count(self) -> int:
        """Number of limits."""
        return len(self.tables.pair_rows)

    def _raise_if_cancelled(self) -> None:
        if self.cancelled is not None and self.cancelled():
            raise CancelledError("cancelled: the result is no longer needed")

    def _allocate(self, count: int) -> None:
        self._found = np.empty((count, 3), dtype=np.int64)
        self._values = np.empty((count, 1))
        self._gradients = np.empty((count, len(self.model.joint_names)))

    def near(self, q: np.ndarray, limits: np.ndarray, spread: float = np.inf) -> Near:
        """Return leaf pairs at ``q`` (nq,) nearer than ``limits`` (pairs,) of their links, metres.

        ``spread``: keep only the leaf pairs of two links within this many metres of the nearest; 0
        gives one for each pair of links. A limit of -inf excludes a pair. Valid until the next
        call.
        """
        self._raise_if_cancelled()
        tables, widest = self.tables, float(limits.max(initial=-np.inf))
        while True:
            count = near(
                *tables.arrays(), tables.leaf_links, tables.pair_table, limits, widest,
                float(spread), q, self._found, self._values, self._gradients,
            )  # fmt: skip
            if count < 0:
                raise self.model.refusal(count, q)
            if count <= len(self._found):
                break
            self._allocate(2 * count)
        leaf_pairs = Near(self._found[:count, 2], self._values[:count, 0], self._gradients[:count])
        if self._of_robot is None:
            return leaf_pairs
        own = self._of_robot.near(q, limits[: self._of_robot.pair_count], spread)
        return Near(*map(np.concatenate, zip(own, leaf_pairs, strict=True)))

    def distances_below(self, q: np.ndarray, limits: np.ndarray) -> np.ndarray:
        """Distances (pairs,) at ``q`` (nq,), metres; inf of those that are not below ``limits``."""
        near, distances = self.near(q, limits, 0.0), np.full(self.pair_count, np.inf)
        np.minimum.at(distances, near.pairs, near.distances)
        return distances

    def loss(self, columns: np.ndarray) -> np.ndarray:
        """(pairs,) metres by which distances can fall if ``columns`` of q move by 1 rad or m each.

        Infinite if no bound is known.
        """
        return np.full(self.pair_count, np.inf)

    def nearest(self, q: np.ndarray, limits: np.ndarray) -> tuple[int, float] | None:
        """Return the nearest pair of links below its limit at ``q``, and its distance, or None."""
        near = self.near(q, limits, 0.0)
        if not len(near.pairs):
            return None
        first = int(near.distances.argmin())
        return int(near.pairs[first]), float(near.distances[first])

    def certify(self, start: np.ndarray, end: np.ndarray, limits: np.ndarray) -> Certificate:
        """Certify that pairs keep their ``limits`` (pairs,) from ``start`` to ``end`` (nq,).

        The motion is linear in the joints.
        """
        self._raise_if_cancelled()
        if not isinstance(self.tables, ModelPairs):
            raise ConfigurationError("a motion among live objects cannot be certified")
        if self._scan is None:
            self._scan = _Scan(self.model)
        for q in (start, end):
            if (bad := first_bad(q)) >= 0:
                raise self.model.refusal(-2 - bad, q)
        state, (s, _), pair, distance, _, _ = scan(
            *self.tables.arrays(), None, self._scan.space, straight_motion(start, end), _ALL,
            np.flatnonzero(limits > -np.inf), limits.reshape(-1, 1), _CERTIFYING,
            np.empty(len(start)), self._scan.minima, self._scan.bounds,
        )  # fmt: skip
        return Certificate(state == FINISHED, s, pair, distance)

    def keeps_at(self, q: np.ndarray, limits: np.ndarray) -> bool:
        """Whether every pair is at its limit or farther at ``q`` (nq,)."""
        return not len(self.near(q, limits, 0.0).pairs)

    def keeps(self, start: np.ndarray, end: np.ndarray, limits: np.ndarray) -> bool:
        """Whether `certify` holds; faster where it does not."""
        return self.certify(start, end, limits).holds


# -- nearness of links relative to the thresholds of their pairs --


def part_of(distances: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Scale distances (k,) by ``thresholds`` (k, 2): 0 at the stop, 1 at the warning distance."""
    stop, warn = thresholds.T
    width = np.where(warn > stop, warn - stop, 1.0)
    # Written so that NaN does not count as a large distance.
    return np.where(distances > stop, (distances - stop) / width, 0.0)


class Nearness:
    """Nearness of links and live objects, by the warning and stop distances of every pair.

    It is 1 at the warning distance, 0 at the stop distance and below, linear in between, and inf
    beyond the warning distance. A link or object has the minimum over its pairs. Results (rows,)
    are in the order of ``model.link_names``, followed by the slots of a live scene.
    """

    def __init__(self, model: CollisionModel, live: LiveScene | None = None) -> None:
        self._proximity = Proximity(model, live)
        self._tables = self._proximity.tables
        self._rows = len(model.link_names) + (0 if live is None else 1 + live.bounds.objects)

    def of_leaves(self, q: np.ndarray, thresholds: np.ndarray, first: int = 0) -> np.ndarray:
        """Return nearness (rows,) at q (nq,), by the pairs from number ``first`` on.

        ``thresholds`` (pairs, 2): stop and warning distance, metres. Pairs beyond their warning
        distance are not measured.
        """
        above = np.nextafter(thresholds[:, 1], np.inf)  # so that equality counts
        above[:first] = -np.inf
        found = self._proximity.near(q, above, spread=0.0)
        return self._least(found.pairs, found.distances, thresholds[found.pairs])

    def of_distances(self, distances: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Like `of_leaves`, from known distances (k,) of the first pairs, metres."""
        near = np.flatnonzero(~(distances > thresholds[: len(distances), 1]))
        return self._least(near, distances[near], thresholds[near])

    def _least(
        self, pairs: np.ndarray, distances: np.ndarray, thresholds: np.ndarray
    ) -> np.ndarray:
        part = part_of(distances, thresholds)
        out = np.full(self._rows, np.inf)
        for rows in self._tables.pair_rows[pairs].T:
            np.minimum.at(out, rows, part)
        return out
