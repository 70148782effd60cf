# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that are near each other by construction, and the thresholds that suit them.

The forearm and the second wrist link of an arm are 15 mm apart in nearly every configuration. With
the thresholds of other pairs, such a pair would raise an alarm for ever. It is judged by its usual
distance instead: it has to come clearly nearer than that before it is reported.

Distances are those at random configurations within the joint limits. A monitor does not apply this
to pairs with an obstacle of the scene: where that stands is a decision of the user.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.common.limits import check_time

# To be changed whenever the same input gives another answer.
_VERSION = 4
_SAMPLES = 400
# A pair that is farther apart than this, in metres, in most configurations is not structural.
REACH = 0.15
_NEAR = 0.99 * REACH
# Part of the configurations in which a structural pair is within its warning distance.
_SHARE = 0.5
# Of that part: few samples may show fewer than there are.
_OFTEN = 0.8
# Configurations without contact in which the distance is below the usual one.
_RARE = 0.05
# Of the usual distance.
_WARN_PART, _STOP_PART = 0.8, 0.4
# Stop distance, in metres, of a pair that is in contact at times, unless it usually is nearer.
_MARGIN = 0.005
_LEVELS = np.linspace(0.0, 1.0, 41)


@dataclass(frozen=True)
class StructuralPair:
    """A pair that is within the warning distance in most configurations; metres.

    Attributes:
        links: names.
        near: part of the configurations in which the pair is within the warning distance.
        contact: part of the configurations in which the shapes touch.
        usual: 95 % of the distances without contact are above this one.
        largest: largest distance, at most `REACH`.
        warn: warning distance of this pair.
        stop: stop distance of this pair.
    """

    links: tuple[str, str]
    near: float
    contact: float
    usual: float
    largest: float
    warn: float
    stop: float

    def __str__(self) -> str:
        a, b = self.links
        touching = f", in contact in {self.contact:.0%}" if self.contact > 0.0 else ""
        return (
            f"{a} - {b}: near in {self.near:.0%} of the configurations{touching}, usually at "
            f"least {1e3 * self.usual:.1f} mm apart: warning at {1e3 * self.warn:.1f} mm, stop at "
            f"{1e3 * self.stop:.1f} mm"
        )


class UsualDistances:
    """Distances of the pairs of a model that are near in most configurations.

    Attributes:
        pairs: (k,) indices into the pairs of the model.
        quantiles: (k, 41) of the signed distance at `_SAMPLES` random configurations, metres;
            0 in contact, at most `REACH`.
    """

    def __init__(self, pairs: Sequence[int], quantiles: np.ndarray) -> None:
        """Made by `usual_distances`."""
        self.pairs = np.array(pairs, dtype=int)
        self.quantiles = np.array(quantiles, dtype=float).reshape(len(self.pairs), len(_LEVELS))

    def structural(
        self,
        names: Sequence[tuple[str, str]],
        stop: float,
        warn: float,
        obstacles: Collection[str] = (),
    ) -> dict[int, StructuralPair]:
        """Structural pairs by their index.

        Args:
            names: of all pairs of the model.
            stop: stop distance of other pairs, metres.
            warn: warning distance of other pairs, metres.
            obstacles: names of obstacles, whose pairs are left out.
        """
        found = {}
        for pair, row in zip(self.pairs.tolist(), self.quantiles, strict=True):
            near, contact = _share_below(row, min(warn, _NEAR)), _share_below(row, 0.0)
            if near < _SHARE or contact >= 1.0 or not set(obstacles).isdisjoint(names[pair]):
                continue
            usual = float(np.interp(contact + _RARE * (1.0 - contact), _LEVELS, row))
            own_stop = _STOP_PART * usual
            if contact > 0.0:  # a pair that can collide keeps a margin
                middle = float(np.interp(0.5 * (1.0 + contact), _LEVELS, row))
                own_stop = max(own_stop, min(_MARGIN, _STOP_PART * middle))
            own_stop = min(stop, own_stop)
            own_warn = min(warn, max(_WARN_PART * usual, 1.5 * own_stop))
            if own_warn < warn or own_stop < stop:
                found[pair] = StructuralPair(
                    names[pair], near, contact, usual, float(row[-1]), own_warn, own_stop
                )
        return found

    def always_touching(self) -> list[int]:
        """Pairs, by their index, that touch in all samples."""
        return [
            pair for pair, row in zip(self.pairs.tolist(), self.quantiles, strict=True)
            if row[-1] <= 0.0
        ]  # fmt: skip


def _share_below(quantiles: np.ndarray, distance: float) -> float:
    """Part of the samples with at most this distance."""
    return float(np.searchsorted(quantiles, distance, side="right")) / len(quantiles)


def _leaf_distances(model: Any, pairs: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Distances (samples, k) of the leaves of a part of the pairs."""
    if not len(pairs):
        return np.empty((len(samples), 0))
    if len(pairs) < len(model.pairs) // 4:  # of thousands of links, most are far apart
        few = model.twin([model.pairs[k] for k in pairs])
        return np.array([few.distances(q) for q in _in_time(samples)])
    return np.array([model.distances(q)[pairs] for q in _in_time(samples)])


def _in_time(samples: np.ndarray) -> Iterator[np.ndarray]:
    for q in samples:
        check_time("measuring how near pairs usually are")
        yield q


def usual_distances(model: Any, exact: bool) -> UsualDistances:
    """Measure the pairs of a CollisionModel that are near in most configurations; kept on disk.

    ``exact``: on the shapes instead of the leaves. It compiles exact queries, and builds their
    hierarchies, unless the answer is known.
    """
    if not model.pairs:
        return UsualDistances([], np.empty(0))
    samples = model.random_configurations(_SAMPLES, seed=2)
    key = content_key("usual", _VERSION, exact, model.content)
    with Store("contacts") as store:
        kept = store.get(key)
        if not isinstance(kept, list):
            # Leaves are nearer than meshes: of a part of the samples, they say which are far.
            near = model.near_shares(samples[: _SAMPLES // 4], REACH)
            pairs = np.flatnonzero(near >= _OFTEN * _SHARE)
            if exact:
                distances = np.array([
                    model.surface_distances(q, pairs) for q in _in_time(samples)
                ])  # fmt: skip
            else:
                distances = _leaf_distances(model, pairs, samples)
            quantiles = np.quantile(np.clip(distances, 0.0, REACH), _LEVELS, axis=0).T
            kept = [pairs.tolist(), quantiles.tolist()]
            store.set(key, kept)
    return UsualDistances(*kept)
