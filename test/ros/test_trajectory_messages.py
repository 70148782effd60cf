# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories as messages: nothing is lost, and nothing is added."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ros.ros_graph import rclpy  # noqa: F401  skips where there is no rclpy

from builtin_interfaces.msg import Duration, Time  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip

from collision_monitor.motion.motion import Motion  # isort: skip
from collision_monitor.nodes.common.messages import duration_message, seconds_of
from collision_monitor.nodes.trajectories.trajectory_messages import (
    desired_of,
    motion_message,
    point_message,
)


@given(st.integers(0, 10**6), st.integers(0, 10**9 - 1))
def test_seconds_and_durations_are_the_same(sec, nanosec):
    duration = Duration(sec=sec, nanosec=nanosec)
    again = duration_message(seconds_of(duration))
    assert abs((again.sec - sec) * 10**9 + again.nanosec - nanosec) < 1000
    assert 0 <= again.nanosec < 10**9


@pytest.mark.parametrize(
    ("seconds", "sec", "nanosec"),
    [(0.0, 0, 0), (1.5, 1, 500_000_000), (0.9999999999, 1, 0), (2.000000001, 2, 1)],
)
def test_a_duration_is_rounded_to_the_nanosecond(seconds, sec, nanosec):
    assert duration_message(seconds) == Duration(sec=sec, nanosec=nanosec)


def test_a_negative_time_is_what_it_says():
    assert seconds_of(Duration(sec=-1, nanosec=500_000_000)) == pytest.approx(-0.5)


def test_a_motion_goes_there_and_back():
    times, rows = np.array([3.0, 3.5, 7.25]), np.random.default_rng(0).normal(size=(3, 2))
    message = motion_message(Motion(("a", "b"), times, rows), Time(sec=8, nanosec=9))
    assert message.header.stamp == Time(sec=8, nanosec=9)
    desired = desired_of(message)
    assert desired.joint_names == ("a", "b")
    assert desired.times == [0.0, 0.5, 4.25]
    assert np.array_equal(np.array(desired.positions), rows)
    assert desired.extras == {name: [0, 0, 0] for name in desired.extras}
    for point in message.points:
        assert not (point.velocities or point.accelerations or point.effort)


def test_without_a_stamp_it_means_now():
    message = motion_message(Motion(("a",), np.zeros(1), np.zeros((1, 1))))
    assert message.header.stamp == Time()


def test_the_lengths_of_further_fields_are_told():
    point = JointTrajectoryPoint(velocities=[1.0], effort=[1.0, 2.0])
    desired = desired_of(JointTrajectory(joint_names=["a"], points=[point]))
    assert desired.extras == {"velocities": [1], "accelerations": [0], "effort": [2]}


def test_one_point_has_the_order_that_is_asked_for():
    message = point_message(["b", "a"], {"a": 1.0, "b": 2.0, "c": 3.0}, 0.25)
    assert message.joint_names == ["b", "a"]
    (point,) = message.points
    assert list(point.positions) == [2.0, 1.0]
    assert point.time_from_start == Duration(sec=0, nanosec=250_000_000)
