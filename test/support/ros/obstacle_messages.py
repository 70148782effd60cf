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


def cloud_message(points, frame: str = "l0", stamp: float = 0.0, **more) -> PointCloud2:
    """A cloud of points (n, 3) as float32; ``stamp`` in seconds."""
    points = np.asarray(points, dtype="<f4").reshape(-1, 3)
    fields = [
        PointField(name=name, offset=4 * k, datatype=PointField.FLOAT32, count=1)
        for k, name in enumerate("xyz")
    ]
    message = PointCloud2(
        height=1, width=len(points), fields=fields, point_step=12, row_step=12 * len(points),
        data=points.tobytes(), is_dense=True,
    )  # fmt: skip
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = int(stamp), int(1e9 * (stamp % 1.0))
    for name, value in more.items():
        setattr(message, name, value)
    return message
