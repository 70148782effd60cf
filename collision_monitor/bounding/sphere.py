# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The sphere around a point set, as Zhang et al. fit it."""

from __future__ import annotations

import numpy as np

from collision_monitor.bounding.leaf import Leaf, enclosing
from collision_monitor.bounding.obb import OrientedBox, fit_box


def fit_sphere(points: np.ndarray, box: OrientedBox | None = None) -> Leaf:
    """The sphere about the centre of the points' oriented box; points (n, 3), metres."""
    center = (fit_box(points) if box is None else box).center
    return enclosing(center, center, 0.0, np.asarray(points, float))
