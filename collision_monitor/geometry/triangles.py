# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two triangles: their distance, their nearest points, and whether they touch.

A triangle is three rows of an array (n, 3), metres, named by the first of them.

Triangles that are apart are nearest at a vertex of one and inside the other, or at two edges
(Larsen, Gottschalk, Lin and Manocha, Fast Proximity Queries with Swept Sphere Volumes, UNC
TR99-018, 1999). Every candidate is a pair of points on the triangles, so none is nearer than the
truth; the search ends at the first one whose distance is also the gap between the triangles along
the line of the two points, for then none can be nearer. Triangles that cross have an edge of one
through the other; they, and triangles that are nearer than `RELATIVE_ROUNDING` of their extent,
touch. For distances, segments and points are triangles too; coordinates up to 1e30 m; lengths
below 1e-15 m count as zero.
"""

from __future__ import annotations

import math

from collision_monitor.common.compiled import kernel, part_kernel, small_kernel
from collision_monitor.geometry.segments import RELATIVE_ROUNDING, nearest_parameters

# A squared distance and two points: farther away than any.
_NOTHING = (math.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

# Share of the triangles' extent: twice what rounding may add to a gap, so that a candidate can be
# compared to it. 2^-53 is 1.1e-16.
_ROUNDING = 4e-15


@small_kernel
def _normal(p, i):
    """(b - a) x (c - a), not normalised; zero for a triangle without area."""
    ux, uy, uz = p[i + 1, 0] - p[i, 0], p[i + 1, 1] - p[i, 1], p[i + 1, 2] - p[i, 2]
    vx, vy, vz = p[i + 2, 0] - p[i, 0], p[i + 2, 1] - p[i, 1], p[i + 2, 2] - p[i, 2]
    return uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx


@kernel
def _height(p, i, row, nx, ny, nz):
    """Height of a vertex over the first of a triangle along n, times |n|."""
    return (p[row, 0] - p[i, 0]) * nx + (p[row, 1] - p[i, 1]) * ny + (p[row, 2] - p[i, 2]) * nz


@small_kernel
def _extent(p, i, j):
    """A tight upper bound of the distance of two vertices; NaN if a coordinate is."""
    total = 0.0
    for row in (i + 1, i + 2, j, j + 1, j + 2):
        total += abs(p[row, 0] - p[i, 0]) + abs(p[row, 1] - p[i, 1]) + abs(p[row, 2] - p[i, 2])
    return total


@small_kernel
def _gap(p, i, j, nx, ny, nz):
    """Gap between two triangles along n, times |n|, and j's row nearest to i; 0 if none.

    Holds for any n: that i's vertices lie at right angles to its computed normal is not assumed.
    """
    h0 = _height(p, i, j, nx, ny, nz)
    h1 = _height(p, i, j + 1, nx, ny, nz)
    h2 = _height(p, i, j + 2, nx, ny, nz)
    own1 = _height(p, i, i + 1, nx, ny, nz)
    own2 = _height(p, i, i + 2, nx, ny, nz)
    lowest, highest = min(h0, min(h1, h2)), max(h0, max(h1, h2))
    above = lowest - max(0.0, max(own1, own2))
    below = min(0.0, min(own1, own2)) - highest
    nearest = lowest if above > below else highest
    row = j if nearest == h0 else (j + 1 if nearest == h1 else j + 2)
    return max(above, below), row


@kernel
def _foot(p, i, nx, ny, nz, x, y, z):
    """Squared distance of a point to where its normal meets triangle i, and that place.

    Infinite where it meets the plane outside the triangle, or there is no plane.
    """
    ux, uy, uz = p[i + 1, 0] - p[i, 0], p[i + 1, 1] - p[i, 1], p[i + 1, 2] - p[i, 2]
    vx, vy, vz = p[i + 2, 0] - p[i, 0], p[i + 2, 1] - p[i, 1], p[i + 2, 2] - p[i, 2]
    nn = nx * nx + ny * ny + nz * nz
    fx, fy, fz = p[i, 0], p[i, 1], p[i, 2]
    beta, gamma, margin = 0.0, 0.0, 0.5
    for _ in range(2):  # again from the first foot: weights of a narrow triangle have few digits
        wx, wy, wz = x - fx, y - fy, z - fz
        beta += (
            (wy * vz - wz * vy) * nx + (wz * vx - wx * vz) * ny + (wx * vy - wy * vx) * nz
        ) / nn
        gamma += (
            (uy * wz - uz * wy) * nx + (uz * wx - ux * wz) * ny + (ux * wy - uy * wx) * nz
        ) / nn
        fx = p[i, 0] + beta * ux + gamma * vx
        fy = p[i, 1] + beta * uy + gamma * vy
        fz = p[i, 2] + beta * uz + gamma * vz
        # Comparisons with NaN, of a triangle without area, fail as well.
        if not (beta >= -margin and gamma >= -margin and beta + gamma <= 1.0 + margin):
            return math.inf, fx, fy, fz
        margin = 0.0
    dx, dy, dz = x - fx, y - fy, z - fz
    return dx * dx + dy * dy + dz * dz, fx, fy, fz


@small_kernel
def _beyond(p, row, x, y, z, dx, dy, dz):
    """How far a vertex lies beyond a point along d, times |d|."""
    return (p[row, 0] - x) * dx + (p[row, 1] - y) * dy + (p[row, 2] - z) * dz


@kernel
def _gap_along(p, i, j, dx, dy, dz):
    """Gap between two triangles along d, times |d|; negative if there is none."""
    highest = max(0.0, max(_height(p, i, i + 1, dx, dy, dz), _height(p, i, i + 2, dx, dy, dz)))
    lowest = min(
        _height(p, i, j, dx, dy, dz),
        min(_height(p, i, j + 1, dx, dy, dz), _height(p, i, j + 2, dx, dy, dz)),
    )
    return lowest - highest


@kernel
def _edges(p, i, k, j, m):
    """Squared distance and nearest points of edge k of i and edge m of j, and where on each."""
    a, b = i + k, i + (k + 1) % 3
    c, d = j + m, j + (m + 1) % 3
    ux, uy, uz = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    vx, vy, vz = p[d, 0] - p[c, 0], p[d, 1] - p[c, 1], p[d, 2] - p[c, 2]
    s, t = nearest_parameters(
        p[a, 0], p[a, 1], p[a, 2], ux, uy, uz, p[c, 0], p[c, 1], p[c, 2], vx, vy, vz
    )
    ax, ay, az = p[a, 0] + s * ux, p[a, 1] + s * uy, p[a, 2] + s * uz
    bx, by, bz = p[c, 0] + t * vx, p[c, 1] + t * vy, p[c, 2] + t * vz
    dx, dy, dz = bx - ax, by - ay, bz - az
    return (dx * dx + dy * dy + dz * dz, ax, ay, az, bx, by, bz), s, t


@small_kernel
def _nearer(first, second):
    """The nearer of two pairs of points, each with its squared distance before it."""
    return second if second[0] < first[0] else first


@small_kernel
def _lowest(p, i, dx, dy, dz):
    """Which vertex of a triangle is first along d: 0, 1 or 2."""
    h1, h2 = _height(p, i, i + 1, dx, dy, dz), _height(p, i, i + 2, dx, dy, dz)
    if h1 < 0.0:
        return 2 if h2 < h1 else 1
    return 2 if h2 < 0.0 else 0


@small_kernel
def _is_settled(gap, square, bound, slack):
    """Whether a gap times the root of ``square`` leaves nothing below ``bound`` and ``square``."""
    return gap > 0.0 and (gap >= square - slack or gap * gap >= bound * square)


@part_kernel
def _walk(p, i, edge_i, j, edge_j, bound, extent):
    """A near pair of points on edges, and whether that settles it.

    Goes from a pair of edges, numbered in their triangles, to one at a third vertex that is nearer,
    until it comes upon one again. Settled: no pair of points is nearer, or none nearer than the
    root of ``bound``, and the triangles are apart for sure. Most are settled by the first or second
    pair.
    """
    best = _NOTHING
    tried = 0
    while not tried >> (3 * edge_i + edge_j) & 1:
        tried |= 1 << (3 * edge_i + edge_j)
        pair, s, t = _edges(p, i, edge_i, j, edge_j)
        best = _nearer(best, pair)
        square, ax, ay, az, bx, by, bz = pair
        dx, dy, dz = bx - ax, by - ay, bz - az
        # The edges' own ends lie as they should; so look at the third vertices first.
        nearer_i = max(0.0, _beyond(p, i + (edge_i + 2) % 3, ax, ay, az, dx, dy, dz))
        nearer_j = max(0.0, -_beyond(p, j + (edge_j + 2) % 3, bx, by, bz, dx, dy, dz))
        slack = _ROUNDING * extent * math.sqrt(square)
        if _is_settled(square - nearer_i - nearer_j, square, bound, slack):
            gap = _gap_along(p, i, j, dx, dy, dz)
            if _is_settled(gap, square, bound, slack):
                return best, gap > slack
        if nearer_i > 0.0:
            edge_i = (edge_i + (1 if s > 0.5 else 2)) % 3
        if nearer_j > 0.0:
            edge_j = (edge_j + (1 if t > 0.5 else 2)) % 3
    return best, False


@kernel
def _nearest_vertex(p, i, j):
    """The nearest of j's vertices inside face i: a pair of points."""
    nx, ny, nz = _normal(p, i)
    best = _NOTHING
    for row in range(j, j + 3):
        x, y, z = p[row, 0], p[row, 1], p[row, 2]
        square, fx, fy, fz = _foot(p, i, nx, ny, nz, x, y, z)
        best = _nearer(best, (square, fx, fy, fz, x, y, z))
    return best


