# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Balls enclose their leaves wherever a robot is, and never hide a pair that is near."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import ROOT

from collision_monitor import CollisionModel
from collision_monitor.geometry.segments import capsule_distance
from collision_monitor.hierarchy.link_balls import (
    link_gap,
    surely_farther,
    surely_farther_from_link,
)
from collision_monitor.hierarchy.packed import windows


@pytest.fixture(scope="module")
def model():
    urdf = ROOT / "urdf"
    return CollisionModel.from_urdf(
        urdf / "dual_arm.urdf", srdf=urdf / "dual_arm.srdf", scene=urdf / "dual_arm_scene.yaml",
        leaves=urdf / "dual_arm_leaves.yaml",
    )  # fmt: skip


def placed(model, seed):
    """The packed model where a query has placed it."""
    model.pair_distances(model.random_configurations(1, seed))
    return windows(*model.work_space())


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_balls_enclose_the_leaves(model, seed):
    view = placed(model, seed)
    for link, (first, last) in enumerate(view.links):
        for leaf in range(first, last):
            ends = view.ends[leaf].reshape(2, 3)
            for center, reach in (
                (ends.mean(axis=0), view.reaches[leaf, 0]),
                (view.link_centers[link], view.link_balls[link, 3]),
            ):
                far = np.linalg.norm(ends - center, axis=1).max() + view.radii[leaf, 0]
                assert far <= reach + 1e-9


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.floats(-0.3, 1.5))
def test_what_is_surely_farther_is_farther(model, seed, distance):
    view = placed(model, seed)
    balls = view.link_centers, view.link_balls
    for a, b in view.pairs:
        every = [
            [capsule_distance(view.ends, view.radii, i, j) for j in range(*view.links[b])]
            for i in range(*view.links[a])
        ]
        assert np.min(every) >= link_gap(*balls, a, b) - 1e-9
        for i, row in zip(range(*view.links[a]), every, strict=True):
            if surely_farther_from_link(view.ends, view.reaches, *balls, i, b, distance):
                assert min(row) >= distance - 1e-9
            for j, here in zip(range(*view.links[b]), row, strict=True):
                if surely_farther(view.ends, view.reaches, i, j, distance):
                    assert here >= distance - 1e-9


def test_what_is_far_is_surely_farther():
    ends = np.array([[0.0, 0, 0, 1, 0, 0], [10.0, 0, 0, 11, 0, 0]])
    reaches = np.array([[1.0], [1.0]])
    balls = np.array([[10.5, 0.0, 0.0]]), np.array([[0.0, 0.0, 0.0, 1.0]])  # as the second leaf
    for is_farther in (
        lambda distance: surely_farther(ends, reaches, 0, 1, distance),
        lambda distance: surely_farther_from_link(ends, reaches, *balls, 0, 0, distance),
    ):
        assert is_farther(7.9)
        assert not is_farther(8.1)
        assert not is_farther(np.inf)
