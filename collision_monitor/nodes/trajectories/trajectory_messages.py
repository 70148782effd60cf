# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories as messages, in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from collision_monitor.motion.motion import Motion
from collision_monitor.self_collision.filter.desired import DesiredTrajectory
from collision_monitor.simulation.trajectory_execution import Command, checked_command

_NANOSECONDS = 10**9


def desired_of(message: JointTrajectory) -> DesiredTrajectory:
    """What the message says, unchecked."""
    points = message.points
    return DesiredTrajectory(
        tuple(message.joint_names),
        [seconds_of(point.time_from_start) for point in points],
        [point.positions for point in points],
        {
            field: [len(getattr(point, field)) for point in points]
            for field in ("velocities", "accelerations", "effort")
        },
    )


def command_of(message: JointTrajectory, robot_joints: Sequence[str]) -> Command:
    """What the message tells a controller of these joints.

    Raises:
        TrajectoryError: names, numbers or times that cannot be right.
    """
    points = message.points
    return checked_command(
        robot_joints,
        message.joint_names,
        [seconds_of(point.time_from_start) for point in points],
        [point.positions for point in points],
        [point.velocities for point in points],
        [point.accelerations for point in points],
        seconds_of(message.header.stamp) or None,
    )


def motion_message(motion: Motion, stamp: Time | None = None) -> JointTrajectory:
    """Positions and times, from time 0 on; without a stamp it means: now.

    Nothing else: what is certified is the straight way from waypoint to waypoint, and
    that is what a controller goes when it is given positions alone. Given
    velocities, it would draw another curve between them.
    """
    message = JointTrajectory(joint_names=list(motion.joint_names))
    if stamp is not None:
        message.header.stamp = stamp
    message.points = [
        JointTrajectoryPoint(positions=row, time_from_start=duration_of(time))
        for time, row in zip(
            (motion.times - motion.times[0]).tolist(), motion.positions.tolist(), strict=True
        )
    ]
    return message


def point_message(
    joint_names: Sequence[str],
    present: Mapping[str, float],
    seconds: float = 0.0,
    stamp: Time | None = None,
) -> JointTrajectory:
    """One point, to be reached in so many seconds."""
    row = np.array([[present[name] for name in joint_names]])
    message = motion_message(Motion(tuple(joint_names), np.zeros(1), row), stamp)
    message.points[0].time_from_start = duration_of(seconds)
    return message


def seconds_of(time: Time | Duration) -> float:
    """Seconds of a stamp or a duration."""
    return time.sec + 1e-9 * time.nanosec


def duration_of(seconds: float) -> Duration:
    """A duration, to the nanosecond."""
    whole, rest = divmod(round(seconds * _NANOSECONDS), _NANOSECONDS)
    return Duration(sec=whole, nanosec=rest)