@small_kernel
def _swapped(pair):
    square, ax, ay, az, bx, by, bz = pair
    return square, bx, by, bz, ax, ay, az


@kernel
def _pierces(p, i, j, touching):
    """Whether an edge of j runs through face i, up to a squared distance of ``touching``."""
    nx, ny, nz = _normal(p, i)
    for k in range(3):
        a, b = j + k, j + (k + 1) % 3
        fx, fy, fz = p[i, 0], p[i, 1], p[i, 2]
        for _ in range(2):  # again from the first foot: the normal of a narrow face is inaccurate
            above = _beyond(p, a, fx, fy, fz, nx, ny, nz)
            below = _beyond(p, b, fx, fy, fz, nx, ny, nz)
            if (above > 0.0) == (below > 0.0):
                break
            t = above / (above - below)
            x = p[a, 0] + t * (p[b, 0] - p[a, 0])
            y = p[a, 1] + t * (p[b, 1] - p[a, 1])
            z = p[a, 2] + t * (p[b, 2] - p[a, 2])
            square, fx, fy, fz = _foot(p, i, nx, ny, nz, x, y, z)
            if square <= touching:
                return True
    return False


@part_kernel
def _try_everything(p, i, j):
    """The nearest of all pairs of edges, and of vertices and faces, with no short cuts."""
    best = _nearer(_nearest_vertex(p, i, j), _swapped(_nearest_vertex(p, j, i)))
    for k in range(9):
        pair, _, _ = _edges(p, i, k // 3, j, k % 3)
        best = _nearer(best, pair)
    return best


@kernel
def _face_below_vertex(p, i, j, bound, extent):
    """The pair of points of face i and j's vertex nearest to its plane.

    And whether the plane parts the triangles for sure, and whether that settles it: none
    can be nearer, or none nearer than the root of ``bound``.
    """
    nx, ny, nz = _normal(p, i)
    nn = nx * nx + ny * ny + nz * nz
    gap, row = _gap(p, i, j, nx, ny, nz)
    if gap <= 0.0:
        return _NOTHING, False, False
    length = math.sqrt(nn)
    apart = gap > _ROUNDING * extent * length
    if gap * gap >= bound * nn:
        return (bound, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), apart, apart
    x, y, z = p[row, 0], p[row, 1], p[row, 2]
    square, fx, fy, fz = _foot(p, i, nx, ny, nz, x, y, z)
    settled = apart and math.sqrt(square) * length <= gap + _ROUNDING * extent * length
    return (square, fx, fy, fz, x, y, z), apart, settled


@kernel
def squared_distance_below(p, i, j, bound):
    """Squared distance of two triangles and the nearest points (3 + 3), if below ``bound``.

    Else a number that is not below it but for rounding, and no points to rely on: the search
    ends as soon as a gap as wide as that is seen. ``bound`` in square metres, above zero;
    infinity to ask always. Below it, zero, without points, if the triangles share a point, and only
    if they are nearer than `RELATIVE_ROUNDING` of their extent; where an edge runs through a face
    narrower than 1e-7 of its length, it may be the distance to the edges of that face. NaN where a
    coordinate is not finite. The distance is right to 1e-12 of the extent of both triangles
    together where one is as narrow as 1e-12 of its length, to 1e-14 where none is.
    """
    extent = _extent(p, i, j)
    if not extent < math.inf:
        return math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan
    touching = (RELATIVE_ROUNDING * extent) ** 2
    bound = max(bound, touching)
    # Three times the vector from the middle of i to that of j.
    dx = p[j, 0] + p[j + 1, 0] + p[j + 2, 0] - p[i, 0] - p[i + 1, 0] - p[i + 2, 0]
    dy = p[j, 1] + p[j + 1, 1] + p[j + 2, 1] - p[i, 1] - p[i + 1, 1] - p[i + 2, 1]
    dz = p[j, 2] + p[j + 1, 2] + p[j + 2, 2] - p[i, 2] - p[i + 1, 2] - p[i + 2, 2]
    gap = _gap_along(p, i, j, dx, dy, dz)
    if gap > 0.0 and gap * gap >= bound * (dx * dx + dy * dy + dz * dz):
        return bound, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    # Begin with the edges opposite to the far vertices.
    edge_i = (_lowest(p, i, dx, dy, dz) + 1) % 3
    edge_j = (_lowest(p, j, -dx, -dy, -dz) + 1) % 3
    best, settled = _walk(p, i, edge_i, j, edge_j, bound, extent)
    if settled and best[0] > touching:
        return best
    over, apart, settled = _face_below_vertex(p, i, j, bound, extent)
    if settled and over[0] > touching:
        return over
    under, apart_too, settled = _face_below_vertex(p, j, i, bound, extent)
    if settled and under[0] > touching:
        return _swapped(under)
    best = _try_everything(p, i, j)
    touches = best[0] <= touching
    if not (touches or apart or apart_too):
        touches = _pierces(p, i, j, touching) or _pierces(p, j, i, touching)
    return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0) if touches else best


@kernel
def triangles_touch(p, i, j, bound):
    """Whether two triangles touch, as `squared_distance_below` says with this ``bound``.

    Most triangles that are apart are parted by the plane of one of them, which is faster to find.
    """
    extent = _extent(p, i, j)
    for turn in range(2):
        one, other = (i, j) if turn == 0 else (j, i)
        nx, ny, nz = _normal(p, one)
        gap, _ = _gap(p, one, other, nx, ny, nz)
        if gap > RELATIVE_ROUNDING * extent * math.sqrt(nx * nx + ny * ny + nz * nz):
            return False
    return squared_distance_below(p, i, j, bound)[0] == 0.0
