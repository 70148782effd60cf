# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A cloud of points as balls around voxels, without the robot's own points."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from collision_monitor.common.compiled import compiling
from collision_monitor.common.magnitudes import any_beyond_reason
from collision_monitor.common.text import six_digits
from collision_monitor.errors import LiveSceneError
from collision_monitor.model.live import voxels as kernels

_ROUNDING = 1e-9  # of a voxel, and of how far away it is


@dataclass(frozen=True, eq=False)
class Voxels:
    """What a cloud came to.

    Attributes:
        balls: (n, 4) centre and radius, base frame, metres: each encloses its voxel.
        size: edge of a voxel, metres: as wanted or, where there were too many, twice that, ...
        points: how many points are in them.
        own: how many were the robot's.
    """

    balls: np.ndarray
    size: float
    points: int
    own: int


def voxels_of(
    points: np.ndarray,
    pose: np.ndarray,
    ends: np.ndarray,
    radii: np.ndarray,
    padding: float,
    size: float,
    most: int,
) -> Voxels:
    """Balls around all voxels with a point in them that is not the robot's.

    Where there are more than ``most``, voxels are twice as large, and so on: coarser, but none is
    left out. Lets other threads go on meanwhile.

    Args:
        points: (n, 3) float32 or float64; what is not finite is no point.
        pose: (4, 4) of their frame in the base frame.
        ends: (leaves, 6) end points of the robot's leaves in the base frame.
        radii: (leaves,) of these.
        padding: metres around them in which a point is the robot's.
        size: edge of a voxel in metres.
        most: balls.

    Raises:
        LiveSceneError: a point so far away that it cannot be told from its neighbours.
    """
    if problem := any_beyond_reason(points):
        raise LiveSceneError(
            f"cloud: a point is too far away for voxels of {size:g} m: {problem}"
        )
    kept = np.empty((len(points), 3))
    count, own = kernels.foreign(
        np.ascontiguousarray(points), np.r_[pose[:3, :3].ravel(), pose[:3, 3]],
        np.ascontiguousarray(ends, dtype=float), np.ascontiguousarray(radii, dtype=float),
        float(padding), kept,
    )  # fmt: skip
    keys = np.empty(count, dtype=np.int64)
    while True:
        far = kernels.voxel_keys(kept, count, float(size), keys)
        if far >= 0:
            raise LiveSceneError(
                f"cloud: a point at {list(six_digits(kept[far]))} m is too far away for voxels of "
                f"{size:g} m"
            )
        found = np.unique(keys)
        if len(found) <= most:
            break
        size *= 2.0
    balls = np.empty((len(found), 4))
    kernels.voxel_centres(found, float(size), balls)
    reach = np.abs(balls[:, :3]).max(initial=0.0)
    balls[:, 3] = 0.5 * math.sqrt(3.0) * size + _ROUNDING * (size + reach)
    return Voxels(balls, size, count, own)


def warm_up() -> None:
    """Compile what `voxels_of` runs, or load it from disk."""
    with compiling(kernels.voxel_centres):
        voxels_of(np.zeros((1, 3)), np.eye(4), np.zeros((1, 6)), np.zeros(1), 0.0, 0.1, 1)
