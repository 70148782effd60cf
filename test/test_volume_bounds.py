# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds of volumes: never above the distance, and 0 only where volumes meet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mesh_cases import random_pose
from scipy.optimize import lsq_linear

from collision_monitor.kernels.borrow import borrow
from collision_monitor.kernels.jit import kernel
from collision_monitor.kernels.volume_bounds import (
    aligned_bound,
    boxes_near,
    oriented_bound,
    place,
    swept_bound,
)


@kernel
def _bounds(numbers, rotation, translation, best, margin):
    """All bounds of the rows in numbers: an aligned and an oriented one for either link."""
    pose = borrow(numbers, 48, 7, 3)
    place(pose, rotation, translation)
    aligned, oriented = borrow(numbers, 0, 2, 8), borrow(numbers, 16, 2, 16)
    return (
        aligned_bound(aligned, 0, aligned, 1, pose, best),
        oriented_bound(oriented, 0, oriented, 1, pose, best),
        swept_bound(oriented, 0, oriented, 1, pose, best),
        boxes_near(oriented, 0, oriented, 1, pose, margin),
    )


def slow_distance(columns, d):
    """Least length of d + columns y, y in [-1, 1]."""
    return np.sqrt(2 * lsq_linear(columns, d * -1.0, (-1.0, 1.0), "bvls", tol=1e-15).cost)


class Case:
    """Two links at a pose, each with a box along its axes and one with axes of its own."""

    def __init__(self, seed, reach):
        rng = np.random.default_rng(seed)
        self.pose = random_pose(rng, reach)
        self.centers = rng.normal(size=(2, 3)) * 0.3
        self.axes = [random_pose(rng, 1.0)[0] for _ in range(2)]
        self.half = np.sort(rng.uniform(0, 0.8, (2, 3)) * (rng.uniform(size=(2, 3)) > 0.1))[:, ::-1]
        self.margin = rng.uniform(0, 1)

    def bounds(self, best=np.inf):
        rows = np.zeros(69)
        for k in range(2):
            rows[8 * k : 8 * k + 6] = *self.centers[k], *self.half[k]
            rows[16 + 16 * k : 31 + 16 * k] = (
                *self.centers[k], *self.axes[k].T.ravel(), *self.half[k],
            )  # fmt: skip
        return _bounds(rows, *self.pose, best, self.margin)

    def distances(self):
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


@given(st.integers(0, 100_000), st.sampled_from([0.3, 1.0, 3.0]))
@settings(max_examples=400, deadline=None)
def test_bounds_never_exceed_the_distance_and_tell_apart_from_meeting(seed, reach):
    case = Case(seed, reach)
    *bounds, near = case.bounds()
    aligned, oriented, swept = np.sqrt(bounds)
    true_aligned, true_oriented, true_swept = case.distances()
    assert aligned <= true_aligned + 1e-9
    assert oriented <= true_oriented + 1e-9
    assert swept == pytest.approx(true_swept, abs=1e-9)
    # 15 axes decide: a gap shows on one of them, if not always all of it.
    if true_aligned > 1e-6:
        assert aligned > 0.0
    if true_oriented > 1e-6:
        assert oriented > 0.0
    assert near or true_oriented > case.margin - 1e-9
    assert not near or oriented <= case.margin


@given(st.integers(0, 100_000))
@settings(max_examples=200, deadline=None)
def test_a_search_that_is_done_early_says_enough(seed):
    case = Case(seed, 1.5)
    exact = case.bounds()[:3]
    for part in (0.2, 0.9, 1.1, 3.0):
        for k in range(3):
            best = part * exact[k]
            found = case.bounds(best)[k]
            if best < exact[k] * (1 - 1e-9):
                assert best <= found <= exact[k] * (1 + 1e-9) + 1e-15
            elif best > exact[k] * (1 + 1e-9):
                assert found == pytest.approx(exact[k], rel=1e-9, abs=1e-15)
