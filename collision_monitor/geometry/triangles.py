# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Exact intersection test of two triangles, by signs of determinants only.

After Devillers and Guigue, Faster Triangle-Triangle Intersection Tests, INRIA RR-4488 (2002),
and Guigue and Devillers, Fast and Robust Triangle-Triangle Overlap Test Using Orientation
Predicates, Journal of Graphics Tools 8 (2003), 25-32; coplanar and degenerate triangles by a method
of this package. Triangles are closed: touching triangles share a point.

A triangle is three rows of an array (n, 3), named by the first of them. The answer is exact for
coordinates that are zero or of a size from 1e-80 to 1e95 (`orientation`).
"""

from __future__ import annotations

from collision_monitor.common.compiled import MINUS_ONE, ONE, ZERO, kernel, small_kernel
from collision_monitor.geometry.orientation import orient2d, orient3d, sides


@kernel
def _is_before(p, a, b):
    """Whether row a comes before row b, by x, then y, then z: an order along any line."""
    if p[a, 0] != p[b, 0]:
        return p[a, 0] < p[b, 0]
    if p[a, 1] != p[b, 1]:
        return p[a, 1] < p[b, 1]
    return p[a, 2] < p[b, 2]


@kernel
def _ends(p, i):
    """First and last vertex of a triangle in that order: its ends if it is a segment or a point."""
    first, last = i, i
    for k in range(i + 1, i + 3):
        if _is_before(p, k, first):
            first = k
        if _is_before(p, last, k):
            last = k
    return first, last


@kernel
def _alone(s0, s1, s2):
    """Which vertex is alone on its side of a plane, from the three signs, and which side it is.

    Its own sign times the side is not negative, that of the others not positive. Signs are
    neither all zero nor all positive nor all negative.
    """
    positive = (s0 > 0) + (s1 > 0) + (s2 > 0)
    negative = (s0 < 0) + (s1 < 0) + (s2 < 0)
    if positive == 1:
        wanted, side = 1, 1
    elif negative == 1:
        wanted, side = -1, -1
    else:  # one on the plane, the others beyond it
        wanted, side = 0, (-1 if positive == 2 else 1)
    if s0 == wanted:
        return 0, side
    return (1, side) if s1 == wanted else (2, side)


@small_kernel
def _others(i, k, side):
    """The rows after vertex k of triangle i, round one way or the other."""
    after, before = i + (k + 1) % 3, i + (k + 2) % 3
    return (after, before) if side > 0 else (before, after)


@small_kernel
def _intervals_meet(p, i, k, above_i, j, m, above_j):
    """Whether two triangles meet on the line that their planes share.

    Vertex k of i is alone on its side ``above_i`` of j's plane, vertex m of j on its side
    ``above_j`` of i's. Each triangle cuts an interval out of the line, between the two edges
    at the lonely vertex; ordered so that both lonely vertices are above, the intervals
    overlap if neither begins behind the other's end.
    """
    a, d = i + k, j + m
    b, c = _others(i, k, above_j)
    e, f = _others(j, m, above_i)
    return orient3d(p, a, b, d, e) <= 0 and orient3d(p, a, c, f, d) <= 0


@small_kernel
def _segment_meets_triangle(p, s, t, j):
    """Whether the segment of rows s and t meets triangle j, if its line crosses j's plane.

    Its ends must not both be strictly on one side.
    """
    s0 = orient3d(p, s, t, j, j + 1)
    s1 = orient3d(p, s, t, j + 1, j + 2)
    s2 = orient3d(p, s, t, j + 2, j)
    return not (min(s0, min(s1, s2)) < 0 and max(s0, max(s1, s2)) > 0)


@small_kernel
def _columns(axis):
    """The two columns left when one is dropped."""
    return (axis + 1) % 3, (axis + 2) % 3


@kernel
def _axis_to_drop(p, i, j, a, b, c, d):
    """Which coordinate can go so that the plane of two triangles stays one; -1 if all is a line.

    Rows a, b and c, d are the ends of the triangles.
    """
    for axis in range(3):
        x, y = _columns(axis)
        if (
            orient2d(p, i, i + 1, i + 2, x, y) != 0
            or orient2d(p, j, j + 1, j + 2, x, y) != 0
            or orient2d(p, a, b, c, x, y) != 0
            or orient2d(p, a, b, d, x, y) != 0
            or orient2d(p, c, d, a, x, y) != 0
        ):
            return axis
    return -1


@kernel
def _edge_parts(p, i, j, x, y):
    """Whether the line of an edge of triangle i has all of j strictly beyond it, in a plane."""
    inside = orient2d(p, i, i + 1, i + 2, x, y)
    for k in range(3):
        a, b = i + k, i + (k + 1) % 3
        s0 = orient2d(p, a, b, j, x, y)
        # A triangle without area has its inside on neither side.
        if s0 != 0 and s0 != inside:
            if s0 == orient2d(p, a, b, j + 1, x, y) and s0 == orient2d(p, a, b, j + 2, x, y):
                return True
    return False


@kernel
def _flat_triangles_meet(p, i, j):
    """Whether two triangles of one plane, or without area, share a point.

    In the plane, convex shapes that are apart are parted by the line of an edge; on a line,
    intervals are compared by their ends.
    """
    a, b = _ends(p, i)
    c, d = _ends(p, j)
    if orient3d(p, a, b, c, d) != 0:
        return False  # two segments that lie across
    axis = _axis_to_drop(p, i, j, a, b, c, d)
    if axis < 0:
        return not (_is_before(p, b, c) or _is_before(p, d, a))
    x, y = _columns(axis)
    return not (_edge_parts(p, i, j, x, y) or _edge_parts(p, j, i, x, y))


@small_kernel
def _all_are(sign, s0, s1, s2):
    return s0 == sign and s1 == sign and s2 == sign


@kernel
def triangles_intersect(p, i, j):
    """Whether the closed triangles of rows i to i + 2 and j to j + 2 share a point.

    ``p`` (n, 3), metres, one frame. Inside, on the edge, coplanar, one in the other, segments
    and points all count.
    """
    b0, b1, b2 = sides(p, i, j)
    if _all_are(ONE, b0, b1, b2) or _all_are(MINUS_ONE, b0, b1, b2):
        return False
    a0, a1, a2 = sides(p, j, i)
    if _all_are(ONE, a0, a1, a2) or _all_are(MINUS_ONE, a0, a1, a2):
        return False
    i_is_flat, j_is_flat = _all_are(ZERO, b0, b1, b2), _all_are(ZERO, a0, a1, a2)
    if i_is_flat and j_is_flat:
        return _flat_triangles_meet(p, i, j)
    # Every point is in the plane of a triangle without area.
    if i_is_flat:
        s, t = _ends(p, i)
        return _segment_meets_triangle(p, s, t, j)
    if j_is_flat:
        s, t = _ends(p, j)
        return _segment_meets_triangle(p, s, t, i)
    k, above_i = _alone(a0, a1, a2)
    m, above_j = _alone(b0, b1, b2)
    return _intervals_meet(p, i, k, above_i, j, m, above_j)
