# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The distance of two convex solids: boxes, cylinders, segments, points and triangles.

The method of Gilbert, Johnson and Keerthi (1988): the point of the solids' difference that is
nearest to the origin, in a simplex that moves towards it. Each step also proves a lower bound, so
the search ends when that meets the distance found, or a limit.

A solid is a row of ``solids`` (n, 5): half sides along its own axes, 1 if round, and a radius by
which everything is grown, which the distances here leave out. A round one is a cylinder along z:
the first two half sides are its radius. A box with half sides of zero is a segment or a point.
"""

from __future__ import annotations

import math

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import ONE, TWO, ZERO, kernel, part_kernel

ROUND, RADIUS, SOLID_COLUMNS = range(3, 6)

# Metres between the distance found and the bound proved. Nearer than this is in contact.
_TOLERANCE = 1e-10
_MOST_STEPS = 200
# A simplex flatter than this, relative to its edges, has no inside.
_FLAT = 1e-14


@kernel
def farthest(solids, solid, dx, dy, dz):
    """The point of a ``solid`` that is farthest along d, in its own frame."""
    z = math.copysign(solids[solid, 2], dz)
    if solids[solid, ROUND] > 0.0:
        length = math.sqrt(dx * dx + dy * dy)
        scale = solids[solid, 0] / length if length > 0.0 else 0.0
        return scale * dx, scale * dy, z
    return math.copysign(solids[solid, 0], dx), math.copysign(solids[solid, 1], dy), z


@part_kernel
def farthest_of_other(other, is_triangle, solids, solid, dx, dy, dz):
    """The point of the other one that is farthest along d.

    ``other`` (4, 3) is a triangle in its first three rows, or the place of ``solid``: its rotation,
    and its centre in the last row.
    """
    if is_triangle:
        best, row = -math.inf, 0
        for m in range(3):
            height = other[m, 0] * dx + other[m, 1] * dy + other[m, 2] * dz
            if height > best:
                best, row = height, m
        return other[row, 0], other[row, 1], other[row, 2]
    x, y, z = farthest(
        solids, solid,
        other[0, 0] * dx + other[1, 0] * dy + other[2, 0] * dz,
        other[0, 1] * dx + other[1, 1] * dy + other[2, 1] * dz,
        other[0, 2] * dx + other[1, 2] * dy + other[2, 2] * dz,
    )  # fmt: skip
    return (
        other[0, 0] * x + other[0, 1] * y + other[0, 2] * z + other[3, 0],
        other[1, 0] * x + other[1, 1] * y + other[1, 2] * z + other[3, 1],
        other[2, 0] * x + other[2, 1] * y + other[2, 2] * z + other[3, 2],
    )


@kernel
def _on_segment(s, i, j):
    """(squared distance from the origin, weight of i, weight of j) of the segment of two rows."""
    dx, dy, dz = s[j, 0] - s[i, 0], s[j, 1] - s[i, 1], s[j, 2] - s[i, 2]
    length = dx * dx + dy * dy + dz * dz
    t = 0.0
    if length > 0.0:
        t = -(s[i, 0] * dx + s[i, 1] * dy + s[i, 2] * dz) / length
        t = min(max(t, 0.0), 1.0)
    x, y, z = s[i, 0] + t * dx, s[i, 1] + t * dy, s[i, 2] + t * dz
    return x * x + y * y + z * z, 1.0 - t, t


@kernel
def _on_triangle(s, row_a, row_b, row_c):
    """(squared distance from the origin, three weights) of the triangle of three rows."""
    ux, uy, uz = s[row_b, 0] - s[row_a, 0], s[row_b, 1] - s[row_a, 1], s[row_b, 2] - s[row_a, 2]
    vx, vy, vz = s[row_c, 0] - s[row_a, 0], s[row_c, 1] - s[row_a, 1], s[row_c, 2] - s[row_a, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    nn = nx * nx + ny * ny + nz * nz
    uu, vv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz
    if nn > _FLAT * uu * vv:
        # Weights by the areas that the foot of the origin makes with the edges.
        px, py, pz = -s[row_a, 0], -s[row_a, 1], -s[row_a, 2]
        b = (nx * (py * vz - pz * vy) + ny * (pz * vx - px * vz) + nz * (px * vy - py * vx)) / nn
        c = (nx * (uy * pz - uz * py) + ny * (uz * px - ux * pz) + nz * (ux * py - uy * px)) / nn
        if b >= 0.0 and c >= 0.0 and b + c <= 1.0:
            height = nx * s[row_a, 0] + ny * s[row_a, 1] + nz * s[row_a, 2]
            return height * height / nn, 1.0 - b - c, b, c
    best, wa, wb, wc = math.inf, 1.0, 0.0, 0.0
    for edge in range(3):
        start = row_a if edge == 0 else (row_b if edge == 1 else row_c)
        end = row_b if edge == 0 else (row_c if edge == 1 else row_a)
        square, first, second = _on_segment(s, start, end)
        if square < best:
            best = square
            wa = first if edge == 0 else (second if edge == 2 else 0.0)
            wb = second if edge == 0 else (first if edge == 1 else 0.0)
            wc = second if edge == 1 else (first if edge == 2 else 0.0)
    return best, wa, wb, wc


@part_kernel
def _beyond_face(s, row_a, row_b, row_c, other):
    """Whether the origin lies on the other side of a face than the fourth point, or may."""
    ux, uy, uz = s[row_b, 0] - s[row_a, 0], s[row_b, 1] - s[row_a, 1], s[row_b, 2] - s[row_a, 2]
    vx, vy, vz = s[row_c, 0] - s[row_a, 0], s[row_c, 1] - s[row_a, 1], s[row_c, 2] - s[row_a, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    wx, wy, wz = s[other, 0] - s[row_a, 0], s[other, 1] - s[row_a, 1], s[other, 2] - s[row_a, 2]
    inside = nx * wx + ny * wy + nz * wz
    here = -(nx * s[row_a, 0] + ny * s[row_a, 1] + nz * s[row_a, 2])
    size = (nx * nx + ny * ny + nz * nz) * (wx * wx + wy * wy + wz * wz)
    if inside * inside <= _FLAT * size:
        return True
    return here * inside < 0.0


@part_kernel
def _shrink(s, size):
    """Keep the face nearest to the origin; its number of rows, 0 if the simplex holds the origin.

    ``s`` (4, 7): a point of the difference, the point of the first solid, its weight.
    """
    if size == 1:
        s[0, 6] = 1.0
        return 1
    w0, w1, w2, w3 = 1.0, 0.0, 0.0, 0.0
    if size == 2:
        _, w0, w1 = _on_segment(s, ZERO, ONE)
    elif size == 3:
        _, w0, w1, w2 = _on_triangle(s, ZERO, ONE, TWO)
    else:
        best = math.inf
        for face in range(4):  # the face without this point
            row_a, row_b, row_c = (face + 1) % 4, (face + 2) % 4, (face + 3) % 4
            if not _beyond_face(s, row_a, row_b, row_c, face):
                continue
            square, a, b, c = _on_triangle(s, row_a, row_b, row_c)
            if square < best:
                best = square
                s[row_a, 6], s[row_b, 6], s[row_c, 6], s[face, 6] = a, b, c, 0.0
                w0, w1, w2, w3 = s[0, 6], s[1, 6], s[2, 6], s[3, 6]
        if best == math.inf:
            return 0
    s[0, 6], s[1, 6] = w0, w1
    if size > 2:
        s[2, 6] = w2
    if size > 3:
        s[3, 6] = w3
    kept = 0
    for row in range(size):
        if s[row, 6] > 0.0:
            for column in range(7):
                s[kept, column] = s[row, column]
            kept += 1
    return kept


@kernel
def solid_distance(solids, first, other, is_triangle, second, limit, points):
    """Distance of solid ``first`` from another one or a triangle, metres; radii left out.

    ``other`` and ``second`` as of `farthest_of_other`, in the first one's frame. ``points``
    (2, 3) gets the nearest points. 0 where they meet, and a number from ``limit`` on, without
    points, as soon as they are known to be so far apart. Right to 1e-10 m.
    """
    s = work_space(limit, 4, 7)
    if is_triangle:
        vx = -(other[0, 0] + other[1, 0] + other[2, 0]) / 3.0
        vy = -(other[0, 1] + other[1, 1] + other[2, 1]) / 3.0
        vz = -(other[0, 2] + other[1, 2] + other[2, 2]) / 3.0
    else:
        vx, vy, vz = -other[3, 0], -other[3, 1], -other[3, 2]
    if vx == 0.0 and vy == 0.0 and vz == 0.0:
        vx = 1.0
    size = 0
    square = math.inf
    for _ in range(_MOST_STEPS):
        ax, ay, az = farthest(solids, first, -vx, -vy, -vz)
        bx, by, bz = farthest_of_other(other, is_triangle, solids, second, vx, vy, vz)
        wx, wy, wz = ax - bx, ay - by, az - bz
        length = math.sqrt(vx * vx + vy * vy + vz * vz)
        proved = (vx * wx + vy * wy + vz * wz) / length
        if proved >= limit:
            return proved
        if size > 0 and length - proved <= _TOLERANCE:
            break
        s[size, 0], s[size, 1], s[size, 2] = wx, wy, wz
        s[size, 3], s[size, 4], s[size, 5] = ax, ay, az
        size = _shrink(s, size + 1)
        if size == 0:
            return 0.0
        x, y, z = 0.0, 0.0, 0.0
        ax, ay, az = 0.0, 0.0, 0.0
        for row in range(size):
            weight = s[row, 6]
            x, y, z = x + weight * s[row, 0], y + weight * s[row, 1], z + weight * s[row, 2]
            ax, ay, az = (
                ax + weight * s[row, 3], ay + weight * s[row, 4], az + weight * s[row, 5]
            )  # fmt: skip
        now = x * x + y * y + z * z
        if now >= square:  # no progress beyond rounding
            break
        square = now
        vx, vy, vz = x, y, z
        points[0, 0], points[0, 1], points[0, 2] = ax, ay, az
        points[1, 0], points[1, 1], points[1, 2] = ax - x, ay - y, az - z
        if square <= _TOLERANCE * _TOLERANCE:
            return 0.0
    return math.sqrt(square)
