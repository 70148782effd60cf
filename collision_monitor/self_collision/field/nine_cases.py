# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Nearest points of two segments, the control points of the repulsion, and its direction."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import kernel, offline_kernel, small_kernel
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
def _gap(wx, wy, wz, ux, uy, uz, vx, vy, vz, s, t):
    """Distance of p + s u and q + t v, w = q - p."""
    dx, dy, dz = wx + t * vx - s * ux, wy + t * vy - s * uy, wz + t * vz - s * uz
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
    wx, wy, wz = qx - px, qy - py, qz - pz
    d1 = _gap(wx, wy, wz, ux, uy, uz, vx, vy, vz, s1, t1)
    d2 = _gap(wx, wy, wz, ux, uy, uz, vx, vy, vz, s2, t2)
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
    """Signed distances ``out`` (m,) of the leaves ``first`` and ``second`` (m,), metres.

    ``ends`` (leaves, 6) end points of their segments, ``radii`` (leaves, 1); by `nine_cases`.
    If the bounding spheres of two leaves are ``enough`` metres apart, their distance is returned
    instead: it is a lower bound.
    """
    for pair in range(len(first)):
        i, j = first[pair], second[pair]
        px, py, pz = ends[i, 0], ends[i, 1], ends[i, 2]
        qx, qy, qz = ends[j, 0], ends[j, 1], ends[j, 2]
        ux, uy, uz = ends[i, 3] - px, ends[i, 4] - py, ends[i, 5] - pz
        vx, vy, vz = ends[j, 3] - qx, ends[j, 4] - qy, ends[j, 5] - qz
        cx, cy, cz = (
            qx - px + 0.5 * (vx - ux), qy - py + 0.5 * (vy - uy), qz - pz + 0.5 * (vz - uz)
        )  # fmt: skip
        apart = (
            math.sqrt(cx * cx + cy * cy + cz * cz)
            - 0.5 * math.sqrt(ux * ux + uy * uy + uz * uz)
            - 0.5 * math.sqrt(vx * vx + vy * vy + vz * vz)
        )
        if not apart - radii[i, 0] - radii[j, 0] >= enough:  # nan is not enough
            apart = nine_cases(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz)[0]
        out[pair] = apart - radii[i, 0] - radii[j, 0]


# -- the direction of a push --

_TOUCHING = 1e-12  # m; control points closer than this coincide
_SAME_WAY = 1e-9  # sine of the angle between two segments that have no common normal


@offline_kernel
def _normal_at_contact(ux, uy, uz, vx, vy, vz, approach, normal):
    """Write a unit vector that separates touching segments along u and v; see `common_normal`."""
    uu, vv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = math.sqrt(x * x + y * y + z * z)
    if length <= _SAME_WAY * math.sqrt(uu * vv):
        if uu < vv:
            ux, uy, uz, uu = vx, vy, vz, vv
        # The component of the approach perpendicular to the segment, or any perpendicular.
        for direction in range(4):
            if direction == 0:
                x, y, z = approach[0], approach[1], approach[2]
            else:
                x = 1.0 if direction == 1 else 0.0
                y = 1.0 if direction == 2 else 0.0
                z = 1.0 if direction == 3 else 0.0
            size = math.sqrt(x * x + y * y + z * z)
            along = (ux * x + uy * y + uz * z) / max(uu, 1e-300)
            x, y, z = x - along * ux, y - along * uy, z - along * uz
            length = math.sqrt(x * x + y * y + z * z)
            if length > _SAME_WAY * max(size, 1e-300):
                break
    if approach[0] * x + approach[1] * y + approach[2] * z < 0.0:
        length = -length
    normal[0], normal[1], normal[2] = x / length, y / length, z / length


@offline_kernel
def common_normal(ends, i, j, approach, points, normal):
    """Distance of the segments i and j of ``ends`` (leaves, 6), metres.

    Writes their control points (2, 3), and the unit vector n (3,) from the first to the second. In
    the paper n is C_left - C_right, which is not of unit length and undefined at d = 0. If the
    segments touch, n is perpendicular to both, or to the longer of parallel ones, with the sense
    of ``approach`` (3,), the velocity of the first relative to the second.
    """
    px, py, pz = ends[i, 0], ends[i, 1], ends[i, 2]
    qx, qy, qz = ends[j, 0], ends[j, 1], ends[j, 2]
    ux, uy, uz = ends[i, 3] - px, ends[i, 4] - py, ends[i, 5] - pz
    vx, vy, vz = ends[j, 3] - qx, ends[j, 4] - qy, ends[j, 5] - qz
    distance, s, t, _ = nine_cases(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz)
    points[0, 0], points[0, 1], points[0, 2] = px + s * ux, py + s * uy, pz + s * uz
    points[1, 0], points[1, 1], points[1, 2] = qx + t * vx, qy + t * vy, qz + t * vz
    if distance > _TOUCHING:
        for axis in range(3):
            normal[axis] = (points[1, axis] - points[0, axis]) / distance
    else:
        _normal_at_contact(ux, uy, uz, vx, vy, vz, approach, normal)
    return distance


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
