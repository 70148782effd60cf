# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Piecewise polynomials over one clock: joints that each have breakpoints of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.interpolate import PPoly

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
