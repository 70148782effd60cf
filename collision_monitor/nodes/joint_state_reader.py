# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states straight from the bytes in which they come.

Of one publisher's joint states all is the same but for the stamp and the numbers. To make
a message object of one costs as much as the whole watch over a robot: a dozen objects and
as many strings. So messages are subscribed to as bytes (CDR, what DDS sends), and what
differs from the last one in nothing but stamp and numbers is read in place. Any other is
deserialized by rclpy, and its layout is kept for the next ones if, read in place, it
says the very same.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

_LAYOUTS = 16  # of different publishers; more are forgotten
_LITTLE_ENDIAN_CDR = b"\x00\x01"
_HEADER = 4  # bytes before the message itself; alignment counts from there
_STAMP_END = _HEADER + 8


class _Layout(NamedTuple):
    """Of all messages of one length: what is always the same, and where the rest stands."""

    values: struct.Struct  # seconds, nanoseconds, the constant parts, positions
    constant: tuple[bytes, ...]  # frame, names, counts; the gaps between them hold anything
    header: bytes  # before the stamp: the encoding
    stop: int  # where the constant parts end in what ``values`` yields
    names: list[str]


class JointStateReader:
    """Reads names, positions and stamp from serialized sensor_msgs/JointState."""

    def __init__(self) -> None:
        """Knows nothing yet."""
        self._layouts: dict[int, _Layout] = {}

    def read(self, data: bytes) -> tuple[list[str], tuple[float, ...], float]:
        """(names, positions, stamp in seconds) of one message.

        The list of names is the same object for the same names: do not change it.
        """
        layout = self._layouts.get(len(data))
        if layout is not None:
            found = layout.values.unpack_from(data)
            if found[2 : layout.stop] == layout.constant and data[:_HEADER] == layout.header:
                return layout.names, found[layout.stop :], found[0] + 1e-9 * found[1]
        return self._deserialized(data)

    def _deserialized(self, data: bytes) -> tuple[list[str], tuple[float, ...], float]:
        message = deserialize_message(data, JointState)
        names, positions = list(message.name), tuple(message.position)
        if len(self._layouts) >= _LAYOUTS:
            self._layouts.clear()
        if layout := _layout_of(data, names, positions):
            self._layouts[len(data)] = layout
        stamp = message.header.stamp
        return names, positions, stamp.sec + 1e-9 * stamp.nanosec


def _layout_of(data: bytes, names: list[str], positions: tuple[float, ...]) -> _Layout | None:
    """The layout of a message with these names and positions; None if it is another one."""
    if data[:2] != _LITTLE_ENDIAN_CDR or len(names) != len(positions):
        return None
    try:
        at = _STAMP_END
        parts = [_string(data, at)]  # the frame
        parts.append(_count(parts[-1].stop))
        for name in names:
            parts.append(_string(data, parts[-1].stop))
            if data[parts[-1].start + 4 : parts[-1].stop] != name.encode() + b"\0":
                return None
        parts.append(_count(parts[-1].stop))
    except struct.error:
        return None
    form = f"<{_HEADER}xiI"
    for part in parts:
        form += f"{part.start - at}x{part.stop - part.start}s"
        at = part.stop
    first = _aligned(at, 8)
    values = struct.Struct(f"{form}{first - at}x{len(positions)}d")
    if len(data) < values.size:
        return None
    found = values.unpack_from(data)
    stop = 2 + len(parts)
    counts = [found[3], found[stop - 1]]
    if counts != [struct.pack("<I", len(names))] * 2 or data[first : values.size] != struct.pack(
        f"<{len(positions)}d", *positions
    ):
        return None
    return _Layout(values, found[2:stop], data[:_HEADER], stop, names)


def _aligned(at: int, size: int) -> int:
    return at + (_HEADER - at) % size


def _count(at: int) -> slice:
    """Where the next number of elements stands."""
    start = _aligned(at, 4)
    return slice(start, start + 4)


def _string(data: bytes, at: int) -> slice:
    """Where the next string stands: its length in four bytes, and itself."""
    start = _aligned(at, 4)
    return slice(start, start + 4 + struct.unpack_from("<I", data, start)[0])
