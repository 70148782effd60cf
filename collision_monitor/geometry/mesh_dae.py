# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""COLLADA (DAE) files: the triangles of the visual scene.

``<unit meter>`` is applied and ``<up_axis>`` is not, as in RViz: a mesh of a
robot description is drawn in the axes in which its numbers are written (coal
and MoveIt ignore the unit too). Every node's transform and instance counts.
Anything that cannot be read is an error; no part is left out.

Not read with pycollada: it rounds to single precision, takes NaN for 0 and
accepts wrong counts, negative indices and invalid units without an error.

Files may be named on topics: a DOCTYPE is an error, entities are not resolved,
the number of nodes is bounded.
"""

from __future__ import annotations

import math

import numpy as np
from lxml import etree

from collision_monitor.common.safe_files import DEEPEST, MOST_REFERRED, parse_xml
from collision_monitor.errors import MeshError

# -- the primitives of a COLLADA geometry as triangles --
#
# ``triangles``, ``polylist``, ``polygons``, ``tristrips`` and ``trifans``; lines
# have no surface and are skipped. Polygons become fans, which cover a non-convex
# polygon and more, never less; for the same reason holes in polygons are closed.


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
    """Return the one element of that tag to which an attribute like ``url="#id"`` refers.

    Some exporters use the same ids in each mesh: of several elements, the one in the smallest part
    of the document that also contains the reference is meant.
    """
    url = element.get(attribute, "")
    elements = by_id.get((tag, url[1:]), []) if url.startswith("#") else []
    if len(elements) > 1:
        for part in element.iterancestors():
            if near := [each for each in part.iter(tag) if each.get("id") == url[1:]]:
                elements = near
                break
    if len(elements) != 1:
        raise ValueError(
            f"<{element.tag}> on line {element.sourceline} refers to {url!r}, which is "
            f"{'more than one' if elements else 'no'} <{tag}> of this file"
        )
    return elements[0]


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
            f"<triangles> on line {element.sourceline}: {count} triangles are declared, "
            f"{len(index) / 3:g} are present"
        )
    return index.reshape(-1, 3)


def _polylist(element: etree._Element, corners: _Corners) -> list:
    index = corners.read(element.find("p"))
    sizes = _integers(element.find("vcount"))
    if sizes.sum() != len(index) or (sizes < 0).any():
        raise ValueError(
            f"<polylist> on line {element.sourceline}: <vcount> declares {sizes.sum()} corners, "
            f"{len(index)} are present"
        )
    ends = np.cumsum(sizes)
    return [t for a, b in zip(ends - sizes, ends, strict=True) for t in _fan(index[a:b])]


def _polygons(element: etree._Element, corners: _Corners) -> list:
    outlines = element.findall("p") + element.findall("ph/p")
    return [t for p in outlines for t in _fan(corners.read(p))]


def _trifans(element: etree._Element, corners: _Corners) -> list:
    return [t for p in element.findall("p") for t in _fan(corners.read(p))]


def _tristrips(element: etree._Element, corners: _Corners) -> list:
    triangles = []
    for p in element.findall("p"):
        i = corners.read(p)
        for k in range(len(i) - 2):
            # Every second triangle of a strip runs the other way round.
            triangles.append(
                (i[k], i[k + 1], i[k + 2]) if k % 2 == 0 else (i[k + 1], i[k], i[k + 2])
            )
    return triangles


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


_INSTANCES = ("instance_geometry", "instance_node", "instance_controller")


def read_dae(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) in metres and triangles (m, 3) of a DAE file's bytes.

    Raises ValueError with the reason.
    """
    root = parse_xml(data, MeshError, "mesh", huge=True).root
    for element in root.iter(etree.Element):
        element.tag = local_name(element)
    if root.tag != "COLLADA":
        raise ValueError(f"not COLLADA: the root element is <{root.tag}>")
    by_id = index_by_id(root)
    collector = _Collector(by_id)
    scale = np.diag([*[_unit(root)] * 3, 1.0])
    for node in _scene(root, by_id).findall("node"):
        collector.collect(node, scale)
    parts = collector.parts
    if not parts:
        return np.empty((0, 3)), np.empty((0, 3), dtype=np.int64)
    offsets = np.cumsum([0] + [len(vertices) for vertices, _ in parts[:-1]])
    return (
        np.concatenate([vertices for vertices, _ in parts]),
        np.concatenate([index + offset for (_, index), offset in zip(parts, offsets, strict=True)]),
    )


