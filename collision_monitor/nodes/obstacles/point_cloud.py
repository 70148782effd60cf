# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The points of a sensor_msgs/PointCloud2."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from collision_monitor.errors import LiveSceneError

_KINDS = {PointField.FLOAT32: "f4", PointField.FLOAT64: "f8"}


def read_points(message: PointCloud2) -> np.ndarray:
    """Coordinates of all points, (n, 3) float64; NaN and infinity as they are.

    Raises:
        LiveSceneError: no x, y or z of a float kind, or fewer bytes than there should be.
    """
    order = ">" if message.is_bigendian else "<"
    fields = {field.name: field for field in message.fields}
    formats, offsets = [], []
    for name in "xyz":
        field = fields.get(name)
        if field is None or field.datatype not in _KINDS:
            raise LiveSceneError(f"cloud: it has no field {name!r} of float32 or float64")
        kind = np.dtype(order + _KINDS[field.datatype])
        if field.offset + kind.itemsize > message.point_step:
            raise LiveSceneError(f"cloud: its field {name!r} goes beyond a point")
        formats.append(kind)
        offsets.append(field.offset)
    width, height, step = message.width, message.height, message.point_step
    if message.row_step < width * step or len(message.data) < message.row_step * height:
        raise LiveSceneError(
            f"cloud: {len(message.data)} bytes in rows of {message.row_step} are not "
            f"{height} x {width} points of {step}"
        )
    if not width * height:
        return np.empty((0, 3))
    kind = np.dtype(
        {"names": list("xyz"), "formats": formats, "offsets": offsets, "itemsize": step}
    )
    points = np.ndarray(
        (height, width), kind, memoryview(message.data), 0, (message.row_step, step)
    )
    return np.stack([points[name].astype(np.float64) for name in "xyz"], axis=-1).reshape(-1, 3)
