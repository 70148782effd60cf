# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine in lanes against numpy, over many magnitudes."""

import math

import numpy as np
import pytest

from collision_monitor.batch_clear.simd import LANES, any_angle, load, sine_cosine, store
from collision_monitor.common.compiled import kernel


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


def test_a_small_angle_keeps_all_its_digits():
    angles = 10.0 ** -np.arange(3.0, 300.0)
    sines, cosines = sine_and_cosine(angles)
    assert sines == pytest.approx(np.sin(angles), rel=3e-16, abs=0.0)
    assert (cosines[angles < 1e-9] == 1.0).all()


def test_very_large_angles_take_the_slow_way_beside_small_ones():
    rng = np.random.default_rng(2)
    angles = rng.uniform(-3.0, 3.0, 8000)
    angles[rng.random(8000) < 0.3] *= 10.0 ** rng.uniform(6, 300)
    sines, cosines = sine_and_cosine(angles)
    assert np.abs(sines - np.sin(angles)).max() < 1e-15
    assert np.abs(cosines - np.cos(angles)).max() < 1e-15
