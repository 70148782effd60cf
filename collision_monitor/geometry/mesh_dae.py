# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""COLLADA (DAE) files: the triangles of the visual scene.

``<unit meter>`` is applied and ``<up_axis>`` is not, as in RViz: a mesh of a
robot description is drawn in the axes in which its numbers are written (coal
and MoveIt ignore the unit too). Every node's transform and instance counts.
What cannot be read is an error, never a part left out.
"""

from __future__ import annotations

import math

import numpy as np
from lxml import etree

from collision_monitor.common.safe_xml import parse_xml
from collision_monitor.errors import MeshError
from collision_monitor.geometry.mesh_dae_primitives import (
    Ids,
    geometry_triangles,
    index_by_id,
    local_name,
    target,
)

_INSTANCES = ("instance_geometry", "instance_node", "instance_controller")
_DEEPEST = 100  # nodes inside each other
_MOST_NODES = 100_000  # visited; a few nodes that instance each other can ask for billions


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
        raise ValueError(f"no <scene> says which of {len(scenes)} visual scenes is meant")
    return scenes[0]


class _Collector:
    """Walks the nodes of a scene and keeps the triangles it meets, moved into the scene."""

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
        if len(above) > _DEEPEST or self._visited > _MOST_NODES:
            raise ValueError(
                f"more than {_DEEPEST} nodes inside each other or {_MOST_NODES} in all"
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
