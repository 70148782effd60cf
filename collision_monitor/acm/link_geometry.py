# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A link for proofs: its leaves, hull and triangles in the frame of its body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import trimesh
from scipy.spatial import ConvexHull, QhullError

from collision_monitor.geometry.leaf import Leaf, moved
from collision_monitor.mesh_distance.bvh.triangle_tree import build_triangle_tree
from collision_monitor.robot.description import Shape
from collision_monitor.robot.insides import Inside

# Sides of the prism around a cylinder: it stands off by 0.05 % of the radius.
_SIDES = 96


@dataclass(frozen=True, eq=False)
class LinkGeometry:
    """One link; all in the frame of its body, metres.

    Attributes:
        ends: (m, 6) of its leaves.
        radii: (m,) of its leaves.
        hull: (k, 3) vertices around which balls of radius ``thick`` have the link in their hull.
        thick: see ``hull``.
        numbers: trees of triangles one after another, see `mesh_distance.bvh.mesh_tree`.
        index: see ``numbers``.
        pieces: (p, 2) where each tree begins in both.
        skins: (p,) the radius of the ball that is swept along the triangles of each.
        inside: what is inside its closed parts, and a probe point of each part.
        exact: false where a prism stands for a cylinder.
    """

    ends: np.ndarray
    radii: np.ndarray
    hull: np.ndarray
    thick: float
    numbers: np.ndarray
    index: np.ndarray
    pieces: np.ndarray
    skins: np.ndarray
    inside: Inside
    exact: bool


def link_geometry(
    shapes: Sequence[Shape], leaves: Sequence[Leaf], pose: np.ndarray
) -> LinkGeometry:
    """Gather a link with ``shapes`` and ``leaves`` in its frame, at ``pose`` (4, 4) in its body.

    Raises:
        FitError: a mesh over which no hierarchy can be built.
    """
    placed = [replace(shape, pose=pose @ shape.pose) for shape in shapes]
    soups: dict[float, list[tuple[np.ndarray, np.ndarray]]] = {}
    for shape in placed:
        vertices, triangles, skin = as_triangles(shape)
        soups.setdefault(skin, []).append((vertices, triangles))
    numbers, index, pieces = [], [], []
    for parts in soups.values():
        starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
        tree = build_triangle_tree(
            np.concatenate([vertices for vertices, _ in parts]),
            np.concatenate(
                [triangles + start for (_, triangles), start in zip(parts, starts, strict=False)]
            ),
        )
        pieces.append((sum(map(len, numbers)), sum(map(len, index))))
        numbers.append(tree.numbers)
        index.append(tree.index)
    in_body = moved(leaves, pose, "")
    return LinkGeometry(
        ends=np.array([[*leaf.p0, *leaf.p1] for leaf in in_body]),
        radii=np.array([leaf.radius for leaf in in_body]),
        hull=_hull(np.concatenate([vertices for soup in soups.values() for vertices, _ in soup])),
        thick=max(soups),
        numbers=np.concatenate(numbers),
        index=np.concatenate(index),
        pieces=np.array(pieces, dtype=np.int64),
        skins=np.array(list(soups)),
        inside=Inside([_solid(shape) for shape in placed]),
        exact=all(shape.kind != "cylinder" for shape in shapes),
    )


def as_triangles(shape: Shape) -> tuple[np.ndarray, np.ndarray, float]:
    """(vertices (n, 3), triangles (m, 3), radius of a ball swept along them), posed by the shape.

    Exact but for cylinders, which are enclosed.
    """
    if shape.kind == "mesh":
        vertices, triangles, skin = shape.vertices, shape.triangles, 0.0
    elif shape.kind == "box":
        box = trimesh.creation.box(shape.size)
        vertices, triangles, skin = box.vertices, box.faces, 0.0
    elif shape.kind == "cylinder":
        around = shape.size[0] / np.cos(np.pi / _SIDES)
        prism = trimesh.creation.cylinder(around, shape.size[1], sections=_SIDES)
        vertices, triangles, skin = prism.vertices, prism.faces, 0.0
    else:
        half = 0.5 * shape.size[1] if len(shape.size) > 1 else 0.0
        vertices = np.array([[0.0, 0.0, -half], [0.0, 0.0, half]])
        triangles, skin = np.array([[0, 1, 1]]), float(shape.size[0])
    return vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3], np.asarray(triangles), skin


def _solid(shape: Shape) -> Shape:
    """The shape as a mesh where it is hollow, so that `Inside` counts what is in it."""
    if shape.kind not in ("box", "cylinder"):
        return shape
    vertices, triangles, _ = as_triangles(replace(shape, pose=np.eye(4)))
    return replace(shape, kind="mesh", size=(), vertices=vertices, triangles=triangles)


def _hull(points: np.ndarray) -> np.ndarray:
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # flat
        return np.unique(points, axis=0)
