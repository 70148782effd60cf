# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Wavefront OBJ files: vertices and faces, nothing else.

Materials, textures, normals, lines and points are skipped; polygons are cut
into fans. A fan over a non-convex polygon covers it and more, never less.
"""

from __future__ import annotations

import numpy as np

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
        raise ValueError("binary data, not an OBJ file")
    text = data.decode("utf-8", "replace").replace("\\\r\n", " ").replace("\\\n", " ")
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for number, line in enumerate(text.splitlines(), 1):
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
        raise ValueError(f"line {line}: {word[:40]!r} is no vertex of a face") from None
    if index == 0 or index < -known:
        raise ValueError(f"line {line}: a face names vertex {index} of {known}")
    return index - 1 if index > 0 else known + index
