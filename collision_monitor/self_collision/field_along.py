# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The index of the repulsion field, the clearance and the closest pair along a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.margins import Margins

_WIDER = (0.05, 0.4, 1.6)  # m above d_saf at which the closest pair is looked for, in turn


@dataclass(frozen=True, eq=False)
class FieldAlong:
    """Of the pairs that take part, at each row of a motion.

    Attributes:
        index: (n,) F, the sum over pairs of d_saf - d, metres; infinite below d_dan.
        clearance: (n,) least distance between leaves, metres, of the pairs that are kept apart
            (``margins.kept``); inf where there is none.
        closest: (n,) index into ``model.pairs`` of the pair that it belongs to; 0 for none.
    """

    index: np.ndarray
    clearance: np.ndarray
    closest: np.ndarray


def field_along(proximity: Proximity, margins: Margins, rows: np.ndarray) -> FieldAlong:
    """Field and clearance at each of ``rows`` (n, nq)."""
    index = np.zeros(len(rows))
    clearance = np.full(len(rows), np.inf)
    closest = np.zeros(len(rows), dtype=np.int64)
    for k, q in enumerate(rows):
        pairs, distances = _near(proximity, margins.safe, q)
        missing = margins.safe[pairs] - distances
        index[k] = missing.sum()
        if (distances < margins.danger[pairs]).any():
            index[k] = np.inf
        closest[k], clearance[k] = _closest(proximity, margins.kept, margins.safe, q)
    return FieldAlong(index, clearance, closest)


def _near(proximity: Proximity, limits: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (k,) below their limits, and their distances (k,)."""
    near = proximity.near(q, limits, 0.0)
    pairs, first = np.unique(near.pairs, return_index=True)  # two leaf pairs may be as near
    return pairs, near.distances[first]


def _closest(
    proximity: Proximity, kept: np.ndarray, safe: np.ndarray, q: np.ndarray
) -> tuple[int, float]:
    """The closest of the pairs ``kept``, and its distance."""
    if not kept.any():
        return 0, np.inf
    largest = float(safe[kept].max())
    for more in _WIDER:
        near = proximity.near(q, np.where(kept, largest + more, -np.inf), 0.0)
        if len(near.pairs):
            first = int(near.distances.argmin())
            return int(near.pairs[first]), float(near.distances[first])
    distances = np.where(kept, proximity.model.distances(q), np.inf)
    first = int(distances.argmin())
    return first, float(distances[first])
