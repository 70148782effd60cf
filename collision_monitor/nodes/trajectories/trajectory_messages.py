# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of trajectories, and of streamed points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.errors import TrajectoryError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.monitoring.monitor import Level
from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.common.messages import duration_message, seconds_of, time_message
from collision_monitor.self_collision.point_stream import PointStream, Streamed, Streamer
from collision_monitor.self_collision.trajectory_filter import (
    DesiredTrajectory,
    TrajectoryFilter,
    checked_point,
)


def desired_of(message: JointTrajectory) -> DesiredTrajectory:
    """The content of the message, unchecked."""
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


def motion_message(
    motion: Motion, stamp: Time | None = None, start: float | None = None
) -> JointTrajectory:
    """Message with positions and times; without a stamp it starts immediately.

    ``start``: time of the motion from which its times count; by default that of its first point.
    It has no velocities: straight segments between waypoints are certified, and controllers
    interpolate linearly if only positions are given.
    """
    message = JointTrajectory(joint_names=list(motion.joint_names))
    if stamp is not None:
        message.header.stamp = stamp
    times = motion.times - (motion.times[0] if start is None else start)
    message.points = [
        JointTrajectoryPoint(positions=row, time_from_start=duration_message(time))
        for time, row in zip(times.tolist(), motion.positions.tolist(), strict=True)
    ]
    return message


def point_message(joint_names: Sequence[str], present: Mapping[str, float]) -> JointTrajectory:
    """Message with one point, to be reached at once."""
    row = np.array([[present[name] for name in joint_names]])
    return motion_message(Motion(tuple(joint_names), np.zeros(1), row))


# -- streams of points --


class Followed(NamedTuple):
    """Result for a point: the message to send, and the state to report."""

    message: JointTrajectory
    ahead: float  # seconds until it is reached
    level: Level
    text: str
    values: dict[str, str]


class PointStreaming:
    """Streams of one robot, with its own model."""

    def __init__(
        self, model: CollisionModel, trajectory_filter: TrajectoryFilter, values: Mapping[str, Any]
    ) -> None:
        """``values``: parameters of the node."""
        self._filter = trajectory_filter
        streamer = Streamer(
            model.twin(),
            trajectory_filter.arms,
            values["safe_distance"],
            values["danger_distance"],
            values["yielding"],
        )
        self._stream = PointStream(
            streamer,
            model.joint_names,
            trajectory_filter.arm_joints,
            values["stream_horizon"],
            values["stream_timeout"],
        )
        self._tolerance = values["start_tolerance"]

    def end(self) -> None:
        """End the stream: the next point begins a new one."""
        self._stream.end()

    def follow(self, message: JointTrajectory, clock: float, now: float) -> Followed:
        """The command for a desired point; ``clock``: time of stamps, ``now``: steady clock, s.

        If the robot does not follow the stream, the stream ends: the command holds the robot.

        Raises:
            CollisionMonitorError: it cannot be followed; the text of a TrajectoryError follows the
                words "the desired point".
        """
        supervisor = self._filter.supervisor
        if fault := supervisor.joint_state_fault(now):
            raise TrajectoryError(f"was received while the joint state is unknown: {fault}")
        if not self._stream.active(clock) and self._filter.running(clock):
            raise TrajectoryError(
                "was received while a trajectory is being executed: wait until it has ended"
            )
        present = supervisor.positions()
        target = checked_point(desired_of(message), self._filter.arm_joints, present)
        names = tuple(message.joint_names)
        if reason := self._stream.departure(clock, present, self._tolerance):
            self._stream.end()
            text = f"held, and the stream has ended: the robot does not follow it: {reason}"
            return Followed(point_message(names, present), 0.0, Level.ERROR, text, {})
        stamp = seconds_of(message.header.stamp)
        stamped = stamp > 0.0
        due = (stamp if stamped else clock) + seconds_of(message.points[0].time_from_start)
        streamed = self._stream.step(target, due, clock, present)
        if supervisor.in_event and not streamed.clearance > supervisor.distance(now):
            self._stream.end()
            raise TrajectoryError("does not move the arms apart")
        motion = streamed.motion
        columns = [motion.joint_names.index(name) for name in names]
        motion = Motion(names, motion.times, motion.positions[:, columns])
        # A controller rejects a late point if its stamp says that it has ended.
        stamped = stamped and not streamed.late
        start = min(stamp, clock) if stamped else clock
        reply = motion_message(motion, time_message(start) if stamped else None, start)
        return Followed(reply, float(motion.times[-1]) - clock, *self._words(streamed))

    def _words(self, streamed: Streamed) -> tuple[Level, str, dict[str, str]]:
        values = {
            "stream_points": str(self._stream.points),
            "stream_adjusted": str(self._stream.adjusted),
            "stream_late": str(self._stream.late),
            "largest_change": f"{streamed.largest_change:.6f}",
            "distance": f"{streamed.clearance:.6f}",
        }
        if streamed.pair is not None:
            values["link_a"], values["link_b"] = streamed.pair
        if streamed.late:
            text = "streaming, late: points are reached after they are due"
            return Level.WARN, text, values
        if streamed.largest_change > SIX_DIGITS:
            return Level.WARN, "streaming, adjusted: points are not followed exactly", values
        return Level.OK, "streaming", values
