# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far apart each pair of links is to be kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Margins:
    """Distances between leaves for every pair of ``model.pairs``, metres.

    Attributes:
        safe: (pairs,) d_saf; -inf where a pair takes no part.
        danger: (pairs,) d_dan, never above ``safe``.
    """

    safe: np.ndarray
    danger: np.ndarray
