# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far two bounding volumes, boxes or rectangles swept by spheres, are apart at least.

The volumes belong to two links; ``pose`` is the transform between these, a (7, 3) window written
by `place`. Volumes are windows with the rows of `mesh_tree`.

Two boxes are apart if and only if one of 15 axes shows a gap between them: the three axes of
either box, and the nine products of one of each (Gottschalk, Lin and Manocha, OBBTree, SIGGRAPH
1996; Chen and Xie test them between boxes that lie along the axes of their links' frames, which
are never rebuilt). Gaps in metres, negative where the shadows of the boxes overlap; those along
products are not divided by the length of the product, the sine of the angle between its factors.
A relation of two boxes is d0, d1, d2, centre B less centre A along the axes of A, r, the nine
products of an axis of A (row) and one of B, and f, their absolute values.

Lower bounds of the distance of boxes use the same axes. All bounds are squared distances: a
traversal compares them, and square roots are expensive.
"""

from __future__ import annotations

import math

from collision_monitor.common.compiled import ONE, TWO, ZERO, kernel, part_kernel, small_kernel

# -- separating axes of two boxes --


@kernel
def aligned_relation(boxes_a, i, boxes_b, j, pose):
    """The relation of two boxes along their links' axes."""
    r00, r01, r02 = pose[0, 0], pose[0, 1], pose[0, 2]
    r10, r11, r12 = pose[1, 0], pose[1, 1], pose[1, 2]
    r20, r21, r22 = pose[2, 0], pose[2, 1], pose[2, 2]
    x, y, z = boxes_b[j, 0], boxes_b[j, 1], boxes_b[j, 2]
    d0 = r00 * x + r01 * y + r02 * z + pose[3, 0] - boxes_a[i, 0]
    d1 = r10 * x + r11 * y + r12 * z + pose[3, 1] - boxes_a[i, 1]
    d2 = r20 * x + r21 * y + r22 * z + pose[3, 2] - boxes_a[i, 2]
    f = (
        pose[4, 0], pose[4, 1], pose[4, 2], pose[5, 0], pose[5, 1], pose[5, 2],
        pose[6, 0], pose[6, 1], pose[6, 2],
    )  # fmt: skip
    return d0, d1, d2, (r00, r01, r02, r10, r11, r12, r20, r21, r22), f


@part_kernel
def _absolute(r):
    """The absolute values of nine numbers."""
    return (
        math.fabs(r[0]), math.fabs(r[1]), math.fabs(r[2]),
        math.fabs(r[3]), math.fabs(r[4]), math.fabs(r[5]),
        math.fabs(r[6]), math.fabs(r[7]), math.fabs(r[8]),
    )  # fmt: skip


@kernel
def oriented_relation(boxes_a, i, boxes_b, j, pose):
    """The relation of two boxes that have axes of their own."""
    x, y, z = boxes_b[j, 0], boxes_b[j, 1], boxes_b[j, 2]
    tx = pose[0, 0] * x + pose[0, 1] * y + pose[0, 2] * z + pose[3, 0] - boxes_a[i, 0]
    ty = pose[1, 0] * x + pose[1, 1] * y + pose[1, 2] * z + pose[3, 1] - boxes_a[i, 1]
    tz = pose[2, 0] * x + pose[2, 1] * y + pose[2, 2] * z + pose[3, 2] - boxes_a[i, 2]
    ax, ay, az, bx, by, bz, cx, cy, cz = (
        boxes_a[i, 3], boxes_a[i, 4], boxes_a[i, 5], boxes_a[i, 6], boxes_a[i, 7], boxes_a[i, 8],
        boxes_a[i, 9], boxes_a[i, 10], boxes_a[i, 11],
    )  # fmt: skip
    d0 = ax * tx + ay * ty + az * tz
    d1 = bx * tx + by * ty + bz * tz
    d2 = cx * tx + cy * ty + cz * tz
    # The axes of A in frame B.
    px = pose[0, 0] * ax + pose[1, 0] * ay + pose[2, 0] * az
    py = pose[0, 1] * ax + pose[1, 1] * ay + pose[2, 1] * az
    pz = pose[0, 2] * ax + pose[1, 2] * ay + pose[2, 2] * az
    qx = pose[0, 0] * bx + pose[1, 0] * by + pose[2, 0] * bz
    qy = pose[0, 1] * bx + pose[1, 1] * by + pose[2, 1] * bz
    qz = pose[0, 2] * bx + pose[1, 2] * by + pose[2, 2] * bz
    sx = pose[0, 0] * cx + pose[1, 0] * cy + pose[2, 0] * cz
    sy = pose[0, 1] * cx + pose[1, 1] * cy + pose[2, 1] * cz
    sz = pose[0, 2] * cx + pose[1, 2] * cy + pose[2, 2] * cz
    ux, uy, uz, vx, vy, vz, wx, wy, wz = (
        boxes_b[j, 3], boxes_b[j, 4], boxes_b[j, 5], boxes_b[j, 6], boxes_b[j, 7], boxes_b[j, 8],
        boxes_b[j, 9], boxes_b[j, 10], boxes_b[j, 11],
    )  # fmt: skip
    r = (
        px * ux + py * uy + pz * uz, px * vx + py * vy + pz * vz, px * wx + py * wy + pz * wz,
        qx * ux + qy * uy + qz * uz, qx * vx + qy * vy + qz * vz, qx * wx + qy * wy + qz * wz,
        sx * ux + sy * uy + sz * uz, sx * vx + sy * vy + sz * vz, sx * wx + sy * wy + sz * wz,
    )  # fmt: skip
    return d0, d1, d2, r, _absolute(r)


