# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves and hierarchies of meshes in messages, made in a thread and cached."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from collision_monitor.errors import CollisionMonitorError, LiveSceneError, reason_of
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.nodes.obstacles.message_shapes import ManyTriangles, MeshFile, fitted
from collision_monitor.robot.description import Shape
from collision_monitor.robot.packages import FileFinder

_KEPT = 200  # maximum number of mesh files whose geometry is cached


class _Job(NamedTuple):
    wanted: MeshFile | ManyTriangles
    future: Future[ObjectGeometry]


class MeshWorker:
    """Processes one mesh after another; a new request for a name replaces the waiting one."""

    def __init__(self, package_dirs: Sequence[str], most: int, hierarchy: str = "aabb") -> None:
        """``most``: maximum number of leaves of a mesh; ``hierarchy`` over its triangles."""
        self._finder, self._most = FileFinder(package_dirs, is_received=True), most
        self._hierarchy = hierarchy
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="meshes")
        self._jobs: dict[str, _Job] = {}
        self._results: dict[str, _Job] = {}  # of triangles, reported
        self._kept: dict[MeshFile, ObjectGeometry] = {}

    def known(self, name: str, wanted: MeshFile | ManyTriangles) -> ObjectGeometry | None:
        """The geometry, if it was made before: of a file, or of the same triangles of an object."""
        if isinstance(wanted, MeshFile):
            return self._kept.get(wanted)
        last = self._results.get(name)
        is_known = last is not None and not last.future.exception() and wanted.is_same(last.wanted)
        return last.future.result() if is_known else None

    def is_making(self, name: str, wanted: ManyTriangles) -> bool:
        """Whether the geometry of the same triangles of an object is being made."""
        return name in self._jobs and wanted.is_same(self._jobs[name].wanted)

    def unmade(self, name: str) -> ManyTriangles | None:
        """Triangles of an object whose geometry is being made, or could not be made."""
        job = self._jobs.get(name)
        if job is None and (last := self._results.get(name)) is not None:
            job = last if last.future.exception() else None
        is_meant = job is not None and isinstance(job.wanted, ManyTriangles)
        return job.wanted if is_meant else None

    @property
    def names(self) -> list[str]:
        """Names of the objects whose meshes are being processed."""
        return list(self._jobs)

    def start(self, name: str, wanted: MeshFile | ManyTriangles) -> None:
        """Start making the geometry of an object; `done` delivers it."""
        self.cancel(name)
        self._jobs[name] = _Job(wanted, self._pool.submit(self._make, wanted))

    def cancel(self, name: str) -> None:
        """Cancel the job of an object, and forget its result."""
        self._results.pop(name, None)
        if name in self._jobs:
            self._jobs.pop(name).future.cancel()

    def done(self, report: Callable[[str, ObjectGeometry | CollisionMonitorError], None]) -> None:
        """Call ``report`` for each finished job, with the name and the geometry or the error."""
        for name, job in list(self._jobs.items()):
            if not job.future.done() or job.future.cancelled():
                continue
            del self._jobs[name]
            problem = job.future.exception()
            if isinstance(job.wanted, ManyTriangles):
                self._results[name] = job
            elif problem is None and len(self._kept) < _KEPT:
                self._kept[job.wanted] = job.future.result()
            if problem is None:
                report(name, job.future.result())
            elif isinstance(problem, CollisionMonitorError):
                report(name, problem)
            else:
                report(name, LiveSceneError(reason_of(problem)))

    def keep_results(self, names: Collection[str]) -> None:
        """Forget the results of objects without one of these names."""
        for name in self._results.keys() - names:
            del self._results[name]

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
