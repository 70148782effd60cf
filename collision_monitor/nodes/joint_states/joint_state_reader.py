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

from collision_monitor.errors import JointStateError

_LAYOUTS = 16  # of different publishers; more are forgotten
_LITTLE_ENDIAN_CDR = b"\x00\x01"
_HEADER = 4  # bytes before the message itself; alignment counts from there
_STAMP_END = _HEADER + 8


class _Layout(NamedTuple):
    """Of all messages of one length: what is always the same, and where the rest stands."""

    values: struct.Struct  # seconds, nanoseconds, the constant parts, positions, velocities
    constant: tuple[bytes, ...]  # frame, names, counts; the gaps between them hold anything
    header: bytes  # before the stamp: the encoding
    stop: int  # where the constant parts end in what ``values`` yields, and positions begin
    middle: int  # where the number of velocities stands there, after the positions
    count: bytes  # that number
    names: list[str]


class JointStateReader:
    """Reads names, positions, velocities and stamp from serialized sensor_msgs/JointState."""

    def __init__(self, prefix: str = "") -> None:
        """``prefix``: put before all names that messages have."""
        self._prefix = prefix
        self._layouts: dict[int, _Layout] = {}

    def read(
        self, data: bytes
    ) -> tuple[list[str], tuple[float, ...], float, tuple[float, ...]]:
        """(names, positions, stamp in seconds, velocities) of one message.

        The list of names is the same object for the same names: do not change it. Velocities
        are none where there are not as many as positions.

        Raises:
            JointStateError: the bytes are no such message.
        """
        layout = self._layouts.get(len(data))
        if layout is not None:
            found = layout.values.unpack_from(data)
            if (
                found[2 : layout.stop] == layout.constant
                and found[layout.middle] == layout.count
                and data[:_HEADER] == layout.header
            ):
                positions, middle = found[layout.stop : layout.middle], layout.middle
                return layout.names, positions, found[0] + 1e-9 * found[1], found[middle + 1 :]
        return self._deserialized(data)

    def _deserialized(
        self, data: bytes
    ) -> tuple[list[str], tuple[float, ...], float, tuple[float, ...]]:
        try:
            message = deserialize_message(data, JointState)
        except Exception as error:  # whatever the middleware says of bytes that are no message
            raise JointStateError(
                f"unreadable joint state: {_short(error)}", "unreadable"
            ) from None
        names, positions = list(message.name), tuple(message.position)
        velocities = tuple(message.velocity)
        if len(velocities) != len(positions):
            velocities = ()
        if len(self._layouts) >= _LAYOUTS:
            self._layouts.clear()
        layout = _layout_of(data, names, positions, velocities)
        if self._prefix:
            names = [self._prefix + name for name in names]
        if layout is not None:
            self._layouts[len(data)] = layout._replace(names=names)
        stamp = message.header.stamp
        return names, positions, stamp.sec + 1e-9 * stamp.nanosec, velocities


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _layout_of(
    data: bytes, names: list[str], positions: tuple[float, ...], velocities: tuple[float, ...]
) -> _Layout | None:
    """The layout of a message with these contents; None if it is another one."""
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
    form += f"{first - at}x{len(positions)}d4s"  # positions, and the number of velocities
    if velocities:
        at = first + 8 * len(positions) + 4
        form += f"{_aligned(at, 8) - at}x{len(velocities)}d"
    values = struct.Struct(form)
    if len(data) < values.size:
        return None
    found = values.unpack_from(data)
    stop = 2 + len(parts)
    middle = stop + len(positions)
    counts = [found[3], found[stop - 1], found[middle]]
    expected = [len(names), len(names), len(velocities)]
    if counts != [struct.pack("<I", count) for count in expected]:
        return None
    read, meant = (found[stop:middle], found[middle + 1 :]), (positions, velocities)
    # By their bytes: NaN is not equal to itself.
    if [_bytes(numbers) for numbers in read] != [_bytes(numbers) for numbers in meant]:
        return None
    return _Layout(values, found[2:stop], data[:_HEADER], stop, middle, found[middle], names)


def _bytes(numbers: tuple[float, ...]) -> bytes:
    return struct.pack(f"<{len(numbers)}d", *numbers)


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
