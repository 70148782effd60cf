# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The exact distance of two rectangles in space.

The nearest points of two rectangles that do not cross are a corner and a point of the other
rectangle, or points of two edges. Rectangles cross where an edge of one pierces the other.
"""

from __future__ import annotations

from collision_monitor.common.compiled import ONE, ZERO, kernel, small_kernel

# Squared sine below which edges are parallel; moves a distance by less than 1e-12 m a metre.
_PARALLEL = 1e-24


@small_kernel
def _limited(x, half):
    return min(max(x, -half), half)


@kernel
def _corners_and_edges(cx, cy, cz, ux, uy, uz, vx, vy, vz, b0, b1, a0, a1):
    """Least squared distance of a rectangle's corners from another one; 0 where an edge pierces it.

    The other one is |x| <= a0, |y| <= a1, z = 0; this one has the centre c, half sides b0 along
    u and b1 along v.
    """
    best = 1e300
    # Around the rectangle: each corner with the one before.
    lx, ly, lz = cx + b0 * ux - b1 * vx, cy + b0 * uy - b1 * vy, cz + b0 * uz - b1 * vz
    for corner in range(4):
        s = b0 if corner == 0 or corner == 3 else -b0
        t = b1 if corner < 2 else -b1
        x, y, z = cx + s * ux + t * vx, cy + s * uy + t * vy, cz + s * uz + t * vz
        dx, dy = x - _limited(x, a0), y - _limited(y, a1)
        best = min(best, dx * dx + dy * dy + z * z)
        if (z > 0.0) != (lz > 0.0):
            part = z / (z - lz)
            if abs(x + part * (lx - x)) <= a0 and abs(y + part * (ly - y)) <= a1:
                return 0.0
        lx, ly, lz = x, y, z
    return best


@kernel
def _parallel_edges(d0, d1, d2, e, wx, wy, wz, ha, sa, ox, oy, oz, hb, sb):
    """Least squared distance of two edges of A along axis ``e`` from two edges of B along w.

    ``ha`` half the edges of A, ``sa`` half the side between them; o the other axis of B, hb and sb
    likewise. All along the axes of A; d is centre B less centre A.
    """
    best = 1e300
    k, o = (wx, wy) if e == 0 else (wy, wx)
    # Not 1 - k^2, which has lost all digits where the edges are nearly parallel.
    square = o * o + wz * wz
    scale = 1.0 / square if square > _PARALLEL else 0.0
    for side in range(4):
        a = sa if side & 1 else -sa
        b = sb if side & 2 else -sb
        x, y, z = d0 + b * ox, d1 + b * oy, d2 + b * oz
        if e == 0:
            y -= a
        else:
            x -= a
        along_e, across = (x, y) if e == 0 else (y, x)
        along_w = x * wx + y * wy + z * wz
        s = _limited((along_e * square - k * (across * o + z * wz)) * scale, ha)
        t = _limited(k * s - along_w, hb)
        s = _limited(along_e + k * t, ha)
        x, y, z = x + t * wx, y + t * wy, z + t * wz
        if e == 0:
            x -= s
        else:
            y -= s
        best = min(best, x * x + y * y + z * z)
    return best


@kernel
def rectangle_distance_squared(d0, d1, d2, r, a0, a1, b0, b1):
    """Squared distance of two rectangles.

    ``d`` is centre B less centre A along the axes of A, ``r`` the nine products of their axes (row:
    A; the third axis is the normal), a and b half sides along the first two axes.
    """
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = r
    best = _corners_and_edges(d0, d1, d2, r00, r10, r20, r01, r11, r21, b0, b1, a0, a1)
    if best == 0.0:
        return best
    e0, e1, e2 = (
        -r00 * d0 - r10 * d1 - r20 * d2,
        -r01 * d0 - r11 * d1 - r21 * d2,
        -r02 * d0 - r12 * d1 - r22 * d2,
    )
    found = _corners_and_edges(e0, e1, e2, r00, r01, r02, r10, r11, r12, a0, a1, b0, b1)
    best = min(best, found)
    if best == 0.0:
        return best
    found = _parallel_edges(d0, d1, d2, ZERO, r00, r10, r20, a0, a1, r01, r11, r21, b0, b1)
    best = min(best, found)
    found = _parallel_edges(d0, d1, d2, ZERO, r01, r11, r21, a0, a1, r00, r10, r20, b1, b0)
    best = min(best, found)
    found = _parallel_edges(d0, d1, d2, ONE, r00, r10, r20, a1, a0, r01, r11, r21, b0, b1)
    best = min(best, found)
    found = _parallel_edges(d0, d1, d2, ONE, r01, r11, r21, a1, a0, r00, r10, r20, b1, b0)
    return min(best, found)
