# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Capsules around a box: side by side along its longest edge, in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# Radius over the least one that holds a cell's corners: more lets the ends move inwards.
_GENEROSITY = np.array([1.001, 1.02, 1.05, 1.1, 1.15, 1.25, 1.4, 1.6])


def _cells(short: float, long: float, most: int) -> np.ndarray:
    """For 1 .. ``most`` capsules the best grid over a cross-section: rows (rows, columns)."""
    best = set()
    for count in range(1, most + 1):
        grids = [(rows, count // rows) for rows in range(1, math.isqrt(count) + 1)]
        best.add(min(grids, key=lambda grid: math.hypot(short / grid[0], long / grid[1])))
    return np.array(sorted(best))


def _strip(radius: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Mean over a strip's ``width`` of the height of a circle above its centre."""
    u = 0.5 * width
    return 0.5 * (np.sqrt(radius**2 - u**2) + radius**2 / u * np.arcsin(u / radius))


def cover_box(
    size: tuple[float, float, float], most: int, tolerance: float
) -> tuple[np.ndarray, float]:
    """Capsules (k, 7) that enclose a box about the origin, and how far they stand off (m).

    Every capsule holds the corners of one cell of a grid over the two shorter sides. The
    fewest that stand off by no more than ``tolerance`` in the mean over the surface;
    if ``most`` do not, those that stand off least.

    Args:
        size: lengths along x, y, z in metres.
        most: capsules at most.
        tolerance: metres.
    """
    return covers_of_box(size, (most,), tolerance, 1.0)[0]


def covers_of_box(
    size: tuple[float, float, float], counts: Sequence[int], tolerance: float, worth: float
) -> list[tuple[np.ndarray, float]]:
    """What `cover_box` gives for each of the ascending ``counts``, up to the first within
    ``tolerance``; only those that stand off at most ``worth`` times as far as any before.
    """  # noqa: D205
    order = np.argsort(size, kind="stable")
    sides = np.maximum(np.asarray(size, dtype=float)[order], 1e-9)
    grids, radius, inset, stand_off = _grids(*sides, max(counts))
    capsules = grids.prod(axis=1)
    covers: list[tuple[np.ndarray, float]] = []
    for most in counts:
        within = np.flatnonzero(capsules <= most)
        good = within[stand_off[within] <= tolerance]
        if len(good):
            within = good[capsules[good] == capsules[good].min()]
        k = within[stand_off[within].argmin()]
        if not covers or stand_off[k] <= worth * covers[-1][1]:
            row = _row_of_capsules(order, sides, grids[k], radius[k], inset[k])
            covers.append((row, float(stand_off[k])))
        if len(good):
            break
    return covers


def _grids(
    a: float, b: float, c: float, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Grids (k, 2) of up to ``most`` capsules; their radii, inset ends, mean stand-off (k,)."""
    cells = _cells(a, b, most)
    grids = np.repeat(cells, len(_GENEROSITY), axis=0)
    high, wide = (np.array([a, b]) / grids).T
    corner = 0.5 * np.hypot(wide, high)
    radius = corner * np.tile(_GENEROSITY, len(cells))
    inset = np.sqrt(radius**2 - corner**2)
    ball = 2.0 * inset >= c  # a sphere holds the whole cell
    radius = np.where(ball, np.hypot(corner, 0.5 * c), radius)
    inset = np.where(ball, 0.5 * c, inset)
    # Mean height above the three kinds of faces; along the ball's cells a bound from above.
    over_b = _strip(radius, wide) - 0.5 * high
    over_a = _strip(radius, high) - 0.5 * wide
    over_c = np.sqrt(radius**2 - corner**2 / 3.0) - inset
    areas = np.array([b * c, a * c, a * b])
    return grids, radius, inset, areas @ np.array([over_b, over_a, over_c]) / areas.sum()


def _row_of_capsules(
    order: np.ndarray, sides: np.ndarray, grid: np.ndarray, radius: float, inset: float
) -> np.ndarray:
    """The capsules (k, 7) of one grid; ``sides`` ascend, and ``order`` is whose they are."""
    a, b, c = sides
    rows, columns = grid
    u = (np.arange(rows) + 0.5) * (a / rows) - 0.5 * a
    v = (np.arange(columns) + 0.5) * (b / columns) - 0.5 * b
    half = 0.5 * c - inset
    capsules = np.zeros((rows * columns, 7))
    for end, sign in ((0, -1.0), (3, 1.0)):
        capsules[:, end + order[0]] = np.repeat(u, columns)
        capsules[:, end + order[1]] = np.tile(v, rows)
        capsules[:, end + order[2]] = sign * half
    capsules[:, 6] = radius * (1.0 + 1e-12) + 1e-12 * c
    return capsules
