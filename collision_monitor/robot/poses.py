# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Poses as 4x4 homogeneous matrices from the notations of robot files."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


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


def rotation_from_quaternion(xyzw: Sequence[float]) -> np.ndarray:
    """Return the rotation (3, 3) of a quaternion x, y, z, w of any norm but zero."""
    x, y, z, w = np.asarray(xyzw, dtype=float) / np.linalg.norm(xyzw)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation (3, 3) by an angle in radians about a unit axis (Rodrigues)."""
    k = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.eye(3) + math.sin(angle) * k + (1.0 - math.cos(angle)) * (k @ k)


def joint_motion(slides: bool, axis: np.ndarray, position: float) -> np.ndarray:
    """Return the pose (4, 4) that a joint at ``position`` gives its child: along or about axis."""
    if slides:
        return pose(np.eye(3), position * axis)
    return pose(rotation_about(axis, position), np.zeros(3))


def pose(rotation: np.ndarray, position: Sequence[float]) -> np.ndarray:
    """Return the homogeneous matrix (4, 4) of a rotation (3, 3) and a position (3,)."""
    result = np.eye(4)
    result[:3, :3] = rotation
    result[:3, 3] = position
    return result


def pose_from_xyz_rpy(
    xyz: Sequence[float] | None = None, rpy: Sequence[float] | None = None
) -> np.ndarray:
    """Return the pose (4, 4) of a URDF origin; what is missing is zero."""
    return pose(rotation_from_rpy(rpy or (0.0, 0.0, 0.0)), xyz or (0.0, 0.0, 0.0))
