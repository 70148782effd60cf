# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a model as the exact level: their distances, pair by pair, and their hulls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.verification.clearance.link_hulls import link_hulls
from collision_monitor.verification.clearance.mesh_level import Decider, ExactLevel
from collision_monitor.verification.clearance.scanner import Scanner

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


class ShapeDecider:
    """Measures a pair of a model between its meshes and other shapes; for one thread.

    Each pair has a model of its own that checks nothing else, and so remembers which triangles
    were nearest last: along a motion that is a good guess.
    """

    def __init__(self, model: CollisionModel) -> None:
        self._model = model
        self._alone: dict[int, CollisionModel] = {}

    def __call__(self, q: np.ndarray, pair: int) -> tuple[float, np.ndarray]:
        """Signed distance (metres, 0 or less where they touch) and nearest points (2, 3)."""
        alone = self._alone.get(pair)
        if alone is None:
            alone = self._alone[pair] = self._model.twin([self._model.pairs[pair]])
        found = alone.distance(q, exact=True)
        return found.distance, found.points


def exact_level(scanner: Scanner, exact: Decider | bool) -> ExactLevel | None:
    """The level that ``exact`` asks for: shapes (True), leaves alone (False), or a measurement.

    What another measures may be larger than the shapes, so no hulls are known then.
    """
    if exact is True:
        return ExactLevel(scanner, ShapeDecider(scanner.model), link_hulls(scanner.model))
    return ExactLevel(scanner, exact) if exact else None
