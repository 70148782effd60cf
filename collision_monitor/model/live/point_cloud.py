# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A point cloud as balls around voxels, without the points on the robot itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from collision_monitor.common.compiled import compiling, offline_kernel
from collision_monitor.common.limits import array_range_problem
from collision_monitor.common.settings import setting
from collision_monitor.common.text import six_digits
from collision_monitor.errors import LiveSceneError
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.robot.poses import pose_rows

# Voxels from the origin along each axis, so that 63 bits number all.
HALF = 1 << 20
# In voxels. If the origin were a corner, its surroundings would be in eight voxels of any size.
SHIFT = 0.37


@offline_kernel
def _is_inside(ends, radii, leaf, x, y, z, padding):
    """Whether a point is within ``padding`` metres of ``leaf``."""
    ax, ay, az = ends[leaf, 0], ends[leaf, 1], ends[leaf, 2]
    dx, dy, dz = ends[leaf, 3] - ax, ends[leaf, 4] - ay, ends[leaf, 5] - az
    px, py, pz = x - ax, y - ay, z - az
    squared = dx * dx + dy * dy + dz * dz
    t = 0.0
    if squared > 0.0:
        t = min(max((px * dx + py * dy + pz * dz) / squared, 0.0), 1.0)
    px, py, pz = px - t * dx, py - t * dy, pz - t * dz
    reach = radii[leaf] + padding
    return px * px + py * py + pz * pz <= reach * reach


@offline_kernel
def foreign(points, pose, ends, radii, padding, out):
    """Write points (n, 3) that are not on the robot, moved by ``pose`` (12,), to ``out`` (n, 3).

    Points within ``padding`` metres of a leaf are on the robot: ``ends`` (m, 6) and ``radii`` (m,),
    in the target frame of ``pose``. Returns (points written, points on the robot). Points that are
    not finite are skipped.
    """
    count, on_robot = 0, 0
    boxes = np.empty((len(ends), 6))
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for leaf in range(len(ends)):
        reach = radii[leaf] + padding
        for axis in range(3):
            boxes[leaf, axis] = min(ends[leaf, axis], ends[leaf, axis + 3]) - reach
            boxes[leaf, axis + 3] = max(ends[leaf, axis], ends[leaf, axis + 3]) + reach
            low[axis] = min(low[axis], boxes[leaf, axis])
            high[axis] = max(high[axis], boxes[leaf, axis + 3])
    for n in range(len(points)):
        a, b, c = np.float64(points[n, 0]), np.float64(points[n, 1]), np.float64(points[n, 2])
        if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
            continue
        x = pose[0] * a + pose[1] * b + pose[2] * c + pose[9]
        y = pose[3] * a + pose[4] * b + pose[5] * c + pose[10]
        z = pose[6] * a + pose[7] * b + pose[8] * c + pose[11]
        is_own = False
        if low[0] <= x <= high[0] and low[1] <= y <= high[1] and low[2] <= z <= high[2]:
            for leaf in range(len(ends)):
                if (
                    boxes[leaf, 0] <= x <= boxes[leaf, 3]
                    and boxes[leaf, 1] <= y <= boxes[leaf, 4]
                    and boxes[leaf, 2] <= z <= boxes[leaf, 5]
                    and _is_inside(ends, radii, leaf, x, y, z, padding)
                ):
                    is_own = True
                    break
        if is_own:
            on_robot += 1
            continue
        out[count, 0], out[count, 1], out[count, 2] = x, y, z
        count += 1
    return count, on_robot


def _along_curve(cells: np.ndarray) -> np.ndarray:
    """(n,) order of voxels (n, 3) along Morton's curve, so that a tree over them is a good one."""
    codes = np.zeros(len(cells), dtype=np.int64)
    for bit in range(HALF.bit_length()):
        codes |= (((cells >> bit) & 1) << (3 * bit + np.arange(3))).sum(axis=1)
    return codes.argsort()


@dataclass(frozen=True)
class CloudSettings:
    """How a cloud becomes voxels, with the defaults of the node."""

    # fmt: off
    voxel_size: float = setting(0.05, "voxel size of ~/cloud, metres", least=0.001, most=1.0)
    padding: float = setting(
        0.05, "points of ~/cloud within this distance of the robot's leaves are removed as its "
        "own, metres", most=1.0)
    # fmt: on


@dataclass(frozen=True, eq=False)
class Voxels:
    """The voxels of a cloud.

    Attributes:
        balls: (n, 4) centre and radius, base frame, metres: each encloses its voxel.
        size: edge of a voxel, metres: the requested size, doubled until there are not too many.
        points: number of points in the voxels.
        own: number of points on the robot.
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
    """Return balls around all voxels with a point that is not on the robot.

    If there are more than ``most``, voxels are doubled in size until there are not: no point is
    dropped. Releases the GIL.

    Args:
        points: (n, 3) float32 or float64, metres; points that are not finite are skipped.
        pose: (4, 4) of their frame in the base frame.
        ends: (leaves, 6) end points of the robot's leaves in the base frame.
        radii: (leaves,) of these.
        padding: metres around the leaves in which a point is on the robot.
        size: edge of a voxel in metres.
        most: maximum number of balls.

    Raises:
        LiveSceneError: a point is too far away to be distinguished from its neighbours.
    """
    if problem := array_range_problem(points):
        raise LiveSceneError(f"cloud: a point is too far away for voxels of {size:g} m: {problem}")
    kept = np.empty((len(points), 3))
    count, on_robot = foreign(
        np.ascontiguousarray(points), pose_rows(pose[None])[0],
        np.ascontiguousarray(ends, dtype=float), np.ascontiguousarray(radii, dtype=float),
        float(padding), kept,
    )  # fmt: skip
    while True:
        cells = np.floor(kept[:count] / size + SHIFT) + HALF
        is_far = ((cells < 0) | (cells >= 2 * HALF)).any(axis=1)
        if is_far.any():
            raise LiveSceneError(
                f"cloud: a point at {list(six_digits(kept[is_far.argmax()]))} m is too far away "
                f"for voxels of {size:g} m"
            )
        x, y, z = cells.astype(np.int64).T
        _, first = np.unique(((x * 2 * HALF) + y) * 2 * HALF + z, return_index=True)
        if len(first) <= most:
            break
        size *= 2.0
    voxels = cells[first].astype(np.int64)
    voxels = voxels[_along_curve(voxels)]
    centres = (voxels - HALF + 0.5 - SHIFT) * size
    reach = np.abs(centres).max(initial=0.0)
    radius = 0.5 * math.sqrt(3.0) * size + ROUNDING * (size + reach)
    balls = np.column_stack([centres, np.full(len(first), radius)])
    return Voxels(balls, size, count, on_robot)


def warm_up() -> None:
    """Compile the kernels of `voxels_of`, or load them from disk."""
    with compiling(foreign):
        voxels_of(np.zeros((1, 3)), np.eye(4), np.zeros((1, 6)), np.zeros(1), 0.0, 0.1, 1)
