# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of fitting: cost and gradient of coverage, gaps, growth, winding numbers.

They run once for each mesh. A capsule is a row of seven numbers: two end points and the radius.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import reproducible_kernel

_STEEP = 0.01  # least square of the cosine between a ball's axis and the way to another point
# Size of a stack of triangles. Every halving adds one, and three halvings at least halve the
# longest edge: this is enough to halve the edges 40 times.
STACK = 128


@reproducible_kernel
def _offset_from_axis(x, y, z, capsules, capsule):
    """Return distance of a point to a ``capsule``'s axis, parameter on the axis, and offset."""
    ax, ay, az = capsules[capsule, 0], capsules[capsule, 1], capsules[capsule, 2]
    ux, uy, uz = capsules[capsule, 3] - ax, capsules[capsule, 4] - ay, capsules[capsule, 5] - az
    uu = ux * ux + uy * uy + uz * uz
    t = 0.0
    if uu > 1e-30:
        t = min(max(((x - ax) * ux + (y - ay) * uy + (z - az) * uz) / uu, 0.0), 1.0)
    dx, dy, dz = x - ax - t * ux, y - ay - t * uy, z - az - t * uz
    return math.sqrt(dx * dx + dy * dy + dz * dz), t, dx, dy, dz


@reproducible_kernel
def gaps_to_union(points, capsules):
    """Signed distances (n,) of ``points`` (n, 3) to the union of ``capsules`` (k, 7)."""
    out = np.empty(len(points))
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        out[i] = math.inf
        for k in range(len(capsules)):
            out[i] = min(out[i], _offset_from_axis(x, y, z, capsules, k)[0] - capsules[k, 6])
    return out


@reproducible_kernel
def _push(gradient, capsules, capsule, x, y, z, force):
    """Add ``force`` times the gradient of (radius - distance to the axis) of a ``capsule``."""
    distance, t, dx, dy, dz = _offset_from_axis(x, y, z, capsules, capsule)
    gradient[capsule, 6] += force
    if distance > 1e-12:
        scale = force / distance
        gradient[capsule, 0] += scale * (1.0 - t) * dx
        gradient[capsule, 1] += scale * (1.0 - t) * dy
        gradient[capsule, 2] += scale * (1.0 - t) * dz
        gradient[capsule, 3] += scale * t * dx
        gradient[capsule, 4] += scale * t * dy
        gradient[capsule, 5] += scale * t * dz


@reproducible_kernel
def _nearest_capsules(points, capsules, gaps, owners):
    """Write signed distances (n,) of ``points`` (3, n) to the union, and the nearest capsules.

    The outer loop runs over the capsules and the inner one has no branch: the compiler vectorises
    it, twice as wide for float32.
    """
    row = np.empty(10, points.dtype)  # same dtype as the points
    row[8], row[9] = 0.0, 1.0
    zero, one = row[8], row[9]
    for capsule in range(len(capsules)):
        uu = 0.0
        for axis in range(3):
            step = capsules[capsule, axis + 3] - capsules[capsule, axis]
            row[axis], row[axis + 3] = capsules[capsule, axis], step
            uu += step * step
        row[6] = capsules[capsule, 6]
        row[7] = 1.0 / uu if uu > 1e-30 else 0.0
        ax, ay, az, ux, uy, uz = row[0], row[1], row[2], row[3], row[4], row[5]
        r, inverse = row[6], row[7]
        for i in range(points.shape[1]):
            x, y, z = points[0, i] - ax, points[1, i] - ay, points[2, i] - az
            t = min(max((x * ux + y * uy + z * uz) * inverse, zero), one)
            x, y, z = x - t * ux, y - t * uy, z - t * uz
            gap = math.sqrt(x * x + y * y + z * z) - r
            nearer = (capsule == 0) | (gap < gaps[i])
            gaps[i] = gap if nearer else gaps[i]
            owners[i] = capsule if nearer else owners[i]


