# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Quality of service, and common messages of nodes: times, diagnostics, states, trajectories."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.duration import Duration as RclpyDuration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.time import Time as RclpyTime
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.errors import TrajectoryError
from collision_monitor.monitoring.monitor import Level, MonitorState
from collision_monitor.monitoring.settings import MonitorSettings

# Late subscribers receive the last message.
LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
# The same for a subscription that receives the last messages of several publishers.
DESCRIPTIONS = QoSProfile(
    depth=4, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
# As LATCHED for what tells that a robot is safe, which must not be believed for longer than it is
# repeated: a late subscriber to a node that is blocked gets nothing, and one that asks for the
# deadline, or a longer one, is told of silence.
SAFE_SECONDS = MonitorSettings.joint_state_timeout  # by default: ten periods of the watchdog
STATE_SECONDS = 1.5  # the period of the slowest heartbeat or timer, 1 s, and a half


def _expiring(seconds: float) -> QoSProfile:
    span = RclpyDuration(seconds=seconds)
    return QoSProfile(
        depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL,
        reliability=ReliabilityPolicy.RELIABLE, lifespan=span, deadline=span,
    )  # fmt: skip


SAFE, STATE = _expiring(SAFE_SECONDS), _expiring(STATE_SECONDS)
# Reliable, so that both reliable and best-effort subscribers match.
VALUES = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)


def seconds_of(time: Time | Duration) -> float:
    """Seconds of a stamp or a duration."""
    return time.sec + 1e-9 * time.nanosec


def time_message(seconds: float) -> Time:
    """A time as a message, to the nanosecond."""
    return RclpyTime(nanoseconds=round(1e9 * seconds)).to_msg()


def duration_message(seconds: float) -> Duration:
    """A duration as a message, to the nanosecond."""
    return RclpyDuration(nanoseconds=round(1e9 * seconds)).to_msg()


def type_name(kind: type) -> str:
    """Name of a type of messages or services, such as ``sensor_msgs/msg/JointState``."""
    package, group = kind.__module__.split(".")[:2]
    return f"{package}/{group}/{kind.__name__}"


def key_values(values: Mapping[str, str]) -> list[KeyValue]:
    """Key-values of a DiagnosticStatus."""
    return [KeyValue(key=key, value=value) for key, value in values.items()]


def diagnostic(
    level: Level, name: str, message: str, hardware_id: str, values: Mapping[str, str]
) -> DiagnosticStatus:
    """A DiagnosticStatus with key-values."""
    return DiagnosticStatus(
        level=bytes([level]), name=name, message=message, hardware_id=hardware_id,
        values=key_values(values),
    )  # fmt: skip


def status_message(
    state: MonitorState, name: str, hardware_id: str, extra: Mapping[str, str]
) -> DiagnosticStatus:
    """The state with action, nearest links and points, distance and age as key-values."""
    values = {
        "action": state.action,
        "reason": state.message,
        "distance": f"{state.distance:.6f}",
        "speed_scale": f"{state.speed_scale:.4f}",
        "age": f"{state.age:.4f}",
    }
    if state.clearance is not None:
        a, b = state.clearance.points
        values["narrow_phase"] = "mesh" if state.clearance.exact else "leaf"
        values["link_a"], values["link_b"] = state.clearance.links
        values["point_a"], values["point_b"], values["normal"] = (
            " ".join(f"{x:.6f}" for x in vector) for vector in (a, b, state.clearance.normal)
        )
    return diagnostic(state.level, name, state.message, hardware_id, {**values, **extra})


def distances_message(distances: list[float]) -> Float64MultiArray:
    """One value per pair, in the order of ~/pair_names."""
    message = Float64MultiArray(data=distances)
    count = len(distances)
    message.layout.dim = [MultiArrayDimension(label="pair", size=count, stride=count)]
    return message


# -- serialized trajectories, in bounded time: creating a million points takes some 10 s --

_MOST_NAMES = 10_000  # as many as a robot may have joints
_MOST_BYTES = 1_000_000  # of a beginning: 100 points of 400 joints


def read_trajectory(data: bytes, max_points: int) -> JointTrajectory:
    """Deserialize the message in ``data``.

    Raises:
        TrajectoryError: more than ``max_points``, or not a message.
    """
    count, _ = _points_in(data)
    if count > max_points:
        raise TrajectoryError(f"has {count} points; max_points allows {max_points}")
    return _deserialized(data)


def read_beginning(data: bytes, most: int) -> JointTrajectory:
    """Deserialize the message in ``data`` with its first ``most`` points only.

    Raises:
        TrajectoryError: these points are longer than any robot's, or not a message.
    """
    count, at = _points_in(data)
    if count <= most and len(data) <= _MOST_BYTES:
        return _deserialized(data)
    if at > _MOST_BYTES:
        raise TrajectoryError(f"cannot be read: its names take {at} bytes")
    number = struct.pack(f"{_order(data)}I", min(count, most))
    return _deserialized(data[:at] + number + data[at + 4 : _MOST_BYTES])


def _deserialized(data: bytes) -> JointTrajectory:
    try:
        return deserialize_message(data, JointTrajectory)
    except Exception as error:  # of the middleware, for invalid bytes
        raise TrajectoryError(f"cannot be read: {error}") from None


def _order(data: bytes) -> str:
    return "<" if data[1:2] == b"\x01" else ">"


def _points_in(data: bytes) -> tuple[int, int]:
    """Number of points in a serialized JointTrajectory (CDR), and the place of this number."""
    order = _order(data)

    def number_at(at: int) -> tuple[int, int]:
        at += -at % 4
        return struct.unpack_from(f"{order}I", data, at)[0], at + 4

    try:
        length, at = number_at(12)  # of frame_id, after the representation (4) and the stamp (8)
        names, at = number_at(at + length)
        if names > _MOST_NAMES:
            raise TrajectoryError(
                f"cannot be read: {names} joint names; at most {_MOST_NAMES} are allowed"
            )
        for _ in range(names):
            length, at = number_at(at)
            at += length
        count, end = number_at(at)
    except struct.error as error:
        raise TrajectoryError(f"cannot be read: {error}") from None
    return count, end - 4
