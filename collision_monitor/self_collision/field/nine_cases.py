# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distance and nearest points of two segments by the nine cases of Wu et al. (2018).

k1 and k2 are the parameters of the feet of the common perpendicular of both lines, from 0 to 1
along each segment. Each is below 0, within [0, 1] or above 1: nine cases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.geometry.segments import PARALLEL, POINT


class ControlPoints(NamedTuple):
    """Distance and nearest points of two segments.

    Attributes:
        distance: between the segments, metres; never negative.
        first: (3,) the nearest point of the first segment, C_i.
        second: (3,) the nearest point of the second segment, C_j.
        case: 1 to 9; 1 + 3 a + b, with a, b = 0, 1, 2 if the common perpendicular meets the first
            and second line before, on, or beyond the segment.
    """

    distance: float
    first: np.ndarray
    second: np.ndarray
    case: int


def control_points(first: np.ndarray, second: np.ndarray) -> ControlPoints:
    """Distance and control points of two segments (2, 3), end points in one frame, metres.

    The nine cases of Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53.
    A segment of zero length is a point. For parallel segments, the perpendicular at the first end
    of the first segment determines the case.

    Raises:
        ValueError: a segment is not (2, 3), or has a value that is not finite.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    for name, segment in (("first", first), ("second", second)):
        if segment.shape != (2, 3) or not np.isfinite(segment).all():
            raise ValueError(f"{name} segment: {segment.tolist()} is not two finite points (2, 3)")
    (p, u), (q, v) = ((segment[0], segment[1] - segment[0]) for segment in (first, second))
    k1, k2 = _common_perpendicular(p, u, q, v)
    a, b = (0 if k < 0.0 else 2 if k > 1.0 else 1 for k in (k1, k2))
    # The squared distance is convex in (k1, k2), so its minimum over the unit square lies on a side
    # that faces the unconstrained minimum: limit one parameter, and take the foot on the other
    # segment, limited to it. Limiting k1 and k2 independently would give too large a distance. Also
    # if both are inside: for nearly parallel lines, k1 and k2 are inaccurate, but feet are not.
    on_first, on_second = p + np.clip(k1, 0.0, 1.0) * u, q + np.clip(k2, 0.0, 1.0) * v
    ways = (on_first, _foot(q, v, on_first)), (_foot(p, u, on_second), on_second)
    distances = [float(np.linalg.norm(there - here)) for here, there in ways]
    nearer = int(distances[1] < distances[0])
    return ControlPoints(distances[nearer], *ways[nearer], 1 + 3 * a + b)


def _common_perpendicular(
    p: np.ndarray, u: np.ndarray, q: np.ndarray, v: np.ndarray
) -> tuple[float, float]:
    """Unlimited (k1, k2) that minimise |p + k1 u - (q + k2 v)|; 0 for a u or v of no length."""
    w, a, e = q - p, u @ u, v @ v
    if e <= POINT:
        return (0.0 if a <= POINT else u @ w / a), 0.0
    n = np.cross(u, v)
    nn = n @ n
    if nn > PARALLEL * a * e:
        return np.cross(w, v) @ n / nn, np.cross(w, u) @ n / nn
    return 0.0, -(v @ w) / e


def _foot(p: np.ndarray, u: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Nearest point of the segment p + k u to q."""
    a = u @ u
    return p if a <= POINT else p + np.clip(u @ (q - p) / a, 0.0, 1.0) * u
