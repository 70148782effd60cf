# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves and hierarchies of meshes in messages, made in a thread and cached."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from collision_monitor.errors import CollisionMonitorError, LiveSceneError, reason_of
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.nodes.obstacles.message_shapes import ManyTriangles, MeshFile, fitted
from collision_monitor.robot.description import Shape
from collision_monitor.robot.packages import FileFinder

_RECENT = 20  # geometries that are kept although no object has them now


class MeshWorker:
    """Processes one mesh after another; a new request for a name replaces the waiting one."""

    def __init__(self, package_dirs: Sequence[str], most: int, hierarchy: str = "aabb") -> None:
        """``most``: maximum number of leaves of a mesh; ``hierarchy`` over its triangles."""
        self._finder, self._most = FileFinder(package_dirs, is_received=True), most
        self._hierarchy = hierarchy
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="meshes")
        self._jobs: dict[str, tuple[MeshFile | ManyTriangles, Future[ObjectGeometry]]] = {}
        self._made: WeakValueDictionary[Any, ObjectGeometry] = WeakValueDictionary()  # by key
        self._recent: deque[ObjectGeometry] = deque(maxlen=_RECENT)

    def known(self, wanted: MeshFile | ManyTriangles) -> ObjectGeometry | None:
        """The geometry, if it was made for any object and is still there."""
        return self._made.get(wanted.key)

    @property
    def names(self) -> list[str]:
        """Names of the objects whose meshes are being processed."""
        return list(self._jobs)

    def start(self, name: str, wanted: MeshFile | ManyTriangles) -> None:
        """Start making the geometry of an object, unless it is being made; `done` delivers it."""
        if name not in self._jobs or self._jobs[name][0].key != wanted.key:
            self.cancel(name)
            self._jobs[name] = wanted, self._pool.submit(self._make, wanted)

    def cancel(self, name: str) -> None:
        """Cancel the job of an object."""
        if name in self._jobs:
            self._jobs.pop(name)[1].cancel()

    def done(self, report: Callable[[str, ObjectGeometry | CollisionMonitorError], None]) -> None:
        """Call ``report`` for each finished job, with the name and the geometry or the error."""
        for name, (wanted, future) in list(self._jobs.items()):
            if not future.done():
                continue
            del self._jobs[name]
            if (problem := future.exception()) is not None:
                report(name, LiveSceneError(reason_of(problem)))
                continue
            self._made[wanted.key] = made = future.result()
            self._recent.append(made)
            report(name, made)

    def _make(self, wanted: MeshFile | ManyTriangles) -> ObjectGeometry:
        if isinstance(wanted, ManyTriangles):
            made = fitted(wanted.parts, self._most)
        else:
            path = self._finder.find(wanted.resource, "mesh_resource", LiveSceneError)
            vertices, triangles = MeshLoader().load(
                path, "mesh_resource", wanted.scale, LiveSceneError
            )
            mesh = Shape("mesh", np.eye(4), (), vertices, triangles, str(path))
            made = ObjectGeometry.of_shape(mesh, self._most)
        made.mesh_part(self._hierarchy)  # here, not in the thread of the joint states
        return made

    def close(self) -> None:
        """End the thread after its current job."""
        self._pool.shutdown(wait=False, cancel_futures=True)
