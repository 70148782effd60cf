# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The nearest points of two segments, and of the capsules around them."""

from __future__ import annotations

import math

from collision_monitor.common.compiled import kernel, small_kernel

# Below this length squared a segment is a point; below this squared sine two
# segments are parallel. Either moves a distance by less than 1e-12 m per metre.
POINT = 1e-30
PARALLEL = 1e-24
# Metres, radians, or a part of what is compared: more than rounding errors of sums, and less than
# anything that matters.
ROUNDING = 1e-9
# Of the size of a shape: far above the rounding errors of its points, far below what matters.
RELATIVE_ROUNDING = 1e-12


@small_kernel
def clamp_to_unit(x):
    """Limit x to [0, 1]."""
    return min(max(x, 0.0), 1.0)


@kernel
def nearest_parameters(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz):
    """Parameters (s, t) in [0, 1] that minimise |p + s u - (q + t v)|.

    The clamping order is that of Ericson, Real-Time Collision Detection (2005),
    5.1.9. The unclamped s comes from the triple product
    ((q - p) x v) . (u x v) / |u x v|^2, not from the 2 x 2 normal equations: their
    determinant loses all digits for nearly parallel segments, and the distance
    with it. A zero u or v stands for a point.
    """
    rx, ry, rz = px - qx, py - qy, pz - qz
    a = ux * ux + uy * uy + uz * uz
    e = vx * vx + vy * vy + vz * vz
    c = ux * rx + uy * ry + uz * rz
    f = vx * rx + vy * ry + vz * rz
    if a <= POINT and e <= POINT:
        return 0.0, 0.0
    if a <= POINT:
        return 0.0, clamp_to_unit(f / e)
    if e <= POINT:
        return clamp_to_unit(-c / a), 0.0
    b = ux * vx + uy * vy + uz * vz
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    nn = nx * nx + ny * ny + nz * nz
    s = 0.0
    if nn > PARALLEL * a * e:
        # ((q - p) x v) . n with q - p = -r
        s = clamp_to_unit(
            -((ry * vz - rz * vy) * nx + (rz * vx - rx * vz) * ny + (rx * vy - ry * vx) * nz) / nn
        )
    t = (b * s + f) / e
    if t < 0.0:
        return clamp_to_unit(-c / a), 0.0
    if t > 1.0:
        return clamp_to_unit((b - c) / a), 1.0
    return s, t


@kernel
def capsule_distance(ends, radii, i, j):
    """Signed distance of capsules i and j: that of their segments less both radii.

    ``ends`` (m, 6) holds two end points a row, ``radii`` (m, 1). Negative is the
    depth of penetration: a capsule pair's Minkowski difference is a flat
    parallelogram grown by r_i + r_j, so the way out is as long as that sum less
    the distance of the segments.
    """
    px, py, pz = ends[i, 0], ends[i, 1], ends[i, 2]
    qx, qy, qz = ends[j, 0], ends[j, 1], ends[j, 2]
    ux, uy, uz = ends[i, 3] - px, ends[i, 4] - py, ends[i, 5] - pz
    vx, vy, vz = ends[j, 3] - qx, ends[j, 4] - qy, ends[j, 5] - qz
    s, t = nearest_parameters(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz)
    dx = qx + t * vx - px - s * ux
    dy = qy + t * vy - py - s * uy
    dz = qz + t * vz - pz - s * uz
    return math.sqrt(dx * dx + dy * dy + dz * dz) - radii[i, 0] - radii[j, 0]


@kernel
def _perpendicular(x, y, z):
    """A unit vector at right angles to (x, y, z); the x axis for a zero vector."""
    if x * x + y * y + z * z <= POINT:
        return 1.0, 0.0, 0.0
    # Cross with the axis to which it is least parallel.
    ax, ay, az = abs(x), abs(y), abs(z)
    if ax <= ay and ax <= az:
        wx, wy, wz = 0.0, z, -y
    elif ay <= az:
        wx, wy, wz = -z, 0.0, x
    else:
        wx, wy, wz = y, -x, 0.0
    length = math.sqrt(wx * wx + wy * wy + wz * wz)
    return wx / length, wy / length, wz / length


@kernel
def _way_out(ux, uy, uz, vx, vy, vz):
    """Unit normal for segments that cross: the shortest way to part them.

    Normal of the plane that both span; if they are parallel or one is a point, any
    direction at right angles to the longer one is equally short.
    """
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    nn = nx * nx + ny * ny + nz * nz
    uu = ux * ux + uy * uy + uz * uz
    vv = vx * vx + vy * vy + vz * vz
    if nn > PARALLEL * uu * vv and nn > POINT * POINT:
        length = math.sqrt(nn)
        return nx / length, ny / length, nz / length
    if uu >= vv:
        return _perpendicular(ux, uy, uz)
    return _perpendicular(vx, vy, vz)


@kernel
def capsule_witness(ends, radii, i, j):
    """Signed distance, surface points on i and on j (3 + 3), unit normal from i to j.

    point_j - point_i = distance * normal, in contact and in penetration too.
    """
    px, py, pz = ends[i, 0], ends[i, 1], ends[i, 2]
    qx, qy, qz = ends[j, 0], ends[j, 1], ends[j, 2]
    ux, uy, uz = ends[i, 3] - px, ends[i, 4] - py, ends[i, 5] - pz
    vx, vy, vz = ends[j, 3] - qx, ends[j, 4] - qy, ends[j, 5] - qz
    s, t = nearest_parameters(px, py, pz, ux, uy, uz, qx, qy, qz, vx, vy, vz)
    ax, ay, az = px + s * ux, py + s * uy, pz + s * uz
    bx, by, bz = qx + t * vx, qy + t * vy, qz + t * vz
    dx, dy, dz = bx - ax, by - ay, bz - az
    gap = math.sqrt(dx * dx + dy * dy + dz * dz)
    ri, rj = radii[i, 0], radii[j, 0]
    if gap > 1e-12:
        nx, ny, nz = dx / gap, dy / gap, dz / gap
    else:
        nx, ny, nz = _way_out(ux, uy, uz, vx, vy, vz)
    return (
        gap - ri - rj,
        ax + ri * nx,
        ay + ri * ny,
        az + ri * nz,
        bx - rj * nx,
        by - rj * ny,
        bz - rj * nz,
        nx,
        ny,
        nz,
    )
