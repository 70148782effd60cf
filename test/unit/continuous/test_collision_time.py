# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time to collision: never too long, and right where it can be worked out."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.robots.planar_arms import planar_model
from support.robots.two_slides import model as slides_model

from collision_monitor.monitoring.speed_policy.braking_check import BrakingCheck

MODEL = planar_model()
ANGLES = st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6).map(np.array)


@pytest.fixture(scope="module")
def check():
    """The check of two arms."""
    return BrakingCheck(MODEL, np.full(6, 4.0))


def test_two_balls_meet_when_their_gap_is_used_up():
    model = slides_model()
    check = BrakingCheck(model, np.full(5, 2.0))
    q, v = np.zeros(5), np.zeros(5)
    v[model.joint_names.index("r_x")], v[model.joint_names.index("l_x")] = 0.3, -0.1
    assert check.collision_time(q, v) == pytest.approx(0.8 / 0.4, abs=0.01)
    assert check.collision_time(q, -v) == math.inf
    assert check.collision_time(q, 0.0 * v) == math.inf
    assert check.collision_time(q, v, horizon=1.0) == math.inf


@given(ANGLES, ANGLES)
@settings(max_examples=100, deadline=None)
def test_nothing_touches_before(check, q, v):
    assume(np.abs(v).max() > 1e-3)
    time = check.collision_time(q, v, 3.0)
    clear_until = min(time, 3.0) - 1e-9
    if clear_until > 0.0:
        rows = q + np.linspace(0.0, clear_until, 300)[:, None] * v
        assert MODEL.min_distances(rows).min() >= 0.0
    if time < 3.0 and 0.0 < MODEL.distance(q).distance:
        assert MODEL.distance(q + time * v).distance < 0.05  # nor is it said far too early
