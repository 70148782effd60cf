# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Nearest points of two segments: the control points of the repulsion."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.geometry.segments import clamp_to_unit

# -- the nearest points of two segments by the nine cases of Wu et al. (2018) --
#
# k1 and k2 are the parameters of the feet of the common perpendicular of both lines, from 0 to 1
# along each segment. Each is below 0, within [0, 1] or above 1: nine cases.


# As in geometry/segments.py: squared length of a point, squared sine of parallels.
_POINT = 1e-30
_PARALLEL = 1e-24


@kernel
def common_perpendicular(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz):
    """Unlimited (k1, k2) that minimise |p + k1 u - (q + k2 v)|.

    For parallel lines the common perpendicular at k1 = 0 is used. A zero u or v is a point; its k
    is 0.
    """
    wx, wy, wz = qx - px, qy - py, qz - pz
    a = ux * ux + uy * uy + uz * uz
    e = vx * vx + vy * vy + vz * vz
    if e <= _POINT:
        return (0.0 if a <= _POINT else (ux * wx + uy * wy + uz * wz) / a), 0.0
    if a > _POINT:
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        nn = nx * nx + ny * ny + nz * nz
        if nn > _PARALLEL * a * e:
            k1 = (
                (wy * vz - wz * vy) * nx + (wz * vx - wx * vz) * ny + (wx * vy - wy * vx) * nz
            ) / nn
            k2 = (
                (wy * uz - wz * uy) * nx + (wz * ux - wx * uz) * ny + (wx * uy - wy * ux) * nz
            ) / nn
            return k1, k2
    return 0.0, -(vx * wx + vy * wy + vz * wz) / e


@small_kernel
def _side(k):
    """0 below the segment, 1 on it, 2 above."""
    return 0 if k < 0.0 else (2 if k > 1.0 else 1)


@small_kernel
def _foot(px, py, pz, ux, uy, uz, qx, qy, qz):
    """Parameter in [0, 1] of the point of the segment p + k u that is nearest to q."""
    a = ux * ux + uy * uy + uz * uz
    if a <= _POINT:
        return 0.0
    return clamp_to_unit((ux * (qx - px) + uy * (qy - py) + uz * (qz - pz)) / a)


@small_kernel
def _gap(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz, s, t):
    dx, dy, dz = qx + t * vx - px - s * ux, qy + t * vy - py - s * uy, qz + t * vz - pz - s * uz
    return math.sqrt(dx * dx + dy * dy + dz * dz)


@kernel
def nine_cases(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz):
    """(distance, s, t, case) of the segments p + s u and q + t v, s and t in [0, 1].

    ``case`` is 1 + 3 a + b, with a and b 0, 1 or 2 for k1 and k2 below 0, within [0, 1] or above 1;
    case 5 is the common perpendicular. The squared distance is convex in (k1, k2), so its minimum
    over the unit square lies on a side that faces the unconstrained minimum. If only k1 is outside,
    this is the side of its limit; the nearest point of the other segment is the foot on it, limited
    to it. If both are outside, two sides face it, and the nearer foot is used: limiting k1 and k2
    independently would give too large a distance, also if only one is outside.
    """
    k1, k2 = common_perpendicular(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz)
    a, b = _side(k1), _side(k2)
    case = 1 + 3 * a + b
    s1 = clamp_to_unit(k1)
    t1 = _foot(qx, qy, qz, vx, vy, vz, px + s1 * ux, py + s1 * uy, pz + s1 * uz)
    t2 = clamp_to_unit(k2)
    s2 = _foot(px, py, pz, ux, uy, uz, qx + t2 * vx, qy + t2 * vy, qz + t2 * vz)
    d1 = _gap(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz, s1, t1)
    d2 = _gap(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz, s2, t2)
    # Also if both are inside: for nearly parallel lines, k1 and k2 are inaccurate, but feet are
    # not.
    if a != 1 and b == 1:
        return d1, s1, t1, case
    if a == 1 and b != 1:
        return d2, s2, t2, case
    if d1 <= d2:
        return d1, s1, t1, case
    return d2, s2, t2, case


@kernel
def leaf_gaps(ends, radii, first, second, enough, out):
    """Signed distances ``out`` (m,) of the leaves first[k] and second[k], metres.

    ``ends`` (leaves, 2, 3) end points of their segments, ``radii`` (leaves,); by `nine_cases`.
    If the bounding spheres of two leaves are ``enough`` metres apart, their distance is returned
    instead: it is a lower bound.
    """
    for k in range(len(first)):
        i, j = first[k], second[k]
        px, py, pz = ends[i, 0, 0], ends[i, 0, 1], ends[i, 0, 2]
        qx, qy, qz = ends[j, 0, 0], ends[j, 0, 1], ends[j, 0, 2]
        ux, uy, uz = ends[i, 1, 0] - px, ends[i, 1, 1] - py, ends[i, 1, 2] - pz
        vx, vy, vz = ends[j, 1, 0] - qx, ends[j, 1, 1] - qy, ends[j, 1, 2] - qz
        cx, cy, cz = (
            qx - px + 0.5 * (vx - ux), qy - py + 0.5 * (vy - uy), qz - pz + 0.5 * (vz - uz)
        )  # fmt: skip
        apart = (
            math.sqrt(cx * cx + cy * cy + cz * cz)
            - 0.5 * math.sqrt(ux * ux + uy * uy + uz * uz)
            - 0.5 * math.sqrt(vx * vx + vy * vy + vz * vz)
        )
        if not apart - radii[i] - radii[j] >= enough:  # nan is not enough
            apart = nine_cases(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz)[0]
        out[k] = apart - radii[i] - radii[j]


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
    u, v = first[1] - first[0], second[1] - second[0]
    distance, s, t, case = nine_cases(*first[0], *u, *second[0], *v)
    return ControlPoints(distance, first[0] + s * u, second[0] + t * v, int(case))
