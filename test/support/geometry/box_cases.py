# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Boxes of two links for tests, and how far apart they are, by least squares."""

import numpy as np
from scipy.optimize import lsq_linear

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.bounding_volumes import AABB, OBB, RSS, lower_bound
from support.geometry.mesh_cases import random_pose


@kernel
def squared_bounds(numbers, best, margin):
    """Of the rows in numbers: of the aligned boxes, the oriented ones, the swept rectangles.

    And whether the oriented ones may be within the margin.
    """
    pose = borrow(numbers, 48, 4, 3)
    aligned, oriented = borrow(numbers, 0, 2, 8), borrow(numbers, 16, 2, 16)
    return (
        lower_bound(AABB, aligned, 0, aligned, 1, pose, best),
        lower_bound(OBB, oriented, 0, oriented, 1, pose, best),
        lower_bound(RSS, oriented, 0, oriented, 1, pose, best),
        lower_bound(OBB, oriented, 0, oriented, 1, pose, margin * margin) <= margin * margin,
    )


def slow_distance(columns: np.ndarray, d: np.ndarray) -> float:
    """Least length of d + columns y, y in [-1, 1]."""
    return np.sqrt(2 * lsq_linear(columns, d * -1.0, (-1.0, 1.0), "bvls", tol=1e-15).cost)


class TwoBoxes:
    """Two links at a pose, each with a box along its axes and one with axes of its own."""

    def __init__(self, seed: int, reach: float) -> None:
        rng = np.random.default_rng(seed)
        self.pose = random_pose(rng, reach)
        self.centers = rng.normal(size=(2, 3)) * 0.3
        self.axes = [random_pose(rng, 1.0)[0] for _ in range(2)]
        self.half = np.sort(rng.uniform(0, 0.8, (2, 3)) * (rng.uniform(size=(2, 3)) > 0.1))[:, ::-1]
        self.margin = rng.uniform(0, 1)

    def rows(self) -> np.ndarray:
        """(60,): two rows of 8, two rows of 16 as in `mesh_tree`, and the pose (4, 3)."""
        rows = np.zeros(60)
        for k in range(2):
            rows[8 * k : 8 * k + 6] = *self.centers[k], *self.half[k]
            rows[16 + 16 * k : 31 + 16 * k] = (
                *self.centers[k], *self.axes[k].T.ravel(), *self.half[k],
            )  # fmt: skip
        rows[48:] = np.vstack(self.pose).ravel()
        return rows

    def distances(self) -> tuple[float, float, float]:
        """Of the aligned boxes, of the oriented ones, of the swept rectangles."""
        rotation, translation = self.pose
        d = rotation @ self.centers[1] + translation - self.centers[0]
        first, second = self.axes[0] * self.half[0], rotation @ self.axes[1] * self.half[1]
        flat = np.column_stack([second[:, :2], -first[:, :2]])
        return (
            slow_distance(np.column_stack([rotation * self.half[1], -np.diag(self.half[0])]), d),
            slow_distance(np.column_stack([second, -first]), d),
            max(slow_distance(flat, d) - self.half[:, 2].sum(), 0.0),
        )
