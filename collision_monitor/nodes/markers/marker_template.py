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


# -- serialized markers of which everything can be written anew, so that any object fits in --
#
# `MarkerTemplate` keeps what a marker is. Where objects come and go that changes as well; to
# serialize them anew each time would cost 40 us a marker.


_LIFETIME = 8 * (7 + 3) + 4 * 4  # bytes from a pose: behind scale and colour
_POINTS = _LIFETIME + 8 + 4  # the number of points, behind lifetime and frame_locked
_POINT = 24  # bytes


class SolidTemplate(MarkerTemplate):
    """Boxes, balls and cylinders of one namespace and frame, the first so many of them."""

    def __init__(self, markers: Sequence[Marker]) -> None:
        """``markers``: as many as there can be; their frame, namespace and points stay."""
        super().__init__(markers)
        self._starts = HEADER + 4 * self._stamps
        data = self._data.tobytes()
        self._ids = np.array([_id_place(data, at) for at in self._starts.tolist()], np.int64)

    @property
    def most(self) -> int:
        """How many there can be in a message."""
        return len(self._starts)

    def fill(
        self, keys: np.ndarray, kinds: np.ndarray, poses: np.ndarray, scales: np.ndarray,
        colours: np.ndarray,
    ) -> None:  # fmt: skip
        """Write the first markers, as many as there are rows.

        Args:
            keys: (k,) ids.
            kinds: (k,) Marker.CUBE, ...
            poses: (k, 7) position, quaternion x y z w.
            scales: (k, 3) metres.
            colours: (k, 4) red, green, blue, alpha, 0 to 1.
        """
        k = len(keys)
        self._words[self._ids[:k]] = keys
        self._words[self._ids[:k] + 1] = kinds
        self._words[self._ids[:k] + 2] = Marker.ADD
        self._doubles[self._poses[:k]] = poses
        self._doubles[self._poses[:k, 6:] + [1, 2, 3]] = scales
        self._floats[self._colours[:k]] = colours

    def remove(self, keys: np.ndarray) -> None:
        """Let the first markers delete those of these ids."""
        self._words[self._ids[: len(keys)]] = keys
        self._words[self._ids[: len(keys)] + 2] = Marker.DELETE

    def set_lifetime(self, seconds: float) -> None:
        """Of all markers."""
        at = (8 * self._poses[:, 0] + _LIFETIME) // 4
        self._words[at], self._words[at + 1] = divmod(round(1e9 * seconds), 10**9)

    def first(self, count: int) -> bytes:
        """A message of the first markers alone."""
        end = self._starts[count] if count < self.most else len(self._data)
        data = bytearray(self._data[:end])
        struct.pack_into("<I", data, HEADER, count)
        return bytes(data)


class PointsTemplate(SolidTemplate):
    """One list of balls, of any number."""

    def __init__(self, marker: Marker) -> None:
        """``marker``: says frame and namespace, and has one point."""
        super().__init__([marker])

    def with_points(self, points: np.ndarray) -> bytes:
        """A message with ``points`` (n, 3), metres, n above 0."""
        pose = HEADER + 8 * int(self._poses[0, 0])
        count, first = pose + _POINTS, pose + _POINTS + 4
        return b"".join(
            (
                self._data[:count].tobytes(), struct.pack("<I", len(points)),
                np.ascontiguousarray(points, dtype="<f8").tobytes(),
                self._data[first + _POINT :].tobytes(),
            )
        )  # fmt: skip


def _id_place(data: bytes, stamp: int) -> int:
    """Of the word with a marker's id: behind the strings of frame and namespace."""
    at = stamp + 8
    for _ in range(2):
        (length,) = struct.unpack_from("<I", data, at)
        at += 4 + length
        at += -(at - HEADER) % 4
    return (at - HEADER) // 4
