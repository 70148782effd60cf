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

from collision_monitor.model.structural_pairs import StructuralPair

if TYPE_CHECKING:
    from collision_monitor.hierarchy.clearance import Clearance
    from collision_monitor.model.thresholds import Thresholds

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
            near: indices of pairs that are near by design.
            warn: (pairs,) warning distance of each pair of the model, metres.
            exact: whether shapes are measured, too.
        """
        self._model, self._exact = model, exact
        self.left_out: list[int] = sorted(set(near)) if len(near) < len(model.pairs) else []
        pairs = [model.pairs[index] for index in self.left_out]
        self._warn = dict(zip(map(frozenset, pairs), warn[self.left_out].tolist(), strict=True))
        self._single: dict[tuple[str, str], Any] = {}
        if pairs:
            self._those = self._twin(pairs)
            self._limits = np.array([self._warn[frozenset(pair)] for pair in self._those.pairs])
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

    def of(self, q: np.ndarray, nearest: Clearance, exact_within: float = -np.inf) -> Clearance:
        """Return the smallest distance of the pairs that count at ``q`` (nq,).

        Args:
            q: configuration.
            nearest: of all pairs there.
            exact_within: shapes are measured if leaves are at most this far apart, metres; if any
                are, at least the largest warning distance.
        """
        if self.counts(nearest.links, nearest.distance):
            return nearest
        other = _nearest(self._others, q, exact_within)
        near = self._within_warning(q, exact_within)
        return near if near is not None and near.distance < other.distance else other

    def _within_warning(self, q: np.ndarray, exact_within: float) -> Clearance | None:
        """The nearest pair that is near by design and within its own warning distance, if any."""
        those, distances = self._those, self._those.distances(q)
        within = np.flatnonzero(~(distances > self._limits))
        if exact_within > -np.inf and len(within):
            # One step beyond: at the warning distance itself a pair counts.
            beyond = np.nextafter(self._limits[within], np.inf)
            measured, _ = those.surface_points(q, within, beyond)
            # In contact the distance is that of the leaves.
            distances[within] = np.where(measured > 0.0, measured, distances[within])
            within = within[measured <= self._limits[within]]
        if not len(within):
            return None
        pair = those.pairs[within[np.argmin(distances[within])]]
        if pair not in self._single:
            self._single[pair] = self._twin([pair])
        return _nearest(self._single[pair], q, exact_within)


def _nearest(model: Any, q: np.ndarray, exact_within: float) -> Clearance:
    nearest = model.distance(q)
    if nearest.distance > exact_within:
        return nearest
    return model.distance(q, exact=True, any_contact=True)
