# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Suggested thresholds for pairs that are always closer than the current ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from collision_monitor.errors import BehaviourError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.thresholds import Thresholds

# The suggested warning distance is 10 % below the smallest distance, the stop distance half of it.
_MARGIN, _STOP_PART = 0.9, 0.5
_STEPS = 10_000  # suggestions are rounded down to 1/_STEPS of a metre


@dataclass(frozen=True)
class ThresholdSuggestion:
    """A pair that is often within its warning distance; distances in metres.

    Attributes:
        pair: the two links.
        share: part of the samples in which it is within its warning distance.
        least: smallest distance in the samples.
        largest: largest distance in the samples.
        warn: suggested; None if the leaves overlap, so that no threshold helps.
        stop: suggested, or None.
    """

    pair: tuple[str, str]
    share: float
    least: float
    largest: float
    warn: float | None
    stop: float | None


def suggest_thresholds(
    model: CollisionModel,
    thresholds: Thresholds,
    samples: int = 2000,
    share: float = 1.0,
    exact: bool = False,
    seed: int = 0,
) -> list[ThresholdSuggestion]:
    """Pairs within their warning distance in at least ``share`` of ``samples``, nearest first.

    Samples are uniform within the joint limits. ``exact``: use exact distances, not those of
    leaves.

    Raises:
        BehaviourError: samples or share are out of range.
        ThresholdsError: a rule matches no pair.
    """
    if samples < 1 or not 0.0 < share <= 1.0:
        raise BehaviourError(
            f"{samples} samples, share {share:g}: expected at least 1 sample, and a share above 0 "
            "and at most 1"
        )
    limits = thresholds.of(model.pairs, objects=model.link_names)
    count = np.zeros(len(model.pairs))
    least = np.full(len(model.pairs), np.inf)
    largest = np.full(len(model.pairs), -np.inf)
    for q in model.random_configurations(samples, seed):
        distances = model.distances(q, exact=exact)
        count += distances <= limits[:, 1]
        np.minimum(least, distances, out=least)
        np.maximum(largest, distances, out=largest)
    found = []
    for k in np.flatnonzero(count >= share * samples):
        warn = stop = None
        if _down(_STOP_PART * least[k]) > 0.0:
            warn = min(_down(_MARGIN * least[k]), float(limits[k, 1]))
            stop = min(_down(_STOP_PART * warn), float(limits[k, 0]))
        seen = float(count[k] / samples), float(least[k]), float(largest[k])
        found.append(ThresholdSuggestion(model.pairs[k], *seen, warn, stop))
    return sorted(found, key=lambda suggestion: suggestion.least)


def _down(metres: float) -> float:
    return math.floor(metres * _STEPS + 1e-9) / _STEPS
