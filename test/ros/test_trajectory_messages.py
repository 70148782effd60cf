# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories and streams of points as messages, and reports of the node self_collision."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.robots.two_slides import ARMS, JOINTS, apart, model
from support.ros.ros_graph import rclpy  # noqa: F401  skips where there is no rclpy

from builtin_interfaces.msg import Duration, Time  # isort: skip
from rclpy.serialization import serialize_message  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip

from collision_monitor.monitoring.joint_state_buffer import JointState

from collision_monitor.errors import AdjustmentError, MotionError, TrajectoryError  # isort: skip
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.monitoring.monitor import Level, MonitorState
from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.common.messages import (  # noqa: E402
    duration_message,
    read_beginning,
    read_trajectory,
    seconds_of,
)
from collision_monitor.nodes.common.node_state import Report
from collision_monitor.nodes.self_collision_state import (
    Shortage,
    adjustment_values,
    overruled,
    refusal_values,
)
from collision_monitor.nodes.trajectories.trajectory_messages import (
    PointStreaming,
    desired_of,
    motion_message,
    point_message,
)
from collision_monitor.self_collision.adjustment import EasedPair
from collision_monitor.self_collision.hold_supervisor import HoldSupervisor
from collision_monitor.self_collision.retiming import MovingEnd
from collision_monitor.self_collision.trajectory_filter import TrajectoryFilter


@given(st.integers(0, 10**6), st.integers(0, 10**9 - 1))
def test_seconds_and_durations_are_the_same(sec, nanosec):
    duration = Duration(sec=sec, nanosec=nanosec)
    again = duration_message(seconds_of(duration))
    assert abs((again.sec - sec) * 10**9 + again.nanosec - nanosec) < 1000
    assert 0 <= again.nanosec < 10**9


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


@pytest.mark.parametrize("names", [(), ("abc", "abcd", "abcde"), ("\u00fc",)])
@pytest.mark.parametrize("frame", ["", "abc"])
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


@pytest.mark.parametrize("count", [0, 7, 8, 5000])
def test_of_a_beginning_only_the_first_points_are_read(count):
    names = [f"joint_{k}" for k in range(14)]
    point = JointTrajectoryPoint(positions=[1.5] * 14, velocities=[2.0] * 14)
    message = JointTrajectory(joint_names=names, points=[point] * count)
    message.header.frame_id = "base"
    read = read_beginning(serialize_message(message), 7)
    assert read == JointTrajectory(
        header=message.header, joint_names=names, points=[point] * min(count, 7)
    )


def test_a_beginning_of_names_or_points_without_end_is_refused():
    long = JointTrajectory(joint_names=["j"] * 10_001)
    with pytest.raises(TrajectoryError, match="cannot be read: 10001 joint names"):
        read_beginning(serialize_message(long), 7)
    wide = JointTrajectory(joint_names=["a"])
    wide.points = [JointTrajectoryPoint(positions=[0.0] * 100_000)] * 8
    with pytest.raises(TrajectoryError, match="cannot be read"):
        read_beginning(serialize_message(wide), 7)


def test_the_lengths_of_further_fields_are_told():
    point = JointTrajectoryPoint(velocities=[1.0], effort=[1.0, 2.0])
    desired = desired_of(JointTrajectory(joint_names=["a"], points=[point]))
    assert desired.extras == {"velocities": [1], "accelerations": [0], "effort": [2]}


def test_one_point_has_the_order_that_is_asked_for():
    message = point_message(["b", "a"], {"a": 1.0, "b": 2.0, "c": 3.0})
    assert message.joint_names == ["b", "a"]
    (point,) = message.points
    assert list(point.positions) == [2.0, 1.0]
    assert point.time_from_start == Duration()


# -- streams of desired points -------------------------------------------------------------

MODEL = model()
VALUES = {
    "safe_distance": 0.1, "danger_distance": 0.05, "yielding": "both", "stream_horizon": 1.0,
    "stream_timeout": 0.5, "start_tolerance": 0.01,
}  # fmt: skip
NOW, CLOCK = 100.0, 5000.0


def desired_point(wanted, span, stamp=None):
    message = point_message(JOINTS, wanted)
    message.points[0].time_from_start = duration_message(span)
    message.header.stamp = stamp or Time()
    return message


