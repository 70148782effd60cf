# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Desired motions made ready: the same motion, fine enough, of all joints; or an error."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.planar_arms import JOINTS, planar_model

from collision_monitor.errors import ConfigurationError, MotionError
from collision_monitor.motion.motion import Motion
from collision_monitor.self_collision.preparation import (
    checked,
    configurations,
    is_number,
    refined,
    standing,
    within,
)

MODEL = planar_model()
ROUNDING = 1e-6


@pytest.mark.parametrize("value", [0, -1, 2.5, True, np.float32(1.0), np.int64(3), Fraction(1, 3),
                                   Decimal("0.1")])  # fmt: skip
def test_numbers_are_numbers(value):
    assert is_number(value)


@pytest.mark.parametrize(
    "value", [None, "1", b"1", math.nan, math.inf, -math.inf, [1.0], np.zeros(2), 1j, 10**400]
)
def test_nothing_else_is(value):
    assert not is_number(value)


motions = st.lists(
    st.tuples(st.floats(0.01, 5.0), st.floats(-1.9, 1.9), st.floats(-1.9, 1.9)),
    min_size=1, max_size=6,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(rows=motions)
def test_a_refined_motion_is_the_same_one(rows):
    table = np.array(rows)
    motion = Motion(("a", "b"), np.cumsum(table[:, 0]), table[:, 1:])
    fine = refined(motion)
    assert np.abs(np.diff(fine.positions, axis=0)).max(initial=0.0) <= 0.15
    assert (np.diff(fine.times) > 0.0).all()
    for time, row in zip(fine.times, fine.positions, strict=True):
        assert motion.at(time - motion.times[0]) == pytest.approx(row, abs=1e-9)
    # every waypoint is still there, to the bit
    for time, row in zip(motion.times, motion.positions, strict=True):
        (k,) = np.flatnonzero(fine.times == time)
        assert np.array_equal(fine.positions[k], row)
    if np.abs(np.diff(motion.positions, axis=0)).max(initial=0.0) <= 0.15:
        assert fine is motion


def test_joints_that_are_not_named_are_held():
    motion = Motion((JOINTS[4], JOINTS[0]), np.arange(2.0), np.array([[0.1, 0.2], [0.3, 0.4]]))
    rows = configurations(MODEL, motion, {JOINTS[1]: -1.0, JOINTS[0]: 1.9})  # not JOINTS[0]
    assert rows.tolist() == [[0.2, -1.0, 0, 0, 0.1, 0], [0.4, -1.0, 0, 0, 0.3, 0]]
    tight = within(MODEL, {JOINTS[2]: (0.5, 1.0)})
    assert configurations(tight, motion, {})[0].tolist() == [0.2, 0, 0.5, 0, 0.1, 0]


def test_rounding_beyond_a_limit_is_allowed_and_more_is_not():
    def rows(value):
        return Motion(JOINTS[:1], np.arange(1.0), np.array([[value]]))

    assert configurations(MODEL, rows(2.0 + 0.9 * ROUNDING), {})[0, 0] > 2.0
    with pytest.raises(MotionError, match="waypoint 0 at 0 s: joint 'right_j1' is at -2"):
        configurations(MODEL, rows(-2.0 - 1.1 * ROUNDING), {})


def test_a_robot_may_stand_a_little_beyond_its_limits():
    def motion(*values):
        return Motion(JOINTS[:1], np.arange(float(len(values))), np.array([values]).T)

    for sign in (1.0, -1.0):
        off = motion(2.0003 * sign, 2.0003 * sign, 1.0 * sign)
        there = standing(MODEL, off, {JOINTS[1]: sign * 2.009})
        assert configurations(there, off, {JOINTS[1]: sign * 2.009})[1, 0] == 2.0003 * sign
        for farther in (2.0004, -2.0003):  # than it stands, or beyond the other limit
            with pytest.raises(MotionError, match="waypoint 1 at 1 s: joint 'right_j1' is at "):
                configurations(there, motion(2.0003 * sign, farther * sign), {})
        limits = np.array([there.lower, there.upper])
        limits[int(sign > 0.0), :2] = MODEL.upper[:2] * sign
        assert np.array_equal(limits, [MODEL.lower, MODEL.upper])
        too_far = motion(2.011 * sign)
        assert standing(MODEL, too_far, {}) is MODEL
    assert standing(MODEL, motion(2.0), {JOINTS[1]: -2.0}) is MODEL
    assert (MODEL.lower == -2.0).all() and (MODEL.upper == 2.0).all()


@settings(max_examples=100, deadline=None)
@given(lower=st.floats(-5.0, 5.0), upper=st.floats(-5.0, 5.0))
def test_limits_only_become_tighter(lower, upper):
    before = MODEL.lower.copy(), MODEL.upper.copy()
    if max(lower, -2.0) > min(upper, 2.0):
        with pytest.raises(ConfigurationError, match="right_j2: nothing is left between"):
            within(MODEL, {"right_j2": (lower, upper)})
    else:
        tight = within(MODEL, {"right_j2": (lower, upper)})
        assert (tight.lower[1], tight.upper[1]) == (max(lower, -2.0), min(upper, 2.0))
        assert np.array_equal(np.delete(tight.lower, 1), np.delete(before[0], 1))
        q = np.full(6, 0.3)
        assert np.array_equal(tight.distances(q), MODEL.distances(q))
    assert np.array_equal(MODEL.lower, before[0]) and np.array_equal(MODEL.upper, before[1])


def test_no_limits_are_no_copy():
    assert within(MODEL, None) is MODEL and within(MODEL, {}) is MODEL


def test_what_is_checked_is_an_own_copy():
    positions = np.zeros((2, 6))
    motion = checked(MODEL, Motion(list(JOINTS), [0, 1], positions))
    positions[0, 0] = 1.0
    assert motion.positions[0, 0] == 0.0 and motion.times.dtype == float
    assert motion.joint_names == JOINTS
