# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Exact orientation predicates: on which side of a line or plane a point lies.

For nearly coplanar points, one in four to seven signs of floating-point determinants is wrong. Here
a determinant has a bound of its rounding error; if that does not decide the sign, the determinant
is computed exactly, as a sum of floats that do not overlap (an expansion). Filter, bounds and
expansions: Shewchuk, Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
Predicates, Discrete & Computational Geometry 18 (1997), 305-363.

Points are rows of an array (n, 3) and are named by their row. Signs are exact where every
coordinate is zero or of a size from 1e-80 to 1e95: there nothing overflows, and no product of
three coordinates loses bits at the lower end. NaN gives the sign 0.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import ZERO, exact_kernel, exact_part_kernel

_EPSILON = 2.0**-53  # half the distance from 1 to the next float
_BOUND_2D = (3.0 + 16.0 * _EPSILON) * _EPSILON  # Shewchuk, figure 21
_BOUND_3D = (7.0 + 56.0 * _EPSILON) * _EPSILON  # figure 23
_DOUBLE_BOUND = 32.0 * _EPSILON * _EPSILON  # of `_double_orient3d`
_SPLITTER = 2.0**27 + 1.0

# Four determinants of six products of three, four floats each.
_LONGEST = 96


@exact_kernel
def two_sum(a, b):
    """Rounded sum of a and b, and its rounding error (Knuth)."""
    x = a + b
    virtual = x - a
    return x, (a - (x - virtual)) + (b - virtual)


@exact_kernel
def _quick_two_sum(a, b):
    """As `two_sum`, for |a| >= |b| (Dekker)."""
    x = a + b
    return x, b - (x - a)


@exact_kernel
def _split(a):
    """Two halves of at most 26 bits that sum up to a (Veltkamp)."""
    c = _SPLITTER * a
    high = c - (c - a)
    return high, a - high


@exact_kernel
def two_product(a, b):
    """Rounded product of a and b, and its rounding error (Dekker)."""
    x = a * b
    ah, al = _split(a)
    bh, bl = _split(b)
    return x, al * bl - (((x - ah * bh) - al * bh) - ah * bl)


@exact_kernel
def grow(e, n, b):
    """Add b to the expansion in the first n entries of e, in place; its new length.

    An expansion is a sum of floats that share no bits, by increasing size and without zeros;
    its sign is that of the last one. ``e`` needs room for n + 1.
    """
    m = 0
    for k in range(n):
        b, rest = two_sum(b, e[k])
        if rest != 0.0:
            e[m] = rest
            m += 1
    if b != 0.0:
        e[m] = b
        m += 1
    return m


@exact_kernel
def _sign(x):
    return (x > 0.0) - (x < 0.0)


@exact_kernel
def _grow_by_products(e, n, p, a, b, c, sign, x, y):
    """Add sign (a[x] b[y] - a[y] b[x]) c to the expansion, for rows a and b of p."""
    for _ in range(2):
        high, low = two_product(sign * p[a, x], p[b, y])
        x, y, sign = y, x, -sign
        for part in (low, high):
            product, rest = two_product(part, c)
            n = grow(e, grow(e, n, rest), product)
    return n


@exact_kernel
def _grow_by_determinant(e, n, p, a, b, c, sign):
    """Add sign det(a, b, c) to the expansion, for rows a, b and c of p."""
    for k in range(3):
        n = _grow_by_products(e, n, p, a, b, p[c, k], sign, (k + 1) % 3, (k + 2) % 3)
    return n


@exact_part_kernel
def exact_orient3d(p, a, b, c, d):
    """`orient3d` without a filter: some microseconds, for points on a plane to 30 digits."""
    e = np.empty(_LONGEST)
    # det(b - a, c - a, d - a) multiplied out.
    n = _grow_by_determinant(e, ZERO, p, b, c, d, 1.0)
    n = _grow_by_determinant(e, n, p, a, c, d, -1.0)
    n = _grow_by_determinant(e, n, p, a, b, d, 1.0)
    n = _grow_by_determinant(e, n, p, a, b, c, -1.0)
    return _sign(e[n - 1]) if n > 0 else 0


@exact_kernel
def _double_sum(a, b):
    """Sum of two double numbers, right to 3 u^2 (Joldes, Muller and Popescu 2017, algorithm 6)."""
    high, low = two_sum(a[0], b[0])
    high_of_rest, low_of_rest = two_sum(a[1], b[1])
    high, low = _quick_two_sum(high, low + high_of_rest)
    return _quick_two_sum(high, low_of_rest + low)


@exact_kernel
def _double_product(a, b):
    """Product of two double numbers, right to 7 u^2 (the same, algorithm 10)."""
    high, low = two_product(a[0], b[0])
    return _quick_two_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


