# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves around meshes, made in a thread beside the watch, and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from collision_monitor.errors import CollisionMonitorError, LiveSceneError
from collision_monitor.fitting.fast_fit import cover_triangles
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.nodes.obstacles.message_shapes import MeshFile, Triangles
from collision_monitor.robot.packages import FileFinder

_KEPT = 200  # meshes of files whose leaves are kept


class MeshJobs:
    """One job after another; what is asked for again for the same name replaces what waits."""

    def __init__(self, package_dirs: Sequence[str], most: int) -> None:
        """``most``: leaves around a mesh."""
        self._finder, self._most = FileFinder(package_dirs), most
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="meshes")
        self._jobs: dict[str, tuple[object, Future]] = {}
        self._kept: dict[MeshFile, np.ndarray] = {}

    def known(self, wanted: MeshFile) -> np.ndarray | None:
        """Leaves of a file that has been read before; None else."""
        return self._kept.get(wanted)

    @property
    def names(self) -> list[str]:
        """What leaves are being made for."""
        return list(self._jobs)

    def start(self, name: str, wanted: MeshFile | Triangles) -> None:
        """Make leaves (k, 7); `done` has them some day."""
        if name in self._jobs:
            self._jobs[name][1].cancel()
        self._jobs[name] = wanted, self._pool.submit(self._make, name, wanted)

    def cancel(self, name: str) -> None:
        """Nobody wants it any more."""
        if name in self._jobs:
            self._jobs.pop(name)[1].cancel()

    def done(self, take: Callable[[str, np.ndarray | CollisionMonitorError], None]) -> None:
        """Hand over what has been finished: leaves, or why there are none."""
        for name, (wanted, job) in list(self._jobs.items()):
            if not job.done() or job.cancelled():
                continue
            del self._jobs[name]
            problem = job.exception()
            if problem is None:
                if isinstance(wanted, MeshFile) and len(self._kept) < _KEPT:
                    self._kept[wanted] = job.result()
                take(name, job.result())
            elif isinstance(problem, CollisionMonitorError):
                take(name, problem)
            else:
                text = f"internal error, {type(problem).__name__}: {problem}"
                take(name, LiveSceneError(text))

    def _make(self, name: str, wanted: MeshFile | Triangles) -> np.ndarray:
        if isinstance(wanted, Triangles):
            return cover_triangles(wanted.corners, self._most)
        path = self._finder.find(wanted.resource, "mesh_resource", LiveSceneError)
        vertices, triangles = MeshLoader().load(
            path, "mesh_resource", wanted.scale, LiveSceneError
        )
        return cover_triangles(vertices[triangles], self._most)

    def close(self) -> None:
        """End the thread once its job is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)
