# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far two bounding volumes, boxes or rectangles swept by spheres, are apart at least.

The volumes belong to two links; ``pose`` (4, 3) is the frame of the second link in that of the
first: the rotation, then the translation. Volumes are windows with the rows of `mesh_tree`.

Two boxes are apart if and only if one of 15 axes shows a gap between them: the three axes of
either box, and the nine products of one of each (Gottschalk, Lin and Manocha, OBBTree, SIGGRAPH
1996; Chen and Xie test them between boxes that lie along the axes of their links' frames, which
are never rebuilt). Gaps in metres, negative where the shadows of the boxes overlap; those along
products are divided by the length of the product, the sine of the angle between its factors.
A relation of two boxes is d, centre B less centre A along the axes of A, and the nine products of
an axis of A (row) and one of B.

Lower bounds of the distance of boxes use the same axes. All bounds are squared distances: a
traversal compares them, and square roots are expensive.
"""

from __future__ import annotations

import math

from collision_monitor.common.compiled import inlined_kernel, kernel, part_kernel

# Kinds of volumes: boxes along the axes of the link, boxes with axes of their own, rectangles
# swept by spheres, and boxes along the axes in a tree of eight.
AABB, OBB, RSS, OCTREE = range(4)

# -- relations of two boxes --


@part_kernel
def _aligned_relation(boxes_a, i, boxes_b, j, pose):
    """The relation of two boxes along their links' axes."""
    r00, r01, r02 = pose[0, 0], pose[0, 1], pose[0, 2]
    r10, r11, r12 = pose[1, 0], pose[1, 1], pose[1, 2]
    r20, r21, r22 = pose[2, 0], pose[2, 1], pose[2, 2]
    x, y, z = boxes_b[j, 0], boxes_b[j, 1], boxes_b[j, 2]
    d0 = r00 * x + r01 * y + r02 * z + pose[3, 0] - boxes_a[i, 0]
    d1 = r10 * x + r11 * y + r12 * z + pose[3, 1] - boxes_a[i, 1]
    d2 = r20 * x + r21 * y + r22 * z + pose[3, 2] - boxes_a[i, 2]
    return (d0, d1, d2), ((r00, r01, r02), (r10, r11, r12), (r20, r21, r22))


@part_kernel
def _oriented_relation(boxes_a, i, boxes_b, j, pose):
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
    products = (
        (px * ux + py * uy + pz * uz, px * vx + py * vy + pz * vz, px * wx + py * wy + pz * wz),
        (qx * ux + qy * uy + qz * uz, qx * vx + qy * vy + qz * vz, qx * wx + qy * wy + qz * wz),
        (sx * ux + sy * uy + sz * uz, sx * vx + sy * vy + sz * vz, sx * wx + sy * wy + sz * wz),
    )
    return (d0, d1, d2), products


# -- lower bounds of distances --

# Squared sine below which two axes count as parallel. Their product separates nothing that the
# axes themselves do not, and its direction is mostly rounding errors.
_PARALLEL = 1e-10


@kernel
def _beyond(gap):
    """Square of a gap, 0 of an overlap."""
    return gap * gap if gap > 0.0 else 0.0


@kernel
def _along_axes(d0, d1, d2, products, own, other):
    """Squared distance from a box to the box around the other one along its axes.

    d and ``products``, the relation, along the axes of the first one; half sides of both.
    """
    (x, y, z), (b0, b1, b2) = products, other
    g0 = abs(d0) - own[0] - abs(x[0]) * b0 - abs(x[1]) * b1 - abs(x[2]) * b2
    g1 = abs(d1) - own[1] - abs(y[0]) * b0 - abs(y[1]) * b1 - abs(y[2]) * b2
    g2 = abs(d2) - own[2] - abs(z[0]) * b0 - abs(z[1]) * b1 - abs(z[2]) * b2
    return _beyond(g0) + _beyond(g1) + _beyond(g2)


@kernel
def _along_product(gap, cosine):
    """Square of a gap along the product of two axes, which is not a unit vector."""
    square = 1.0 - cosine * cosine
    if gap <= 0.0 or square <= _PARALLEL:
        return 0.0
    return gap * gap / square


@kernel
def _along_products(d1, d2, a1, a2, products, b):
    """Largest square of the gaps along the products of the first axis of A with the three of B.

    The relation's ``products``; d and half sides a for the second and the third axis of A; half
    sides ``b`` of B.
    """
    (x, y, z), (b0, b1, b2) = products, b
    x0, x1, x2 = abs(x[0]), abs(x[1]), abs(x[2])
    g0 = abs(d2 * y[0] - d1 * z[0]) - a1 * abs(z[0]) - a2 * abs(y[0]) - b1 * x2 - b2 * x1
    g1 = abs(d2 * y[1] - d1 * z[1]) - a1 * abs(z[1]) - a2 * abs(y[1]) - b0 * x2 - b2 * x0
    g2 = abs(d2 * y[2] - d1 * z[2]) - a1 * abs(z[2]) - a2 * abs(y[2]) - b0 * x1 - b1 * x0
    return max(_along_product(g0, x[0]), max(_along_product(g1, x[1]), _along_product(g2, x[2])))


@part_kernel
def _boxes_bound(d, products, a, b, best):
    """As `lower_bound`, for two boxes of half sides a and b, in the relation d and ``products``."""
    (d0, d1, d2), (a0, a1, a2) = d, a
    x, y, z = products
    largest = _along_axes(d0, d1, d2, products, a, b)
    if largest >= best:
        return largest
    columns = ((x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2]))
    square = _along_axes(
        x[0] * d0 + y[0] * d1 + z[0] * d2, x[1] * d0 + y[1] * d1 + z[1] * d2,
        x[2] * d0 + y[2] * d1 + z[2] * d2, columns, b, a,
    )  # fmt: skip
    largest = max(largest, square)
    if largest > 0.0:
        return largest
    largest = _along_products(d1, d2, a1, a2, (x, y, z), b)
    if largest < best:
        largest = max(largest, _along_products(d2, d0, a2, a0, (y, z, x), b))
    if largest < best:
        largest = max(largest, _along_products(d0, d1, a0, a1, (z, x, y), b))
    return largest


@inlined_kernel
def lower_bound(kind, volumes_a, i, volumes_b, j, pose, best):
    """Lower bound of the squared distance of two volumes of a ``kind``.

    What the axes show, or any number from ``best`` on as soon as that is shown. The three axes of a
    box together: the distance from it to the box around the other along its axes. The nine
    products are asked where these six show no gap; elsewhere they add little and cost much. 0
    only where none of the 15 separates the boxes.

    Rectangles swept by spheres are as far apart as flat boxes, less their radii.
    """
    if kind == OBB or kind == RSS:
        d, products = _oriented_relation(volumes_a, i, volumes_b, j, pose)
        a = volumes_a[i, 12], volumes_a[i, 13], volumes_a[i, 14]
        b = volumes_b[j, 12], volumes_b[j, 13], volumes_b[j, 14]
    else:
        d, products = _aligned_relation(volumes_a, i, volumes_b, j, pose)
        a = volumes_a[i, 3], volumes_a[i, 4], volumes_a[i, 5]
        b = volumes_b[j, 3], volumes_b[j, 4], volumes_b[j, 5]
    radii, enough = 0.0, best
    if kind == RSS:
        radii = a[2] + b[2]
        a, b = (a[0], a[1], 0.0), (b[0], b[1], 0.0)
        enough = (math.sqrt(best) + radii) ** 2
    apart = _boxes_bound(d, products, a, b, enough)
    return _beyond(math.sqrt(apart) - radii) if kind == RSS else apart
