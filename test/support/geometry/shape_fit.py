# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The leaves around one shape, without the other links of a robot; how far points are outside."""

import numpy as np

from collision_monitor.fitting.shapes import FitSettings, fits_in_own_frame, placed
from collision_monitor.geometry.leaf import distances_to_segment


def fit_shape(shape, link, settings=None):
    """Return the last `Fit` of a shape, in the frame of ``link``."""
    settings = FitSettings() if settings is None else settings
    fits = fits_in_own_frame(shape, settings.max_leaves_per_link, settings.leaf_tolerance)
    return placed(fits[-1], shape.pose, link)


def outside(rows, points):
    """How far points are outside all leaves (rows of 7) at most, metres."""
    depth = [distances_to_segment(points, row[:3], row[3:6]) - row[6] for row in rows]
    return np.min(depth, axis=0).max()
