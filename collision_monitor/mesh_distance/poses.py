# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Poses as windows (4, 3): the rotation, then the translation."""

from __future__ import annotations

from collision_monitor.common.compiled import kernel, part_kernel


@kernel
def take_pose(poses, row, out):
    """Copy a ``row`` of ``poses`` (n, 12), a rotation row by row and a translation, to ``out``."""
    for i in range(3):
        out[3, i] = poses[row, 9 + i]
        for j in range(3):
            out[i, j] = poses[row, 3 * i + j]


@kernel
def compose(p, q, out):
    """Set out = p q: the pose q, given in the frame of p, in p's parent frame; not in place."""
    for i in range(3):
        out[3, i] = p[i, 0] * q[3, 0] + p[i, 1] * q[3, 1] + p[i, 2] * q[3, 2] + p[3, i]
        for j in range(3):
            out[i, j] = p[i, 0] * q[0, j] + p[i, 1] * q[1, j] + p[i, 2] * q[2, j]


@kernel
def compose_inverse(p, q, out):
    """Set out = p^-1 q: the pose q relative to p; not in place."""
    x, y, z = q[3, 0] - p[3, 0], q[3, 1] - p[3, 1], q[3, 2] - p[3, 2]
    for i in range(3):
        out[3, i] = p[0, i] * x + p[1, i] * y + p[2, i] * z
        for j in range(3):
            out[i, j] = p[0, i] * q[0, j] + p[1, i] * q[1, j] + p[2, i] * q[2, j]


@part_kernel
def invert(p, out):
    """Set out = p^-1; not in place."""
    for i in range(3):
        out[3, i] = -(p[0, i] * p[3, 0] + p[1, i] * p[3, 1] + p[2, i] * p[3, 2])
        for j in range(3):
            out[i, j] = p[j, i]


@kernel
def to_outer(p, x, y, z):
    """Transform the point (x, y, z) from the frame at pose p into p's parent frame."""
    return (
        p[0, 0] * x + p[0, 1] * y + p[0, 2] * z + p[3, 0],
        p[1, 0] * x + p[1, 1] * y + p[1, 2] * z + p[3, 1],
        p[2, 0] * x + p[2, 1] * y + p[2, 2] * z + p[3, 2],
    )


@kernel
def to_inner(p, x, y, z):
    """The inverse of `to_outer`."""
    x, y, z = x - p[3, 0], y - p[3, 1], z - p[3, 2]
    return (
        p[0, 0] * x + p[1, 0] * y + p[2, 0] * z,
        p[0, 1] * x + p[1, 1] * y + p[2, 1] * z,
        p[0, 2] * x + p[1, 2] * y + p[2, 2] * z,
    )


@kernel
def move_points(p, points):
    """Transform points (two rows) from the frame at pose p into p's parent frame."""
    for row in range(2):
        x, y, z = to_outer(p, points[row, 0], points[row, 1], points[row, 2])
        points[row, 0], points[row, 1], points[row, 2] = x, y, z
