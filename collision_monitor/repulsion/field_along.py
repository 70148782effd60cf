# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The index of the repulsion field, the clearance and the closest pair along a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.proximity import Proximity
from collision_monitor.repulsion.margins import Margins

_WIDER = (0.1, 0.4, 1.6)  # m above d_saf at which the closest pair is looked for, in turn


@dataclass(frozen=True, eq=False)
class FieldAlong:
    """Of the pairs that take part, at each row of a motion.

    Attributes:
        index: (n,) F, the sum over pairs of d_saf - d, metres; infinite below d_dan.
        clearance: (n,) least distance between leaves, metres; inf where no pair takes part.
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
        pairs, distances = _near(proximity, margins, q)
        if not len(pairs):
            continue
        missing = margins.safe[pairs] - distances
        too_near = missing > 0.0
        index[k] = missing[too_near].sum()
        if (distances < margins.danger[pairs])[too_near].any():
            index[k] = np.inf
        first = int(distances.argmin())
        closest[k], clearance[k] = pairs[first], distances[first]
    return FieldAlong(index, clearance, closest)


def _near(proximity: Proximity, margins: Margins, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (k,) and their distances (k,), of those that matter and the closest of all."""
    for more in _WIDER:
        near = proximity.near(q, margins.safe + more)
        if len(near.pairs):
            pairs, place = np.unique(near.pairs, return_inverse=True)
            distances = np.full(len(pairs), np.inf)
            np.minimum.at(distances, place, near.distances)
            return pairs, distances
    taking_part = np.flatnonzero(margins.safe > -np.inf)
    return taking_part, proximity.model.distances(q)[taking_part]
