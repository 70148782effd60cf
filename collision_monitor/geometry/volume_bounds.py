# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far boxes of two links are apart at least, through the transform between the links.

By the 15 axes of `separating_axes`. Squares of distances: a traversal compares them, and a root is
dear. The boxes are windows with the rows of `bvh.mesh_tree`; ``pose`` is a (7, 3) window by
`place`.
"""

from __future__ import annotations

import math

from collision_monitor.common.compiled import ONE, TWO, ZERO, kernel, small_kernel
from collision_monitor.geometry.rectangles import rectangle_distance_squared
from collision_monitor.geometry.separating_axes import (
    aligned_relation,
    gaps_of_a,
    gaps_of_b,
    gaps_of_edges,
    oriented_relation,
)

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
    """A squared distance that two boxes along their links' axes are not nearer than.

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
