# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Polynomials between two ends with their rates, as scipy's PPoly takes them: highest power first.

Each function gives coefficients (order, pieces, joints) in seconds since the left end of a piece.
``steps`` (pieces,) are the durations; ends are (pieces, joints): positions p, velocities v,
accelerations a at the left (0) and at the right (1).
"""

from __future__ import annotations

import numpy as np


def linear(steps: np.ndarray, p0: np.ndarray, p1: np.ndarray) -> np.ndarray:
    """Straight from p0 to p1: coefficients (2, pieces, joints)."""
    return np.stack([(p1 - p0) / steps[:, None], p0])


def cubic(
    steps: np.ndarray, p0: np.ndarray, v0: np.ndarray, p1: np.ndarray, v1: np.ndarray
) -> np.ndarray:
    """The cubic with these positions and velocities: coefficients (4, pieces, joints)."""
    h = steps[:, None]
    slope = (p1 - p0) / h
    return np.stack([(v0 + v1 - 2.0 * slope) / h**2, (3.0 * slope - 2.0 * v0 - v1) / h, v0, p0])


def quintic(
    steps: np.ndarray,
    p0: np.ndarray,
    v0: np.ndarray,
    a0: np.ndarray,
    p1: np.ndarray,
    v1: np.ndarray,
    a1: np.ndarray,
) -> np.ndarray:
    """The quintic with these positions, velocities, accelerations: (6, pieces, joints).

    What a parabola from the left end misses at the right end, in position, velocity and
    acceleration, is made up by the three highest powers.
    """
    h = steps[:, None]
    position = (p1 - p0 - (v0 + 0.5 * a0 * h) * h) / h**3
    velocity = (v1 - v0 - a0 * h) / h**2
    acceleration = (a1 - a0) / h
    return np.stack(
        [
            (6.0 * position - 3.0 * velocity + 0.5 * acceleration) / h**2,
            (-15.0 * position + 7.0 * velocity - acceleration) / h,
            10.0 * position - 4.0 * velocity + 0.5 * acceleration,
            0.5 * a0,
            v0,
            p0,
        ]
    )


def raised(coefficients: np.ndarray, order: int) -> np.ndarray:
    """The same polynomials with ``order`` coefficients, the highest of them zero."""
    missing = order - len(coefficients)
    return np.concatenate([np.zeros((missing, *coefficients.shape[1:])), coefficients])
