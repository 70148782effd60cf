# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The primitives of a COLLADA geometry as triangles.

``triangles``, ``polylist``, ``polygons``, ``tristrips`` and ``trifans``; lines
have no surface and are skipped. Polygons become fans, which cover a non-convex
polygon and more, never less; for the same reason holes in polygons are closed.
"""

from __future__ import annotations

import numpy as np
from lxml import etree

_NO_SURFACE = ("source", "vertices", "lines", "linestrips", "extra")


Ids = dict[tuple[str, str], list[etree._Element]]  # elements by tag and id


def index_by_id(root: etree._Element) -> Ids:
    """Return the elements that have an id; exporters do use one twice for cameras."""
    found: Ids = {}
    for element in root.iter(etree.Element):
        if element.get("id"):
            found.setdefault((element.tag, element.get("id")), []).append(element)
    return found


def local_name(element: etree._Element) -> str:
    """Return an element's tag without its namespace."""
    return element.tag.rpartition("}")[2]


def target(element: etree._Element, attribute: str, by_id: Ids, tag: str) -> etree._Element:
    """Return the one element of that tag to which an attribute like ``url="#id"`` refers."""
    url = element.get(attribute, "")
    found = by_id.get((tag, url[1:]), []) if url.startswith("#") else []
    if len(found) != 1:
        raise ValueError(
            f"<{element.tag}> on line {element.sourceline} refers to {url!r}, which is "
            f"{'more than one' if found else 'no'} <{tag}> of this file"
        )
    return found[0]


def geometry_triangles(geometry: etree._Element, by_id: Ids) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (vertices (n, 3), triangles (m, 3)) for every primitive element."""
    mesh = geometry.find("mesh")
    if mesh is None:
        kinds = [child.tag for child in geometry if child.tag not in ("asset", "extra")]
        raise ValueError(f"geometry {geometry.get('id')!r} is {kinds}, expected a <mesh>")
    parts = []
    for primitive in mesh:
        if primitive.tag in _NO_SURFACE:
            continue
        if primitive.tag not in _READERS:
            raise ValueError(f"unknown primitive <{primitive.tag}>, line {primitive.sourceline}")
        corners, vertices = _inputs(primitive, by_id)
        index = np.array(_READERS[primitive.tag](primitive, corners), dtype=np.int64)
        index = index.reshape(-1, 3)
        if index.size and (index.min() < 0 or index.max() >= len(vertices)):
            raise ValueError(
                f"<{primitive.tag}> on line {primitive.sourceline} names vertices "
                f"{index.min()} to {index.max()} of {len(vertices)}"
            )
        parts.append((vertices, index))
    return parts


class _Corners:
    """Reads the vertex indices out of ``<p>`` lists of interleaved indices."""

    def __init__(self, stride: int, offset: int):
        self._stride = stride
        self._offset = offset

    def read(self, p: etree._Element | None) -> np.ndarray:
        numbers = _integers(p)
        if len(numbers) % self._stride:
            raise ValueError(
                f"<p> on line {p.sourceline} holds {len(numbers)} indices, "
                f"not a multiple of {self._stride}"
            )
        return numbers[self._offset :: self._stride]


def _inputs(primitive: etree._Element, by_id: Ids) -> tuple[_Corners, np.ndarray]:
    inputs = primitive.findall("input")
    offsets = [_whole(element, "offset") for element in inputs]
    for element, offset in zip(inputs, offsets, strict=True):
        if element.get("semantic") == "VERTEX":
            for inner in target(element, "source", by_id, "vertices").findall("input"):
                if inner.get("semantic") == "POSITION":
                    vertices = _positions(target(inner, "source", by_id, "source"), by_id)
                    return _Corners(max(offsets) + 1, offset), vertices
    raise ValueError(f"<{primitive.tag}> on line {primitive.sourceline} has no vertex positions")


def _positions(source: etree._Element, by_id: Ids) -> np.ndarray:
    accessor = source.find("technique_common/accessor")
    if accessor is None:
        raise ValueError(f"<source> on line {source.sourceline} has no <accessor>")
    array = target(accessor, "source", by_id, "float_array")
    try:
        values = np.array((array.text or "").split(), dtype=float)
    except ValueError as problem:
        raise ValueError(f"<float_array> on line {array.sourceline}: {problem}") from None
    count, stride = _whole(accessor, "count"), _whole(accessor, "stride", 1)
    offset = _whole(accessor, "offset")
    # Unnamed params are skipped over; the first three named ones are x, y, z.
    named = [i for i, param in enumerate(accessor.findall("param")) if param.get("name")]
    columns = named[:3] if named else [0, 1, 2]
    if len(columns) < 3 or max(columns) >= stride or offset + count * stride > len(values):
        raise ValueError(
            f"<accessor> on line {accessor.sourceline}: {count} positions of stride {stride} "
            f"do not fit {len(values)} numbers"
        )
    return values[offset : offset + count * stride].reshape(count, stride)[:, columns]


def _triangles(element: etree._Element, corners: _Corners) -> np.ndarray:
    index = corners.read(element.find("p"))
    count = _whole(element, "count")
    if len(index) != 3 * count:
        raise ValueError(
            f"<triangles> on line {element.sourceline}: {count} triangles are announced, "
            f"{len(index) / 3:g} are there"
        )
    return index.reshape(-1, 3)


def _polylist(element: etree._Element, corners: _Corners) -> list:
    index = corners.read(element.find("p"))
    sizes = _integers(element.find("vcount"))
    if sizes.sum() != len(index) or (sizes < 0).any():
        raise ValueError(
            f"<polylist> on line {element.sourceline}: <vcount> announces {sizes.sum()} corners, "
            f"{len(index)} are there"
        )
    ends = np.cumsum(sizes)
    return [t for a, b in zip(ends - sizes, ends, strict=True) for t in _fan(index[a:b])]


def _polygons(element: etree._Element, corners: _Corners) -> list:
    outlines = element.findall("p") + element.findall("ph/p")
    return [t for p in outlines for t in _fan(corners.read(p))]


def _trifans(element: etree._Element, corners: _Corners) -> list:
    return [t for p in element.findall("p") for t in _fan(corners.read(p))]


def _tristrips(element: etree._Element, corners: _Corners) -> list:
    found = []
    for p in element.findall("p"):
        i = corners.read(p)
        for k in range(len(i) - 2):
            # Every second triangle of a strip runs the other way round.
            found.append((i[k], i[k + 1], i[k + 2]) if k % 2 == 0 else (i[k + 1], i[k], i[k + 2]))
    return found


def _fan(i: np.ndarray) -> list:
    return [(i[0], b, c) for b, c in zip(i[1:-1], i[2:], strict=True)] if len(i) > 2 else []


def _integers(element: etree._Element | None) -> np.ndarray:
    if element is None or not (element.text or "").strip():
        return np.empty(0, dtype=np.int64)
    try:
        return np.array(element.text.split(), dtype=np.int64)
    except (ValueError, OverflowError) as problem:
        raise ValueError(f"<{element.tag}> on line {element.sourceline}: {problem}") from None


def _whole(element: etree._Element, attribute: str, default: int = 0) -> int:
    text = element.get(attribute, str(default))
    if not text.strip().isdecimal() or len(text) > 12:
        raise ValueError(
            f"<{element.tag}> on line {element.sourceline}: {attribute} should be a whole "
            f"number, not {text!r}"
        )
    return int(text)


_READERS = {
    "triangles": _triangles,
    "polylist": _polylist,
    "polygons": _polygons,
    "tristrips": _tristrips,
    "trifans": _trifans,
}