def _unit(root: etree._Element) -> float:
    element = root.find("asset/unit")
    text = "1" if element is None else element.get("meter", "1")
    try:
        unit = float(text)
    except ValueError:
        unit = math.nan
    if not (math.isfinite(unit) and unit > 0):
        raise ValueError(f"<unit meter={text!r}> should be a positive number")
    return unit


def _scene(root: etree._Element, by_id: Ids) -> etree._Element:
    instance = root.find("scene/instance_visual_scene")
    if instance is not None:
        return target(instance, "url", by_id, "visual_scene")
    scenes = root.findall("library_visual_scenes/visual_scene")
    if len(scenes) != 1:
        raise ValueError(f"no <scene> selects one of {len(scenes)} visual scenes")
    return scenes[0]


class _Collector:
    """Traverses the nodes of a scene and collects their triangles in the frame of the scene."""

    def __init__(self, by_id: Ids):
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._by_id = by_id
        self._geometries: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        self._visited = 0

    def collect(
        self, node: etree._Element, parent: np.ndarray, above: tuple[etree._Element, ...] = ()
    ) -> None:
        """Add what is below a node, whose parent stands at a pose (4, 4)."""
        self._visited += 1
        if node in above:
            raise ValueError(f"node {node.get('id')!r} contains itself")
        if len(above) > DEEPEST or self._visited > MOST_REFERRED:
            raise ValueError(
                f"more than {DEEPEST} nodes inside each other or {MOST_REFERRED} in all"
            )
        if next(node.iter(*_INSTANCES), None) is None:
            return  # a camera or a light, whose transform does not matter
        pose = parent @ _transform(node)
        for child in node:
            if child.tag == "node":
                self.collect(child, pose, (*above, node))
            elif child.tag == "instance_node":
                self.collect(target(child, "url", self._by_id, "node"), pose, (*above, node))
            elif child.tag == "instance_geometry":
                self._add_geometry(child, pose)
            elif child.tag == "instance_controller":
                raise ValueError("skinned geometry (<instance_controller>) is not supported")

    def _add_geometry(self, instance: etree._Element, pose: np.ndarray) -> None:
        url = instance.get("url", "")
        if url not in self._geometries:
            geometry = target(instance, "url", self._by_id, "geometry")
            self._geometries[url] = geometry_triangles(geometry, self._by_id)
        # A mirroring transform turns the triangles inside out: turn them back.
        mirrored = np.linalg.det(pose[:3, :3]) < 0
        for vertices, index in self._geometries[url]:
            moved = vertices @ pose[:3, :3].T + pose[:3, 3]
            self.parts.append((moved, index[:, ::-1] if mirrored else index))


def _transform(node: etree._Element) -> np.ndarray:
    """Return the node's 4x4 transform: its transform elements multiplied in file order."""
    result = np.eye(4)
    for element in node:
        step = np.eye(4)
        if element.tag == "matrix":
            step = _numbers(element, 16).reshape(4, 4)
        elif element.tag == "translate":
            step[:3, 3] = _numbers(element, 3)
        elif element.tag == "scale":
            step[:3, :3] = np.diag(_numbers(element, 3))
        elif element.tag == "rotate":
            step[:3, :3] = _rotation(*_numbers(element, 4))
        elif element.tag in ("lookat", "skew"):
            raise ValueError(f"the transform <{element.tag}> is not supported")
        else:
            continue
        result = result @ step
    return result


def _rotation(x: float, y: float, z: float, degrees: float) -> np.ndarray:
    """Return the rotation about an axis by Rodrigues' formula; no rotation about a zero axis."""
    norm = math.sqrt(x * x + y * y + z * z)
    if norm == 0.0:
        return np.eye(3)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) / norm
    angle = math.radians(degrees)
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * (k @ k)


def _numbers(element: etree._Element, count: int) -> np.ndarray:
    words = (element.text or "").split()
    try:
        values = np.array([float(word) for word in words])
    except ValueError:
        values = np.array([])
    if len(values) != count or not np.isfinite(values).all():
        raise ValueError(f"<{element.tag}> should hold {count} numbers: {element.text!r:.80}")
    return values
