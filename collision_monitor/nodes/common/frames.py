# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where frames are: links of the robot, and others where tf2 is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.time import Time

from collision_monitor.errors import LiveSceneError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.poses import rotation_from_quaternion


def listen_to_tf(node: Node) -> Any:
    """A tf2 buffer that hears everything; None where tf2_ros is not installed."""
    try:
        from tf2_ros import Buffer, TransformListener
    except ImportError:
        return None
    buffer = Buffer()
    buffer.listener = TransformListener(buffer, node)  # lives as long
    return buffer


class Frames:
    """Finds the link that a frame is fixed to, and its pose there.

    A link of the robot is a frame that moves with it. What tf2 knows besides is fixed to the
    robot's root, where it is when it is asked for.
    """

    def __init__(self, buffer: Any) -> None:
        """``buffer``: of tf2, or None."""
        self._buffer = buffer

    def close(self) -> None:
        """Hear no more of tf."""
        if self._buffer is not None:
            self._buffer.listener.unregister()

    def find(self, frame: str, model: CollisionModel) -> tuple[str, np.ndarray]:
        """(link, pose (4, 4) of the frame in that of the link).

        Raises:
            LiveSceneError: no such frame; the message names it.
        """
        frame = frame.removeprefix("/")
        if not frame:
            raise LiveSceneError("header.frame_id is empty")
        if frame in model.robot.links:
            return frame, np.eye(4)
        if self._buffer is None:
            raise LiveSceneError(
                f"frame {frame!r} is not a link of '{model.name}'; other frames require tf2_ros, "
                "which is not installed"
            )
        try:
            found = self._buffer.lookup_transform(model.root, frame, Time()).transform
        except Exception as error:  # tf2 has several, all of which say that it is not known
            raise LiveSceneError(
                f"frame {frame!r} is not a link of '{model.name}', and tf2 has no transform to "
                f"{model.root!r}: {error}"
            ) from None
        t, o = found.translation, found.rotation
        pose = np.eye(4)
        pose[:3, :3] = rotation_from_quaternion((o.x, o.y, o.z, o.w))
        pose[:3, 3] = t.x, t.y, t.z
        if not np.isfinite(pose).all():
            raise LiveSceneError(f"frame {frame!r}: its transform from tf2 is not finite")
        return model.root, pose
