# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Reads serialized trajectories, in bounded time: creating a million points takes some 10 s."""

from __future__ import annotations

import struct

from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.errors import TrajectoryError

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
