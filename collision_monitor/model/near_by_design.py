# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The smallest distance of the pairs that are not near by design.

Forearm and wrist of an arm are 20 mm apart in nearly every configuration. The smallest distance of
all pairs would nearly always be theirs, a constant. So would the distance of two shoulders, which
no joint changes, until something comes nearer. Such pairs count only within their own warning
distance.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.common.limits import check_time
from collision_monitor.model.structural_pairs import StructuralPair

if TYPE_CHECKING:
    from collision_monitor.hierarchy.clearance import Clearance
    from collision_monitor.model.thresholds import Thresholds

# A pair whose distance (metres, of leaves) varies by less over so many random configurations is
# near by design however far apart it is: its distance says nothing of the configuration.
_LEAST_CHANGE, _SAMPLES = 0.005, 64


def constant_pairs(model: Any) -> list[int]:
    """Return the indices of pairs of a CollisionModel whose distance hardly varies."""
    low, high = np.full(len(model.pairs), np.inf), np.full(len(model.pairs), -np.inf)
    for q in model.random_configurations(_SAMPLES, seed=3):
        check_time("measuring how much the distances of pairs vary")
        distances = model.distances(q)
        np.minimum(low, distances, out=low)
        np.maximum(high, distances, out=high)
    return np.flatnonzero(high - low < _LEAST_CHANGE).tolist()


def usually_near(
    model: Any, thresholds: Thresholds, exact: bool
) -> dict[int, StructuralPair]:
    """Return the pairs of links, by index, that are near in most configurations or at rest.

    With their distances instead of those of ``thresholds``; ``exact``: of shapes instead of leaves.
    """
    obstacles = [obstacle.name for obstacle in model.scene.obstacles]
    return model.usual_distances(exact).structural(
        model.pairs, thresholds.stop, thresholds.warn, obstacles
    )


class DistanceNotByDesign:
    """Smallest distances of a model without pairs that are near by design, for one thread.

    If all pairs are near by design, all count.

    Attributes:
        left_out: indices of the pairs that only count within their warning distance.
    """

    def __init__(
        self, model: Any, near: Collection[int], warn: np.ndarray, exact: bool = False
    ) -> None:
        """Prepare the queries.

        Args:
            model: a CollisionModel.
            near: indices of pairs that are near in most configurations or at rest.
            warn: (pairs,) warning distance of each pair of the model, metres.
            exact: whether shapes are measured, too.
        """
        self._model, self._exact = model, exact
        left_out = {*near, *constant_pairs(model)}
        self.left_out: list[int] = sorted(left_out) if len(left_out) < len(model.pairs) else []
        pairs = [model.pairs[k] for k in self.left_out]
        self._warn = dict(zip(map(frozenset, pairs), warn[self.left_out].tolist(), strict=True))
        self._single: dict[frozenset[str], Any] = {}
        if pairs:
            self._others = self._twin(set(model.pairs).difference(pairs))

    def _twin(self, pairs: Collection[tuple[str, str]]) -> Any:
        twin = self._model.twin(pairs)
        if self._exact:
            twin.prepare_exact()
        return twin

    def counts(self, links: tuple[str, str], distance: float) -> bool:
        """Whether a pair counts at this distance, metres: always unless it is near by design."""
        # Written so that NaN counts.
        return not distance > self._warn.get(frozenset(links), np.inf)

    def of(
        self,
        q: np.ndarray,
        nearest: Clearance,
        exact_within: float = -np.inf,
        within_warning: tuple[str, str] | None = None,
    ) -> Clearance:
        """Return the smallest distance of the pairs that count at ``q`` (nq,).

        Args:
            q: configuration.
            nearest: of all pairs there.
            exact_within: shapes are measured if leaves are at most this far apart, metres.
            within_warning: another pair that is near by design and within its warning distance.
        """
        if self.counts(nearest.links, nearest.distance):
            return nearest
        found = _nearest(self._others, q, exact_within)
        if within_warning is None or frozenset(within_warning) not in self._warn:
            return found
        key = frozenset(within_warning)
        if key not in self._single:
            self._single[key] = self._twin([p for p in self._model.pairs if frozenset(p) == key])
        one = _nearest(self._single[key], q, exact_within)
        is_nearer = one.distance < found.distance and self.counts(one.links, one.distance)
        return one if is_nearer else found


def _nearest(model: Any, q: np.ndarray, exact_within: float) -> Clearance:
    found = model.distance(q)
    if found.distance > exact_within:
        return found
    return model.distance(q, exact=True, any_contact=True)
