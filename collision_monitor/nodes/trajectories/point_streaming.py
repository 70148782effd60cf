# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Desired points as messages in, points to command as messages out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from trajectory_msgs.msg import JointTrajectory

from collision_monitor.errors import TrajectoryError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.monitoring.monitor import Level
from collision_monitor.nodes.trajectories.trajectory_messages import (
    desired_of,
    point_message,
    seconds_of,
)
from collision_monitor.self_collision.filter.desired import checked_point
from collision_monitor.self_collision.filter.point_stream import (
    ROUNDING,
    PointStream,
    Streamed,
    Streamer,
)
from collision_monitor.self_collision.filter.trajectory_filter import Gate


class Followed(NamedTuple):
    """What became of a point: the message to send, and what to say."""

    message: JointTrajectory
    ahead: float  # seconds until it is due; not above 0 when it is late
    level: Level
    text: str
    values: dict[str, str]


class PointStreaming:
    """Streams for one robot, with a model of its own."""

    def __init__(self, model: CollisionModel, gate: Gate, values: Mapping[str, Any]) -> None:
        """``values``: the node's parameters."""
        self._gate = gate
        streamer = Streamer(
            model.twin(),
            gate.arms,
            values["safe_distance"],
            values["danger_distance"],
            values["yielding"],
        )
        self._stream = PointStream(
            streamer,
            model.joint_names,
            gate.arm_joints,
            values["stream_horizon"],
            values["stream_timeout"],
        )

    def end(self) -> None:
        """The next point begins a new stream."""
        self._stream.end()

    def follow(self, message: JointTrajectory, clock: float, now: float) -> Followed:
        """What to command for a desired point; ``clock`` as the stamps, ``now`` steady, s.

        Raises:
            CollisionMonitorError: it cannot be followed; the text of a TrajectoryError goes on
                after "the desired point".
        """
        guard = self._gate.guard
        if doubt := guard.doubt(now):
            raise TrajectoryError(f"was received while the joint state is unknown: {doubt}")
        if not self._stream.active(clock) and self._gate.running(clock):
            raise TrajectoryError(
                "was received while a trajectory is being executed: wait until it has ended"
            )
        present = guard.present()
        target = checked_point(desired_of(message), self._gate.arm_joints, present)
        stamp = message.header.stamp if seconds_of(message.header.stamp) > 0.0 else None
        span = seconds_of(message.points[0].time_from_start)
        due = (clock if stamp is None else seconds_of(stamp)) + span
        streamed = self._stream.step(target, due, clock, present)
        if guard.in_event and not streamed.clearance > guard.distance:
            self._stream.end()
            raise TrajectoryError("does not move the arms apart")
        late = due <= clock
        reply = point_message(
            message.joint_names, streamed.positions, 0.0 if late else span, None if late else stamp
        )
        return Followed(reply, due - clock, *self._words(streamed, late))

    def _words(self, streamed: Streamed, late: bool) -> tuple[Level, str, dict[str, str]]:
        values = {
            "stream_points": str(self._stream.points),
            "stream_adjusted": str(self._stream.adjusted),
            "stream_late": str(self._stream.late),
            "largest_change": f"{streamed.largest_change:.6f}",
            "distance": f"{streamed.clearance:.6f}",
        }
        if streamed.pair is not None:
            values["link_a"], values["link_b"] = streamed.pair
        if late:
            text = "streaming, late: points are due before they are adjusted"
            return Level.WARN, text, values
        if streamed.largest_change > ROUNDING:
            return Level.WARN, "streaming, adjusted: points are not followed exactly", values
        return Level.OK, "streaming", values
