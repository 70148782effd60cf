# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a model as the exact level: their distances, pair by pair, and their hulls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.verification.clearance.mesh_level import Decider, ExactLevel
from collision_monitor.verification.clearance.scanner import Scanner

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


from collections.abc import Sequence
from typing import TYPE_CHECKING

from scipy.spatial import ConvexHull, QhullError

from collision_monitor.continuous.hull_sweep import Hulls
from collision_monitor.robot.description import Shape

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


# -- the convex hulls of all links and obstacles of a model, for bounds of their motion --


_SIDES = 64  # of the prism that stands for a cylinder: 0.12 % larger at its corners


def link_hulls(model: CollisionModel) -> Hulls:
    """Points whose hulls hold the links of ``model``, in the order of ``model.link_names``."""
    shapes = {name: link.shapes for name, link in model.robot.links.items()}
    carriers = {name: name for name in shapes}
    for obstacle in model.scene.obstacles:
        shapes[obstacle.name] = (obstacle.shape,)
        carriers[obstacle.name] = obstacle.link
    points, stops = [], [0]
    for name in model.link_names:
        pose = model.bodies.link_poses[carriers[name]]
        rows = hull_points(shapes[name])
        rows[:, :3] = rows[:, :3] @ pose[:3, :3].T + pose[:3, 3]
        points.append(rows)
        stops.append(stops[-1] + len(rows))
    links = np.column_stack([stops[:-1], stops[1:]]).astype(np.int64)
    return Hulls(np.concatenate(points).ravel(), links.ravel())


def hull_points(shapes: Sequence[Shape]) -> np.ndarray:
    """(k, 4) places in the link's frame and radii, metres, whose hull holds the shapes."""
    return np.concatenate([_of_shape(shape) for shape in shapes])


def _of_shape(shape: Shape) -> np.ndarray:
    radius = 0.0
    if shape.kind == "mesh":
        places = _corners(shape.vertices)
    elif shape.kind == "box":
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        places = signs * np.asarray(shape.size)
    elif shape.kind == "cylinder":
        angles = np.arange(_SIDES) * 2.0 * np.pi / _SIDES
        outer = shape.size[0] / np.cos(np.pi / _SIDES)
        ring = np.column_stack([outer * np.cos(angles), outer * np.sin(angles), 0.0 * angles])
        half = np.array([0.0, 0.0, 0.5 * shape.size[1]])
        places = np.vstack([ring - half, ring + half])
    else:  # a sphere, or a capsule
        radius = shape.size[0]
        half = 0.5 * shape.size[1] if shape.kind == "capsule" else 0.0
        places = np.array([[0.0, 0.0, -half], [0.0, 0.0, half]])[: 2 if half else 1]
    places = places @ shape.pose[:3, :3].T + shape.pose[:3, 3]
    return np.column_stack([places, np.full(len(places), radius)])


def _corners(vertices: np.ndarray) -> np.ndarray:
    """Those of the hull; all where they have no volume."""
    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError):
        return np.asarray(vertices, dtype=float)
    # Qhull may merge facets and leave out points that stick out by rounding alone.
    out = (hull.equations[:, :3] @ vertices.T + hull.equations[:, 3:]).max(axis=0) > -1e-9
    out[hull.vertices] = True
    return np.asarray(vertices[out], dtype=float)


class ShapeDecider:
    """Measures a pair of a model between its meshes and other shapes; for one thread.

    Each pair has a model of its own that checks nothing else, and so remembers which triangles
    were nearest last: along a motion that is a good guess.
    """

    def __init__(self, model: CollisionModel) -> None:
        self._model = model
        self._alone: dict[int, CollisionModel] = {}

    def __call__(self, q: np.ndarray, pair: int) -> tuple[float, np.ndarray]:
        """Signed distance (metres, 0 or less where they touch) and nearest points (2, 3)."""
        alone = self._alone.get(pair)
        if alone is None:
            alone = self._alone[pair] = self._model.twin([self._model.pairs[pair]])
        found = alone.distance(q, exact=True)
        return found.distance, found.points


def exact_level(scanner: Scanner, exact: Decider | bool) -> ExactLevel | None:
    """The level that ``exact`` asks for: shapes (True), leaves alone (False), or a measurement.

    What another measures may be larger than the shapes, so no hulls are known then.
    """
    if exact is True:
        return ExactLevel(scanner, ShapeDecider(scanner.model), link_hulls(scanner.model))
    return ExactLevel(scanner, exact) if exact else None
