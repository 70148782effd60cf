# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Solids (capsules, spheres) in eight configurations: where they are, and which are near.

A solid is a row of ``solids``: centre (3) and half axis (3) in its body's frame,
radius, the radius of a ball about the centre that holds it, and 1 / half axis squared (0 for
a sphere). ``places`` (6 rows a solid, LANES) holds centre and half axis in the base frame.
"""

from __future__ import annotations

from collision_monitor.batch_clear.simd import bits, choose, greater, lesser, load, spread, store
from collision_monitor.common.compiled import inlined_kernel

RADIUS, REACH, INVERSE = 6, 7, 8
COLUMNS = 9

_PARALLEL = 1e-24  # squared sine; as in `segments`


@inlined_kernel
def place_solid(poses, body, solids, places, i):
    """Put solid i, fixed to ``body``, where the body is; poses (12 rows a body, LANES)."""
    cx, cy, cz = solids[i, 0], solids[i, 1], solids[i, 2]
    hx, hy, hz = solids[i, 3], solids[i, 4], solids[i, 5]
    for axis in range(3):
        r0 = load(poses, 12 * body + 3 * axis)
        r1 = load(poses, 12 * body + 3 * axis + 1)
        r2 = load(poses, 12 * body + 3 * axis + 2)
        origin = load(poses, 12 * body + 9 + axis)
        store(places, 6 * i + axis, origin + r0 * cx + r1 * cy + r2 * cz)
        store(places, 6 * i + 3 + axis, r0 * hx + r1 * hy + r2 * hz)


@inlined_kernel
def place_fixed(fixed, j, solids, places, i):
    """Copy row j of ``fixed``, which stands still in the base frame, to solid i."""
    for column in range(COLUMNS):
        solids[i, column] = fixed[j, column]
    for axis in range(6):
        store(places, 6 * i + axis, spread(fixed[j, axis]))


@inlined_kernel
def ball_gap_squared(places, i, j):
    """Squared distance of the centres of solids i and j."""
    x = load(places, 6 * j) - load(places, 6 * i)
    y = load(places, 6 * j + 1) - load(places, 6 * i + 1)
    z = load(places, 6 * j + 2) - load(places, 6 * i + 2)
    return x * x + y * y + z * z


@inlined_kernel
def balls_closer(places, solids, i, j, distance):
    """Bits of the lanes in which the balls around solids i and j are closer."""
    reach = solids[i, REACH] + solids[j, REACH] + distance
    if reach <= 0.0:
        return 0
    return bits(ball_gap_squared(places, i, j) < reach * reach)


@inlined_kernel
def _clamp(x):
    """Limit lanes to [-1, 1]."""
    return lesser(greater(x, spread(-1.0)), spread(1.0))


@inlined_kernel
def axis_gap_squared(places, solids, i, j):
    """Squared distance of the axes of solids i and j.

    As `segments.nearest_parameters`, about the middles: the points are c + s h with s in
    [-1, 1]. The last step, the best s for the t found, gives s back where t was not limited,
    and is what the clamping asks for where it was: so no lane needs a branch.
    """
    rx = load(places, 6 * j) - load(places, 6 * i)
    ry = load(places, 6 * j + 1) - load(places, 6 * i + 1)
    rz = load(places, 6 * j + 2) - load(places, 6 * i + 2)
    ux, uy, uz = load(places, 6 * i + 3), load(places, 6 * i + 4), load(places, 6 * i + 5)
    vx, vy, vz = load(places, 6 * j + 3), load(places, 6 * j + 4), load(places, 6 * j + 5)
    b = ux * vx + uy * vy + uz * vz
    c = ux * rx + uy * ry + uz * rz
    f = vx * rx + vy * ry + vz * rz
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    nn = nx * nx + ny * ny + nz * nz
    # (r x v) . n / |n|^2, and 0 for (nearly) parallel axes
    s = (ry * vz - rz * vy) * nx + (rz * vx - rx * vz) * ny + (rx * vy - ry * vx) * nz
    a_inverse, e_inverse = solids[i, INVERSE], solids[j, INVERSE]
    s = choose(nn * (a_inverse * e_inverse) > _PARALLEL, _clamp(s / nn), spread(0.0))
    t = _clamp((b * s - f) * e_inverse)
    s = _clamp((b * t + c) * a_inverse)
    dx = rx + t * vx - s * ux
    dy = ry + t * vy - s * uy
    dz = rz + t * vz - s * uz
    return dx * dx + dy * dy + dz * dz


@inlined_kernel
def solids_closer(places, solids, i, j, distance):
    """Bits of the lanes in which solids i and j are closer than ``distance``."""
    reach = solids[i, RADIUS] + solids[j, RADIUS] + distance
    if reach <= 0.0:
        return 0
    return bits(axis_gap_squared(places, solids, i, j) < reach * reach)
