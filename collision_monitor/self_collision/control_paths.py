# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where two arms are nearest to each other along a motion: paths to look at."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.motion.motion import Motion


@dataclass(frozen=True, eq=False)
class ControlPoints:
    """The nearest points of two arms at some waypoints, base frame, metres.

    Attributes:
        points: (n, 2, 3) on the leaf of the right and of the left arm.
        directions: (n, 3) unit vectors from right to left.
        distances: (n,) signed.
    """

    points: np.ndarray
    directions: np.ndarray
    distances: np.ndarray


def control_points(
    model: CollisionModel,
    right: Collection[str],
    motion: Motion,
    held: Mapping[str, float],
    most: int = 200,
) -> ControlPoints:
    """Control points at no more than ``most`` waypoints, evenly taken, ends included.

    Args:
        model: with the pairs between the arms alone.
        right: names of the right arm's links, and of what it carries.
        motion: of some joints or all.
        held: position of every joint, for those that the motion does not name.
        most: two at least.
    """
    count = len(motion.times)
    rows = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
    q = np.tile([held[name] for name in model.joint_names], (len(rows), 1))
    columns = [model.joint_names.index(name) for name in motion.joint_names]
    q[:, columns] = motion.positions[rows]
    points = np.empty((len(rows), 2, 3))
    directions = np.empty((len(rows), 3))
    distances = np.empty(len(rows))
    for k, row in enumerate(q):
        nearest = model.distance(row)
        swap = nearest.links[0] not in right
        points[k] = nearest.points[::-1] if swap else nearest.points
        directions[k] = -nearest.normal if swap else nearest.normal
        distances[k] = nearest.distance
    return ControlPoints(points, directions, distances)
