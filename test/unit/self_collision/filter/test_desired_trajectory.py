# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Desired trajectories: what is taken, and what is refused by name."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collision_monitor.errors import TrajectoryError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.self_collision.settings import limit_of
from collision_monitor.self_collision.trajectory_filter import (
    DesiredTrajectory,
    checked,
    checked_point,
)
from collision_monitor.verification.joint_limits_check import steps_of

ARMS = ("r1", "r2", "l1", "l2")
PRESENT = {"torso": 0.4, "r1": 0.1, "r2": -0.2, "l1": 0.3, "l2": 0.0}
LIMITS = dict.fromkeys(PRESENT, 2.0)
HERE = [PRESENT[name] for name in ARMS]
THERE = [x + 0.5 for x in HERE]


def check(names=ARMS, times=(0.0, 1.0), positions=(HERE, THERE), extras=None, limits=LIMITS):
    desired = DesiredTrajectory(tuple(names), times, positions, extras)
    return checked(desired, ARMS, PRESENT, 0.01, limits)


@given(off=st.floats(-0.1, 0.1), joint=st.sampled_from(range(4)))
def test_the_start_may_be_off_by_the_tolerance_and_no_more(off, joint):
    start = list(HERE)
    start[joint] += off
    if abs(start[joint] - HERE[joint]) <= 0.01:
        assert check(positions=(start, THERE)).positions[0].tolist() == start
    else:
        with pytest.raises(TrajectoryError, match=f"'{ARMS[joint]}'.*0.01 is allowed"):
            check(positions=(start, THERE))


@pytest.mark.parametrize(
    ("times", "positions", "found"),
    [
        ((0.0, 1.0), (HERE, THERE), (0.0, 1.0)),  # from where the robot stands: as it is
        ((0.5, 1.0), (THERE, HERE), (0.0, 0.5, 1.0)),
        ((2.0,), (THERE,), (0.0, 2.0)),
        ((0.0,), (THERE,), (0.0, 0.5 / 0.25)),  # as fast as the slowest joint may
    ],
)
def test_a_first_point_for_later_is_gone_to_from_the_present_state(times, positions, found):
    way = check(times=times, positions=positions, limits={**LIMITS, "l1": 0.25})
    assert way.joint_names == ARMS
    assert way.times.tolist() == pytest.approx(found)
    assert way.positions.tolist() == [HERE, *positions][-len(found) :]


def test_one_point_at_time_0_where_the_robot_stands_still_takes_some_time():
    way = check(times=(0.0,), positions=(HERE,), limits=dict.fromkeys(PRESENT, math.inf))
    assert way.times[1] > 0.0


@pytest.mark.parametrize("asked", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("further", [(1.0, 5.0), (None, 5.0), ({"r2": 0.3}, None)])
def test_one_point_keeps_limits_from_rest_to_rest(asked, further):
    desired = DesiredTrajectory(ARMS, (asked,), ([*HERE[:3], 0.8],))
    way = checked(desired, ARMS, PRESENT, 0.01, LIMITS, further)
    assert way.positions[[0, -1]].tolist() == [HERE, [*HERE[:3], 0.8]]
    assert way.times[0] == 0.0 and asked <= way.duration <= max(asked, 3.0) + 1e-6
    found = steps_of(Trajectory.through(way.joint_names, way.times, way.positions))
    acceleration, jerk = (limit_of(limits, "l2") for limits in further)
    assert np.abs(found.extra).max() <= acceleration
    assert np.abs(found.jerks).max() <= jerk
    assert np.abs(np.diff(way.positions, axis=0) / np.diff(way.times)[:, None]).max() <= 2.0


def test_one_point_takes_no_longer_than_limits_require():
    desired = DesiredTrajectory(ARMS, (0.0,), (THERE,))
    way = checked(desired, ARMS, PRESENT, 0.01, LIMITS, (1.0, None))
    found = steps_of(Trajectory.through(way.joint_names, way.times, way.positions))
    assert 0.95 < np.abs(found.extra).max() <= 1.0
    velocity = dict.fromkeys(PRESENT, 0.1)
    way = checked(desired, ARMS, PRESENT, 0.01, velocity, (1e3, 1e6))
    assert 0.095 < np.abs(np.diff(way.positions, axis=0) / np.diff(way.times)[:, None]).max() <= 0.1


def test_one_point_at_time_0_needs_a_velocity_limit():
    with pytest.raises(TrajectoryError, match="'r2' has no velocity limit.*time_from_start"):
        check(times=(0.0,), positions=(THERE,), limits={**LIMITS, "r2": math.inf})


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ((), "names no joints"),
        (("r1", "r2", "r1", "l2"), "names joint 'r1' twice"),
        (("r1", "r2", "l1", "elbow"), "'elbow', which the robot does not move.*torso, r1"),
        (("r1", "r2", "l1", "torso"), "names 'torso', which no arm has.*l1, l2, r1"),
    ],
)
def test_wrong_names_are_refused_by_name(names, says):
    with pytest.raises(TrajectoryError, match=says):
        check(names=names)


