# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Angles of joints without end stops.

A whole turn of such a joint changes no pose, and drivers report it within half a turn, or count the
turns. So its positions are compared modulo a turn. ``endless`` marks these joints
(`robot.bodies.Bodies.endless`); positions of others are compared as they are.
"""

from __future__ import annotations

import math

import numpy as np

TURN = 2.0 * math.pi


def whole_turns(
    positions: np.ndarray | float, reference: np.ndarray | float, endless: np.ndarray | bool
) -> np.ndarray:
    """Whole turns, in radians, that move ``positions`` next to ``reference``; else 0."""
    turns = np.round((np.asarray(reference, dtype=float) - positions) / TURN)
    return np.where(endless, TURN * turns, 0.0)


def apart(
    positions: np.ndarray | float, reference: np.ndarray | float, endless: np.ndarray | bool
) -> np.ndarray:
    """``positions`` minus ``reference``, by the short way where ``endless``; rad or m."""
    return positions - reference + whole_turns(positions, reference, endless)


def unwrapped(positions: np.ndarray) -> tuple[np.ndarray, int]:
    """Positions (n,) of an endless joint over time without jumps, and how often they jumped."""
    jumps = int((np.abs(np.diff(positions)) > math.pi).sum())
    return (np.unwrap(positions) if jumps else positions), jumps


def limits_beside(lower: float, upper: float, position: float) -> tuple[float, float]:
    """Limits given for an endless joint, moved by whole turns to include ``position`` if possible.

    A joint that begins within the limits, or has none on a side, keeps them.
    """
    if lower <= position <= upper or math.isinf(lower) or math.isinf(upper):
        return lower, upper
    turns = -float(whole_turns(position, 0.5 * (lower + upper), True))
    return lower + turns, upper + turns
