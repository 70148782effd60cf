# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A straight line from one pose to another, with an even turn about one axis.

After Liu Qian, Liu Chuankai et al., J. NUAA 54(1), 2022. Their axis, half the sum of the cross
products of the frames' axes, has the length sin(phi): it finds 89 degrees where 91 are meant and
nothing at 180. Here it is the logarithm of the rotation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from collision_monitor.robot.poses import rotation_about


@dataclass(frozen=True, eq=False)
class CartesianLine:
    """Poses (4, 4) ``start`` and ``end`` of a link in the base frame; s from 0 to 1 in between."""

    start: np.ndarray
    end: np.ndarray

    @cached_property
    def twist(self) -> np.ndarray:
        """(6,) per unit of s, the same all along: displacement in metres, turn in radians.

        The turn is the logarithm of SO(3), at most pi long, in the base frame.
        """
        turn = Rotation.from_matrix(self.end[:3, :3] @ self.start[:3, :3].T).as_rotvec()
        return np.concatenate([self.end[:3, 3] - self.start[:3, 3], turn])

    @cached_property
    def length(self) -> float:
        """Metres."""
        return float(np.linalg.norm(self.twist[:3]))

    @cached_property
    def angle(self) -> float:
        """Radians, 0 to pi."""
        return float(np.linalg.norm(self.twist[3:]))

    def poses(self, s: np.ndarray) -> np.ndarray:
        """Poses (n, 4, 4) at ``s`` (n,); the line goes on beyond 0 and 1."""
        s = np.asarray(s, dtype=float)
        out = np.broadcast_to(np.eye(4), (len(s), 4, 4)).copy()
        turns = Rotation.from_rotvec(s[:, None] * self.twist[3:]).as_matrix()
        out[:, :3, :3] = turns @ self.start[:3, :3]
        out[:, :3, 3] = self.start[:3, 3] + s[:, None] * self.twist[:3]
        return out

    def ahead(self, s: np.ndarray, poses: np.ndarray) -> np.ndarray:
        """(n, 6) what leads from ``poses`` (n, 4, 4) to those at ``s`` (n,): metres, radians."""
        due = self.poses(s)
        turns = Rotation.from_matrix(due[:, :3, :3] @ poses[:, :3, :3].transpose(0, 2, 1))
        return np.hstack([due[:, :3, 3] - poses[:, :3, 3], turns.as_rotvec()])

    def pull(self, s: float, pose: np.ndarray) -> np.ndarray:
        """(6,) towards the pose at ``s`` from ``pose`` (4, 4), in metres and radians.

        It is `ahead` up to the third order of what is missing, and much cheaper: half the turn's
        skew part, of length sin(phi). Good enough to feed back, not to measure.
        """
        axis = self.twist[3:] / (self.angle or 1.0)
        off = rotation_about(axis, s * self.angle) @ self.start[:3, :3] @ pose[:3, :3].T
        place = self.start[:3, 3] + s * self.twist[:3] - pose[:3, 3]
        turn = 0.5 * np.array([off[2, 1] - off[1, 2], off[0, 2] - off[2, 0], off[1, 0] - off[0, 1]])
        return np.concatenate([place, turn])
