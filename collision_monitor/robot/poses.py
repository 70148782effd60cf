# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Poses: 4x4 homogeneous matrices, also from the notations of robot files; and those of kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from collision_monitor.common.compiled import kernel, part_kernel
from collision_monitor.common.limits import SIX_DIGITS, range_problem

_TURN = 6.2832  # radians, with the last digit rounded up as people do


def rpy_problem(rpy: Sequence[float], radians: float = 1.0) -> str:
    """What is wrong with roll, pitch and yaw; empty if nothing. ``radians`` in their unit."""
    unit = "radians" if radians == 1.0 else "degrees"
    beyond = (a for a in rpy if abs(radians * a) > _TURN)
    return next((f"{angle:g} is more than a turn; angles are in {unit}" for angle in beyond), "")


def rotation_from_rpy(rpy: Sequence[float]) -> np.ndarray:
    """Return the rotation (3, 3) by roll, pitch, yaw about fixed x, y, z: Rz(y) Ry(p) Rx(r)."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def joint_motion(slides: bool, axis: np.ndarray, position: float) -> np.ndarray:
    """Return the pose (4, 4) that a joint at ``position`` gives its child: along or about axis."""
    if slides:
        return pose(np.eye(3), position * axis)
    return pose(Rotation.from_rotvec(position * axis).as_matrix(), np.zeros(3))


def pose(rotation: np.ndarray, position: Sequence[float]) -> np.ndarray:
    """Return the homogeneous matrix (4, 4) of a rotation (3, 3) and a position (3,)."""
    result = np.eye(4)
    result[:3, :3] = rotation
    result[:3, 3] = position
    return result


def pose_rows(poses: np.ndarray) -> np.ndarray:
    """Convert poses (k, 4, 4) to rows of 12: the rotation row by row, then the translation."""
    rows = np.empty((len(poses), 12))
    rows[:, :9], rows[:, 9:] = poses[:, :3, :3].reshape(-1, 9), poses[:, :3, 3]
    return rows


def pose_problem(pose: np.ndarray) -> str:
    """Why a matrix is no pose (4, 4) of a rigid body, as of "its ..."; empty if it is one."""
    if np.shape(pose) != (4, 4):
        return f"pose has shape {np.shape(pose)}, not (4, 4)"
    # Objects are moved thousands of times per second: numpy would take ten times as long.
    (a, b, c, x), (d, e, f, y), (g, h, i, z), (u, v, w, one) = pose.tolist()
    if not math.isfinite(a + b + c + d + e + f + g + h + i + x + y + z + u + v + w + one):
        return "pose is not finite"
    if problem := range_problem(max(abs(x), abs(y), abs(z))):
        return f"position: {problem}"
    off = max(
        abs(a * a + b * b + c * c - 1.0), abs(d * d + e * e + f * f - 1.0),
        abs(g * g + h * h + i * i - 1.0), abs(a * d + b * e + c * f), abs(a * g + b * h + c * i),
        abs(d * g + e * h + f * i), abs(u), abs(v), abs(w), abs(one - 1.0),
    )  # fmt: skip
    volume = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if off > SIX_DIGITS or volume < 0.0:
        return "pose is not a rigid transform: it scales, shears or mirrors"
    return ""


def pose_from_xyz_rpy(
    xyz: Sequence[float] | None = None, rpy: Sequence[float] | None = None
) -> np.ndarray:
    """Return the pose (4, 4) of a URDF origin; what is missing is zero."""
    return pose(rotation_from_rpy(rpy or (0.0, 0.0, 0.0)), xyz or (0.0, 0.0, 0.0))


def poses_along(segments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return poses (k, 4, 4) in the middles of ``segments`` (k, 2, 3), and their lengths (k,).

    The z axis is along the segment; one without a length has no rotation.
    """
    axes = segments[:, 1] - segments[:, 0]
    lengths = np.linalg.norm(axes, axis=1)
    poses = np.tile(np.eye(4), (len(axes), 1, 1))
    poses[:, :3, 3] = segments.mean(axis=1)
    long = lengths > 0.0
    z = axes[long] / lengths[long, None]
    # Two perpendicular directions; the first is across the coordinate axis least along z.
    x = np.cross(np.eye(3)[np.abs(z).argmin(axis=1)], z)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    poses[long, :3, :3] = np.stack([x, np.cross(z, x), z], axis=2)
    return poses, lengths


# -- poses in kernels: windows (4, 3) of the rotation, then the translation --


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
