# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The points of a set that are farthest out: of a fine mesh, a few that are nearly its hull.

A smooth mesh has most of its vertices on its hull. Searching for leaves among all of them takes
minutes and finds the same ones. The leaves are made to enclose all of them in the end.
"""

from __future__ import annotations

import numpy as np

MANY = 4000  # so many vertices of a hull are as good as all
_BLOCK = 65_536  # points looked at in one go: memory, not time


def spread_directions(count: int) -> np.ndarray:
    """Unit vectors (count, 3), evenly spread: a spiral from pole to pole."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    rim = np.sqrt(1.0 - z**2)
    return np.column_stack([rim * np.cos(turn), rim * np.sin(turn), z])


def farthest(points: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Indices, ascending, of those ``points`` (n, 3) that are farthest along a direction (d, 3)."""
    block = max(1, _BLOCK * 100 // len(directions))
    best = np.full(len(directions), -np.inf)
    index = np.zeros(len(directions), dtype=np.int64)
    for start in range(0, len(points), block):
        heights = points[start : start + block] @ directions.T
        highest = heights.argmax(axis=0)
        height = heights[highest, np.arange(len(directions))]
        higher = height > best
        best[higher], index[higher] = height[higher], start + highest[higher]
    return np.unique(index)


def outermost(points: np.ndarray) -> np.ndarray:
    """``points`` (n, 3) as they are, or of more than `MANY` those that are farthest out.

    In directions that are even where the set is as long as it is wide: it may be a rod.
    """
    if len(points) <= MANY:
        return points
    centred = points - points.mean(axis=0)
    squares, axes = np.linalg.eigh(centred.T @ centred / len(points))
    widths = np.sqrt(np.maximum(squares, 1e-12 * squares[-1]))
    return points[farthest(centred @ (axes / widths), spread_directions(MANY))]
