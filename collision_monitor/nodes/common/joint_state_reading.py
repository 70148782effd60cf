# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Reads serialized joint states; those that differ from an earlier one in their numbers, quickly.

A publisher sends the same names again and again, and messages of equal layout differ only in the
stamp and the numbers, at the same places. So the middleware deserializes the first message of each
length. Later ones whose other bytes are equal are unpacked in one call, which takes a fifth of it.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from typing import NamedTuple

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState as JointStateMessage

from collision_monitor.common.text import one_line
from collision_monitor.errors import JointStateError
from collision_monitor.nodes.common.messages import seconds_of

_LITTLE_ENDIAN = b"\0\1\0\0"  # the representation of plain CDR, in the first four bytes
_STAMP, _AFTER_STAMP = 4, 12
_LAYOUTS = 64  # lengths that are kept; only a faulty publisher sends more


class Reading(NamedTuple):
    """What is read of a message: names as received, radians or metres, seconds, and per second."""

    names: Sequence[str]
    positions: tuple[float, ...]
    stamp: float
    velocities: tuple[float, ...]


class _Layout(NamedTuple):
    """Where messages of one length have their numbers, and the bytes around them."""

    names: Sequence[str]
    numbers: struct.Struct
    last_position: int  # index into the unpacked numbers, exclusive
    fixed: tuple[tuple[slice, bytes], ...]


class JointStateReader:
    """Reads the messages of one topic."""

    def __init__(self, prefix: str = "") -> None:
        """``prefix``: prepended to all names."""
        self._prefix = prefix
        self._received: list[str] = []
        self._names: list[str] = []
        self._layouts: dict[int, _Layout] = {}

    def read(self, data: bytes) -> Reading:
        """Read a message. Equal lists of names are the same object: do not modify them.

        Raises:
            JointStateError: the bytes are not a sensor_msgs/JointState.
        """
        layout = self._layouts.get(len(data))
        if layout is None:
            return self._read_any(data)
        for part, value in layout.fixed:
            if data[part] != value:
                return self._read_any(data)
        found = layout.numbers.unpack_from(data)
        last = layout.last_position
        return Reading(layout.names, found[2:last], found[0] + 1e-9 * found[1], found[last:])

    def _read_any(self, data: bytes) -> Reading:
        try:
            message = deserialize_message(data, JointStateMessage)
        except Exception as error:  # any error of the middleware for invalid bytes
            text = f"unreadable joint state: {one_line(error)}"
            raise JointStateError(text, "unreadable") from None
        if message.name != self._received:
            self._received = message.name
            self._names = [self._prefix + name for name in message.name]
        if len(self._layouts) >= _LAYOUTS:
            self._layouts.clear()
        if (layout := _layout_of(data, message, self._names)) is not None:
            self._layouts[len(data)] = layout
        return Reading(
            self._names, tuple(message.position), seconds_of(message.header.stamp),
            tuple(message.velocity),
        )  # fmt: skip


def _layout_of(
    data: bytes, message: JointStateMessage, names: Sequence[str]
) -> _Layout | None:
    """Where the numbers of a deserialized message are; None if they are not there, as expected."""
    if data[:_STAMP] != _LITTLE_ENDIAN or sys.byteorder != "little":
        return None
    at = _after_text(_AFTER_STAMP, message.header.frame_id)
    at = _aligned(at, 4) + 4  # number of names
    for name in message.name:
        at = _after_text(at, name)
    counts = len(message.position), len(message.velocity), len(message.effort)
    places = []
    for count in counts:
        at = _aligned(at, 4) + 4
        at = _aligned(at, 8) if count else at
        places.append(at)
        at += 8 * count
    (p, v, e), (positions, velocities, _) = places, counts
    p_end, v_end = p + 8 * positions, v + 8 * velocities
    stamp = struct.pack("<iI", message.header.stamp.sec, message.header.stamp.nanosec)
    is_there = (
        at <= len(data)
        and data[_STAMP:_AFTER_STAMP] == stamp
        and data[p:p_end] == message.position.tobytes()
        and data[v:v_end] == message.velocity.tobytes()
        and data[e:at] == message.effort.tobytes()
    )
    if not is_there:
        return None
    numbers = struct.Struct(
        f"<{_STAMP}xiI{p - _AFTER_STAMP}x{positions}d{v - p_end}x{velocities}d"
    )
    around = (slice(0, _STAMP), slice(_AFTER_STAMP, p), slice(p_end, v), slice(v_end, e))
    return _Layout(names, numbers, 2 + positions, tuple((part, data[part]) for part in around))


def _aligned(at: int, size: int) -> int:
    """The next place at which a number of this size may stand; places count from the stamp."""
    return at + -(at - _STAMP) % size


def _after_text(at: int, text: str) -> int:
    """The place after a string: its length, its bytes, and a zero."""
    return _aligned(at, 4) + 4 + len(text.encode()) + 1
