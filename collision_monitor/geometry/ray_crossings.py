# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How often a closed surface winds about a point, by the triangles that a ray from it meets."""

from __future__ import annotations

from collision_monitor.common.compiled import offline_kernel


@offline_kernel
def ray_winding_number(x, y, z, triangles):
    """Times that a ray from a point upwards along z leaves a surface, less those it enters.

    ``triangles`` (m, 3, 3), turning anticlockwise seen from outside. Of a closed surface it is
    the winding number; a ray through an edge or a corner may miscount.
    """
    count = 0
    for m in range(len(triangles)):
        ax, ay = triangles[m, 0, 0] - x, triangles[m, 0, 1] - y
        bx, by = triangles[m, 1, 0] - x, triangles[m, 1, 1] - y
        cx, cy = triangles[m, 2, 0] - x, triangles[m, 2, 1] - y
        if min(ax, bx, cx) > 0.0 or max(ax, bx, cx) < 0.0:
            continue
        # The ray passes a triangle on the same side of all three edges.
        ab, bc, ca = ax * by - ay * bx, bx * cy - by * cx, cx * ay - cy * ax
        leaves = ab > 0.0 and bc > 0.0 and ca > 0.0
        if not leaves and not (ab < 0.0 and bc < 0.0 and ca < 0.0):
            continue
        az, bz, cz = triangles[m, 0, 2] - z, triangles[m, 1, 2] - z, triangles[m, 2, 2] - z
        # Height of the plane over the point, times an area of the sign of the others.
        height = bc * az + ca * bz + ab * cz
        if (height > 0.0) if leaves else (height < 0.0):
            count += 1 if leaves else -1
    return count


@offline_kernel
def any_inside(points, triangles):
    """Whether the surface winds about one of the points (n, 3); see `ray_winding_number`."""
    for i in range(len(points)):
        if ray_winding_number(points[i, 0], points[i, 1], points[i, 2], triangles) != 0:
            return True
    return False
