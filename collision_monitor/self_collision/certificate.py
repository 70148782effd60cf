# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a motion keeps all pairs at their limits between its waypoints too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.model.proximity import Proximity


@dataclass(frozen=True)
class Failure:
    """A piece of a motion that is not certified.

    Attributes:
        segment: it begins at this waypoint.
        s: part of the segment, from 0 to 1.
        pair: index into ``model.pairs``.
        missing: metres by which the pair is below its limit there; 0 where it is not, but so
            near that no bound can tell.
    """

    segment: int
    s: float
    pair: int
    missing: float


def failures(
    proximity: Proximity, rows: np.ndarray, limits: np.ndarray, first_only: bool = False
) -> list[Failure]:
    """What is not certified of a motion (n, nq), linear between its rows, at ``limits``.

    ``limits`` is (pairs,), or (n - 1, pairs) for limits of each segment. A motion of one row
    is tested at this row. An empty list is a proof: `continuous.motion_bound`.
    """
    found = []
    rows = rows if len(rows) > 1 else np.repeat(rows, 2, axis=0)
    for k in range(len(rows) - 1):
        limit = limits if limits.ndim == 1 else limits[k]
        answer = proximity.certify(rows[k], rows[k + 1], limit)
        if not answer.holds:
            missing = max(0.0, float(limit[answer.pair] - answer.distance))
            found.append(Failure(k, float(answer.s), int(answer.pair), missing))
            if first_only:
                break
    return found
