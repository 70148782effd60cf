# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Markers serialized once, whose numbers are then written where they lie.

A marker made and serialized anew each time costs rclpy 40 us and more, so that a few hundred of
them hold up joint states for tens of milliseconds. Written in place they cost next to nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker, MarkerArray

HEADER = 4  # bytes before what CDR aligns numbers to
_POSE, _SCALE = 7, 3  # numbers
_MARK = 0x6D61726B  # looked for in the bytes, with the number of the marker


def _odd(k: int) -> float:
    """A number that is nowhere else in a message; another for every k."""
    return struct.unpack("<d", struct.pack("<II", 0x5EED0000 ^ k, 0x2B5D9E37))[0]


class MarkerTemplate:
    """A MarkerArray as bytes: stamps, poses, colours and points can be set, all else stays.

    Arguments of the setters are in the order of the markers.
    """

    def __init__(self, markers: Sequence[Marker]) -> None:
        """``markers``: each with as many points as it will have; what they hold is overwritten."""
        counts = [len(marker.points) for marker in markers]
        for k, marker in enumerate(markers):
            marker.header.stamp = Time(sec=_MARK, nanosec=k)
            marker.pose.position.x = _odd(2 * k)
            if counts[k]:
                marker.points[0] = Point(x=_odd(2 * k + 1))
        data = serialize_message(MarkerArray(markers=list(markers)))
        stamps, poses, points = [], [], []
        at = 0
        for k, count in enumerate(counts):
            at = _find(data, struct.pack("<iI", _MARK, k), at)
            stamps.append(at)
            at = _find(data, struct.pack("<d", _odd(2 * k)), at)
            poses.append(at)
            if count:
                at = _find(data, struct.pack("<d", _odd(2 * k + 1)), at)
                points.append(at + 8 * np.arange(3 * count))
        self._data = np.frombuffer(bytearray(data), dtype=np.uint8)
        self._words = self._view("<i4")
        self._floats = self._view("<f4")
        self._doubles = self._view("<f8")
        pose = np.array(poses, dtype=np.int64)
        self._stamps = _places(np.array(stamps, dtype=np.int64), 4)
        self._poses = _places(pose, 8)[:, None] + np.arange(_POSE)
        self._colours = _places(pose + 8 * (_POSE + _SCALE), 4)[:, None] + np.arange(4)
        joined = np.concatenate(points) if points else np.empty(0, dtype=np.int64)
        self._points = _places(joined, 8).reshape(-1, 3)

    def _view(self, kind: str) -> np.ndarray:
        """Numbers of a kind in the bytes, from the first on that is aligned."""
        size = int(kind[-1])
        whole = (len(self._data) - HEADER) // size * size
        return self._data[HEADER : HEADER + whole].view(kind)

    def set_stamp(self, stamp: Time) -> None:
        """Of all markers."""
        self._words[self._stamps] = stamp.sec
        self._words[self._stamps + 1] = stamp.nanosec

    def set_poses(self, poses: np.ndarray) -> None:
        """``poses`` (markers, 7): position, quaternion x y z w."""
        self._doubles[self._poses] = poses

    def set_colours(self, colours: np.ndarray) -> None:
        """``colours`` (markers, 4): red, green, blue, alpha, 0 to 1."""
        self._floats[self._colours] = colours

    def set_points(self, points: np.ndarray) -> None:
        """``points`` (points of all markers, 3), metres."""
        self._doubles[self._points] = points

    def message(self) -> bytes:
        """The serialized MarkerArray, as a publisher takes it."""
        return self._data.tobytes()


def _find(data: bytes, what: bytes, start: int) -> int:
    at = data.find(what, start)
    if at < 0:
        raise RuntimeError("a marker is not serialized as little-endian CDR")
    return at


def _places(offsets: np.ndarray, size: int) -> np.ndarray:
    """Bytes as indices of numbers of a size."""
    if ((offsets - HEADER) % size).any():
        raise RuntimeError("a marker is not serialized with the alignment of CDR")
    return (offsets - HEADER) // size