class Robot:
    """Stands somewhere, and is sent points."""

    def __init__(self, gap):
        self.supervisor = HoldSupervisor(MODEL, ARMS)
        self.filter = TrajectoryFilter(MODEL, ARMS, self.supervisor)
        self.stream = PointStreaming(MODEL, self.filter, VALUES)
        self.stand(gap)

    def stand(self, gap):
        self.supervisor.update(JointState((*JOINTS, "mast_joint"), [*apart(gap), 0.0], NOW))

    def follow(self, gap, span=0.1, stamp=None, clock=CLOCK):
        wanted = dict(zip(JOINTS, apart(gap), strict=True))
        message = desired_point(wanted, span, stamp)
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


def test_the_due_time_of_a_stamp_is_kept_and_a_late_point_starts_now():
    robot = Robot(0.5)
    ahead = robot.follow(0.49, 0.1, Time(sec=5000, nanosec=200_000_000))
    # It leaves at once: between the stamp and its due time it would be too fast.
    assert ahead.message.header.stamp == Time(sec=5000)
    assert ahead.message.points[0].time_from_start.nanosec == 300_000_000
    assert ahead.ahead == pytest.approx(0.3)
    late = robot.follow(0.48, 0.1, Time(sec=5000, nanosec=300_000_000), CLOCK + 0.5)
    assert late.message.header.stamp == Time()
    assert late.message.points[0].time_from_start.nanosec == 5_000_000  # 5 mm at 1 m/s
    assert late.level is Level.WARN and "late" in late.text
    assert late.ahead == pytest.approx(0.005)


def test_pending_points_go_out_again_with_their_due_times():
    robot = Robot(0.5)
    stamps = [Time(sec=5000, nanosec=k * 50_000_000) for k in (1, 2, 3)]
    robot.follow(0.49, 0.5, stamps[0], CLOCK + 0.06)
    robot.follow(0.48, 0.5, stamps[1], CLOCK + 0.11)
    followed = robot.follow(0.47, 0.5, stamps[2], CLOCK + 0.56)
    assert followed.message.header.stamp == stamps[2]
    spans = [point.time_from_start.nanosec for point in followed.message.points]
    assert spans == pytest.approx([450_000_000, 500_000_000], abs=1000)
    gaps = [1.0 + p.positions[2] - p.positions[0] - 0.2 for p in followed.message.points]
    assert gaps == pytest.approx([0.48, 0.47], abs=1e-9)
    assert followed.ahead == pytest.approx(0.09)


def test_nothing_goes_out_while_a_trajectory_is_under_way_or_nothing_is_known():
    robot = Robot(0.5)
    robot.filter.start_stream(CLOCK, 10.0, {}, 0.01)
    with pytest.raises(TrajectoryError, match="while a trajectory is being executed"):
        robot.follow(0.5)
    robot.filter.mark_finished()
    assert robot.follow(0.5).level is Level.OK
    with pytest.raises(TrajectoryError, match="is unknown: joint states are"):
        robot.stream.follow(desired_point(dict.fromkeys(JOINTS, 0.0), 0.1), CLOCK, NOW + 9)


# -- reports: what an adjustment did, or why there is none ----------------------------------

TIMES = np.array([0.0, 1.0, 2.5])
ADJUSTMENT = SimpleNamespace(
    method="robust",
    changed=True,
    motion=Motion(("a", "b"), TIMES, np.zeros((3, 2))),
    largest_change=0.25,
    largest_change_at=(1, 1),
    tip_displacement=np.array([[0.0, 0.0], [0.01, 0.03], [0.0, 0.0]]),
    clearance_before=np.array([0.3, -0.02, 0.2]),
    clearance=np.array([0.3, 0.11, 0.2]),
    closest=[("p", "q"), ("r", "s"), ("p", "q")],
    certified=0.1005,
    certified_elsewhere=np.inf,
    eased=lambda: [EasedPair(("p", "q"), 0.004, True), EasedPair(("q", "r"), 0.05, False)],
)


def test_an_adjustment_is_told_in_numbers():
    assert adjustment_values(ADJUSTMENT, 0.1234) == {
        "method": "robust", "changed": "true", "waypoints": "3", "duration": "2.500",
        "waypoint": "1", "link_a": "r", "link_b": "s", "distance": "0.110000",
        "distance_before": "-0.020000", "largest_change": "0.250000",
        "largest_change_joint": "b", "largest_change_waypoint": "1",
        "largest_tip_displacement": "0.030000", "certified_clearance": "0.100500",
        "certified_elsewhere": "inf", "eased": "2",
        "eased_keep": "p - q: 0.004000; q - r: 0.050000", "moving_ends": "",
        "adjusting_seconds": "0.123",
    }  # fmt: skip
    ends = [
        MovingEnd("a", "starts", "acceleration", 0.8, 0.8, False),
        MovingEnd("b", "stops", "jerk", -0.1, 0.0, True),
    ]
    assert adjustment_values(ADJUSTMENT, 0.1, ends)["moving_ends"] == (
        "a starts: 0.8/s, acceleration limit; b stops: -0.1/s, jerk limit"
    )
    nothing_kept = SimpleNamespace(**{**vars(ADJUSTMENT), "clearance": np.full(3, np.inf)})
    values = adjustment_values(nothing_kept, 0.1)
    assert values["distance"] == "inf" and not {"link_a", "link_b"} & values.keys()