class Coverage(NamedTuple):
    """What a union of capsules shall cover and avoid; see `coverage_cost`.

    All points must have the same dtype; float32 is fastest.

    Attributes:
        to_cover: (3, n) points.
        cover_weights: (n,).
        to_avoid: (3, m) points.
        prices: (m,).
        watchers: (3, w) points.
        watcher_weights: (w,).
        width: of the ramp.
        penalty: of uncovered points.
        thrift: of the volumes of the capsules.
    """

    to_cover: np.ndarray
    cover_weights: np.ndarray
    to_avoid: np.ndarray
    prices: np.ndarray
    watchers: np.ndarray
    watcher_weights: np.ndarray
    width: float
    penalty: float
    thrift: float


@reproducible_kernel
def coverage_cost(capsules, coverage, gradient):
    """Cost of covering a body by the union of ``capsules`` (k, 7); writes ``gradient`` (k, 7).

    The sum of
    - penalty * weight * gap^2 over the points to cover that are outside the union,
    - price * share over the points to avoid: the volume covered in excess; a cubic ramp takes the
      share from 0 at ``width`` outside to 1 at ``width`` inside,
    - -weight * gap over the watchers: up to a constant, the distance lost to other links,
    - ``thrift`` times the volumes of the capsules, so that none is useless or far away.
    """
    to_cover, to_avoid, watchers = coverage.to_cover, coverage.to_avoid, coverage.watchers
    cover_weights, watcher_weights = coverage.cover_weights, coverage.watcher_weights
    prices, width = coverage.prices, coverage.width
    penalty, thrift = coverage.penalty, coverage.thrift
    for capsule in range(len(capsules)):  # whole-array assignment takes longer to compile
        for axis in range(7):
            gradient[capsule, axis] = 0.0
    total = 0.0
    most = max(to_cover.shape[1], to_avoid.shape[1], watchers.shape[1])
    gaps, owners = np.empty(most, to_cover.dtype), np.empty(most, np.int32)
    _nearest_capsules(to_cover, capsules, gaps, owners)
    for i in range(to_cover.shape[1]):
        gap = gaps[i]
        if gap > 0.0:
            total += penalty * cover_weights[i] * gap * gap
            force = -2.0 * penalty * cover_weights[i] * gap
            _push(
                gradient, capsules, owners[i], to_cover[0, i], to_cover[1, i], to_cover[2, i], force
            )
    _nearest_capsules(to_avoid, capsules, gaps, owners)
    for i in range(to_avoid.shape[1]):
        gap = gaps[i]
        if gap <= -width:
            total += prices[i]
        elif gap < width:
            s = gap / width
            total += prices[i] * (0.5 - s * (0.75 - 0.25 * s * s))
            force = prices[i] * 0.75 * (1.0 - s * s) / width
            x, y, z = to_avoid[0, i], to_avoid[1, i], to_avoid[2, i]
            _push(gradient, capsules, owners[i], x, y, z, force)
    _nearest_capsules(watchers, capsules, gaps, owners)
    for i in range(watchers.shape[1]):
        weight = watcher_weights[i]
        total -= weight * gaps[i]
        x, y, z = watchers[0, i], watchers[1, i], watchers[2, i]
        _push(gradient, capsules, owners[i], x, y, z, weight)
    for capsule in range(len(capsules)):
        ux = capsules[capsule, 3] - capsules[capsule, 0]
        uy = capsules[capsule, 4] - capsules[capsule, 1]
        uz = capsules[capsule, 5] - capsules[capsule, 2]
        length = math.sqrt(ux * ux + uy * uy + uz * uz)
        r = capsules[capsule, 6]
        total += thrift * math.pi * r * r * (length + 4.0 / 3.0 * r)
        gradient[capsule, 6] += thrift * math.pi * (2.0 * r * length + 4.0 * r * r)
        if length > 1e-12:
            force = thrift * math.pi * r * r / length
            gradient[capsule, 0] -= force * ux
            gradient[capsule, 1] -= force * uy
            gradient[capsule, 2] -= force * uz
            gradient[capsule, 3] += force * ux
            gradient[capsule, 4] += force * uy
            gradient[capsule, 5] += force * uz
    return total


