# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Capsules around a box: side by side along its longest edge, in closed form."""

from __future__ import annotations

import numpy as np

# Radius over the least one that holds a cell's corners: more lets the ends move inwards.
_GENEROSITY = np.array([1.001, 1.02, 1.05, 1.1, 1.15, 1.25, 1.4, 1.6])


def _cells(short: float, long: float, most: int) -> np.ndarray:
    """For 1 .. ``most`` capsules the best grid over a cross-section: rows (rows, columns)."""
    best = []
    for count in range(1, most + 1):
        rows = np.arange(1, int(np.sqrt(count)) + 1)
        columns = count // rows
        best.append((rows, columns)[0][k := int(np.hypot(short / rows, long / columns).argmin())])
        best.append(columns[k])
    return np.unique(np.array(best).reshape(-1, 2), axis=0)


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
    order = np.argsort(size, kind="stable")
    a, b, c = np.maximum(np.asarray(size, dtype=float)[order], 1e-9)
    cells = _cells(a, b, most)
    rows, columns = np.repeat(cells, len(_GENEROSITY), axis=0).T
    wide, high = b / columns, a / rows
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
    stand_off = (areas @ np.array([over_b, over_a, over_c])) / areas.sum()
    counts = rows * columns
    good = np.flatnonzero(stand_off <= tolerance)
    if len(good):
        fewest = good[counts[good] == counts[good].min()]
        k = int(fewest[stand_off[fewest].argmin()])
    else:
        k = int(stand_off.argmin())
    u = (np.arange(rows[k]) + 0.5) * high[k] - 0.5 * a
    v = (np.arange(columns[k]) + 0.5) * wide[k] - 0.5 * b
    half = 0.5 * c - inset[k]
    capsules = np.zeros((counts[k], 7))
    grid = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
    for end, sign in ((0, -1.0), (3, 1.0)):
        capsules[:, end + order[0]] = grid[:, 0]
        capsules[:, end + order[1]] = grid[:, 1]
        capsules[:, end + order[2]] = sign * half
    capsules[:, 6] = radius[k] * (1.0 + 1e-12) + 1e-12 * c
    return capsules, float(stand_off[k])
