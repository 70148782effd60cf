# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Boxes of two links against each other, through the transform between the links.

The 15 separating axes (Gottschalk, Lin and Manocha; Chen and Xie use them between link frames):
the three axes of either box, and the nine products of one of each. Squares of distances: a
traversal compares them, and a root is dear. The boxes are windows with the rows of
`kernels.mesh_tree`; ``pose`` is a (7, 3) window by `place`.
"""

from __future__ import annotations

import math

from collision_monitor.kernels.jit import kernel
from collision_monitor.kernels.rectangles import rectangle_distance_squared

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
def _edges(d0, d1, d2, r, a0, a1, a2, b0, b1, b2, best):
    """The largest square of the gaps along the nine products of axes.

    ``d`` is centre B less centre A along the axes of A, ``r`` the nine products of axes (row: A), a
    and b half sides. Done at the first above ``best``.
    """
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = r
    f00, f01, f02 = math.fabs(r00), math.fabs(r01), math.fabs(r02)
    f10, f11, f12 = math.fabs(r10), math.fabs(r11), math.fabs(r12)
    f20, f21, f22 = math.fabs(r20), math.fabs(r21), math.fabs(r22)
    found = 0.0
    # A0 x B0 .. A2 x B2: the product of Ai and Bj has the square length 1 - rij^2.
    gap = math.fabs(d2 * r10 - d1 * r20) - a1 * f20 - a2 * f10 - b1 * f02 - b2 * f01
    found = max(found, _along(gap, r00))
    gap = math.fabs(d2 * r11 - d1 * r21) - a1 * f21 - a2 * f11 - b0 * f02 - b2 * f00
    found = max(found, _along(gap, r01))
    gap = math.fabs(d2 * r12 - d1 * r22) - a1 * f22 - a2 * f12 - b0 * f01 - b1 * f00
    found = max(found, _along(gap, r02))
    if found >= best:
        return found
    gap = math.fabs(d0 * r20 - d2 * r00) - a0 * f20 - a2 * f00 - b1 * f12 - b2 * f11
    found = max(found, _along(gap, r10))
    gap = math.fabs(d0 * r21 - d2 * r01) - a0 * f21 - a2 * f01 - b0 * f12 - b2 * f10
    found = max(found, _along(gap, r11))
    gap = math.fabs(d0 * r22 - d2 * r02) - a0 * f22 - a2 * f02 - b0 * f11 - b1 * f10
    found = max(found, _along(gap, r12))
    if found >= best:
        return found
    gap = math.fabs(d1 * r00 - d0 * r10) - a0 * f10 - a1 * f00 - b1 * f22 - b2 * f21
    found = max(found, _along(gap, r20))
    gap = math.fabs(d1 * r01 - d0 * r11) - a0 * f11 - a1 * f01 - b0 * f22 - b2 * f20
    found = max(found, _along(gap, r21))
    gap = math.fabs(d1 * r02 - d0 * r12) - a0 * f12 - a1 * f02 - b0 * f21 - b1 * f20
    return max(found, _along(gap, r22))


@kernel
def _along(gap, cosine):
    """Square of a gap along the product of two axes, which is not a unit vector."""
    square = 1.0 - cosine * cosine
    if gap <= 0.0 or square <= _PARALLEL:
        return 0.0
    return gap * gap / square


@kernel
def aligned_bound(boxes_a, i, boxes_b, j, pose, best):
    """A squared distance that two boxes along their links' axes are not nearer than.

    What the axes show, or any number from ``best`` on as soon as that is shown. The three axes of a
    box together: the distance from it to the box around the other along its axes. The nine
    products are asked where these six show no gap; elsewhere they add little and cost much. 0
    only where none of the 15 separates the boxes.
    """
    r00, r01, r02 = pose[0, 0], pose[0, 1], pose[0, 2]
    r10, r11, r12 = pose[1, 0], pose[1, 1], pose[1, 2]
    r20, r21, r22 = pose[2, 0], pose[2, 1], pose[2, 2]
    x, y, z = boxes_b[j, 0], boxes_b[j, 1], boxes_b[j, 2]
    d0 = r00 * x + r01 * y + r02 * z + pose[3, 0] - boxes_a[i, 0]
    d1 = r10 * x + r11 * y + r12 * z + pose[3, 1] - boxes_a[i, 1]
    d2 = r20 * x + r21 * y + r22 * z + pose[3, 2] - boxes_a[i, 2]
    a0, a1, a2 = boxes_a[i, 3], boxes_a[i, 4], boxes_a[i, 5]
    b0, b1, b2 = boxes_b[j, 3], boxes_b[j, 4], boxes_b[j, 5]
    found = (
        _beyond(math.fabs(d0) - a0 - pose[4, 0] * b0 - pose[4, 1] * b1 - pose[4, 2] * b2)
        + _beyond(math.fabs(d1) - a1 - pose[5, 0] * b0 - pose[5, 1] * b1 - pose[5, 2] * b2)
        + _beyond(math.fabs(d2) - a2 - pose[6, 0] * b0 - pose[6, 1] * b1 - pose[6, 2] * b2)
    )
    if found >= best:
        return found
    e0, e1, e2 = (
        r00 * d0 + r10 * d1 + r20 * d2,
        r01 * d0 + r11 * d1 + r21 * d2,
        r02 * d0 + r12 * d1 + r22 * d2,
    )
    found = max(
        found,
        _beyond(math.fabs(e0) - b0 - pose[4, 0] * a0 - pose[5, 0] * a1 - pose[6, 0] * a2)
        + _beyond(math.fabs(e1) - b1 - pose[4, 1] * a0 - pose[5, 1] * a1 - pose[6, 1] * a2)
        + _beyond(math.fabs(e2) - b2 - pose[4, 2] * a0 - pose[5, 2] * a1 - pose[6, 2] * a2),
    )
    if found > 0.0:
        return found
    r = (r00, r01, r02, r10, r11, r12, r20, r21, r22)
    return _edges(d0, d1, d2, r, a0, a1, a2, b0, b1, b2, best)


@kernel
def _axes_between(boxes_a, i, boxes_b, j, pose):
    """Centre B less centre A along the axes of A, and the nine products of axes (row: A)."""
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
    return d0, d1, d2, r


@kernel
def _boxes_bound(d0, d1, d2, r, a0, a1, a2, b0, b1, b2, best):
    """As `aligned_bound`, for boxes with the products ``r`` of their axes."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = r
    f00, f01, f02 = math.fabs(r00), math.fabs(r01), math.fabs(r02)
    f10, f11, f12 = math.fabs(r10), math.fabs(r11), math.fabs(r12)
    f20, f21, f22 = math.fabs(r20), math.fabs(r21), math.fabs(r22)
    found = (
        _beyond(math.fabs(d0) - a0 - f00 * b0 - f01 * b1 - f02 * b2)
        + _beyond(math.fabs(d1) - a1 - f10 * b0 - f11 * b1 - f12 * b2)
        + _beyond(math.fabs(d2) - a2 - f20 * b0 - f21 * b1 - f22 * b2)
    )
    if found >= best:
        return found
    e0, e1, e2 = (
        r00 * d0 + r10 * d1 + r20 * d2,
        r01 * d0 + r11 * d1 + r21 * d2,
        r02 * d0 + r12 * d1 + r22 * d2,
    )
    found = max(
        found,
        _beyond(math.fabs(e0) - b0 - f00 * a0 - f10 * a1 - f20 * a2)
        + _beyond(math.fabs(e1) - b1 - f01 * a0 - f11 * a1 - f21 * a2)
        + _beyond(math.fabs(e2) - b2 - f02 * a0 - f12 * a1 - f22 * a2),
    )
    if found > 0.0:
        return found
    return _edges(d0, d1, d2, r, a0, a1, a2, b0, b1, b2, best)