@kernel
def gaps_of_a(d0, d1, d2, f, a0, a1, a2, b0, b1, b2):
    """Gaps along the three axes of A; a and b are half sides."""
    return (
        math.fabs(d0) - a0 - f[0] * b0 - f[1] * b1 - f[2] * b2,
        math.fabs(d1) - a1 - f[3] * b0 - f[4] * b1 - f[5] * b2,
        math.fabs(d2) - a2 - f[6] * b0 - f[7] * b1 - f[8] * b2,
    )


@kernel
def gaps_of_b(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2):
    """Gaps along the three axes of B."""
    return (
        math.fabs(r[0] * d0 + r[3] * d1 + r[6] * d2) - b0 - f[0] * a0 - f[3] * a1 - f[6] * a2,
        math.fabs(r[1] * d0 + r[4] * d1 + r[7] * d2) - b1 - f[1] * a0 - f[4] * a1 - f[7] * a2,
        math.fabs(r[2] * d0 + r[5] * d1 + r[8] * d2) - b2 - f[2] * a0 - f[5] * a1 - f[8] * a2,
    )


@kernel
def gaps_of_edges(i, d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2):
    """Gaps along the products of axis i of A with the three of B, times the products' lengths."""
    if i == 0:
        return (
            math.fabs(d2 * r[3] - d1 * r[6]) - a1 * f[6] - a2 * f[3] - b1 * f[2] - b2 * f[1],
            math.fabs(d2 * r[4] - d1 * r[7]) - a1 * f[7] - a2 * f[4] - b0 * f[2] - b2 * f[0],
            math.fabs(d2 * r[5] - d1 * r[8]) - a1 * f[8] - a2 * f[5] - b0 * f[1] - b1 * f[0],
        )
    if i == 1:
        return (
            math.fabs(d0 * r[6] - d2 * r[0]) - a0 * f[6] - a2 * f[0] - b1 * f[5] - b2 * f[4],
            math.fabs(d0 * r[7] - d2 * r[1]) - a0 * f[7] - a2 * f[1] - b0 * f[5] - b2 * f[3],
            math.fabs(d0 * r[8] - d2 * r[2]) - a0 * f[8] - a2 * f[2] - b0 * f[4] - b1 * f[3],
        )
    return (
        math.fabs(d1 * r[0] - d0 * r[3]) - a0 * f[3] - a1 * f[0] - b1 * f[8] - b2 * f[7],
        math.fabs(d1 * r[1] - d0 * r[4]) - a0 * f[4] - a1 * f[1] - b0 * f[8] - b2 * f[6],
        math.fabs(d1 * r[2] - d0 * r[5]) - a0 * f[5] - a1 * f[2] - b0 * f[7] - b1 * f[6],
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
def _corners_and_edges(cx, cy, cz, ux, uy, uz, vx, vy, vz, halves, others):
    """Least squared distance of a rectangle's corners from another one; 0 where an edge pierces it.

    The other one is |x| <= a0, |y| <= a1, z = 0 with ``others`` (a0, a1); this one has the centre
    c, and half sides ``halves`` (b0, b1) along u and v.
    """
    (b0, b1), (a0, a1) = halves, others
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
def _parallel_edges(d0, d1, d2, e, wx, wy, wz, halves_a, ox, oy, oz, halves_b):
    """Least squared distance of two edges of A along axis ``e`` from two edges of B along w.

    ``halves_a``: half the edges of A, and half the side between them; o the other axis of B, and
    ``halves_b`` likewise. All along the axes of A; d is centre B less centre A.
    """
    (ha, sa), (hb, sb) = halves_a, halves_b
    best = 1e300
    cosine, o = (wx, wy) if e == 0 else (wy, wx)
    # Not 1 - cosine^2, which has lost all digits where the edges are nearly parallel.
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
        s = _limited((along_e * square - cosine * (across * o + z * wz)) * scale, ha)
        t = _limited(cosine * s - along_w, hb)
        s = _limited(along_e + cosine * t, ha)
        x, y, z = x + t * wx, y + t * wy, z + t * wz
        if e == 0:
            x -= s
        else:
            y -= s
        best = min(best, x * x + y * y + z * z)
    return best


@part_kernel
def rectangle_distance_squared(d0, d1, d2, r, a0, a1, b0, b1):
    """Squared distance of two rectangles.

    ``d`` is centre B less centre A along the axes of A, ``r`` the nine products of their axes (row:
    A; the third axis is the normal), a and b half sides along the first two axes.
    """
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = r
    halves_a, halves_b = (a0, a1), (b0, b1)
    best = _corners_and_edges(d0, d1, d2, r00, r10, r20, r01, r11, r21, halves_b, halves_a)
    if best == 0.0:
        return best
    e0, e1, e2 = (
        -r00 * d0 - r10 * d1 - r20 * d2,
        -r01 * d0 - r11 * d1 - r21 * d2,
        -r02 * d0 - r12 * d1 - r22 * d2,
    )
    square = _corners_and_edges(e0, e1, e2, r00, r01, r02, r10, r11, r12, halves_a, halves_b)
    best = min(best, square)
    if best == 0.0:
        return best
    square = _parallel_edges(d0, d1, d2, ZERO, r00, r10, r20, halves_a, r01, r11, r21, halves_b)
    best = min(best, square)
    square = _parallel_edges(d0, d1, d2, ZERO, r01, r11, r21, halves_a, r00, r10, r20, (b1, b0))
    best = min(best, square)
    square = _parallel_edges(d0, d1, d2, ONE, r00, r10, r20, (a1, a0), r01, r11, r21, halves_b)
    best = min(best, square)
    square = _parallel_edges(d0, d1, d2, ONE, r01, r11, r21, (a1, a0), r00, r10, r20, (b1, b0))
    return min(best, square)


# -- lower bounds of distances --

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


@kernel
def _beyond(gap):
    """Square of a gap, 0 of an overlap."""
    return gap * gap if gap > 0.0 else 0.0


@kernel
def _edges(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2, best):
    """The largest square of the gaps along the nine products, or any from ``best`` on."""
    g0, g1, g2 = gaps_of_edges(ZERO, d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2)
    largest = max(_along(g0, r[0]), max(_along(g1, r[1]), _along(g2, r[2])))
    if largest >= best:
        return largest
    g0, g1, g2 = gaps_of_edges(ONE, d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2)
    largest = max(largest, max(_along(g0, r[3]), max(_along(g1, r[4]), _along(g2, r[5]))))
    if largest >= best:
        return largest
    g0, g1, g2 = gaps_of_edges(TWO, d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2)
    return max(largest, max(_along(g0, r[6]), max(_along(g1, r[7]), _along(g2, r[8]))))


@kernel
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
    largest = _beyond(g0) + _beyond(g1) + _beyond(g2)
    if largest >= best:
        return largest
    g0, g1, g2 = gaps_of_b(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2)
    largest = max(largest, _beyond(g0) + _beyond(g1) + _beyond(g2))
    if largest > 0.0:
        return largest
    return _edges(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2, best)


@part_kernel
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


@part_kernel
def oriented_bound(boxes_a, i, boxes_b, j, pose, best):
    """As `aligned_bound`, for boxes that have axes of their own."""
    d0, d1, d2, r, f = oriented_relation(boxes_a, i, boxes_b, j, pose)
    return _boxes_bound(
        d0, d1, d2, r, f, boxes_a[i, 12], boxes_a[i, 13], boxes_a[i, 14],
        boxes_b[j, 12], boxes_b[j, 13], boxes_b[j, 14], best,
    )  # fmt: skip


@part_kernel
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
