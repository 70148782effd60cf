# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Markers and point clouds as obstacles on topics, for tests."""

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import PointCloud2, PointField  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402


def marker(
    number: int = 1, kind: int = Marker.SPHERE, at: Sequence[float] = (0.0, 3.0, 0.0),
    frame: str = "l0", size: float | Sequence[float] = 0.2, ns: str = "cell", **more,
) -> Marker:  # fmt: skip
    """A marker ``number`` of a namespace; ``size``: its scale, one number or three."""
    found = Marker(ns=ns, id=number, type=kind, **more)
    found.header.frame_id = frame
    p, s = found.pose.position, found.scale
    p.x, p.y, p.z = map(float, at)
    s.x, s.y, s.z = np.broadcast_to(size, 3).astype(float).tolist()
    return found


def cloud_message(
    points, frame: str = "l0", stamp: float = 0.0, kind: str = "<f4", gap: int = 0,
    width: int | None = None, **more,
) -> PointCloud2:  # fmt: skip
    """A cloud of points (n, 3), ``gap`` bytes after each, in rows of ``width``; ``stamp`` in s."""
    kind = np.dtype(kind)
    points = np.asarray(points, dtype=kind).reshape(-1, 3)
    number = PointField.FLOAT32 if kind.itemsize == 4 else PointField.FLOAT64
    fields = [
        PointField(name=name, offset=kind.itemsize * k, datatype=number, count=1)
        for k, name in enumerate("xyz")
    ]
    width, step = len(points) if width is None else width, 3 * kind.itemsize + gap
    message = PointCloud2(
        height=len(points) // width if width else 1, width=width, fields=fields, point_step=step,
        row_step=step * width, data=b"".join(row.tobytes() + b"\xff" * gap for row in points),
        is_dense=True, is_bigendian=kind.byteorder == ">",
    )  # fmt: skip
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = int(stamp), int(1e9 * (stamp % 1.0))
    for name, value in more.items():
        setattr(message, name, value)
    return message
