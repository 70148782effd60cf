# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories carried out: times, starts, replacement, and time that goes slower."""

import math

import numpy as np
import pytest

from collision_monitor.errors import TrajectoryError
from collision_monitor.simulation.trajectory_execution import (
    Phase,
    SpeedScale,
    TrajectoryExecution,
    checked_command,
)

JOINTS = ("a", "b", "c")
DT = 0.01


class Clock:
    """An execution with a clock."""

    def __init__(self):
        self.execution = TrajectoryExecution(JOINTS, np.zeros(3))
        self.ticks = 0

    @property
    def now(self):
        return self.ticks * DT

    def accept(self, names, times, positions, **more):
        command = checked_command(JOINTS, names, times, positions, **more)
        return self.execution.accept(command, self.now)

    def go(self, seconds, scale=1.0):
        for _ in range(round(seconds / DT)):
            self.ticks += 1
            wanted = self.execution.advance(self.now, DT, scale)
        return wanted


@pytest.fixture
def clock():
    return Clock()


def test_positions_are_joined_by_straight_lines_from_where_it_stands(clock):
    run = clock.accept("a", [1.0, 2.0], [[1.0], [3.0]])
    assert run.phase is Phase.MOVING and clock.execution.moving
    assert clock.go(0.5) == pytest.approx([0.5, 0.0, 0.0])
    assert clock.go(1.0) == pytest.approx([2.0, 0.0, 0.0])
    assert clock.go(1.0) == pytest.approx([3.0, 0.0, 0.0])
    assert run.phase is Phase.DONE and not clock.execution.moving


def test_velocities_make_cubics_and_accelerations_quintics(clock):
    clock.accept("a", [1.0], [[1.0]], velocities=[[0.0]])
    assert clock.go(0.25)[0] == pytest.approx(3 * 0.25**2 - 2 * 0.25**3)
    other = Clock()
    other.accept("a", [1.0], [[1.0]], velocities=[[0.0]], accelerations=[[0.0]])
    t = 0.25
    assert other.go(t)[0] == pytest.approx(10 * t**3 - 15 * t**4 + 6 * t**5)


def test_a_scale_slows_time_and_zero_stops_it(clock):
    run = clock.accept("a", [1.0], [[1.0]])
    assert clock.go(0.5, scale=0.5)[0] == pytest.approx(0.25)
    assert clock.go(5.0, scale=0.0)[0] == pytest.approx(0.25)
    assert run.phase is Phase.MOVING
    assert clock.go(0.75)[0] == pytest.approx(1.0)


def test_a_first_point_at_time_zero_is_taken_at_once(clock):
    run = clock.accept("ab", [0.0], [[1.0, 2.0]])
    assert clock.go(DT) == pytest.approx([1.0, 2.0, 0.0])
    assert run.phase is Phase.DONE


def test_a_start_in_the_future_waits_and_what_went_before_goes_on(clock):
    clock.accept("a", [2.0], [[2.0]])
    later = clock.accept("a", [1.0], [[0.0]], start=1.0)
    assert clock.go(0.5)[0] == pytest.approx(0.5)
    assert later.phase is Phase.WAITING
    clock.go(0.5)
    assert later.phase is Phase.MOVING
    assert clock.go(0.5)[0] == pytest.approx(0.5, abs=0.03)  # from 1 towards 0
    assert clock.go(0.6)[0] == pytest.approx(0.0)


def test_a_start_in_the_past_is_entered_where_it_should_be_by_now(clock):
    clock.go(0.5)
    clock.accept("a", [0.0, 1.0], [[0.0], [1.0]], start=0.2)
    assert clock.go(DT)[0] == pytest.approx(0.31)


def test_one_that_has_ended_is_refused(clock):
    clock.go(2.0)
    with pytest.raises(TrajectoryError, match=r"ended 0\.5 s ago"):
        clock.accept("a", [0.0, 1.0], [[0.0], [1.0]], start=0.5)


def test_a_newer_one_for_the_same_joint_takes_its_place_whole(clock):
    old = clock.accept("ab", [1.0], [[1.0, 1.0]])
    clock.go(0.5)
    clock.accept("a", [1.0], [[0.5]])
    assert old.phase is Phase.REPLACED
    assert clock.go(1.0) == pytest.approx([0.5, 0.5, 0.0])  # b holds


