# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that are near by design, and the smallest distance of all others.

Forearm and wrist of an arm are 20 mm apart in nearly every configuration, and the fingers of an
open hand 3 mm where it rests: common thresholds would always raise an alarm. Such a pair is checked
against a distance of its own. A monitor does not apply this to pairs with an obstacle of the scene,
or of two robots, because the user chooses their position.

The smallest distance of all pairs would nearly always be that of such a pair, a constant. So would
the distance of two shoulders, which no joint changes, until something comes nearer. These pairs
count only within their own warning distance.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from collision_monitor.model.leaf_queries import nearest_clearance
from collision_monitor.model.pair_rules import (
    LEAST_DISTANCE,
    OFTEN_NEAR,
    RARELY,
    REACH,
    STOP_PART,
    WARN_PART,
)
from collision_monitor.model.sampled_distances import is_of_one_robot

if TYPE_CHECKING:
    from collision_monitor.hierarchy.query import Clearance

_NEAR = 0.99 * REACH  # distances up to `REACH` are measured
_MANY, _NEVER, _HOME = "near in many configurations", "never in contact", "near at home"


@dataclass(frozen=True)
class NearPair:
    """A pair that is near by design, and its thresholds; metres.

    Attributes:
        links: names.
        near: share of the configurations in which the pair is within the warning distance.
        contact: share of the configurations in which the shapes touch.
        usual: 95 % of the distances without contact are above it; or the smallest one.
        is_smallest: whether it is the smallest one, as few joints move the pair, and it was never
            found in contact.
        at_home: smallest distance at home, at most `REACH`.
        largest: largest distance in these configurations and at home, at most `REACH`.
        warn: warning distance of this pair.
        stop: stop distance of this pair.
        rule: which of the rules gives these distances, in words.
    """

    links: tuple[str, str]
    near: float
    contact: float
    usual: float
    is_smallest: bool
    at_home: float
    largest: float
    warn: float
    stop: float
    rule: str

    @property
    def reason(self) -> str:
        """The rule, and what is known of the distance."""
        share = f"{self.contact:.0%}" if self.contact >= 0.005 else "less than 1%"
        touching = f", in contact in {share}" if self.contact > 0.0 else ""
        home = f", {1e3 * self.at_home:.1f} mm apart at home" if self.at_home < _NEAR else ""
        always = f", always within {1e3 * self.largest:.1f} mm" if self.largest < _NEAR else ""
        word = "never found nearer than" if self.is_smallest else "usually at least"
        usual = f", {word} {1e3 * self.usual:.1f} mm" if self.usual < _NEAR else ""
        return (
            f"{self.rule}: near in {self.near:.0%} of the configurations{touching}{usual}{home}"
            f"{always}"
        )

    def __str__(self) -> str:
        a, b = self.links
        return (
            f"{a} - {b}: {self.reason}: warning at {1e3 * self.warn:.1f} mm, stop at "
            f"{1e3 * self.stop:.1f} mm"
        )


def near_by_design(
    model: Any, stop: float, warn: float, exact: bool = True, share: float = OFTEN_NEAR,
    at_home: bool = True, with_obstacles: bool = False,
) -> dict[int, NearPair]:  # fmt: skip
    """Return the pairs of a CollisionModel, by index, that are near by design.

    Args:
        model: it measures its pairs at the first call.
        stop: stop distance of other pairs, metres.
        warn: warning distance of other pairs, metres; at least ``stop``.
        exact: whether shapes are measured instead of leaves.
        share: of the configurations in which a pair is within ``warn``.
        at_home: whether pairs within ``warn`` at home are near by design as well.
        with_obstacles: whether pairs with an obstacle, or of two robots, can be.
    """
    sampled, warn = model.sampled_distances(exact), max(warn, stop)
    within = min(warn, _NEAR)
    nears, usual = sampled.share_within(within), sampled.apart_quantile(RARELY)
    is_often = (nears >= share) & (sampled.contacts < 1.0)
    home = sampled.at_home
    is_at_home = at_home & (home >= LEAST_DISTANCE) & (home <= within)
    never = sampled.least >= LEAST_DISTANCE
    usual = np.where(never, sampled.least, usual).clip(LEAST_DISTANCE)
    over_range = np.where(is_often | never, usual, np.inf)
    resting = np.where(is_at_home, home, np.inf)
    # At home only distances below `REACH` are known.
    largest = np.maximum(sampled.quantiles[:, -1], np.where(home < REACH, home, 0.0))
    judged, is_home = np.minimum(over_range, resting), resting < over_range
    near_pairs = {}
    for row in np.flatnonzero(judged < max(warn / WARN_PART, stop / STOP_PART)).tolist():
        pair, distance = int(sampled.pairs[row]), float(judged[row])
        links = model.pairs[pair]
        if with_obstacles or is_of_one_robot(model, links):
            near_pairs[pair] = NearPair(
                links, float(nears[row]), float(sampled.contacts[row]), float(usual[row]),
                bool(never[row]), float(home[row]), float(largest[row]),
                min(warn, WARN_PART * distance), min(stop, STOP_PART * distance),
                _HOME if is_home[row] else _NEVER if never[row] else _MANY,
            )  # fmt: skip
    return near_pairs


