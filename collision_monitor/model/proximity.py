# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Near leaves of a model or a live scene: distances, gradients, certificates and nearness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous import motion_bound
from collision_monitor.errors import CancelledError, ConfigurationError
from collision_monitor.hierarchy.query import near
from collision_monitor.model.live_scene import LiveScene

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


@dataclass(frozen=True, eq=False)
class Near:
    """Leaf pairs nearer than the limit of their pair of links; metres, base frame.

    Attributes:
        leaves: (k, 2) indices into ``model.leaves``.
        pairs: (k,) indices into ``model.pairs``.
        distances: (k,) signed.
        points: (k, 2, 3) nearest points on the surfaces of the two leaves.
        normals: (k, 3) unit, from the first leaf to the second.
        gradients: (k, nq) of the distances with respect to q.
    """

    leaves: np.ndarray
    pairs: np.ndarray
    distances: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    gradients: np.ndarray


@dataclass(frozen=True)
class Certificate:
    """Result of certifying a straight joint motion by a bound on the travel.

    Attributes:
        holds: whether every pair keeps its limit at every instant.
        decided: false if a pair is so close to its limit that no bound can decide.
        s: where it fails, 0 at the start and 1 at the end.
        pair: index into ``model.pairs`` of the pair that fails there, or -1.
        distance: of the first two leaves of that pair found too near at s, metres.
        tests: configurations that were tested.
    """

    holds: bool
    decided: bool
    s: float
    pair: int
    distance: float
    tests: int


def link_tables(model: CollisionModel) -> tuple[np.ndarray, np.ndarray]:
    """Return link tables for `hierarchy.query.near`: link of each leaf, pair of two links.

    (leaves,) indices into ``model.link_names``; (moving links, links) indices into ``model.pairs``,
    -1 for links that are not checked.
    """
    rank = {name: k for k, name in enumerate(model.link_names)}
    leaf_links = np.array([rank[leaf.link] for leaf in model.leaves], dtype=np.int64)
    moving = 1 + max((rank[name] for name in model.moving_links), default=-1)
    pairs = np.full((moving, len(rank)), -1, dtype=np.int64)
    for k, (a, b) in enumerate(model.pairs):
        for i, j in ((rank[a], rank[b]), (rank[b], rank[a])):
            if i < moving:
                pairs[i, j] = k
    return leaf_links, pairs


class Proximity:
    """Queries of single pairs of leaves; contains its own work space, so it is for one thread.

    Attributes:
        cancelled: called in each query; if it returns true, the query raises CancelledError.
    """

    cancelled: Callable[[], bool] | None = None

    def __init__(self, model: CollisionModel, kept: np.ndarray | None = None) -> None:
        """``kept`` (pairs,) bool: pairs that are ever asked for; None: all."""
        self.model = model
        self._numbers, self._index = model.work_space(kept)
        self._leaf_links, self._pair_table = link_tables(model)
        self._reach = model.link_reach()
        self._allocate(64)

    @property
    def pair_count(self) -> int:
        """Number of limits."""
        return len(self.model.pairs)

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the packed model."""
        return self._numbers, self._index

    def _raise_if_cancelled(self) -> None:
        if self.cancelled is not None and self.cancelled():
            raise CancelledError("cancelled: the result is no longer needed")

    def _allocate(self, count: int) -> None:
        self._found = np.empty((count, 3), dtype=np.int64)
        self._values = np.empty((count, 10))
        self._gradients = np.empty((count, len(self.model.joint_names)))

    def near(self, q: np.ndarray, limits: np.ndarray, spread: float = np.inf) -> Near:
        """Return leaf pairs at ``q`` (nq,) nearer than ``limits`` (pairs,) of their links, metres.

        ``spread``: keep only the leaf pairs of two links within this many metres of the nearest; 0
        gives one for each pair of links. A limit of -inf excludes a pair. Valid until the next
        call.
        """
        self._raise_if_cancelled()
        widest = float(limits.max(initial=-np.inf))
        while True:
            count = near(
                *self._arrays(), self._leaf_links, self._pair_table, limits, widest,
                float(spread), q, self._found, self._values, self._gradients,
            )  # fmt: skip
            if count < 0:
                raise self.model.refusal(count, q)
            if count <= len(self._found):
                break
            self._allocate(2 * count)
        values = self._values[:count]
        return Near(
            self._found[:count, :2],
            self._found[:count, 2],
            values[:, 0],
            values[:, 1:7].reshape(-1, 2, 3),
            values[:, 7:10],
            self._gradients[:count],
        )

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

    def certify(
        self, start: np.ndarray, end: np.ndarray, limits: np.ndarray, resolution: float = 1e-5
    ) -> Certificate:
        """Certify that pairs keep their ``limits`` (pairs,) from ``start`` to ``end`` (nq,).

        The motion is linear in the joints. ``resolution``: a pair whose distance is above its limit
        by less, in metres, is undecided.
        """
        self._raise_if_cancelled()
        if not resolution > 0.0:
            raise ConfigurationError(f"resolution: {resolution!r} is not a length above 0 m")
        state, s, _, _, pair, distance, tests = motion_bound.certify(
            self._numbers, self._index, self._leaf_links, self._pair_table, limits,
            float(limits.max(initial=-np.inf)), self._reach, start, end, resolution,
        )  # fmt: skip
        if state < 0:
            raise self.model.refusal(state, np.where(np.isfinite(start), end, start))
        return Certificate(
            state == motion_bound.CERTIFIED,
            state != motion_bound.UNDECIDED,
            s,
            pair,
            distance,
            tests,
        )


# -- nearness of links relative to the thresholds of their pairs --


def part_of(distances: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Scale distances (k,) by ``thresholds`` (k, 2): 0 at the stop, 1 at the warning distance."""
    stop, warn = thresholds.T
    width = np.where(warn > stop, warn - stop, 1.0)
    # Written so that NaN does not count as a large distance.
    return np.where(distances > stop, (distances - stop) / width, 0.0)