NAN_ROW = [0.1, math.nan, 0.3, 0.0]


@pytest.mark.parametrize(
    ("times", "positions", "says"),
    [
        ((), (), "no points"),
        ((0.0, 1.0), (HERE, THERE[:3]), "point 1 has 3 positions for 4 joints"),
        ((0.0, 1.0), (HERE, NAN_ROW), "point 1: positions of joint 'r2' are nan"),
        ((0.0, 1.0), ([math.inf] * 4, HERE), "point 0: positions of joint 'r1' are inf"),
        ((0.0, 2.0, 1.0), (HERE, THERE, HERE), "point 2 .* at 1 s, not after point 1 at 2 s"),
        ((0.0, 0.0), (HERE, THERE), "point 1 .* at 0 s, not after"),
        ((-1.0, 1.0), (HERE, THERE), "point 0 is to be reached -1 s after the start"),
        ((0.0, math.nan), (HERE, THERE), "point 1 is to be reached nan s"),
        ((0.0,), (HERE, THERE), "1 times for 2 points"),
    ],
)
def test_wrong_points_are_refused_by_number(times, positions, says):
    with pytest.raises(TrajectoryError, match=says):
        check(times=times, positions=positions)


def test_further_fields_must_fit_or_be_empty():
    assert check(extras={"velocities": [4, 0], "effort": [0, 0]}).times[1] == 1.0
    with pytest.raises(TrajectoryError, match="point 1 has 3 accelerations for 4 joints"):
        check(extras={"velocities": [4, 4], "accelerations": [4, 3]})


def test_a_point_of_a_stream_names_every_joint_of_all_arms_in_any_order():
    names = ARMS[::-1]
    point = DesiredTrajectory(names, [0.02], [[1.0, 2.0, 3.0, 4.0]])
    wanted = dict(zip(names, (1.0, 2.0, 3.0, 4.0), strict=True))
    assert checked_point(point, ARMS, PRESENT) == wanted


@pytest.mark.parametrize(
    ("names", "times", "positions", "says"),
    [
        (ARMS, [0.0, 0.1], [HERE, THERE], "has 2 points"),
        (ARMS, [], [], "has 0 points"),
        (ARMS[:3], [0.1], [HERE[:3]], "does not name 'l2'; a stream moves all arms"),
        ((*ARMS, "torso"), [0.1], [[*HERE, 0.4]], "'torso', which no arm has"),
        (ARMS, [0.1], [NAN_ROW], "'r2' are nan"),
        (ARMS, [-0.1], [HERE], "-0.1 s after the start"),
    ],
)
def test_a_wrong_point_of_a_stream_is_refused(names, times, positions, says):
    with pytest.raises(TrajectoryError, match=says):
        checked_point(DesiredTrajectory(tuple(names), times, positions), ARMS, PRESENT)