def test_commands_for_other_joints_go_on_beside_each_other(clock):
    one = clock.accept("a", [1.0], [[1.0]])
    other = clock.accept("b", [2.0], [[1.0]])
    assert clock.go(1.0) == pytest.approx([1.0, 0.5, 0.0])
    assert (one.phase, other.phase) == (Phase.DONE, Phase.MOVING)


def test_dropping_and_holding_end_everything_where_it_is(clock):
    run = clock.accept("a", [1.0], [[1.0]])
    clock.go(0.5)
    clock.execution.drop(run)
    assert run.phase is Phase.DROPPED
    assert clock.go(1.0)[0] == pytest.approx(0.5)
    run = clock.accept("b", [1.0], [[1.0]])
    clock.execution.hold(np.array([0.1, 0.2, 0.3]))
    assert run.phase is Phase.DROPPED
    assert clock.go(1.0) == pytest.approx([0.1, 0.2, 0.3])


def test_a_new_cubic_begins_at_the_speed_of_the_old_one(clock):
    clock.accept("a", [2.0], [[2.0]])
    clock.go(1.0)
    clock.accept("a", [1.0], [[3.0]], velocities=[[0.0]])
    before = clock.execution.setpoints[0]
    after = clock.go(DT)[0]
    assert (after - before) / DT == pytest.approx(1.0, abs=0.1)


def test_a_scale_is_zero_before_the_first_message_and_after_the_timeout_and_one_if_not_enabled():
    scale, disabled = SpeedScale(True, 0.5), SpeedScale(False, 0.5)
    assert scale.at(0.0) == 0.0
    assert scale.reason(0.0) == "no speed scale received yet"
    scale.update(0.3, 1.0)
    assert scale.at(1.5) == 0.3 and scale.reason(1.5) == ""
    assert scale.at(1.6) == 0.0
    assert scale.reason(1.6) == "no speed scale for 0.60 s, 0.5 s are allowed"
    scale.update(1.0, 1.7)
    assert scale.at(1.7) == 1.0
    disabled.update(0.0, 0.0)
    assert disabled.at(100.0) == 1.0 and disabled.reason(100.0) == ""


@pytest.mark.parametrize(
    ("said", "meant"), [(2.0, 1.0), (-1.0, 0.0), (math.nan, 0.0), (math.inf, 0.0), (5e-4, 0.0)]
)
def test_what_is_out_of_range_means_the_safe_end(said, meant):
    scale = SpeedScale(True, 0.5)
    scale.update(said, 0.0)
    assert scale.at(0.0) == meant
    assert (scale.reason(0.0) == "the speed scale is 0") == (meant == 0.0)


def checked(names=("a", "b"), times=(0.0, 1.0), positions=((0.0, 1.0), (2.0, 3.0)), **more):
    return checked_command(JOINTS, names, times, positions, **more)


def test_a_good_one_comes_as_arrays():
    found = checked(velocities=[[0.0, 0.0], [1.0, 1.0]], start=3.0)
    assert found.joint_names == ("a", "b") and found.start == 3.0
    assert np.array_equal(found.positions, [[0.0, 1.0], [2.0, 3.0]])
    assert np.array_equal(found.velocities, [[0.0, 0.0], [1.0, 1.0]])
    assert found.accelerations is None
    assert checked(velocities=[[], []], accelerations=[(), ()]).velocities is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("a", "x")}, "names 'x', which the robot does not move; its joints are a, b, c"),
        ({"times": (0.0,)}, "has 1 times for 2 points"),
        ({"velocities": ((), (1.0, 2.0))}, "point 0 has 0 velocities for 2 joints"),
        ({"accelerations": ((1.0, 1.0), (1.0, 1.0))}, "has accelerations without velocities"),
        ({"velocities": ((1.0, 1.0),)}, "has velocities of 1 points, and 2 points"),
        ({"start": math.nan}, "is to start at nan s"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(changes, message):
    with pytest.raises(TrajectoryError) as error:
        checked(**changes)
    assert message in str(error.value)
