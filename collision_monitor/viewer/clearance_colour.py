# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The colour of a clearance, the same in RViz and in pictures."""

from __future__ import annotations

Rgb = tuple[float, float, float]

CLEAR: Rgb = (0.18, 0.65, 0.37)
NEAR: Rgb = (0.96, 0.75, 0.15)
CONTACT: Rgb = (0.86, 0.16, 0.16)


def clearance_colour(distance: float, warn: float, stop: float) -> Rgb:
    """Green above ``warn``, red at or below ``stop`` (and for NaN), yellow to red between.

    Distances in metres; red, green and blue from 0 to 1.
    """
    if not distance > stop:
        return CONTACT
    if distance > warn:
        return CLEAR
    part = (distance - stop) / (warn - stop)
    r, g, b = (c + part * (n - c) for c, n in zip(CONTACT, NEAR, strict=True))
    return r, g, b