class Nearness:
    """Nearness of the links of a model, by the warning and stop distances of every pair.

    It is 1 at the warning distance, 0 at the stop distance and below, linear in between, and inf
    beyond the warning distance. A link has the minimum over its pairs.
    """

    def __init__(self, model: CollisionModel) -> None:
        rank = {name: k for k, name in enumerate(model.link_names)}
        self._pairs = np.array([[rank[a], rank[b]] for a, b in model.pairs], dtype=np.int64)
        self._pairs = self._pairs.reshape(-1, 2)
        self._links = len(rank)
        self._proximity = Proximity(model)

    def of_leaves(self, q: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return nearness (links,), in the order of ``model.link_names``, at q (nq,).

        ``thresholds`` (pairs, 2): stop and warning distance, metres. Pairs beyond their warning
        distance are not measured.
        """
        above = np.nextafter(thresholds[:, 1], np.inf)  # so that equality counts
        found = self._proximity.near(q, above, spread=0.0)
        return self._least(found.pairs, found.distances, thresholds[found.pairs])

    def of_distances(self, distances: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Like `of_leaves`, from known distances (pairs,), metres."""
        near = np.flatnonzero(~(distances > thresholds[:, 1]))
        return self._least(near, distances[near], thresholds[near])

    def _least(
        self, pairs: np.ndarray, distances: np.ndarray, thresholds: np.ndarray
    ) -> np.ndarray:
        part = part_of(distances, thresholds)
        out = np.full(self._links, np.inf)
        for side in (0, 1):
            np.minimum.at(out, self._pairs[pairs, side], part)
        return out


# -- live scenes --


class LiveProximity(Proximity):
    """`Proximity.near` for the pairs with objects of a live scene, with its pair numbers."""

    def __init__(self, live: LiveScene) -> None:
        self.model, self._live = live.model, live
        self._leaf_links, self._pair_table = live.leaf_links, live.pair_table
        self._allocate(64)

    @property
    def pair_count(self) -> int:
        """Number of limits."""
        return self._live.pair_count

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return self._live.numbers, self._live.index


class LiveNearness:
    """Like `Nearness`, for the pairs with objects of a live scene."""

    def __init__(self, live: LiveScene) -> None:
        self._live = live
        self._proximity = LiveProximity(live)

    def of_leaves(
        self, q: np.ndarray, thresholds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nearness (links,) in the order of ``model.link_names``, and (slots,) of objects, at q.

        ``thresholds`` (pair numbers, 2): stop and warning distance, metres.
        """
        above = np.nextafter(thresholds[:, 1], np.inf)
        found = self._proximity.near(q, above, spread=0.0)
        part = part_of(found.distances, thresholds[found.pairs])
        of_links = np.full(len(self._live.model.link_names), np.inf)
        links = self._live.links_of(found.pairs)
        np.minimum.at(of_links, links[links >= 0], part[links >= 0])
        of_slots = np.full(1 + self._live.bounds.objects, np.inf)
        for slots in self._live.slots_of(found.pairs).T:
            np.minimum.at(of_slots, slots[slots >= 0], part[slots >= 0])
        return of_links, of_slots
