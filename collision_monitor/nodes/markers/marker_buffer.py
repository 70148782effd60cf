# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Serialized markers of which everything can be written anew, so that any object fits in.

`MarkerTemplate` keeps what a marker is. Where objects come and go that changes as well; to
serialize them anew each time would cost 40 us a marker.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from visualization_msgs.msg import Marker

from collision_monitor.nodes.markers.marker_template import HEADER, MarkerTemplate

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
