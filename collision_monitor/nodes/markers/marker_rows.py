# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Many markers as one serialized MarkerArray.

rclpy takes 40 us to create and serialize a marker, so a few hundred would delay joint states by
tens of milliseconds. Here rclpy serializes one marker, its bytes are repeated, and numpy writes the
numbers of all copies.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker, MarkerArray

SHARE = 100  # maximum number of markers in a message
_FIRST = 8  # bytes before the first marker: the encoding, and the number of markers
_ORIGIN = 4  # CDR aligns numbers to multiples of their size, counted from here
_MARK = 0x6D61726B  # a stamp to find a marker in the bytes


class MarkerRows:
    """Writes markers of one frame and one namespace."""

    def __init__(self, frame: str, namespace: str) -> None:
        """``frame``: header.frame_id of all markers."""
        marker = Marker(ns=namespace)
        marker.header.frame_id = frame
        marker.header.stamp.sec = marker.header.stamp.nanosec = _MARK
        for text in ("", "...."):  # the padding must align the next marker to 8 bytes
            marker.text = text
            data = serialize_message(MarkerArray(markers=[marker, marker]))
            size = data.find(struct.pack("<iI", _MARK, _MARK), _FIRST + 1) - _FIRST
            if size > 0 and size % 8 == 0:
                break
        else:
            raise RuntimeError("markers are not serialized as little-endian CDR")
        self._encoding, self._row = data[:_ORIGIN], data[_FIRST : _FIRST + size]
        at = _FIRST + 8  # after the stamp
        for _ in range(2):  # frame and namespace
            at += 4 + struct.unpack_from("<I", data, at)[0]
            at += -at % 4
        pose = at + 12 + (_ORIGIN - at - 12) % 8
        self._id, self._pose = at - _FIRST, pose - _FIRST

    def _blank(self, count: int, points: int) -> np.ndarray:
        """(count,) records of markers with so many points each, ready to be filled."""
        start = self._pose + 112  # of the points; their number is before it
        row = self._row[: start - 4] + struct.pack("<I", points)
        row += np.zeros((points, 3)).tobytes() + self._row[start:]
        return np.frombuffer(bytearray(row * count), _dtype(self._id, self._pose, points, len(row)))

    def messages(
        self,
        stamp: Time,
        lifetime: float,
        ids: np.ndarray,
        kinds: np.ndarray,
        poses: np.ndarray,
        scales: np.ndarray,
        colours: np.ndarray,
        points: np.ndarray,
    ) -> Iterator[bytes]:
        """Yield serialized MarkerArrays that add k markers, at most `SHARE` each.

        Args:
            stamp: of all.
            lifetime: seconds.
            ids: (k,).
            kinds: (k,) Marker.CUBE, ...
            poses: (k, 7) position, metres, and quaternion x y z w.
            scales: (k, 3) metres.
            colours: (k, 4) red, green, blue, alpha, 0 to 1.
            points: (k, p, 3) in the frame of the pose, metres.
        """
        rows = self._blank(len(ids), points.shape[1])
        rows["life"], rows["life_nanosec"] = divmod(round(1e9 * lifetime), 10**9)
        rows["kind"], rows["pose"], rows["scale"], rows["colour"] = kinds, poses, scales, colours
        rows["points"] = points
        return self._finished(rows, stamp, ids, Marker.ADD)

    def deletions(self, stamp: Time, ids: np.ndarray) -> Iterator[bytes]:
        """Yield serialized MarkerArrays that delete the markers ``ids`` (k,)."""
        return self._finished(self._blank(len(ids), 0), stamp, ids, Marker.DELETE)

    def _finished(
        self, rows: np.ndarray, stamp: Time, ids: np.ndarray, action: int
    ) -> Iterator[bytes]:
        rows["sec"], rows["nanosec"] = stamp.sec, stamp.nanosec
        rows["id"], rows["action"] = ids, action
        for k in range(0, len(rows), SHARE):
            part = rows[k : k + SHARE]
            yield self._encoding + struct.pack("<I", len(part)) + part.tobytes()


@lru_cache(maxsize=64)
def _dtype(id_at: int, pose_at: int, points: int, size: int) -> np.dtype:
    """Record type of a marker of ``size`` bytes; ``id_at``, ``pose_at``: where these begin."""
    fields = {
        "sec": ("<i4", 0), "nanosec": ("<u4", 4), "id": ("<i4", id_at), "kind": ("<i4", id_at + 4),
        "action": ("<i4", id_at + 8), "pose": (("<f8", (7,)), pose_at),
        "scale": (("<f8", (3,)), pose_at + 56), "colour": (("<f4", (4,)), pose_at + 80),
        "life": ("<i4", pose_at + 96), "life_nanosec": ("<u4", pose_at + 100),
        "points": (("<f8", (points, 3)), pose_at + 112),
    }  # fmt: skip
    formats, offsets = zip(*fields.values(), strict=True)
    return np.dtype(
        {"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": size}
    )
