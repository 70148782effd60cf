# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Solids, sine and cosine in eight lanes against what one pair or number at a time gives."""

import math
import re

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.batch_clear import clear
from collision_monitor.batch_clear.simd import LANES, any_angle, load, sine_cosine, store
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


@kernel
def all_rows(angles, sines, cosines, scratch):
    """Sine and cosine of every row."""
    for row in range(len(angles)):
        sine, cosine = sine_cosine(any_angle(load(angles, row), scratch, 1))
        store(sines, row, sine)
        store(cosines, row, cosine)


def sine_and_cosine(angles):
    """Both of any number of angles, which fill lanes from the left."""
    rows = np.resize(angles, (-(-len(angles) // LANES), LANES)).astype(float)
    sines, cosines = np.empty_like(rows), np.empty_like(rows)
    all_rows(rows, sines, cosines, np.zeros((2, LANES)))
    return sines.ravel()[: len(angles)], cosines.ravel()[: len(angles)]


@pytest.mark.parametrize("largest", [1e-300, 1e-8, 0.1, math.pi, 10.0, 1e3, 1e5, 9.9e5])
def test_errors_are_below_half_a_quadrillionth(largest):
    angles = np.random.default_rng(0).uniform(-largest, largest, 20_000)
    sines, cosines = sine_and_cosine(angles)
    assert np.abs(sines - np.sin(angles)).max() < 5e-16
    assert np.abs(cosines - np.cos(angles)).max() < 5e-16
    assert np.abs(sines**2 + cosines**2 - 1.0).max() < 1.5e-15


def test_angles_beside_multiples_of_half_a_right_angle():
    corners = np.arange(-5000, 5001) * (math.pi / 4)
    for angles in (corners, np.nextafter(corners, np.inf), np.nextafter(corners, -np.inf)):
        sines, cosines = sine_and_cosine(angles)
        assert np.abs(sines - np.sin(angles)).max() < 5e-16
        assert np.abs(cosines - np.cos(angles)).max() < 5e-16


def test_very_large_angles_take_the_slow_way_beside_small_ones():
    rng = np.random.default_rng(2)
    angles = rng.uniform(-3.0, 3.0, 8000)
    angles[rng.random(8000) < 0.3] *= 10.0 ** rng.uniform(6, 300)
    sines, cosines = sine_and_cosine(angles)
    assert np.abs(sines - np.sin(angles)).max() < 1e-15
    assert np.abs(cosines - np.cos(angles)).max() < 1e-15


def test_lanes_become_vector_instructions():
    compiled = numba.njit(gaps.py_func)  # code from the cache cannot be inspected
    compiled(*pair(np.ones((LANES, 2, 6)), np.ones(2)), np.empty((2, LANES)))
    code = compiled.inspect_llvm(compiled.signatures[0])
    assert re.search(f"fmul .*<{LANES} x double>", code)
