# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""STL files, binary and ASCII, read strictly.

A binary file must hold exactly as many triangles as its header says: lenient
readers turn a cut file into a smaller mesh, and the robot gets a hole.
"""

from __future__ import annotations

import numpy as np

_HEADER = 84  # 80 bytes of anything, then the number of triangles
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (3m, 3) and triangles (m, 3) of an STL file's bytes.

    Raises ValueError with the reason.
    """
    count = int.from_bytes(data[80:_HEADER], "little") if len(data) >= _HEADER else -1
    expected = _HEADER + count * _RECORD.itemsize
    if count >= 0 and len(data) == expected:
        corners = np.frombuffer(data, _RECORD, offset=_HEADER)["corners"]
        vertices = corners.astype(float).reshape(-1, 3)
    elif data.lstrip()[:5].lower() == b"solid" and b"facet" in data[:4096].lower():
        vertices = _read_ascii(data.decode("latin-1"))
    elif count < 0:
        raise ValueError(f"{len(data)} bytes are no STL file")
    else:
        raise ValueError(
            f"truncated or damaged binary STL: {count} triangles need {expected} bytes, "
            f"the file has {len(data)}"
        )
    return vertices, np.arange(len(vertices)).reshape(-1, 3)


def _read_ascii(text: str) -> np.ndarray:
    vertices: list[tuple[float, float, float]] = []
    corners = None  # vertices seen in the open facet, None outside of one
    open_solid = False
    for number, line in enumerate(text.splitlines(), 1):
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
                raise ValueError(f"line {number}: a facet begins where none can")
            corners = 0
        elif word == "endfacet":
            if corners != 3:
                raise ValueError(f"line {number}: a facet has 3 vertices, not {corners}")
            corners = None
        elif word in ("solid", "endsolid"):
            if corners is not None or open_solid == (word == "solid"):
                raise ValueError(f"line {number}: {word!r} where none can be")
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
