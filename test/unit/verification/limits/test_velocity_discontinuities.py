# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of rates at knots, and what they are taken for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.interpolate import PPoly

from collision_monitor.motion.trajectory import Trajectory, joined
from collision_monitor.verification.joint_limits_check import LONGEST_STEP, steps_of

values = arrays(float, (6, 2), elements=st.floats(-2, 2))


@given(values, st.floats(0.001, LONGEST_STEP))
def test_even_samples_have_second_and_third_differences(rows, gap):
    steps = steps_of(Trajectory.through(("a", "b"), gap * np.arange(6), rows))
    # At rest before and after: the table goes on with its ends.
    longer = np.concatenate([rows[:1], rows, rows[-1:]])
    second = np.diff(longer, 2, axis=0) / gap**2
    scale = 1.0 + np.abs(rows).max() / gap**2
    assert np.allclose(steps.accelerations, second, atol=1e-9 * scale)
    third = np.abs(np.diff(second, axis=0)) / gap
    larger = np.maximum(np.pad(third, ((1, 0), (0, 0))), np.pad(third, ((0, 1), (0, 0))))
    assert np.allclose(np.abs(steps.jerks), larger, atol=1e-9 * scale / gap)


@given(arrays(float, (3, 4, 2), elements=st.floats(-2, 2)))
def test_what_joins_smoothly_has_no_steps(rows):
    steps = steps_of(Trajectory.through(("a", "b"), [0, 1, 3, 4], *rows), from_rest=False)
    assert np.abs(steps.velocity).max() < 1e-9
    assert np.abs(steps.acceleration).max() < 1e-8
    assert np.allclose(steps.velocities, rows[1], atol=1e-9)
    assert np.allclose(steps.accelerations, rows[2], atol=1e-7)


def test_a_joint_that_is_sampled_among_others_has_its_own_knots():
    """Two publishers at 100 Hz, the second 0.1 ms after the first."""
    times = np.arange(200) / 100.0
    parts = []
    for shift, size in ((0.0, 1.0), (1e-4, 0.5)):
        rows = size * np.sin(2.0 * (times + shift))[:, None]
        c = np.stack([np.diff(rows, axis=0) * 100.0, rows[:-1]])
        parts.append(PPoly(c, times + shift))
    steps = steps_of(Trajectory(("a", "b"), joined(parts)), from_rest=False)
    inner = slice(4, -4)
    at = steps.times[inner, None]
    assert np.allclose(steps.accelerations[inner], [-4.0, -2.0] * np.sin(2.0 * at), atol=0.05)
    assert np.abs(steps.jerks[inner]).max() < 8.0 * 1.01


def test_a_sample_after_a_long_rest_is_still_a_sample():
    times = np.array([0.0, 5.0, 5.01, 5.02])
    steps = steps_of(Trajectory.through(("a",), times, [[0.0], [0.0], [0.01], [0.02]]))
    assert steps.accelerations[1, 0] == pytest.approx(1.0 / 0.01)
