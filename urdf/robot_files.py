# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the scripts that make robots share: STL, and writing or checking their files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import trimesh

_ROOT = Path(__file__).resolve().parent.parent
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def stl(mesh: trimesh.Trimesh, title: str) -> bytes:
    """Return a mesh as binary STL."""
    corners = mesh.vertices[mesh.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    data = np.zeros(len(corners), _TRIANGLE)
    data["normal"] = np.round(normal / np.linalg.norm(normal, axis=1, keepdims=True), 4) + 0.0
    data["corners"] = corners
    return title.encode().ljust(80) + np.uint32(len(corners)).tobytes() + data.tobytes()


def mesh_files(meshes: dict[str, trimesh.Trimesh], title: str) -> dict[str, bytes]:
    """Return meshes by their paths; RuntimeError for one that is not closed."""
    for name, mesh in meshes.items():
        if not (mesh.is_watertight and mesh.is_winding_consistent and mesh.volume > 0):
            raise RuntimeError(f"mesh {name!r} is not a closed surface with outward normals")
    return {f"urdf/meshes/{name}.stl": stl(mesh, title) for name, mesh in meshes.items()}


def write_or_check(
    make: Callable[[], dict[str, bytes]], description: str, arguments: list[str] | None = None
) -> int:
    """Write the files that ``make`` returns by path, or check those that are there.

    Returns 1 if a checked file is missing or differs.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--output", type=Path, default=_ROOT, help="repository root to write to")
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    options = parser.parse_args(arguments)
    stale = 0
    for name, content in make().items():
        path = options.output / name
        if options.check:
            if not path.is_file() or path.read_bytes() != content:
                print(f"differs: {path}", file=sys.stderr)
                stale = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            print(f"{path} ({len(content)} bytes)")
    return stale
