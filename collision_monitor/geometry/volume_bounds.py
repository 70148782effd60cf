# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of the distance of two bounding volumes: boxes, and rectangles swept by spheres.

The volumes belong to two links; ``pose`` is the transform between these, a (7, 3) window written
by `place`. Bounds of boxes use the 15 axes of `separating_axes`. All bounds are squared distances:
a traversal compares them, and square roots are expensive. Volumes are windows with the rows of
`bvh.mesh_tree`.
"""

from __future__ import annotations

import math

from collision_monitor.common.compiled import ONE, TWO, ZERO, kernel, small_kernel
from collision_monitor.geometry.separating_axes import (
    aligned_relation,
    gaps_of_a,
    gaps_of_b,
    gaps_of_edges,
    oriented_relation,
)

# -- the exact distance of two rectangles in space --
#
# The nearest points of two rectangles that do not cross are a corner and a point of the other
# rectangle, or points of two edges. Rectangles cross where an edge of one pierces the other.

# Squared sine below which edges are parallel; moves a distance by less than 1e-12 m a metre.
_PARALLEL_SIDES = 1e-24


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
    scale = 1.0 / square if square > _PARALLEL_SIDES else 0.0
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


# Squared sine below which two axes count as parallel. Their product separates nothing that the
# axes themselves do not, and its direction is mostly rounding errors.
_PARALLEL = 1e-10


@kernel
def place(pose, rotation, translation):
    """Fill ``pose``: rows of the rotation, the translation, then |rotation|; frame B in frame A."""
    for i in range(3):
        pose[3, i] = translation[i]
        for j in range(3):
            pose[i, j] = rotation[i, j]
            pose[4 + i, j] = math.fabs(rotation[i, j])


@small_kernel
def _beyond(gap):
    """Square of a gap, 0 of an overlap."""
    return gap * gap if gap > 0.0 else 0.0


@kernel
def _edges(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2, best):
    """The largest square of the gaps along the nine products, or any from ``best`` on."""
    g0, g1, g2 = gaps_of_edges(ZERO, d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2)
    found = max(_along(g0, r[0]), max(_along(g1, r[1]), _along(g2, r[2])))
    if found >= best:
        return found
    g0, g1, g2 = gaps_of_edges(ONE, d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2)
    found = max(found, max(_along(g0, r[3]), max(_along(g1, r[4]), _along(g2, r[5]))))
    if found >= best:
        return found
    g0, g1, g2 = gaps_of_edges(TWO, d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2)
    return max(found, max(_along(g0, r[6]), max(_along(g1, r[7]), _along(g2, r[8]))))


@small_kernel
def _along(gap, cosine):
    """Square of a gap along the product of two axes, which is not a unit vector."""
    square = 1.0 - cosine * cosine
    if gap <= 0.0 or square <= _PARALLEL:
        return 0.0
    return gap * gap / square


@kernel
def _boxes_bound(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2, best):
    """As `aligned_bound`, for two boxes of half sides a and b in the relation d, r, f."""
    g0, g1, g2 = gaps_of_a(d0, d1, d2, f, a0, a1, a2, b0, b1, b2)
    found = _beyond(g0) + _beyond(g1) + _beyond(g2)
    if found >= best:
        return found
    g0, g1, g2 = gaps_of_b(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2)
    found = max(found, _beyond(g0) + _beyond(g1) + _beyond(g2))
    if found > 0.0:
        return found
    return _edges(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2, best)


@kernel
def aligned_bound(boxes_a, i, boxes_b, j, pose, best):
    """Lower bound of the squared distance of two boxes along their links' axes.

    What the axes show, or any number from ``best`` on as soon as that is shown. The three axes of a
    box together: the distance from it to the box around the other along its axes. The nine
    products are asked where these six show no gap; elsewhere they add little and cost much. 0
    only where none of the 15 separates the boxes.
    """
    d0, d1, d2, r, f = aligned_relation(boxes_a, i, boxes_b, j, pose)
    return _boxes_bound(
        d0, d1, d2, r, f, boxes_a[i, 3], boxes_a[i, 4], boxes_a[i, 5],
        boxes_b[j, 3], boxes_b[j, 4], boxes_b[j, 5], best,
    )  # fmt: skip


@kernel
def oriented_bound(boxes_a, i, boxes_b, j, pose, best):
    """As `aligned_bound`, for boxes that have axes of their own."""
    d0, d1, d2, r, f = oriented_relation(boxes_a, i, boxes_b, j, pose)
    return _boxes_bound(
        d0, d1, d2, r, f, boxes_a[i, 12], boxes_a[i, 13], boxes_a[i, 14],
        boxes_b[j, 12], boxes_b[j, 13], boxes_b[j, 14], best,
    )  # fmt: skip


@kernel
def swept_bound(volumes_a, i, volumes_b, j, pose, best):
    """As `aligned_bound`, for rectangles swept by spheres: exact below ``best``.

    The 15 axes, cheaper, are asked first whether that is enough.
    """
    d0, d1, d2, r, f = oriented_relation(volumes_a, i, volumes_b, j, pose)
    a0, a1, b0, b1 = volumes_a[i, 12], volumes_a[i, 13], volumes_b[j, 12], volumes_b[j, 13]
    radii = volumes_a[i, 14] + volumes_b[j, 14]
    enough = math.sqrt(best) + radii
    enough *= enough
    apart = _boxes_bound(d0, d1, d2, r, f, a0, a1, 0.0, b0, b1, 0.0, enough)
    if apart < enough:
        apart = rectangle_distance_squared(d0, d1, d2, r, a0, a1, b0, b1)
    return _beyond(math.sqrt(apart) - radii)


@small_kernel
def boxes_near(boxes_a, i, boxes_b, j, pose, margin):
    """Whether two oriented boxes may be ``margin`` or less apart, by `oriented_bound`."""
    return oriented_bound(boxes_a, i, boxes_b, j, pose, margin * margin) <= margin * margin
