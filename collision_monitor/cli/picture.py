# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a robot in its leaves, rendered without a display."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from collision_monitor.clearance_colour import clearance_colour
from collision_monitor.collision_model import CollisionModel
from collision_monitor.errors import MissingDependencyError
from collision_monitor.robot.description import Shape

_LINK_COLOR = "#8d99ae"
_OBSTACLE_COLOR = "#c9b79c"


def require_pyvista() -> Any:
    """The module that draws; MissingDependencyError says how to get it."""
    try:
        import pyvista
    except ImportError as error:
        raise MissingDependencyError(
            f"pictures need pyvista ({error}): pip install 'collision_monitor[picture]'"
        ) from None
    return pyvista


def _shape_mesh(pyvista: Any, shape: Shape) -> Any:
    """The surface of a shape in its own frame."""
    if shape.kind == "mesh":
        triangles = np.asarray(shape.triangles)
        faces = np.column_stack([np.full(len(triangles), 3), triangles])
        return pyvista.PolyData(np.asarray(shape.vertices, float), faces.ravel())
    if shape.kind == "box":
        x, y, z = shape.size
        return pyvista.Cube(x_length=x, y_length=y, z_length=z)
    if shape.kind == "sphere":
        return pyvista.Sphere(radius=shape.size[0])
    radius, length = shape.size
    if shape.kind == "cylinder":
        return pyvista.Cylinder(direction=(0, 0, 1), radius=radius, height=length, resolution=48)
    half = np.array([0.0, 0.0, 0.5 * length])
    return _capsule_mesh(pyvista, -half, half, radius)


def _capsule_mesh(pyvista: Any, p0: np.ndarray, p1: np.ndarray, radius: float) -> Any:
    """A capsule as two half spheres joined: a sphere of which one half is moved."""
    axis = p1 - p0
    length = float(np.linalg.norm(axis))
    sphere = pyvista.Sphere(radius=radius, theta_resolution=48, phi_resolution=48)
    if length == 0.0:
        return sphere.translate(p0)
    z = axis / length
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= np.linalg.norm(x)
    points = np.asarray(sphere.points, dtype=float)
    points[:, 2] += np.where(points[:, 2] > 0.0, length, 0.0)
    sphere.points = points @ np.column_stack([x, np.cross(z, x), z]).T + p0
    return sphere


def render(
    model: CollisionModel,
    q: np.ndarray,
    path: str | os.PathLike,
    *,
    warn: float = 0.1,
    stop: float = 0.03,
    leaves: bool = True,
    size: tuple[int, int] = (1200, 900),
    direction: tuple[float, float, float] = (1.6, 0.5, 0.7),
    zoom: float = 1.3,
) -> None:
    """Write a PNG of the robot at ``q``: its links, translucent leaves, the nearest points.

    Leaves take the colour of their link's clearance between ``stop`` and ``warn`` metres.
    ``direction`` is where the camera stands, seen from the robot's middle.

    Raises:
        MissingDependencyError: pyvista is not installed.
    """
    pyvista = require_pyvista()
    plotter = pyvista.Plotter(off_screen=True, window_size=list(size))
    plotter.set_background("white")
    poses = model.link_poses(q)
    for link in model.robot.links.values():
        for shape in link.shapes:
            mesh = _shape_mesh(pyvista, shape).transform(
                poses[link.name] @ shape.pose, inplace=False
            )
            plotter.add_mesh(
                mesh, color=_LINK_COLOR, smooth_shading=True, split_sharp_edges=True, specular=0.3
            )
    for obstacle in model.scene.obstacles:
        pose = poses[obstacle.link] @ obstacle.shape.pose
        mesh = _shape_mesh(pyvista, obstacle.shape).transform(pose, inplace=False)
        plotter.add_mesh(mesh, color=_OBSTACLE_COLOR)
    obstacles = {obstacle.name for obstacle in model.scene.obstacles}
    if leaves:
        nearest = model.link_distances(q)
        for leaf, (p0, p1) in zip(model.leaves, model.leaf_segments(q), strict=True):
            if leaf.link in obstacles:
                continue
            plotter.add_mesh(
                _capsule_mesh(pyvista, p0, p1, leaf.radius),
                color=clearance_colour(nearest[leaf.link], warn, stop),
                opacity=0.28,
                smooth_shading=True,
            )
    if model.pairs:
        points = model.distance(q).points
        plotter.add_mesh(pyvista.Line(*points), color="black", line_width=4)
        plotter.add_points(points, color="black", point_size=9, render_points_as_spheres=True)
    plotter.add_light(pyvista.Light(position=(4, 3, 6), intensity=0.35))
    plotter.enable_anti_aliasing("ssaa")
    plotter.view_vector(direction, viewup=(0, 0, 1))
    plotter.camera.zoom(zoom)
    plotter.screenshot(os.fspath(path))
    plotter.close()
