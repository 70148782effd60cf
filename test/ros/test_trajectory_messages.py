# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories and streams of points as messages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.robots.two_slides import ARMS, JOINTS, apart, model
from support.ros.ros_graph import rclpy  # noqa: F401  skips where there is no rclpy

from builtin_interfaces.msg import Duration, Time  # isort: skip
from rclpy.serialization import serialize_message  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip

from collision_monitor.errors import AdjustmentError, TrajectoryError  # isort: skip
from collision_monitor.monitoring.monitor import Level
from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.common.messages import duration_message, seconds_of
from collision_monitor.nodes.trajectory_messages import (
    PointStreaming,
    desired_of,
    motion_message,
    point_message,
    read_trajectory,
)
from collision_monitor.self_collision.hold_supervisor import HoldSupervisor
from collision_monitor.self_collision.trajectory_filter import TrajectoryFilter


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


@pytest.mark.parametrize("names", [(), ("a",), ("abc", "abcd", "abcde"), ("\u00fc",)])
@pytest.mark.parametrize("frame", ["", "abc", "base_link"])
def test_a_message_is_read_and_its_points_are_counted_first(names, frame):
    point = JointTrajectoryPoint(positions=[1.5] * len(names), velocities=[2.0])
    message = JointTrajectory(joint_names=list(names))
    message.header.frame_id, message.header.stamp.sec = frame, 7
    for count in (0, 1, 5):
        message.points = [point] * count
        data = serialize_message(message)
        assert read_trajectory(data, count) == message
        if count:
            with pytest.raises(TrajectoryError, match=f"has {count} points; max_points allows"):
                read_trajectory(data, count - 1)


@pytest.mark.parametrize("data", [b"", b"\0\1\0\0", b"\0\1\0\0" + b"\xff" * 40])
def test_what_is_not_a_message_is_refused(data):
    with pytest.raises(TrajectoryError, match="cannot be read"):
        read_trajectory(data, 10)


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


# -- streams of desired points -------------------------------------------------------------

MODEL = model()
VALUES = {
    "safe_distance": 0.1, "danger_distance": 0.05, "yielding": "both", "stream_horizon": 1.0,
    "stream_timeout": 0.5,
}  # fmt: skip
NOW, CLOCK = 100.0, 5000.0


class Robot:
    """Stands somewhere, and is sent points."""

    def __init__(self, gap):
        self.supervisor = HoldSupervisor(MODEL, ARMS)
        self.filter = TrajectoryFilter(MODEL, ARMS, self.supervisor)
        self.stream = PointStreaming(MODEL, self.filter, VALUES)
        self.supervisor.update((*JOINTS, "mast_joint"), [*apart(gap), 0.0], NOW)

    def follow(self, gap, span=0.1, stamp=None, clock=CLOCK):
        wanted = dict(zip(JOINTS, apart(gap), strict=True))
        message = point_message(JOINTS, wanted, span, stamp)
        return self.stream.follow(message, clock, NOW)


def gap_of(followed):
    (point,) = followed.message.points
    r_x, _, l_x, _ = point.positions
    return 1.0 + l_x - r_x - 0.2


def test_a_point_that_keeps_apart_goes_out_as_it_came():
    followed = Robot(0.5).follow(0.48)
    assert gap_of(followed) == pytest.approx(0.48, abs=1e-9)
    assert followed.message.joint_names == list(JOINTS)
    assert followed.message.header.stamp == Time()
    assert followed.message.points[0].time_from_start.nanosec == 100_000_000
    assert followed.ahead == pytest.approx(0.1)
    assert (followed.level, followed.text) == (Level.OK, "streaming")
    assert followed.values["stream_points"] == "1"


def test_one_that_leads_together_is_adjusted_and_said():
    robot = Robot(0.12)
    followed = robot.follow(0.0, 0.5)
    assert gap_of(followed) >= 0.1 - 1e-6
    assert followed.level is Level.WARN and "adjusted" in followed.text
    assert followed.values["stream_adjusted"] == "1"
    assert {followed.values["link_a"], followed.values["link_b"]} == {"r_ball", "l_ball"}


def test_a_stamp_ahead_is_kept_and_one_that_is_over_means_now():
    robot = Robot(0.5)
    ahead = robot.follow(0.49, 0.1, Time(sec=5000, nanosec=200_000_000))
    assert ahead.message.header.stamp == Time(sec=5000, nanosec=200_000_000)
    assert ahead.ahead == pytest.approx(0.3)
    late = robot.follow(0.48, 0.1, Time(sec=5000, nanosec=300_000_000), CLOCK + 0.5)
    assert late.message.header.stamp == Time()
    assert late.message.points[0].time_from_start.nanosec == 0
    assert late.level is Level.WARN and "late" in late.text and late.ahead < 0.0


def test_nothing_goes_out_from_below_the_danger_distance():
    robot = Robot(0.03)
    with pytest.raises(AdjustmentError, match="0.0300 m apart"):
        robot.follow(0.5)


def test_nothing_goes_out_while_a_trajectory_is_under_way_or_nothing_is_known():
    robot = Robot(0.5)
    robot.filter.begin(CLOCK, 10.0)
    with pytest.raises(TrajectoryError, match="while a trajectory is being executed"):
        robot.follow(0.5)
    robot.filter.over()
    assert robot.follow(0.5).level is Level.OK
    with pytest.raises(TrajectoryError, match="is unknown: joint states are"):
        robot.stream.follow(point_message(JOINTS, dict.fromkeys(JOINTS, 0.0), 0.1), CLOCK, NOW + 9)