def test_so_is_what_stands_in_the_way():
    prefix = Motion(("a",), TIMES[:2], np.zeros((2, 1)))
    error = AdjustmentError("no", 2, 2.5, ("r", "s"), -0.01, prefix)
    error.possible = 0.1, 0.03
    assert refusal_values(error, "robust", 2.0) == {
        "method": "robust", "adjusting_seconds": "2.000", "waypoint": "2", "time": "2.500",
        "link_a": "r", "link_b": "s", "distance": "-0.010000", "safe_prefix": "1.000",
        "possible_safe_distance": "0.1", "possible_danger_distance": "0.03",
    }  # fmt: skip
    assert refusal_values(AdjustmentError("no"), "robust", 2.0).keys() == {
        "method", "adjusting_seconds", "waypoint", "time",
    }  # fmt: skip
    assert refusal_values(MotionError("no"), "robust", 2.0).keys() == {
        "method", "adjusting_seconds",
    }  # fmt: skip


CLEARANCE = Clearance(0.03, ("r", "s"), [0.0] * 6, [1.0, 0.0, 0.0])
NEAR = MonitorState(Level.ERROR, clearance=CLEARANCE)
FINE = MonitorState(Level.OK, clearance=CLEARANCE)
GONE = MonitorState(Level.STALE, "too old", "stale")
SENT = Report(Level.OK, "forwarded", "sent")
REFUSED = Report(Level.ERROR, "refused", "refused: so")
HOLD = Report(Level.ERROR, "hold", "held: so")


@pytest.mark.parametrize(
    ("report", "state", "in_event", "running", "expected"),
    [
        (SENT, FINE, False, True, (Level.OK, "forwarded", "sent")),
        (SENT, NEAR, True, True, (Level.ERROR, "forwarded", "sent; the arms are closer than ")),
        (SENT, GONE, False, False, (Level.STALE, "stale", "too old")),
        (SENT, GONE, True, True, (Level.STALE, "stale", "distances are unknown while a ")),
        (REFUSED, FINE, False, True, (Level.ERROR, "refused", "refused: so")),
        (REFUSED, GONE, False, False, (Level.ERROR, "refused", "refused: so")),
        (REFUSED, GONE, False, True, (
            Level.ERROR, "refused", "refused: so; distances are unknown while a trajectory is"
        )),
        (HOLD, NEAR, True, False, (Level.ERROR, "hold", "held: so")),
        (HOLD, FINE, False, False, (Level.OK, "ready", "ready: the arms are apart again")),
        (HOLD, GONE, True, False, (Level.STALE, "stale", "too old")),
    ],
)
def test_what_is_worse_is_said(report, state, in_event, running, expected):
    said = overruled(report, state, in_event, running)
    assert (said.level, said.event) == expected[:2]
    assert said.reason.startswith(expected[2])


@pytest.mark.parametrize(
    ("missing", "method", "said"),
    [
        (("daqp", "piqp"), "field", ["daqp and piqp. Traj", "Desired points are refused. To"]),
        (("piqp",), "field", ["not installed: piqp. Trajectories are adjusted by"]),
        (("toppra",), "robust", ["not installed: toppra. Adjusted"]),
    ],
)
def test_what_is_missing_is_said_with_what_follows_and_what_to_do(missing, method, said):
    shortage = Shortage(missing)
    assert shortage.method("robust") == method and shortage.method("published") == "published"
    text = " ".join(shortage.warnings)
    assert all(part in text for part in said), text
    assert ("Desired points" in text) is bool(shortage.points) is ("daqp" in missing)
    assert len(shortage.warnings) == (method == "field") + ("toppra" in missing)
    level, event, reason = shortage.ready
    assert (level, event) == (Level.WARN, "ready")
    assert f"not installed: {', '.join(missing)}" in reason
    assert ("method field instead of robust" in reason) is (method == "field")