@reproducible_kernel
def closest_points(first, second):
    """Return (distance, i, j) of the nearest points of two sets (n, 3), (m, 3).

    Brute force; fastest if the second set is in Fortran order.
    """
    least = np.empty(len(second))
    whose = np.empty(len(second), dtype=np.int64)
    for j in range(len(second)):  # numpy functions on arrays take longer to compile
        least[j], whose[j] = math.inf, 0
    for i in range(len(first)):
        px, py, pz = first[i, 0], first[i, 1], first[i, 2]
        for j in range(len(second)):
            x, y, z = second[j, 0] - px, second[j, 1] - py, second[j, 2] - pz
            squared = x * x + y * y + z * z
            nearer = squared < least[j]
            least[j] = squared if nearer else least[j]
            whose[j] = i if nearer else whose[j]
    best = 0
    for j in range(len(second)):
        if least[j] < least[best]:
            best = j
    return math.sqrt(least[best]), whose[best], best


@reproducible_kernel
def farthest_along(points, directions):
    """Return the index (d,) of the first of ``points`` (n, 3) farthest along each direction."""
    index = np.zeros(len(directions), dtype=np.int64)
    for row in range(len(directions)):
        x, y, z = directions[row, 0], directions[row, 1], directions[row, 2]
        highest = -math.inf
        for i in range(len(points)):
            height = x * points[i, 0] + y * points[i, 1] + z * points[i, 2]
            if height > highest:
                highest, index[row] = height, i
    return index


# -- enclosure of triangles --
#
# A capsule is convex: it contains a triangle if it contains its corners. Other triangles are halved
# across their longest edge, and the halves are tested.


@reproducible_kernel
def _corner(triangles, m, c):
    return triangles[m, c, 0], triangles[m, c, 1], triangles[m, c, 2]


@reproducible_kernel
def triangle_in_union(triangles, m, capsules):
    """Return (nearest, radius, outside) of triangle m of ``triangles`` (n, 3, 3).

    Of the ``capsules`` (k, 7), ``nearest`` needs the least growth to contain the triangle, up to
    ``radius``. No point of the triangle is farther outside the union than by this growth: over a
    triangle, the distance to an axis is largest at a corner. One corner is ``outside`` by this.
    """
    nearest, radius, least = 0, math.inf, math.inf
    first, second, third = math.inf, math.inf, math.inf
    for capsule in range(len(capsules)):
        r = capsules[capsule, 6]
        a = _offset_from_axis(*_corner(triangles, m, 0), capsules, capsule)[0]
        b = _offset_from_axis(*_corner(triangles, m, 1), capsules, capsule)[0]
        c = _offset_from_axis(*_corner(triangles, m, 2), capsules, capsule)[0]
        farthest = max(a, max(b, c))
        if farthest - r < least:
            nearest, radius, least = capsule, farthest, farthest - r
        first, second, third = min(first, a - r), min(second, b - r), min(third, c - r)
    return nearest, radius, max(first, max(second, third))


@reproducible_kernel
def longest_edge(triangles, m):
    """Return (square of the length, first corner) of the longest edge of triangle m."""
    longest, corner = 0.0, 0
    for c in range(3):
        squared = 0.0
        for axis in range(3):
            step = triangles[m, (c + 1) % 3, axis] - triangles[m, c, axis]
            squared += step * step
        if squared > longest:
            longest, corner = squared, c
    return longest, corner


@reproducible_kernel
def halve(triangles, m, corner):
    """Halve triangle m across the edge after a ``corner``; triangle m + 1 is the other half."""
    other = (corner + 1) % 3
    for axis in range(3):
        for c in range(3):
            triangles[m + 1, c, axis] = triangles[m, c, axis]
        middle = 0.5 * (triangles[m, corner, axis] + triangles[m, other, axis])
        triangles[m + 1, corner, axis] = middle
        triangles[m, other, axis] = middle


