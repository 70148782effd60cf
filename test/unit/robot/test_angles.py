# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Endless joints: which joints are, and their positions modulo a turn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.robots.toys import joint, link, robot

from collision_monitor.robot.angles import TURN, apart, limits_beside, unwrapped, whole_turns
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.urdf import load_robot

ANGLES = st.floats(-1e3, 1e3)


@given(ANGLES, ANGLES)
def test_positions_differ_by_at_most_half_a_turn_and_describe_the_same_pose(a, b):
    short = float(apart(a, b, True))
    assert abs(short) <= math.pi + 1e-9
    assert math.cos(short) == pytest.approx(math.cos(a - b), abs=1e-9)
    assert a + whole_turns(a, b, True) - b == pytest.approx(short, abs=1e-9)
    assert apart(a, b, False) == a - b


def test_only_endless_columns_are_moved():
    turns = whole_turns(np.array([7.0, 7.0]), np.zeros(2), np.array([True, False]))
    assert turns.tolist() == [-TURN, 0.0]


@given(st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=30))
def test_wrapped_positions_are_unwrapped(steps):
    angles = np.cumsum(steps)
    found, jumps = unwrapped((angles + math.pi) % TURN - math.pi)
    assert np.diff(found) == pytest.approx(np.diff(angles), abs=1e-9)
    assert (jumps > 0) == (np.ptp(found - (angles + math.pi) % TURN) > 1e-6)


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (0.5, (-1.0, 1.0)),
        (TURN + 0.5, (TURN - 1.0, TURN + 1.0)),
        (-5 * TURN - 0.5, (-5 * TURN - 1.0, -5 * TURN + 1.0)),
        (TURN + 2.0, (TURN - 1.0, TURN + 1.0)),  # beyond them in every turn
    ],
)
def test_limits_are_those_of_the_turn_of_the_position(position, expected):
    assert limits_beside(-1.0, 1.0, position) == pytest.approx(expected)


def test_limits_on_one_side_and_wide_ones_that_hold_already_stay():
    assert limits_beside(-math.inf, 1.0, 20.0) == (-math.inf, 1.0)
    assert limits_beside(-20.0, 20.0, 15.0) == (-20.0, 20.0)


@pytest.mark.parametrize(
    ("kind", "multiplier", "endless"),
    [("continuous", -2.0, True), ("continuous", 0.5, False), ("prismatic", 1.0, False)],
)
def test_a_continuous_joint_is_endless_if_whole_turns_change_no_pose(kind, multiplier, endless):
    mimic = f'<mimic joint="screw" multiplier="{multiplier}"/>'
    urdf = robot(
        link("a"), link("b"), link("c"), link("d"),
        joint("screw", "a", "b", "continuous"),
        joint("nut", "a", "c", kind, extra=mimic),
        joint("hinge", "a", "d"),
    )  # fmt: skip
    bodies = rigid_bodies(load_robot(urdf))
    assert dict(zip(bodies.joint_names, bodies.endless.tolist(), strict=True)) == {
        "screw": endless, "hinge": False,
    }  # fmt: skip
