# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The objects that topics ask for, their meshes, and the monitored robot that they are near."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from rclpy.node import Node

from collision_monitor.errors import CollisionMonitorError, LiveSceneError, reason_of
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.model.live.desired_scene import DesiredScene, ObjectRequest
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.nodes.obstacles.message_shapes import (
    Frames,
    ManyTriangles,
    MeshFile,
    fitted,
    listen_to_tf,
)
from collision_monitor.nodes.parameters.parameter import package_dirs_of
from collision_monitor.robot.description import Shape
from collision_monitor.robot.packages import FileFinder

_RECENT = 20  # geometries that are kept although no object has them now


def _version(path: Path) -> tuple[int, ...]:
    """Of the content of a file, which changes when it is written; empty if it cannot be told."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


class MeshWorker:
    """Processes one mesh after another; a new request for a name replaces the waiting one."""

    def __init__(self, package_dirs: Sequence[str], most: int, hierarchy: str = "aabb") -> None:
        """``most``: maximum number of leaves of a mesh; ``hierarchy`` over its triangles."""
        self._finder, self._most = FileFinder(package_dirs, is_received=True), most
        self._hierarchy = hierarchy
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="meshes")
        # By object, until it gets the geometry; without a future if that could not be made.
        self._jobs: dict[str, tuple[MeshFile | ManyTriangles, Future[ObjectGeometry] | None]] = {}
        self._made: WeakValueDictionary[Any, ObjectGeometry] = WeakValueDictionary()  # by key
        self._recent: deque[ObjectGeometry] = deque(maxlen=_RECENT)
        self._files: WeakKeyDictionary[ObjectGeometry, tuple[Path, tuple[int, ...]]] = (
            WeakKeyDictionary()  # that were read, and their versions
        )

    def known(self, wanted: MeshFile | ManyTriangles) -> ObjectGeometry | None:
        """The geometry, if it was made for any object, and its file was not written since."""
        made = self._made.get(wanted.key)
        return None if made is None or self._is_outdated(made) else made

    def _is_outdated(self, made: ObjectGeometry) -> bool:
        if made not in self._files:
            return False
        path, read = self._files[made]
        return _version(path) not in (read, ())

    @property
    def names(self) -> list[str]:
        """Names of the objects whose meshes are being processed."""
        return [name for name, (_, future) in self._jobs.items() if future is not None]

    def wanted(self, name: str) -> MeshFile | ManyTriangles | None:
        """Mesh of an object whose geometry is being made, or could not be made."""
        return self._jobs[name][0] if name in self._jobs else None

    def start(self, name: str, wanted: MeshFile | ManyTriangles) -> None:
        """Start making the geometry of an object, unless it is being made; `done` delivers it."""
        if name not in self.names or self._jobs[name][0].key != wanted.key:
            self.cancel(name)
            self._jobs[name] = wanted, self._pool.submit(self._make, wanted)

    def cancel(self, name: str) -> None:
        """Cancel the job of an object."""
        _, future = self._jobs.pop(name, (None, None))
        if future is not None:
            future.cancel()

    def done(self, report: Callable[[str, ObjectGeometry | CollisionMonitorError], None]) -> None:
        """Call ``report`` for each finished job, with the name and the geometry or the error."""
        for name, (wanted, future) in list(self._jobs.items()):
            if future is None or not future.done():
                continue
            if (problem := future.exception()) is not None:
                self._jobs[name] = wanted, None
                report(name, LiveSceneError(reason_of(problem)))
                continue
            made = future.result()
            if self._is_outdated(made):  # its file was written meanwhile
                self._jobs[name] = wanted, self._pool.submit(self._make, wanted)
                continue
            del self._jobs[name]
            self._made[wanted.key] = made
            self._recent.append(made)
            report(name, made)

    def _make(self, wanted: MeshFile | ManyTriangles) -> ObjectGeometry:
        if isinstance(wanted, ManyTriangles):
            made = fitted(wanted.parts, self._most)
        else:
            path = self._finder.find(wanted.resource, "mesh_resource", LiveSceneError)
            version = _version(path)
            vertices, triangles = MeshLoader().load(
                path, "mesh_resource", wanted.scale, LiveSceneError
            )
            mesh = Shape("mesh", np.eye(4), (), vertices, triangles, str(path))
            made = ObjectGeometry.of_shape(mesh, self._most)
            self._files[made] = path, version
        made.mesh_part(self._hierarchy)  # here, not in the thread of the joint states
        return made

    def close(self) -> None:
        """End the thread after its current job."""
        self._pool.shutdown(wait=False, cancel_futures=True)


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
            self.jobs.start(request.name, shape)
        else:
            self.jobs.cancel(request.name)

    def unmade(self, name: str) -> ManyTriangles | None:
        """Triangles of an object whose geometry is being made, or could not be made."""
        wanted = self.jobs.wanted(name)
        return wanted if isinstance(wanted, ManyTriangles) else None

    def finish(self, name: str, made: ObjectGeometry | CollisionMonitorError) -> None:
        """Use the geometry that was made for an object, or the error why it cannot be."""
        request = self.keeper.requests.get(name)
        if request is not None and isinstance(made, CollisionMonitorError):
            self.keeper.refuse(name, str(made), request.expires)
        elif request is not None:
            self.keeper.fill(name, made)

    def has_room(self, name: str) -> bool:
        """Whether an object can be added now, as a new one or instead of its predecessor."""
        live = self.live
        return live is None or live.has_free_slot or name in live.objects

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

    def find(self, frame: str, stamp: Any = None) -> tuple[str, np.ndarray]:
        """As `Frames.find`, for the monitored robot."""
        return self._frames.find(frame, self.keeper.live.model, stamp)

    def require_link(self, link: str) -> None:
        """Raise an error if nothing can be attached to a link, since the robot has none like it."""
        if self.live is not None and link not in self.live.model.robot.links:
            raise LiveSceneError(f"{link!r} is not a link of '{self.live.model.name}'")

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
