# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes from files as plain arrays, or an error: never a part of a mesh.

The readers are strict. Readers made for pictures skip facets that they cannot
read; here each missing facet would be a hole in the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from collision_monitor.common.magnitudes import LARGEST_FILE, SMALLEST, beyond_reason, read_bounded
from collision_monitor.errors import CollisionMonitorError, MeshError
from collision_monitor.geometry.mesh_dae import read_dae
from collision_monitor.geometry.mesh_obj import read_obj
from collision_monitor.geometry.mesh_stl import read_stl

READERS: dict[str, Callable[[bytes], tuple[np.ndarray, np.ndarray]]] = {
    ".stl": read_stl,
    ".obj": read_obj,
    ".dae": read_dae,
}


class MeshLoader:
    """Loads meshes, each file once."""

    def __init__(self) -> None:
        self._files: dict[Path, tuple[np.ndarray, np.ndarray]] = {}

    def load(
        self,
        path: Path,
        user: str,
        scale: Sequence[float] = (1.0, 1.0, 1.0),
        error: type[CollisionMonitorError] = MeshError,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices (n, 3) in metres, scaled, and triangles (m, 3), int64.

        Equal vertices are merged and those without a triangle dropped. A scale
        that mirrors flips the triangles, so that normals still point outwards.
        ``user`` says whose mesh it is. Raises ``error`` naming both.
        """
        factors = np.asarray(scale, dtype=float)
        if factors.shape != (3,) or not np.isfinite(factors).all() or (factors == 0.0).any():
            raise error(
                f"{user}: scale {_plain(factors)} of {path}: "
                "expected three finite numbers, none of them zero"
            )
        if path not in self._files:
            self._files[path] = _read(path, user, error)
        vertices, triangles = self._files[path]
        with np.errstate(over="ignore"):
            vertices = vertices * factors
        if not np.isfinite(vertices).all():
            raise error(f"{user}: {path}: not finite after scaling by {_plain(factors)}")
        if problem := beyond_reason(float(np.abs(vertices).max())):
            raise error(f"{user}: {path}: scaled by {_plain(factors)}: a vertex at {problem}")
        if (extent := float(np.ptp(vertices, axis=0).max())) < SMALLEST:
            raise error(
                f"{user}: {path}: scaled by {_plain(factors)} it is {extent:g} m large, too "
                f"small to be a mesh; {SMALLEST:g} m is the least"
            )
        if np.prod(np.sign(factors)) < 0:
            triangles = triangles[:, ::-1]
        return np.ascontiguousarray(vertices), np.ascontiguousarray(triangles)


def _read(
    path: Path, user: str, error: type[CollisionMonitorError]
) -> tuple[np.ndarray, np.ndarray]:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        good = ", ".join(READERS)
        raise error(f"{user}: {path}: cannot read {path.suffix or 'no extension'!r}; use {good}")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no file"
        raise error(f"{user}: {path}: is {what}, expected a mesh file")
    try:
        data = read_bounded(path)
        if data is None:
            raise MeshError(f"larger than {LARGEST_FILE // 1_000_000} MB; simplify the mesh")
        with np.errstate(invalid="ignore", over="ignore"):  # not finite: refused below
            vertices, triangles = reader(data)
    except OSError as problem:
        raise error(f"{user}: {path}: cannot be read: {problem.strerror or problem}") from None
    except MeshError as problem:
        raise error(f"{user}: {path}: {problem}") from None
    except (ValueError, OverflowError) as problem:
        raise error(f"{user}: {path}: unreadable mesh: {problem}") from None
    if len(triangles) == 0:
        raise error(f"{user}: {path}: the mesh is empty: it has no triangles")
    corners = vertices[triangles.ravel()]
    if not np.isfinite(corners).all():
        raise error(f"{user}: {path}: the mesh has vertices that are not finite")
    merged, index = np.unique(corners, axis=0, return_inverse=True)
    return merged, index.reshape(-1, 3).astype(np.int64)


def _plain(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:g}" for value in values.ravel()) + ")"
