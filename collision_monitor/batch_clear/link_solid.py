# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One capsule around all leaves of a link: coarse, for saying quickly that nothing is near."""

from __future__ import annotations

import numpy as np

_STEPS = 60


def _innermost(points: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Nearly the centre (d,) of the smallest ball around balls at ``points`` (n, d).

    Steps towards the farthest ball that get shorter (Badoiu and Clarkson).
    """
    center = 0.5 * ((points - radii[:, None]).min(axis=0) + (points + radii[:, None]).max(axis=0))
    best, least = center, np.inf
    for step in range(_STEPS):
        offsets = points - center
        distances = np.linalg.norm(offsets, axis=1)
        k = int((distances + radii).argmax())
        if distances[k] + radii[k] < least:
            best, least = center, distances[k] + radii[k]
        if distances[k] == 0.0:
            break
        center = center + offsets[k] * (0.5 / (step + 2))
    return best


def _along(direction: np.ndarray, points: np.ndarray, radii: np.ndarray) -> tuple:
    """(p0, p1, radius) of a slim capsule around balls, its axis along ``direction``."""
    helper = np.eye(3)[int(np.abs(direction).argmin())]
    x = np.cross(helper, direction)
    x /= np.linalg.norm(x)
    across = np.array([x, np.cross(direction, x)])
    center = _innermost(points @ across.T, radii)
    heights = points @ direction
    distances = np.linalg.norm(points @ across.T - center, axis=1)
    radius = float((distances + radii).max())
    # Half way round the end, a ball may stick out beyond the axis by so much.
    spare = np.sqrt(np.maximum((radius - radii) ** 2 - distances**2, 0.0))
    low, high = float((heights + spare).min()), float((heights - spare).max())
    if low > high:
        low = high = 0.5 * (low + high)
    origin = center @ across
    return origin + low * direction, origin + high * direction, radius


def link_solid(ends: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """The slimmest capsule found around leaves, and a ball about its middle around them.

    Args:
        ends: (n, 6) both end points of each leaf.
        radii: (n,) radius of each leaf.

    Returns:
        (centre (3,), half axis (3,), radius, radius of the ball about the centre).
    """
    points = np.asarray(ends, dtype=float).reshape(-1, 3)
    radii = np.repeat(np.asarray(radii, dtype=float), 2)
    centered = points - points.mean(axis=0)
    directions = [*np.eye(3), *np.linalg.svd(centered, full_matrices=True)[2]]
    axes = points[1::2] - points[::2]
    longest = axes[int(np.linalg.norm(axes, axis=1).argmax())]
    if np.linalg.norm(longest) > 0.0:
        directions.append(longest / np.linalg.norm(longest))
    ball = _innermost(points, radii)
    found = [(ball, ball, 0.0), *(_along(d, points, radii) for d in directions)]
    best, least = None, np.inf
    for p0, p1, _ in found:
        center, half = 0.5 * (p0 + p1), 0.5 * (p1 - p0)
        # A leaf is in a capsule when the balls at its ends are: capsules are convex.
        squared = float(half @ half)
        t = np.clip((points - center) @ half / squared, -1.0, 1.0) if squared else np.zeros(1)
        gaps = np.linalg.norm(points - center - t[:, None] * half, axis=1)
        radius = float((gaps + radii).max())
        volume = radius**2 * (2.0 * np.sqrt(squared) + 4.0 / 3.0 * radius)
        if volume < least:
            best, least = (center, half, radius), volume
    center, half, radius = best
    reach = float((np.linalg.norm(points - center, axis=1) + radii).max())
    grown = 1.0 + 1e-12  # for what rounding left outside
    return center, half, radius * grown, reach * grown