@reproducible_kernel
def grow_to_enclose(triangles, capsules, smallest_edge):
    """Grow radii until each of ``triangles`` (m, 3, 3) is proved to lie in the union.

    Triangles are halved. If the longest edge is shorter than ``smallest_edge``, the capsule that
    needs the least growth is grown. Returns the centroids (n, 3) of the triangles that made a
    capsule grow, at most 1000.
    """
    stack = np.empty((STACK, 3, 3))
    culprits = np.empty((1000, 3))
    count = 0
    for m in range(len(triangles)):
        for c in range(3):  # whole-array assignment takes seconds to compile
            for axis in range(3):
                stack[0, c, axis] = triangles[m, c, axis]
        size = 1
        while size > 0:
            size -= 1
            nearest, radius, _ = triangle_in_union(stack, size, capsules)
            if radius <= capsules[nearest, 6]:
                continue
            squared, corner = longest_edge(stack, size)
            if squared > smallest_edge * smallest_edge and size + 2 <= len(stack):
                halve(stack, size, corner)
                size += 2
                continue
            capsules[nearest, 6] = radius
            if count < len(culprits):
                for axis in range(3):
                    total = stack[size, 0, axis] + stack[size, 1, axis] + stack[size, 2, axis]
                    culprits[count, axis] = total / 3.0
                count += 1
    return culprits[:count]


@reproducible_kernel
def ball_radii(points, directions, surface, most):
    """Return radii (n,) of balls that touch ``points`` (n, 3) of a surface and hold none of it.

    Their centres are along the unit vectors ``directions`` (n, 3) from the points; ``surface``
    (m, 3) are samples, of which those beside a point do not count. At most ``most``. Such balls
    approximate the medial axis (Ma, Bae and Choi 2012, 3D medial axis point approximation using
    nearest neighbors and the normal field).
    """
    radii = np.empty(len(points))
    for i in range(len(points)):
        px, py, pz = points[i, 0], points[i, 1], points[i, 2]
        dx, dy, dz = directions[i, 0], directions[i, 1], directions[i, 2]
        radius = most
        for j in range(len(surface)):
            x, y, z = surface[j, 0] - px, surface[j, 1] - py, surface[j, 2] - pz
            along, square = x * dx + y * dy + z * dz, x * x + y * y + z * z
            # Not those of the same face, where rounding errors decide.
            if along > 1e-4 and along * along > _STEEP * square and square < 2.0 * along * radius:
                radius = square / (2.0 * along)
        radii[i] = radius
    return radii


@reproducible_kernel
def winding_numbers(points, triangles):
    """Generalised winding numbers (n,) of a surface (m, 3, 3) about ``points`` (n, 3).

    1 inside, 0 outside, and in between where the surface has holes (Jacobson, Kavan,
    Sorkine-Hornung 2013, eq. 5; solid angle of a triangle: Van Oosterom and Strackee 1983).
    """
    out = np.empty(len(points))
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        total = 0.0
        for j in range(len(triangles)):
            ax, ay, az = triangles[j, 0, 0] - x, triangles[j, 0, 1] - y, triangles[j, 0, 2] - z
            bx, by, bz = triangles[j, 1, 0] - x, triangles[j, 1, 1] - y, triangles[j, 1, 2] - z
            cx, cy, cz = triangles[j, 2, 0] - x, triangles[j, 2, 1] - y, triangles[j, 2, 2] - z
            a = math.sqrt(ax * ax + ay * ay + az * az)
            b = math.sqrt(bx * bx + by * by + bz * bz)
            c = math.sqrt(cx * cx + cy * cy + cz * cz)
            determinant = (
                ax * (by * cz - bz * cy) - ay * (bx * cz - bz * cx) + az * (bx * cy - by * cx)
            )
            denominator = (
                a * b * c
                + (ax * bx + ay * by + az * bz) * c
                + (bx * cx + by * cy + bz * cz) * a
                + (cx * ax + cy * ay + cz * az) * b
            )
            total += math.atan2(determinant, denominator)
        out[i] = total / (2.0 * math.pi)
    return out