@exact_part_kernel
def _double_orient3d(p, a, b, c, d, size):
    """`orient3d` with twice the digits, about 32; 2 where they do not suffice.

    ``size`` is the sum of the absolute values of the six products. Rounding takes at most
    7 + 3 + 7 + 3 + 3 times u^2 of it, u = 2^-53.
    """
    high = low = 0.0
    for x in range(3):
        y, z = (x + 1) % 3, (x + 2) % 3
        uy, uz = two_sum(p[b, y], -p[a, y]), two_sum(p[b, z], -p[a, z])
        vy, vz = two_sum(p[c, y], -p[a, y]), two_sum(p[c, z], -p[a, z])
        left, right = _double_product(uy, vz), _double_product(uz, vy)
        minor = _double_sum(left, (-right[0], -right[1]))
        product = _double_product(minor, two_sum(p[d, x], -p[a, x]))
        high, low = _double_sum((high, low), product)
    bound = _DOUBLE_BOUND * size
    return _sign(high) if abs(high) > bound else 2


@exact_kernel
def _side(p, a, b, c, d, nx, ny, nz, mx, my, mz):
    """`orient3d` from the normal n = (b - a) x (c - a), and m, its sums of absolute products."""
    wx, wy, wz = p[d, 0] - p[a, 0], p[d, 1] - p[a, 1], p[d, 2] - p[a, 2]
    determinant = wx * nx + wy * ny + wz * nz
    size = abs(wx) * mx + abs(wy) * my + abs(wz) * mz
    bound = _BOUND_3D * size
    if determinant > bound:
        return 1
    if -determinant > bound:
        return -1
    if size == 0.0:  # all products are zero: as on grids and axis-aligned faces
        return 0
    sign = _double_orient3d(p, a, b, c, d, size)
    return sign if sign < 2 else exact_orient3d(p, a, b, c, d)


@exact_kernel
def _normal(p, a, b, c):
    """(b - a) x (c - a), and the same with plus and absolute values for the error bound."""
    ux, uy, uz = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    vx, vy, vz = p[c, 0] - p[a, 0], p[c, 1] - p[a, 1], p[c, 2] - p[a, 2]
    xy, yx, yz, zy, zx, xz = ux * vy, uy * vx, uy * vz, uz * vy, uz * vx, ux * vz
    return (
        yz - zy, zx - xz, xy - yx,
        abs(yz) + abs(zy), abs(zx) + abs(xz), abs(xy) + abs(yx),
    )  # fmt: skip


@exact_kernel
def orient3d(p, a, b, c, d):
    """Sign of det(b - a, c - a, d - a), for rows a, b, c, d of p: -1, 0 or 1.

    1 where a, b, c turn counter-clockwise seen from d; 0 if and only if the four lie in a plane.
    """
    nx, ny, nz, mx, my, mz = _normal(p, a, b, c)
    return _side(p, a, b, c, d, nx, ny, nz, mx, my, mz)


@exact_kernel
def sides(p, i, j):
    """`orient3d` of rows j, j + 1 and j + 2 against the plane through rows i, i + 1 and i + 2."""
    nx, ny, nz, mx, my, mz = _normal(p, i, i + 1, i + 2)
    return (
        _side(p, i, i + 1, i + 2, j, nx, ny, nz, mx, my, mz),
        _side(p, i, i + 1, i + 2, j + 1, nx, ny, nz, mx, my, mz),
        _side(p, i, i + 1, i + 2, j + 2, nx, ny, nz, mx, my, mz),
    )


@exact_part_kernel
def exact_orient2d(p, a, b, c, x, y):
    """`orient2d` without the filter."""
    e = np.empty(_LONGEST)
    # det(b - a, c - a) multiplied out.
    n = _grow_by_products(e, ZERO, p, b, c, 1.0, 1.0, x, y)
    n = _grow_by_products(e, n, p, a, c, 1.0, -1.0, x, y)
    n = _grow_by_products(e, n, p, a, b, 1.0, 1.0, x, y)
    return _sign(e[n - 1]) if n > 0 else 0


@exact_kernel
def orient2d(p, a, b, c, x, y):
    """Sign of det(b - a, c - a) in columns x and y of p, for rows a, b and c: -1, 0 or 1.

    1 where a, b, c turn counter-clockwise; 0 if and only if they lie on a line.
    """
    left = (p[b, x] - p[a, x]) * (p[c, y] - p[a, y])
    right = (p[b, y] - p[a, y]) * (p[c, x] - p[a, x])
    determinant = left - right
    size = abs(left) + abs(right)
    bound = _BOUND_2D * size
    if determinant > bound:
        return 1
    if -determinant > bound:
        return -1
    if size == 0.0:
        return 0
    return exact_orient2d(p, a, b, c, x, y)
