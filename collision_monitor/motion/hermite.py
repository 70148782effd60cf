# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Polynomials between two ends with their rates, as scipy's PPoly takes them: highest power first.

Each function gives coefficients (order, pieces, joints) in seconds since the left end of a piece.
``steps`` (pieces,) are the durations; ends are (pieces, joints): positions p, velocities v,
accelerations a at the left (0) and at the right (1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.interpolate import PPoly

# -- piecewise polynomials over one clock: joints that each have breakpoints of their own --


_SAME = 1e-10  # seconds between breakpoints that are one


def joined(parts: Sequence[PPoly]) -> PPoly:
    """One polynomial whose columns are those of all ``parts``, (order, pieces, columns) each.

    It breaks wherever a part does, and spans them all; a part is held before it begins and after it
    ends. Nothing is approximated: the polynomials are only written about other instants.
    """
    breaks = np.unique(np.concatenate([part.x for part in parts]))
    breaks = breaks[np.concatenate([[True], np.diff(breaks) > _SAME])]
    if len(breaks) == 1:
        breaks = np.array([breaks[0], breaks[0] + 1e-9])
    order = max(len(part.c) for part in parts)
    columns = [_rewritten(part, breaks, order) for part in parts]
    return PPoly(np.concatenate(columns, axis=2), breaks)


def _rewritten(part: PPoly, breaks: np.ndarray, order: int) -> np.ndarray:
    """Coefficients (order, pieces, columns) of ``part`` about the instants ``breaks[:-1]``."""
    middle = 0.5 * (breaks[:-1] + breaks[1:])
    piece = np.clip(np.searchsorted(part.x, middle, side="right") - 1, 0, part.c.shape[1] - 1)
    shift = (breaks[:-1] - part.x[piece])[:, None]
    out = np.zeros((order, len(middle), part.c.shape[2]))
    own = out[order - len(part.c) :]
    own[:] = part.c[:, piece]
    # Horner's scheme, once for each power: what is left is the value, then the slope, and so on.
    for last in range(len(own) - 1, 0, -1):
        for k in range(1, last + 1):
            own[k] += own[k - 1] * shift
    for outside, at in ((middle < part.x[0], part.x[0]), (middle > part.x[-1], part.x[-1])):
        out[:, outside] = 0.0
        out[-1, outside] = part(at)
    return out


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
