# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How well a set of capsules covers a body: cost and gradient of a fit, gaps, growth.

Used when leaves are fitted, once for each mesh. A capsule is a row of seven numbers:
two end points and the radius.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.kernels.jit import offline_kernel


@offline_kernel
def _to_axis(x, y, z, capsules, k):
    """Distance of a point to the axis of capsule k, its parameter there, the offset."""
    ax, ay, az = capsules[k, 0], capsules[k, 1], capsules[k, 2]
    ux, uy, uz = capsules[k, 3] - ax, capsules[k, 4] - ay, capsules[k, 5] - az
    uu = ux * ux + uy * uy + uz * uz
    t = 0.0
    if uu > 1e-30:
        t = min(max(((x - ax) * ux + (y - ay) * uy + (z - az) * uz) / uu, 0.0), 1.0)
    dx, dy, dz = x - ax - t * ux, y - ay - t * uy, z - az - t * uz
    return math.sqrt(dx * dx + dy * dy + dz * dz), t, dx, dy, dz


@offline_kernel
def gap_to_union(x, y, z, capsules):
    """(signed distance of a point to the union of the capsules, the capsule it is due to)."""
    best, owner = math.inf, 0
    for k in range(len(capsules)):
        gap = _to_axis(x, y, z, capsules, k)[0] - capsules[k, 6]
        if gap < best:
            best, owner = gap, k
    return best, owner


@offline_kernel
def gaps_to_union(points, capsules):
    """Signed distances (n,) of ``points`` (n, 3) to the union of ``capsules`` (k, 7)."""
    out = np.empty(len(points))
    for i in range(len(points)):
        out[i] = gap_to_union(points[i, 0], points[i, 1], points[i, 2], capsules)[0]
    return out


@offline_kernel
def _push(gradient, capsules, k, x, y, z, force):
    """Add ``force`` times the gradient of (radius - distance to the axis) of capsule k."""
    distance, t, dx, dy, dz = _to_axis(x, y, z, capsules, k)
    gradient[k, 6] += force
    if distance > 1e-12:
        scale = force / distance
        gradient[k, 0] += scale * (1.0 - t) * dx
        gradient[k, 1] += scale * (1.0 - t) * dy
        gradient[k, 2] += scale * (1.0 - t) * dz
        gradient[k, 3] += scale * t * dx
        gradient[k, 4] += scale * t * dy
        gradient[k, 5] += scale * t * dz


@offline_kernel
def coverage_cost(
    capsules, wanted, wanted_weights, unwanted, prices, width, penalty, thrift, gradient
):
    """Cost of covering a body by the union of ``capsules`` (k, 7); writes ``gradient`` (k, 7).

    The sum of
    - penalty * weight * gap^2 over the ``wanted`` points (n, 3) left outside,
    - price * sigmoid(depth / width) over the ``unwanted`` points (m, 3): the volume
      covered in vain, smoothed over ``width``,
    - ``thrift`` times the capsules' volumes, so that none lies idle or far away.
    """
    gradient[:] = 0.0
    total = 0.0
    for i in range(len(wanted)):
        x, y, z = wanted[i, 0], wanted[i, 1], wanted[i, 2]
        gap, owner = gap_to_union(x, y, z, capsules)
        if gap > 0.0:
            total += penalty * wanted_weights[i] * gap * gap
            _push(gradient, capsules, owner, x, y, z, -2.0 * penalty * wanted_weights[i] * gap)
    far = 12.0 * width  # beyond this the sigmoid is nothing
    for i in range(len(unwanted)):
        x, y, z = unwanted[i, 0], unwanted[i, 1], unwanted[i, 2]
        gap, owner = gap_to_union(x, y, z, capsules)
        if gap < far:
            share = 1.0 / (1.0 + math.exp(gap / width))
            total += prices[i] * share
            force = prices[i] * share * (1.0 - share) / width
            _push(gradient, capsules, owner, x, y, z, force)
    for k in range(len(capsules)):
        ux = capsules[k, 3] - capsules[k, 0]
        uy = capsules[k, 4] - capsules[k, 1]
        uz = capsules[k, 5] - capsules[k, 2]
        length = math.sqrt(ux * ux + uy * uy + uz * uz)
        r = capsules[k, 6]
        total += thrift * math.pi * r * r * (length + 4.0 / 3.0 * r)
        gradient[k, 6] += thrift * math.pi * (2.0 * r * length + 4.0 * r * r)
        if length > 1e-12:
            force = thrift * math.pi * r * r / length
            gradient[k, 0] -= force * ux
            gradient[k, 1] -= force * uy
            gradient[k, 2] -= force * uz
            gradient[k, 3] += force * ux
            gradient[k, 4] += force * uy
            gradient[k, 5] += force * uz
    return total


@offline_kernel
def grow_to_enclose(triangles, capsules, smallest_edge):
    """Grow radii until each of ``triangles`` (m, 3, 3) lies in the union, by construction.

    A triangle is enclosed by a capsule, a convex body, that holds its three corners. One
    that no capsule encloses is halved across its longest edge; where that
    is shorter than ``smallest_edge``, the capsule that needs least is grown.
    """
    stack = np.empty((256, 3, 3))
    needed = np.empty(len(capsules))
    for m in range(len(triangles)):
        for c in range(3):  # an assignment of arrays takes seconds to compile
            for axis in range(3):
                stack[0, c, axis] = triangles[m, c, axis]
        size = 1
        while size > 0:
            size -= 1
            best, owner = math.inf, 0
            for k in range(len(capsules)):
                needed[k] = -math.inf
                for c in range(3):
                    x, y, z = stack[size, c, 0], stack[size, c, 1], stack[size, c, 2]
                    needed[k] = max(needed[k], _to_axis(x, y, z, capsules, k)[0])
                if needed[k] - capsules[k, 6] < best:
                    best, owner = needed[k] - capsules[k, 6], k
            if best <= 0.0:
                continue
            longest, edge = 0.0, 0
            for c in range(3):
                d = 0.0
                for axis in range(3):
                    step = stack[size, (c + 1) % 3, axis] - stack[size, c, axis]
                    d += step * step
                if d > longest:
                    longest, edge = d, c
            if longest <= smallest_edge * smallest_edge or size + 2 > len(stack):
                capsules[owner, 6] = needed[owner]
                continue
            a, b = edge, (edge + 1) % 3
            for axis in range(3):
                middle = 0.5 * (stack[size, a, axis] + stack[size, b, axis])
                stack[size + 1, 0, axis] = stack[size, 0, axis]
                stack[size + 1, 1, axis] = stack[size, 1, axis]
                stack[size + 1, 2, axis] = stack[size, 2, axis]
                stack[size + 1, a, axis] = middle
                stack[size, b, axis] = middle
            size += 2


@offline_kernel
def winding_numbers(points, triangles):
    """Generalised winding number (n,) of a surface (m, 3, 3) about ``points`` (n, 3).

    1 inside, 0 outside, and between where the surface has holes (Jacobson, Kavan, Sorkine-
    Hornung 2013, eq. 5; solid angle of a triangle after Van Oosterom and Strackee 1983).
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
