# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The nearest points of two links, each a segment: the control points of the repulsion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.self_collision.field.nine_cases_kernels import nine_cases


class ControlPoints(NamedTuple):
    """What two segments have to do with each other.

    Attributes:
        distance: between the segments, metres; never negative.
        first: (3,) the nearest point of the first segment, C_i.
        second: (3,) the nearest point of the second segment, C_j.
        case: 1 to 9; 1 + 3 a + b with a, b = 0, 1, 2 where the common perpendicular meets the
            first and the second line before, on, or beyond its segment.
    """

    distance: float
    first: np.ndarray
    second: np.ndarray
    case: int


def control_points(first: np.ndarray, second: np.ndarray) -> ControlPoints:
    """Distance and control points of two segments (2, 3), end points in one frame, metres.

    The nine cases of Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53.
    A segment of no length is a point. For parallel segments the perpendicular
    at the first end of the first segment tells the case.

    Raises:
        ValueError: a segment is not (2, 3), or has a value that is not finite.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    for name, segment in (("first", first), ("second", second)):
        if segment.shape != (2, 3) or not np.isfinite(segment).all():
            raise ValueError(f"{name} segment: {segment.tolist()} is not two finite points (2, 3)")
    u, v = first[1] - first[0], second[1] - second[0]
    distance, s, t, case = nine_cases(*first[0], *u, *second[0], *v)
    return ControlPoints(distance, first[0] + s * u, second[0] + t * v, int(case))
