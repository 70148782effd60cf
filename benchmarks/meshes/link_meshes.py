# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The links of a robot as meshes, for benchmarks on triangles: primitives are tessellated."""

from __future__ import annotations

import numpy as np
import trimesh

from collision_monitor import CollisionModel
from collision_monitor.robot.description import Shape

_SECTIONS = 32  # of round primitives


def _triangles(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    if shape.kind == "mesh":
        return shape.vertices, shape.triangles
    make = trimesh.creation
    made = {
        "box": lambda size: make.box(size),
        "sphere": lambda size: make.icosphere(2, size[0]),
        "cylinder": lambda size: make.cylinder(*size, sections=_SECTIONS),
        "capsule": lambda size: make.capsule(size[1], size[0], count=(_SECTIONS, _SECTIONS)),
    }[shape.kind](shape.size)
    return np.asarray(made.vertices), np.asarray(made.faces)


def link_mesh(shapes: tuple[Shape, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(vertices, triangles) of all shapes of a link in its frame."""
    vertices, triangles, count = [], [], 0
    for shape in shapes:
        points, corners = _triangles(shape)
        vertices.append(points @ shape.pose[:3, :3].T + shape.pose[:3, 3])
        triangles.append(np.asarray(corners) + count)
        count += len(points)
    return np.concatenate(vertices), np.concatenate(triangles).astype(np.int64)


def link_meshes(model: CollisionModel) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """(vertices, triangles) of every checked link, in its frame."""
    names = dict.fromkeys(name for pair in model.pairs for name in pair)
    return {name: link_mesh(model.robot.links[name].shapes) for name in names}


def relative(poses: dict[str, np.ndarray], a: str, b: str) -> tuple[np.ndarray, np.ndarray]:
    """(rotation, translation) of link b in the frame of link a."""
    rotation, origin = poses[a][:3, :3], poses[a][:3, 3]
    turned = rotation.T @ poses[b][:3, :3]
    return np.ascontiguousarray(turned), rotation.T @ (poses[b][:3, 3] - origin)
