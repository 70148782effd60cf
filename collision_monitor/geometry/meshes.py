# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes from files as arrays, or an error: never a part of a mesh.

The readers of STL, OBJ and DAE (`mesh_dae`) are strict. Readers made for rendering skip facets that
they cannot read; here each missing facet would be a hole in the robot. Binary STL is parsed by
trimesh, once the size is that of the number of triangles. Of a damaged ASCII STL or OBJ trimesh
returns a part, or other triangles, without an error; negative indices in OBJ count from the end of
the file; in DAE, coordinates are rounded to 32 bits, and broken references are skipped.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from collision_monitor.common.files import read_bounded
from collision_monitor.common.limits import LARGEST_FILE, SMALLEST, range_problem
from collision_monitor.errors import CollisionMonitorError, MeshError
from collision_monitor.geometry.mesh_dae import read_dae


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, from 1: only newlines and carriage returns end them.

    The lines of a str also end at other characters, which names in files may contain.
    """
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).splitlines(), 1):
        yield number, line.decode("utf-8", "replace")


# -- Wavefront OBJ files: vertices and faces --
#
# Materials, textures, normals, lines and points are skipped; polygons are cut into fans. A fan over
# a non-convex polygon covers it and more, never less.

_FACES = ("f", "fo")  # fo: the face of old files
_SKIPPED = frozenset(
    "vt vn vp o g s l p mg mtllib usemtl maplib usemap bevel c_interp d_interp lod "
    "shadow_obj trace_obj".split()
)


def read_obj(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) and triangles (m, 3) of an OBJ file's bytes.

    Raises ValueError with the line and the reason.
    """
    if b"\0" in data:
        raise ValueError("binary data or UTF-16, not an OBJ file in UTF-8")
    data = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for number, line in _lines(data):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] == "v":
            try:
                vertices.append([float(words[1]), float(words[2]), float(words[3])])
            except (ValueError, IndexError):
                raise ValueError(f"line {number}: expected 'v x y z', got {line[:60]!r}") from None
        elif words[0] in _FACES:
            corners = [_index(word, len(vertices), number) for word in words[1:]]
            if len(corners) < 3:
                raise ValueError(f"line {number}: a face of {len(corners)} vertices")
            triangles += [
                (corners[0], b, c) for b, c in zip(corners[1:-1], corners[2:], strict=True)
            ]
        elif words[0] not in _SKIPPED:
            # Free-form surfaces, or a damaged line that may have been a face.
            raise ValueError(f"line {number}: {words[0][:40]!r} is not supported")
    index = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    if index.size and index.max() >= len(vertices):
        raise ValueError(f"a face names vertex {index.max() + 1} of {len(vertices)}")
    return np.array(vertices, dtype=float).reshape(-1, 3), index


def _index(word: str, known: int, line: int) -> int:
    """Return the vertex index from 0; negative numbers count back from the last vertex read."""
    try:
        index = int(word.split("/", 1)[0])
    except ValueError:
        raise ValueError(f"line {line}: {word[:40]!r} is not a vertex index") from None
    if index == 0 or index < -known:
        raise ValueError(f"line {line}: a face names vertex {index} of {known}")
    return index - 1 if index > 0 else known + index


# -- STL files, binary and ASCII --
#
# A binary file must hold exactly as many triangles as its header says: lenient readers turn a
# truncated file into a smaller mesh, and the robot gets a hole.

_HEADER = 84  # bytes: 80 of anything, then the number of triangles
_FACET = 50  # bytes: normal and corners as 32-bit floats, and an attribute


def read_stl(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (3m, 3) and triangles (m, 3) of an STL file's bytes.

    Raises ValueError with the reason.
    """
    text = data.removeprefix(codecs.BOM_UTF8)
    count = int.from_bytes(data[80:_HEADER], "little") if len(data) >= _HEADER else -1
    expected = _HEADER + count * _FACET
    if count >= 0 and len(data) == expected:
        from trimesh.exchange.stl import load_stl_binary  # takes 0.3 s

        parsed = load_stl_binary(io.BytesIO(data))
        vertices = np.array(parsed.get("vertices", ()), dtype=float).reshape(-1, 3)
    elif text.lstrip()[:5].lower() == b"solid" and b"facet" in text[:4096].lower():
        vertices = _read_ascii(data)
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("text in UTF-16; save the ASCII STL in UTF-8")
    elif count < 0:
        raise ValueError(f"not an STL file: {len(data)} bytes")
    else:
        raise ValueError(
            f"truncated or damaged binary STL: {count} triangles need {expected} bytes, "
            f"the file has {len(data)}"
        )
    return vertices, np.arange(len(vertices)).reshape(-1, 3)


def _read_ascii(data: bytes) -> np.ndarray:
    vertices: list[tuple[float, float, float]] = []
    corners = None  # vertices seen in the open facet, None outside of one
    open_solid = False
    for number, line in _lines(data):
        words = line.split()
        if not words:
            continue
        word = words[0].lower()
        if word == "vertex":
            if corners is None or len(words) != 4:
                raise ValueError(f"line {number}: expected 'vertex x y z' inside a facet")
            vertices.append(tuple(_number(w, number) for w in words[1:]))
            corners += 1
        elif word == "facet":
            if corners is not None or not open_solid:
                raise ValueError(f"line {number}: unexpected 'facet'")
            corners = 0
        elif word == "endfacet":
            if corners != 3:
                raise ValueError(f"line {number}: a facet has 3 vertices, not {corners}")
            corners = None
        elif word in ("solid", "endsolid"):
            if corners is not None or open_solid == (word == "solid"):
                raise ValueError(f"line {number}: unexpected {word!r}")
            open_solid = word == "solid"
        elif word not in ("outer", "endloop", "color"):
            raise ValueError(f"line {number}: unknown word {words[0][:40]!r}")
    if open_solid:
        raise ValueError("truncated ASCII STL: no 'endsolid' at the end")
    return np.array(vertices, dtype=float).reshape(-1, 3)


def _number(word: str, line: int) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"line {line}: {word[:40]!r} is not a number") from None


# -- any format --

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
        if problem := range_problem(float(np.abs(vertices).max())):
            raise error(f"{user}: {path}: scaled by {_plain(factors)}: vertex coordinate {problem}")
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
        if data.startswith(b"version https://git-lfs"):
            raise MeshError(
                "is a Git LFS pointer, not the mesh: run 'git lfs pull' in its repository, and "
                "build its package again"
            )
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