class MinimumDistance:
    """Measures the minimum distance of a model, for one thread.

    A pair that is near by design counts only within its own warning distance. If all pairs are near
    by design, all count.

    Attributes:
        near_by_design: indices of the pairs that only count within their warning distance.
        others: the model with only the pairs that always count.
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
        self.near_by_design = sorted(set(near)) if len(near) < len(model.pairs) else []
        pairs = [model.pairs[index] for index in self.near_by_design]
        self._limits = np.asarray(warn, dtype=float)[self.near_by_design]
        self._single: dict[tuple[str, str], Any] = {}
        self._those, self.others = (
            (self._twin(pairs), self._twin(set(model.pairs).difference(pairs)))
            if pairs else (None, model)
        )  # fmt: skip
        self._rows = np.full(len(model.pairs), -1, dtype=np.int64)
        self._rows[self.near_by_design] = np.arange(len(pairs))

    def _twin(self, pairs: Collection[tuple[str, str]]) -> Any:
        twin = self._model.twin(pairs)
        if self._exact:
            twin.prepare_exact()
        return twin

    def of(
        self, q: np.ndarray, exact_within: float = -np.inf, any_contact: bool = True
    ) -> Clearance:
        """Return the smallest distance of the pairs that count at ``q`` (nq,).

        Args:
            q: configuration.
            exact_within: shapes are measured if leaves are at most this far apart, metres; if any
                are, at least the largest warning distance.
            any_contact: as of `CollisionModel.distance`.
        """
        nearest = nearest_clearance(self.others, q, exact_within, any_contact)
        return self.with_near(q, nearest, exact_within)

    def with_near(
        self,
        q: np.ndarray,
        nearest: Clearance,
        exact_within: float,
        among: np.ndarray | None = None,
    ) -> Clearance:
        """Return ``nearest``, or a nearer pair near by design within its own warning distance.

        Args:
            q: configuration.
            nearest: of the pairs that always count there.
            exact_within: as of `of`.
            among: (k,) indices of pairs, with all that are within their warning distance at ``q``;
                None if these are not known.
        """
        if self._those is None:
            return nearest
        near = self._within_warning(q, exact_within, among)
        # Written so that NaN counts.
        return near if near is not None and near.distance < nearest.distance else nearest

    def _within_warning(
        self, q: np.ndarray, exact_within: float, among: np.ndarray | None
    ) -> Clearance | None:
        """The nearest pair that is near by design and within its own warning distance, if any."""
        those, limits, is_exact = self._those, self._limits, exact_within > -np.inf
        within = np.arange(len(limits)) if among is None else self._rows[among]
        within = within[within >= 0]
        if len(within) and (among is None or not is_exact):
            distances = those.pair_distances(q[None], within)[0]
            is_within = ~(distances > limits[within])
            within, distances = within[is_within], distances[is_within]
        if len(within) and is_exact:
            # One step beyond: at the warning distance itself a pair counts.
            beyond = np.nextafter(limits[within], np.inf)
            distances, _ = those.surface_points(q, within, beyond)
            is_within = ~(distances > limits[within])
            within, distances = within[is_within], distances[is_within]
        if not len(within):
            return None
        pair = those.pairs[within[np.argmin(distances)]]
        if pair not in self._single:
            self._single[pair] = self._twin([pair])
        return nearest_clearance(self._single[pair], q, exact_within)
