# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Escape direction: joint motions that separate all pairs that are too close."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from collision_monitor.model.proximity import Proximity

_ABREAST = 0.001  # leaf pairs within so many metres of the nearest of their links count as well
_STUCK = 1e-6  # of the steepest gradient: no direction leads out of all


class WayOut:
    """Finds directions out; has a work space of its own, for one thread."""

    def __init__(self, *proximities: Proximity) -> None:
        """What it runs is compiled here: the first contact is no moment to wait for it."""
        self._proximities = proximities
        model = proximities[0].model
        nothing = [np.full(each.pair_count, -np.inf) for each in proximities]
        self.direction(np.zeros(len(model.joint_names)), *nothing)
        nnls(np.eye(2), np.ones(2))

    def direction(self, q: np.ndarray, *limits: np.ndarray) -> np.ndarray | None:
        """Joint direction (nq,) that parts all pairs nearer than ``limits`` (pairs,) at q (nq,).

        ``limits`` of the pairs of each proximity.

        The largest entry is 1 or -1: rad for joints that turn, metres for those that slide. Of all
        directions the one along which the pair that gains least gains most: the shortest
        vector in the convex hull of the gradients of all distances, found as a
        least squares problem. None where nothing is that near, or nothing parts all.
        """
        # A column of a table would be compiled for anew.
        gradients = np.vstack(
            [
                proximity.near(q, np.ascontiguousarray(most), _ABREAST).gradients
                for proximity, most in zip(self._proximities, limits, strict=True)
            ]
        )
        norms = np.linalg.norm(gradients, axis=1)
        if not len(norms) or norms.min() <= 1e-9:
            return None
        unit = gradients / norms[:, None]
        # min |G' x|^2 + (1'x - 1)^2 over x >= 0 is that vector but for its length.
        shares, _ = nnls(np.vstack([unit.T, np.ones(len(unit))]), np.r_[np.zeros(len(q)), 1.0])
        direction = unit.T @ shares
        size = np.abs(direction).max()
        if size <= _STUCK or (unit @ direction).min() <= _STUCK * size:
            return None
        return direction / size
