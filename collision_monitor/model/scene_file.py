# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Converts objects of a live scene to obstacles of a scene file."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.model.live.live_objects import LiveObject
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.live.object_geometry import solids_of_leaves


def objects_now(live: LiveScene) -> tuple[LiveObject, ...]:
    """Return copies of all objects, unaffected by later changes; a few microseconds each."""
    return tuple(map(copy, live.objects.values()))


def as_scene(objects: Iterable[LiveObject]) -> dict[str, Any]:
    """Return ``obstacles`` and ``ignore`` of a scene file.

    An object of one solid becomes an obstacle of its name, an object of several solids the
    obstacles ``name#0`` and so on. Of objects with meshes, which a file cannot hold, the leaves are
    written. Pairs under ``ignore`` may name links and obstacles that are not listed.
    """
    parts = {each.name: _parts(each) for each in objects}
    names = {name: [part["name"] for part in of_object] for name, of_object in parts.items()}
    ignore = [
        [name, other]
        for each in objects
        for name in names[each.name]
        for touched in sorted(each.touch)
        for other in names.get(touched, [touched])
    ]
    obstacles = [part for of_object in parts.values() for part in of_object]
    return {"obstacles": obstacles, "ignore": ignore}


def _parts(obj: LiveObject) -> list[dict[str, Any]]:
    geometry = obj.geometry
    solids = solids_of_leaves(geometry.rows) if geometry.meshes else geometry.solids
    found = []
    for k, (row, place) in enumerate(zip(*solids, strict=True)):
        name = obj.name if len(solids.rows) == 1 else f"{obj.name}#{k}"
        found.append({"name": name, **_solid(row, obj.pose @ place), "link": obj.link})
    return found


def _solid(row: np.ndarray, pose: np.ndarray) -> dict[str, Any]:
    """A row of `geometry.convex` at ``pose`` (4, 4)."""
    x, y, z, is_round, radius = row.tolist()
    place = {"position": pose[:3, 3].tolist()}
    if max(x, y) == 0.0:
        radius += ROUNDING * (1.0 + radius + z)
        if 2.0 * z < SIX_DIGITS:  # a cloud may have thousands of these
            return {"type": "sphere", "radius": radius + z, **place}
        size = {"type": "capsule", "radius": radius, "length": 2.0 * z}
    elif is_round:
        size = {"type": "cylinder", "radius": x, "length": 2.0 * z}
    else:
        size = {"type": "box", "size": [2.0 * x, 2.0 * y, 2.0 * z]}
    turn = Rotation.from_matrix(pose[:3, :3]).as_quat().tolist()
    return {**size, **place, "orientation": turn}
