# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Converts objects of a live scene to obstacles of a scene file."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from collision_monitor.model.live_objects import LiveObject
from collision_monitor.model.live_scene import LiveScene
from collision_monitor.robot.shape_kinds import sizes_by_key

_WRITTEN = ("box", "sphere", "cylinder")
_ROUNDING = 1e-9  # relative, of sizes and positions
_SHORT = 1e-6  # metres: shorter capsules are written as spheres


def objects_now(live: LiveScene) -> tuple[LiveObject, ...]:
    """Return copies of all objects, unaffected by later changes; a few microseconds each."""
    return tuple(map(copy, live.objects.values()))


def as_scene(objects: Iterable[LiveObject]) -> dict[str, Any]:
    """Return ``obstacles`` and ``ignore`` of a scene file.

    Boxes, spheres and cylinders are written as such. Of other objects every leaf becomes an
    obstacle ``name#0`` and so on, so that distances are the same as in the live scene. Pairs under
    ``ignore`` may name links and obstacles that are not listed.
    """
    parts = {each.name: _parts(each) for each in objects}
    names = {name: [one["name"] for one in found] for name, found in parts.items()}
    ignore = [
        [own, other]
        for each in objects
        for own in names[each.name]
        for touched in sorted(each.touch)
        for other in names.get(touched, [touched])
    ]
    return {"obstacles": [one for found in parts.values() for one in found], "ignore": ignore}


def _parts(obj: LiveObject) -> list[dict[str, Any]]:
    shape = obj.shape
    if shape is not None and shape.kind in _WRITTEN:
        sizes = sizes_by_key(shape)
        return [{"name": obj.name, "type": shape.kind, **sizes, **_place(obj, obj.pose)}]
    found = []
    for k, row in enumerate(obj.rows):
        name = obj.name if len(obj.rows) == 1 else f"{obj.name}#{k}"
        found.append({"name": name, **_leaf(row, obj)})
    return found


def _leaf(row: np.ndarray, obj: LiveObject) -> dict[str, Any]:
    first, last = row[:3], row[3:6]
    length = float(np.linalg.norm(last - first))
    radius = float(row[6]) + _ROUNDING * (1.0 + float(np.abs(row).max()))
    middle = 0.5 * (first + last)
    if length < _SHORT:  # a cloud may have thousands of these
        place = (obj.pose[:3, :3] @ middle + obj.pose[:3, 3]).tolist()
        radius += 0.5 * length
        return {"type": "sphere", "radius": radius, "position": place, "link": obj.link}
    local = np.eye(4)
    local[:3, 3] = middle
    x, y, z = (last - first) / length
    turn = (1.0, 0.0, 0.0, 0.0) if z < -1.0 + 1e-12 else (-y, x, 0.0, 1.0 + z)
    local[:3, :3] = Rotation.from_quat(turn).as_matrix()
    sizes = {"type": "capsule", "radius": radius, "length": length}
    return {**sizes, **_place(obj, obj.pose @ local)}


def _place(obj: LiveObject, pose: np.ndarray) -> dict[str, Any]:
    return {
        "position": pose[:3, 3].tolist(),
        "orientation": Rotation.from_matrix(pose[:3, :3]).as_quat().tolist(),
        "link": obj.link,
    }
