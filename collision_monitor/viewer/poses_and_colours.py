# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Poses and colours as the page takes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from collision_monitor.robot.poses import pose, rotation_from_quaternion
from collision_monitor.viewer.clearance_colour import clearance_colour

Rgb = tuple[int, int, int]

_STEPS = 24  # of a channel: finer ones nobody sees, and each is a message


def shown_colour(distance: float, warn: float, stop: float) -> Rgb:
    """The colour of a clearance, channels 0 to 255, in so few steps that it seldom changes."""
    r, g, b = (
        round(255 * round(channel * _STEPS) / _STEPS)
        for channel in clearance_colour(distance, warn, stop)
    )
    return r, g, b


def position_and_wxyz(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and quaternion (w, x, y, z) of a pose (4, 4)."""
    x, y, z, w = Rotation.from_matrix(matrix[:3, :3]).as_quat()
    return matrix[:3, 3].copy(), np.array([w, x, y, z])


def pose_of(position: Sequence[float], wxyz: Sequence[float]) -> np.ndarray:
    """The pose (4, 4) of a position and a quaternion (w, x, y, z)."""
    w, x, y, z = (float(value) for value in wxyz)
    return pose(rotation_from_quaternion((x, y, z, w)), position)


def node_path(*names: str) -> str:
    """The name of a node below others; a slash in the name of a link is no level of its own."""
    return "".join("/" + name.replace("/", "\N{FRACTION SLASH}") for name in names)
