# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Solids in lanes against the kernels that take one pair at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from collision_monitor.batch_clear import clear
from collision_monitor.batch_clear.simd import LANES, store
from collision_monitor.common.compiled import kernel
from collision_monitor.geometry.segments import capsule_distance


@kernel
def gaps(places, solids, out):
    """Squared gap of the axes, then of the centres, of solids 0 and 1."""
    store(out, 0, clear.axis_gap_squared(places, solids, 0, 1))
    store(out, 1, clear.ball_gap_squared(places, 0, 1))


@kernel
def closer(places, solids, distance):
    """Lanes in which the solids, and the balls around them, are closer."""
    return (
        clear.solids_closer(places, solids, 0, 1, distance),
        clear.balls_closer(places, solids, 0, 1, distance),
    )


@kernel
def place(poses, solids, places):
    """Solid 0 on body 1, and solid 1 still."""
    clear.place_solid(poses, 1, solids, places, 0)
    clear.place_fixed(solids, 0, solids, places, 1)


def pair(ends, radii):
    """(places, solids) of two capsules in LANES cases: ends (LANES, 2, 6), radii (2,).

    The length of a solid's axis is that in lane 0, as on a body that moves.
    """
    centers, halves = 0.5 * (ends[..., :3] + ends[..., 3:]), 0.5 * (ends[..., 3:] - ends[..., :3])
    solids = np.zeros((2, clear.COLUMNS))
    squared = (halves[0] ** 2).sum(axis=-1)
    solids[:, clear.RADIUS] = radii
    solids[:, clear.REACH] = radii + np.sqrt(squared)
    solids[:, clear.INVERSE] = [1.0 / s if s > 1e-30 else 0.0 for s in squared]
    rows = np.concatenate([centers, halves], axis=-1)
    return np.ascontiguousarray(rows.transpose(1, 2, 0).reshape(12, LANES)), solids


def scalar(ends, radii):
    """Distances (LANES,) by the kernel for one pair."""
    radii = np.array(radii).reshape(2, 1)
    return np.array([capsule_distance(np.ascontiguousarray(two), radii, 0, 1) for two in ends])


@st.composite
def eight_cases(draw):
    """Two segments of fixed lengths, turned and shifted otherwise in each lane."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    lengths = np.array([draw(st.sampled_from([0.0, 1e-9, 0.3, 1.0, 5.0])) for _ in range(2)])
    kind = draw(st.sampled_from(["any", "parallel", "nearly parallel", "in line"]))
    u = rng.normal(size=(LANES, 1, 3))
    v = rng.normal(size=(LANES, 1, 3))
    if kind != "any":
        v = u * rng.choice([-1.0, 1.0])
    if kind == "nearly parallel":
        v = v + rng.normal(size=(LANES, 1, 3)) * 10.0 ** rng.uniform(-14, -3, (LANES, 1, 1))
    axes = np.concatenate([u, v], axis=1)
    axes *= lengths[:, None] / np.linalg.norm(axes, axis=2, keepdims=True)
    starts = rng.normal(size=(LANES, 2, 3)) * draw(st.sampled_from([0.01, 1.0, 10.0]))
    if kind == "in line":
        starts[:, 1] = starts[:, 0] + axes[:, 0] * rng.uniform(-3, 3, (LANES, 1))
    radii = np.array([draw(st.sampled_from([0.0, 0.05, 1.0])) for _ in range(2)])
    return np.concatenate([starts, starts + axes], axis=2), radii


@given(eight_cases())
@settings(max_examples=300, deadline=None)
def test_gaps_are_those_of_the_kernel_for_one_pair(case):
    ends, radii = case
    places, solids = pair(ends, radii)
    out = np.empty((2, LANES))
    gaps(places, solids, out)
    expected = scalar(ends, radii)
    scale = 1.0 + np.abs(ends).max()
    assert np.sqrt(out[0]) - radii.sum() == pytest.approx(expected, abs=3e-12 * scale)
    centers = 0.5 * (ends[..., :3] + ends[..., 3:])
    between = np.linalg.norm(centers[:, 0] - centers[:, 1], axis=1)
    assert np.sqrt(out[1]) == pytest.approx(between, abs=1e-12 * scale)


@given(eight_cases(), st.sampled_from([0.0, 0.2, 2.0, -0.07, -3.0]))
@settings(max_examples=300, deadline=None)
def test_closer_means_closer_and_balls_never_miss_what_is_near(case, distance):
    ends, radii = case
    places, solids = pair(ends, radii)
    found, balls = closer(places, solids, distance)
    expected = scalar(ends, radii)
    slack = 3e-12 * (1.0 + np.abs(ends).max())
    for lane in range(LANES):
        if abs(expected[lane] - distance) > slack:
            assert found >> lane & 1 == (expected[lane] < distance)
        if expected[lane] < distance - slack:
            assert balls >> lane & 1


def test_a_solid_goes_where_its_body_is_and_a_fixed_one_stays():
    rng = np.random.default_rng(0)
    rotations = Rotation.random(LANES, random_state=1).as_matrix()
    origins = rng.normal(size=(LANES, 3))
    poses = np.zeros((24, LANES))
    poses[12:] = np.hstack([rotations.reshape(LANES, 9), origins]).T
    solids, places = rng.normal(size=(2, clear.COLUMNS)), np.empty((12, LANES))
    place(poses, solids, places)
    center, half = solids[0, :3], solids[0, 3:6]
    assert places[:3].T == pytest.approx(rotations @ center + origins, abs=1e-15)
    assert places[3:6].T == pytest.approx(rotations @ half, abs=1e-15)
    assert np.array_equal(places[6:], np.tile(solids[0, :6, None], LANES))
    assert np.array_equal(solids[1], solids[0])
