# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Voxels hold every point of a cloud that is not the robot's, however few there may be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.ros.live_cases import pose_of

from collision_monitor.errors import LiveSceneError
from collision_monitor.geometry.leaf import distances_to_segment
from collision_monitor.model.live.point_cloud import SHIFT, voxels_of

NOBODY = np.zeros((0, 6)), np.zeros(0)


def outside(balls, points):
    """How far points are outside all balls at most, metres."""
    gaps = np.linalg.norm(points[:, None] - balls[None, :, :3], axis=2) - balls[:, 3]
    return gaps.min(axis=1).max(initial=-np.inf)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), count=st.integers(1, 300), size=st.floats(0.002, 0.5),
    most=st.integers(1, 100), spread=st.sampled_from([0.0, 0.1, 2.0, 50.0]),
    kind=st.sampled_from([np.float32, np.float64]),
)  # fmt: skip
def test_every_point_is_in_a_ball_and_no_more_balls_than_allowed(
    seed, count, size, most, spread, kind
):
    rng = np.random.default_rng(seed)
    points = (rng.normal(size=(count, 3)) * spread + rng.uniform(-3, 3, 3)).astype(kind)
    pose = pose_of(rng)
    found = voxels_of(points, pose, *NOBODY, 0.05, size, most)
    moved = points.astype(float) @ pose[:3, :3].T + pose[:3, 3]
    assert len(found.balls) <= most
    assert outside(found.balls, moved) <= 1e-9
    assert found.points == count
    assert found.own == 0
    doubled = np.log2(found.size / size)
    assert doubled == round(doubled) >= 0
    if doubled > 0:  # no coarser than it has to be
        cells = np.floor(moved / (found.size / 2.0) + SHIFT)
        assert len(np.unique(cells, axis=0)) > most


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), padding=st.floats(0.0, 0.2))
def test_the_robots_points_go_and_no_others(seed, padding):
    rng = np.random.default_rng(seed)
    ends, radii = rng.uniform(-1, 1, (5, 6)), rng.uniform(0.01, 0.2, 5)
    ends[0, 3:] = ends[0, :3]  # a ball
    points = rng.uniform(-1.5, 1.5, (500, 3))
    gaps = np.min(
        [
            distances_to_segment(points, end[:3], end[3:]) - radius
            for end, radius in zip(ends, radii, strict=True)
        ],
        axis=0,
    )
    sure = np.abs(gaps - padding) > 1e-9
    found = voxels_of(points[sure], np.eye(4), ends, radii, padding, 0.02, 10_000)
    foreign = points[sure & (gaps > padding)]
    assert found.points == len(foreign)
    assert found.own == sure.sum() - len(foreign)
    assert outside(found.balls, foreign) <= 1e-9


def test_what_is_not_finite_is_no_point():
    points = np.array([[np.nan, 0, 0], [0, np.inf, 0], [1.0, 2.0, 3.0], [0, 0, -np.inf]])
    found = voxels_of(points, np.eye(4), *NOBODY, 0.05, 0.1, 10)
    assert found.points == len(found.balls) == 1
    assert len(voxels_of(points[:2], np.eye(4), *NOBODY, 0.05, 0.1, 10).balls) == 0


def test_a_point_at_the_end_of_the_world_is_an_error():
    with pytest.raises(LiveSceneError, match="too far away for voxels of 0.001 m"):
        voxels_of(np.array([[5e3, 0.0, 0.0]]), np.eye(4), *NOBODY, 0.05, 0.001, 10)
    with pytest.raises(LiveSceneError, match="1e\\+30 exceeds the maximum of 10000"):
        voxels_of(np.array([[0.0, 1e30, np.nan]]), np.eye(4), *NOBODY, 0.05, 0.1, 10)
