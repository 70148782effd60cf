# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of trajectories and streamed points, and the state of self_collision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.errors import AdjustmentError, TrajectoryError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.monitoring.monitor import Level, MonitorState
from collision_monitor.monitoring.watchdogs import REMARKS
from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.common.messages import duration_message, seconds_of, time_message
from collision_monitor.nodes.common.node_state import Report
from collision_monitor.self_collision.adjustment import Adjustment
from collision_monitor.self_collision.point_stream import PointStream, Streamed, Streamer
from collision_monitor.self_collision.retiming import MovingEnd
from collision_monitor.self_collision.solvers import POINTS, QP_SOLVERS, RETIMING
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


def point_message(
    joint_names: Sequence[str],
    present: Mapping[str, float],
    seconds: float = 0.0,
    stamp: Time | None = None,
) -> JointTrajectory:
    """Message with one point, to be reached after a number of seconds."""
    row = np.array([[present[name] for name in joint_names]])
    return motion_message(Motion(tuple(joint_names), np.array([seconds]), row), stamp, 0.0)


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
        self,
        model: CollisionModel,
        trajectory_filter: TrajectoryFilter,
        values: Mapping[str, Any],
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


# -- the state of self_collision as a DiagnosticStatus --


@dataclass(frozen=True)
class Shortage:
    """Missing optional packages and their consequences; ``missing``: their names."""

    missing: tuple[str, ...] = ()

    @property
    def names(self) -> str:
        """The missing packages, for messages."""
        return ", ".join(self.missing)

    @property
    def solvers(self) -> str:
        """The missing solvers of quadratic programs, for messages."""
        return " and ".join(name for name in self.missing if name in QP_SOLVERS)

    def method(self, wanted: str) -> str:
        """The available method instead of ``wanted``: robust needs the solvers."""
        return "field" if self.solvers and wanted == "robust" else wanted

    @property
    def warnings(self) -> list[str]:
        """A warning for each missing package: consequence and remedy."""
        texts = []
        if self.solvers:
            points = " Desired points are refused." if self.points else ""
            texts.append(
                f"not installed: {self.solvers}. Trajectories are adjusted by the repulsion field "
                "(method field), which is slower and only moves the arms apart from each "
                "other: a trajectory that comes or begins too close to anything else is "
                f"refused.{points} To install them: pip install {' '.join(QP_SOLVERS)}"
            )
        if RETIMING in self.missing:
            texts.append(
                f"not installed: {RETIMING}. Adjusted trajectories that exceed acceleration limits "
                f"are refused instead of slowed down. To install it: pip install {RETIMING}"
            )
        return texts

    @property
    def points(self) -> str:
        """Why desired points are rejected; empty if they are accepted."""
        if POINTS not in self.missing:
            return ""
        return f"{POINTS} is not installed: pip install {POINTS}"

    @property
    def ready(self) -> tuple[Level, str, str]:
        """Level, event and reason of a node that has loaded its robot."""
        text = "ready for a trajectory"
        if not self.missing:
            return Level.OK, "ready", text
        how = " (method field instead of robust)" if self.solvers else ""
        return Level.WARN, "ready", f"{text}; not installed: {self.names}{how}"


def adjustment_values(
    adjustment: Adjustment, seconds: float, ends: Sequence[MovingEnd] = ()
) -> dict[str, str]:
    """Key-values of an adjustment; ``ends``: joints that start or stop at speed."""
    worst = int(np.argmin(adjustment.clearance))
    nearest, eased = {}, [f"{' - '.join(p.links)}: {p.distance:.6f}" for p in adjustment.eased()]
    if math.isfinite(adjustment.clearance[worst]):  # otherwise no pair is kept apart
        nearest = dict(zip(("link_a", "link_b"), adjustment.closest[worst], strict=True))
    moved = np.abs(adjustment.joint_change)
    point, joint = np.unravel_index(int(moved.argmax()), moved.shape)
    return {
        "method": adjustment.method,
        "changed": str(bool(adjustment.changed)).lower(),
        "waypoints": str(len(adjustment.motion.times)),
        "duration": f"{adjustment.motion.duration:.3f}",
        "waypoint": str(worst),
        **nearest,
        "distance": f"{adjustment.clearance[worst]:.6f}",
        "distance_before": f"{float(np.min(adjustment.clearance_before)):.6f}",
        "largest_change": f"{float(moved[point, joint]):.6f}",
        "largest_change_joint": adjustment.motion.joint_names[joint],
        "largest_change_waypoint": str(point),
        "largest_tip_displacement": f"{float(np.max(adjustment.tip_displacement)):.6f}",
        "certified_clearance": f"{adjustment.certified:.6f}",
        "certified_elsewhere": f"{adjustment.certified_elsewhere:.6f}",
        "eased": str(len(eased)),
        "eased_keep": "; ".join(eased),
        "moving_ends": "; ".join(
            f"{end.joint} {end.end}: {end.velocity:.3g}/s, {end.limit} limit" for end in ends
        ),
        "adjusting_seconds": f"{seconds:.3f}",
    }


def refusal_values(error: Exception, method: str, seconds: float) -> dict[str, str]:
    """Key-values of a failed adjustment."""
    values = {"method": method, "adjusting_seconds": f"{seconds:.3f}"}
    if not isinstance(error, AdjustmentError):
        return values
    values["waypoint"], values["time"] = str(error.waypoint), f"{error.time:.3f}"
    if error.pair is not None:
        values["link_a"], values["link_b"] = error.pair
        values["distance"] = f"{error.distance:.6f}"
    if error.possible is not None:
        for name, value in zip(("safe", "danger"), error.possible, strict=True):
            values[f"possible_{name}_distance"] = f"{value:g}"
    if error.safe_prefix is not None:
        values["safe_prefix"] = f"{error.safe_prefix.duration:.3f}"
    return values


def overruled(report: Report, state: MonitorState, in_event: bool, running: bool) -> Report:
    """The report, or the state of the supervisor if that is worse.

    Args:
        report: of the last request or hold.
        state: current state of the supervisor.
        in_event: whether the arms are too close.
        running: whether a released trajectory is being executed.
    """
    of_guard = report.event in ("hold", "near")
    if in_event and state.clearance is not None:
        if of_guard:
            return report
        reason = f"{report.reason}; the arms are closer than danger_distance"
        return replace(report, level=Level.ERROR, reason=reason)
    unknown = state.reason if state.cause and state.cause not in REMARKS else ""
    if unknown and running:
        unknown = f"distances are unknown while a trajectory is being executed: {unknown}"
    if report.level is Level.ERROR and not of_guard:
        # A refusal is the answer to its request, while an earlier trajectory may be executed.
        is_blind = bool(unknown) and running
        return replace(report, reason=f"{report.reason}; {unknown}") if is_blind else report
    if unknown:
        return replace(report, level=Level(state.level), event=state.cause, reason=unknown)
    if of_guard:
        reason = "ready: the arms are apart again"
        return replace(report, level=Level.OK, event="ready", reason=reason, values={})
    return report
