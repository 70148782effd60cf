# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The objects that topics ask for, and the monitored robot that they are near or attached to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from rclpy.node import Node

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.model.live.desired_scene import DesiredScene, ObjectRequest
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.nodes.obstacles.mesh_worker import MeshWorker
from collision_monitor.nodes.obstacles.message_shapes import (
    Frames,
    ManyTriangles,
    MeshFile,
    listen_to_tf,
)
from collision_monitor.nodes.parameters.parameter import package_dirs_of
from collision_monitor.robot.description import Shape


class SceneObjects:
    """Adds objects to the live scene of a robot, those of meshes when these are processed.

    Attributes:
        keeper: the requested objects, and those of them that are not monitored.
        jobs: meshes that are being processed.
    """

    def __init__(
        self, node: Node, values: Mapping[str, Any], keeper: DesiredScene | None = None
    ) -> None:
        """``values``: parameters of the node; ``keeper``: objects requested earlier."""
        self.keeper = DesiredScene() if keeper is None else keeper
        self.keeper.find = self.find
        self._frames = Frames(listen_to_tf(node))
        self._monitor: Monitor | None = None
        # Parts of `ManyTriangles`, by what is used meanwhile.
        self._unmade: WeakKeyDictionary[ObjectGeometry, tuple] = WeakKeyDictionary()
        self.jobs = MeshWorker(
            package_dirs_of(values), values["scene_leaves_per_object"], values["hierarchy"]
        )

    def close(self) -> None:
        """Stop; `keeper` still holds the requested objects."""
        for name in self.jobs.names:
            self.keeper.refuse(name, "the node was cleaned up while its mesh was being loaded")
        self.keeper.use_scene(None)
        self.jobs.close()
        self._frames.close()

    def request(
        self, request: ObjectRequest, shape: Shape | ObjectGeometry | MeshFile | ManyTriangles
    ) -> None:
        """Add an object, now or when its mesh is processed."""
        is_made_later = isinstance(shape, (MeshFile, ManyTriangles))
        if is_made_later and (known := self.jobs.known(shape)) is not None:
            shape, is_made_later = known, False
        if not is_made_later:
            self.jobs.cancel(request.name)
            self.keeper.request(replace(request, shape=shape))
        elif self.keeper.request(replace(request, shape=shape.coarse)) or shape.coarse is None:
            if shape.coarse is not None:
                self._unmade[shape.coarse] = shape.parts
            self.jobs.start(request.name, shape)
        else:
            self.jobs.cancel(request.name)

    def unmade(self, name: str) -> ManyTriangles | None:
        """Triangles of an object whose geometry is being made, or could not be made."""
        shape = self.keeper.requests[name].shape if name in self.keeper.requests else None
        parts = self._unmade.get(shape) if isinstance(shape, ObjectGeometry) else None
        return None if parts is None else ManyTriangles(parts, shape)

    def finish(self, name: str, made: ObjectGeometry | CollisionMonitorError) -> None:
        """Use the geometry that was made for an object, or the error why it cannot be."""
        request = self.keeper.requests.get(name)
        if request is not None and isinstance(made, CollisionMonitorError):
            self.keeper.refuse(name, str(made), request.expires)
        elif request is not None:
            self.keeper.fill(name, made)

    def drop(self, name: str) -> None:
        """Remove an object."""
        self.jobs.cancel(name)
        self.keeper.drop(name)

    # -- the robot --

    def use_robot(self, monitor: Monitor) -> None:
        """Add all objects to the scene of this monitor, and update it from now on."""
        self._monitor = monitor
        self.keeper.use_scene(monitor.live)

    @property
    def live(self) -> LiveScene | None:
        """The scene of the monitored robot."""
        return self.keeper.live

    def find(self, frame: str) -> tuple[str, np.ndarray]:
        """As `Frames.find`, for the monitored robot."""
        return self._frames.find(frame, self.keeper.live.model)

    @property
    def q(self) -> np.ndarray | None:
        """Current configuration; None while it is unknown."""
        monitor = self._monitor
        if monitor is None or monitor.buffer.missing():
            return None
        timeout = monitor.joint_state_timeout
        # The last received position is not the current one.
        if 0.0 < timeout < monitor.buffer.age(time.monotonic()):
            return None
        return monitor.buffer.q

    def q_at(self, stamp: float) -> np.ndarray | None:
        """Configuration at ``stamp``, seconds; None if that is no longer known.

        If joint states have no stamps, it is the current one.
        """
        if self._monitor is None or self._monitor.history.is_empty:
            return self.q
        return self._monitor.history.at(stamp)
