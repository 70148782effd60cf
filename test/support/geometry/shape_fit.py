# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The leaves around one shape, without the other links of a robot."""

from collision_monitor.fitting.shapes import FitSettings, fits_in_own_frame, placed


def fit_shape(shape, link, settings=None):
    """Return the last `Fit` of a shape, in the frame of ``link``."""
    settings = FitSettings() if settings is None else settings
    fits = fits_in_own_frame(shape, settings.max_leaves_per_link, settings.leaf_tolerance)
    return placed(fits[-1], shape.pose, link)