@kernel
def oriented_bound(boxes_a, i, boxes_b, j, pose, best):
    """As `aligned_bound`, for boxes that have axes of their own."""
    d0, d1, d2, r = _axes_between(boxes_a, i, boxes_b, j, pose)
    return _boxes_bound(
        d0, d1, d2, r, boxes_a[i, 12], boxes_a[i, 13], boxes_a[i, 14],
        boxes_b[j, 12], boxes_b[j, 13], boxes_b[j, 14], best,
    )  # fmt: skip


@kernel
def swept_bound(volumes_a, i, volumes_b, j, pose, best):
    """As `aligned_bound`, for rectangles swept by spheres: exact below ``best``.

    The 15 axes, cheaper, are asked first whether that is enough.
    """
    d0, d1, d2, r = _axes_between(volumes_a, i, volumes_b, j, pose)
    a0, a1, b0, b1 = volumes_a[i, 12], volumes_a[i, 13], volumes_b[j, 12], volumes_b[j, 13]
    radii = volumes_a[i, 14] + volumes_b[j, 14]
    enough = math.sqrt(best) + radii
    enough *= enough
    apart = _boxes_bound(d0, d1, d2, r, a0, a1, 0.0, b0, b1, 0.0, enough)
    if apart < enough:
        apart = rectangle_distance_squared(d0, d1, d2, r, a0, a1, b0, b1)
    return _beyond(math.sqrt(apart) - radii)


@kernel
def boxes_near(boxes_a, i, boxes_b, j, pose, margin):
    """Whether two oriented boxes may be ``margin`` or less apart, by `oriented_bound`."""
    return oriented_bound(boxes_a, i, boxes_b, j, pose, margin * margin) <= margin * margin
