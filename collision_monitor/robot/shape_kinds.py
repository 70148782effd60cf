# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What there is to know about each kind of `Shape`.

A new kind needs a row of `KINDS`, and its name in `SOLIDS` with a case in `solid_row`,
`enclosing_surface` and `surface_mesh`. Every function raises a ValueError for a kind that it does
not know: a shape of an unknown kind is never treated as one of another kind.

Surfaces and sizes are in the shape's own frame.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from collision_monitor.common.limits import array_range_problem
from collision_monitor.geometry.convex import ROUND
from collision_monitor.robot.description import Shape

if TYPE_CHECKING:
    import trimesh

# Kinds that are a segment (or a point) with a radius: a single leaf is exact.
ROUNDED = ("sphere", "capsule")
SIDES = 48  # of the prism that stands for a cylinder: one around it is 0.2 % larger at its corners
_HULL_ROUNDING = 1e-10  # m: qhull may ignore corners within its rounding error

# Vertices (n, 3), triangles (m, 3), and the radius of a ball swept along them.
Surface = tuple[np.ndarray, np.ndarray, float]


# Kinds with a case in each of the functions below.
SOLIDS = ("box", "sphere", "cylinder", "capsule")
# Keys of `Shape.size` in scene files, in the order of messages: "size" has three numbers, the
# others one. All but meshes are convex and contain their origin.
KINDS = {
    "box": ("size",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "mesh": (),
}


def unknown_kind(shape: Shape, known: Collection[str]) -> ValueError:
    """Return the error for a shape whose kind the caller does not support, with ``known`` kinds."""
    others = ", ".join(name for name in known if name != shape.kind)
    return ValueError(f"a shape of kind {shape.kind!r} is not supported; use {others}")


def _check(shape: Shape, known: Collection[str] = KINDS) -> None:
    """Raise a ValueError unless the kind of a shape is ``known``."""
    if shape.kind not in known:
        raise unknown_kind(shape, known)


def size_problem(shape: Shape) -> str:
    """Why a shape is none of `KINDS` with its size, as of "its ..."; empty if it is one."""
    if shape.kind not in KINDS:
        return f"kind: {unknown_kind(shape, KINDS)}"
    count = 3 if shape.kind == "box" else len(KINDS[shape.kind])
    size = np.array(shape.size, dtype=float)
    if size.shape != (count,) or not (size >= 0.0).all():
        return f"size {shape.size!r}: a {shape.kind} has {count} lengths, not below 0 m"
    problem = array_range_problem(size)
    return f"size: {problem}" if problem else ""


def sizes_by_key(shape: Shape) -> dict[str, float | list[float]]:
    """Return the size of a primitive as in scene files, such as ``{"radius": 0.1}``."""
    _check(shape)
    values = [float(value) for value in shape.size]
    if shape.kind == "box":
        return {"size": values}
    return dict(zip(KINDS[shape.kind], values, strict=True))


def radius_and_length(shape: Shape) -> tuple[float, float]:
    """Return radius and length of a sphere (length 0), a capsule or a cylinder, metres."""
    _check(shape, [name for name, keys in KINDS.items() if "radius" in keys])
    radius, length = (*shape.size, 0.0)[:2]
    return radius, length


def solid_row(shape: Shape) -> np.ndarray:
    """Return a primitive as a row (5,) of `geometry.convex`."""
    _check(shape, SOLIDS)
    if shape.kind == "box":
        return np.array([*(0.5 * side for side in shape.size), 0.0, 0.0])
    radius, length = radius_and_length(shape)
    if shape.kind == "cylinder":
        return np.array([radius, radius, 0.5 * length, 1.0, 0.0])
    return np.array([0.0, 0.0, 0.5 * length, 0.0, radius])


def bounding_ball(shape: Shape) -> tuple[np.ndarray, float]:
    """Return centre (3,), in the frame of the link, and radius of a ball around a shape."""
    rotation, translation = shape.pose[:3, :3], shape.pose[:3, 3]
    if shape.kind == "mesh":
        low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
        center = 0.5 * (low + high)
        radius = float(np.linalg.norm(shape.vertices - center, axis=1).max())
        return rotation @ center + translation, radius
    row = solid_row(shape)
    core = math.hypot(row[0], row[2]) if row[ROUND] > 0.0 else float(np.linalg.norm(row[:3]))
    return translation, core + float(row[4])


def enclosing_surface(shape: Shape, sides: int = SIDES) -> Surface:
    """Return a surface that encloses a shape; exact except for ``sides`` around a cylinder.

    The shape is inside of the triangles, or of a ball swept along them if its radius is not 0.
    """
    import trimesh

    if shape.kind == "mesh":
        return np.asarray(shape.vertices, float), np.asarray(shape.triangles), 0.0
    _check(shape, SOLIDS)
    if shape.kind == "box":
        box = trimesh.creation.box(shape.size)
        return np.asarray(box.vertices), np.asarray(box.faces), 0.0
    radius, length = radius_and_length(shape)
    if shape.kind == "cylinder":
        return (*prism_around(radius, length, sides), 0.0)
    half = np.array([0.0, 0.0, 0.5 * length])
    if length == 0.0:
        return half[None], np.array([[0, 0, 0]]), float(radius)
    return np.array([-half, half]), np.array([[0, 1, 1]]), float(radius)


def hull_points(shapes: Sequence[Shape]) -> np.ndarray:
    """Balls (k, 4) whose hull encloses the shapes: centres in the frame of the link, and radii."""
    return np.concatenate([_hull_points(shape) for shape in shapes])


def _hull_points(shape: Shape) -> np.ndarray:
    places, _, radius = enclosing_surface(shape)
    if shape.kind == "mesh":
        radius = _HULL_ROUNDING
        with contextlib.suppress(QhullError, ValueError):  # without a volume: all of them
            places = places[ConvexHull(places).vertices]
    places = places @ shape.pose[:3, :3].T + shape.pose[:3, 3]
    return np.column_stack([places, np.full(len(places), radius)])


def surface_mesh(shape: Shape) -> trimesh.Trimesh:
    """Return the surface of a shape with corners on it: round shapes are slightly too small."""
    import trimesh

    if shape.kind == "mesh":
        return trimesh.Trimesh(shape.vertices, shape.triangles, process=False)
    _check(shape, SOLIDS)
    if shape.kind == "box":
        return trimesh.creation.box(shape.size)
    radius, length = radius_and_length(shape)
    count = [SIDES // 2, SIDES]  # from pole to pole, and around
    if shape.kind == "sphere":
        mesh = trimesh.creation.uv_sphere(radius, count)
    elif shape.kind == "cylinder":
        mesh = trimesh.creation.cylinder(radius, length, sections=SIDES)
    else:
        mesh = trimesh.creation.capsule(length, radius, count=count)
    if not len(mesh.faces):  # too small for triangles: a box instead
        row = solid_row(shape)
        return trimesh.creation.box(2.0 * (row[:3] + row[4]))
    return mesh


def prism_around(radius: float, length: float, sides: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of a prism whose sides touch a cylinder along z."""
    angles = np.arange(sides) * (2.0 * math.pi / sides)
    rim = np.zeros((sides, 3))
    rim[:, 0], rim[:, 1] = np.cos(angles), np.sin(angles)
    rim *= radius / math.cos(math.pi / sides)
    half = np.array([0.0, 0.0, 0.5 * length])
    vertices = np.vstack([rim - half, rim + half, -half, half])
    bottom = np.arange(sides)
    top, next_bottom = bottom + sides, np.roll(bottom, -1)
    next_top = next_bottom + sides
    ends = np.full(sides, 2 * sides)
    triangles = [
        (bottom, next_bottom, top),
        (next_bottom, next_top, top),
        (ends + 1, top, next_top),
        (ends, next_bottom, bottom),
    ]
    return vertices, np.concatenate([np.column_stack(corners) for corners in triangles])
