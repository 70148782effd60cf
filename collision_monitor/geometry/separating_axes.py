# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether two boxes of two links are apart, through the transform between the links.

Two boxes are apart if and only if one of 15 axes shows a gap between them: the three axes of
either box, and the nine products of one of each (Gottschalk, Lin and Manocha, OBBTree, SIGGRAPH
1996; Chen and Xie ask them between boxes that lie along the axes of their links' frames, which
are never rebuilt). Gaps in metres, negative where the box's shadows overlap; those along products
are not divided by the product's length, the sine of the angle between its factors.

Boxes are rows of `bvh.mesh_tree`'s volumes, ``pose`` (7, 3) is by `volume_bounds.place`. A
relation of two boxes is d0, d1, d2, centre B less centre A along the axes of A, r, the nine
products of an axis of A (row) and one of B, and f, their absolute values.
"""

from __future__ import annotations

import math

from collision_monitor.common.compiled import kernel, small_kernel

# A gap larger than this part of the largest coordinate is not due to rounding: the transform of a
# corner, and of its box, into the other frame takes a dozen roundings.
_ROUNDING = 64 * 2.0**-53


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


@kernel
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


@kernel
def rounding(reach_a, reach_b, pose):
    """Smallest gap that separates the contents of two boxes in spite of rounding, metres.

    ``reach_a`` and ``reach_b``: no coordinate of a box's corner in its link's frame is larger. The
    rotation may be orthogonal to few digits only; its error is a part of the answer.
    """
    skew = 0.0
    for i in range(3):
        for j in range(i, 3):
            product = -1.0 if i == j else 0.0
            for k in range(3):
                product += pose[k, i] * pose[k, j]
            skew = max(skew, math.fabs(product))
    far = math.fabs(pose[3, 0]) + math.fabs(pose[3, 1]) + math.fabs(pose[3, 2])
    return _ROUNDING * (reach_a + reach_b + far) + 8.0 * skew * (reach_b + far)


@small_kernel
def _above(gaps, margin):
    """Whether one of three gaps is."""
    return gaps[0] > margin or gaps[1] > margin or gaps[2] > margin


@kernel
def _apart(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2, margin):
    """Whether one of the 15 axes of two boxes shows a gap of more than ``margin``."""
    if _above(gaps_of_a(d0, d1, d2, f, a0, a1, a2, b0, b1, b2), margin):
        return True
    if _above(gaps_of_b(d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2), margin):
        return True
    for i in range(3):
        if _above(gaps_of_edges(i, d0, d1, d2, r, f, a0, a1, a2, b0, b1, b2), margin):
            return True
    return False


@kernel
def aligned_apart(boxes_a, i, boxes_b, j, pose, margin):
    """Whether two boxes along their links' axes are apart; ``margin`` by `rounding`."""
    d0, d1, d2, r, f = aligned_relation(boxes_a, i, boxes_b, j, pose)
    return _apart(
        d0, d1, d2, r, f, boxes_a[i, 3], boxes_a[i, 4], boxes_a[i, 5],
        boxes_b[j, 3], boxes_b[j, 4], boxes_b[j, 5], margin,
    )  # fmt: skip


@kernel
def oriented_apart(boxes_a, i, boxes_b, j, pose, margin):
    """As `aligned_apart`, for boxes that have axes of their own.

    The box around a rectangle swept by a sphere has the same columns: its third half side is
    the radius.
    """
    d0, d1, d2, r, f = oriented_relation(boxes_a, i, boxes_b, j, pose)
    return _apart(
        d0, d1, d2, r, f, boxes_a[i, 12], boxes_a[i, 13], boxes_a[i, 14],
        boxes_b[j, 12], boxes_b[j, 13], boxes_b[j, 14], margin,
    )  # fmt: skip
