# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a robot and its leaves, rendered without a display."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from collision_monitor.common.lazy_imports import optional_dependency
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.hierarchy_boxes import MeshBoxes
from collision_monitor.robot.shape_kinds import SIDES
from collision_monitor.viewer.clearance_display import COLOURS, OPACITY, clearance_colour
from collision_monitor.viewer.scene_nodes import capsule_surface, shape_surface

_LINK_COLOR = "#8d99ae"
_MARKED_COLORS = (COLOURS["meeting"], "#f08a24")
_MOST = 50_000  # maximum number of boxes and triangles
_MARGIN = 1.08  # size of the picture relative to its contents
_MOST_ASPECT = 2.4  # maximum width/height of a cropped picture


def require_pyvista() -> Any:
    """The module pyvista, or MissingDependencyError."""
    with optional_dependency("pictures need pyvista", "picture"):
        import pyvista
    return pyvista


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings of VTK about a missing display, which it does not need."""
    from vtkmodules.vtkCommonCore import vtkLogger

    before = vtkLogger.GetCurrentVerbosityCutoff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
    try:
        yield
    finally:
        vtkLogger.SetStderrVerbosity(before)


def _aim(plotter: Any, points: np.ndarray, direction: np.ndarray, aspect: float) -> float:
    """Place the camera such that ``points`` (n, 3) fill a picture of ``aspect`` (width/height).

    Returns the aspect of a picture that they would fill in both directions.
    """
    plotter.view_vector(direction, viewup=(0, 0, 1), render=False)
    back = direction / np.linalg.norm(direction)
    right = np.cross(plotter.camera.up, back)
    right /= np.linalg.norm(right)
    seen = points @ np.column_stack([right, np.cross(back, right), back])
    slope = np.tan(np.radians(0.5 * plotter.camera.view_angle)) / _MARGIN
    slopes = np.array([slope * aspect, slope])
    # A point is seen if |seen - center| <= slope * (distance - depth), on both axes. Use the
    # minimum distance for each axis, and centre the remaining space.
    low = (seen[:, :2] - slopes * seen[:, 2:]).min(axis=0)
    high = (seen[:, :2] + slopes * seen[:, 2:]).max(axis=0)
    center = 0.5 * (low + high)
    distances = 0.5 * (high - low) / slopes
    frame = np.array([right, np.cross(back, right), back])
    middle = 0.5 * float(seen[:, 2].min() + seen[:, 2].max())
    plotter.camera.focal_point = np.r_[center, middle] @ frame
    plotter.camera.position = np.r_[center, distances.max()] @ frame
    plotter.renderer.ResetCameraClippingRange()
    return aspect * float(distances[0] / distances[1])


def _drawn(plotter: Any) -> np.ndarray:
    """Points (n, 3) of all drawn objects."""
    meshes = (actor.mapper.dataset for actor in plotter.actors.values() if actor.mapper)
    return np.vstack([np.asarray(mesh.points, dtype=float) for mesh in meshes])


def _around(model: CollisionModel, q: np.ndarray, pair: Sequence[str], ends: np.ndarray) -> Any:
    """Corners (8, 3) of a box around nearest points (2, 3) and much of the smaller link."""
    extents = []
    segments = model.leaf_segments(q)
    for name in pair:
        own = [k for k, leaf in enumerate(model.leaves) if leaf.link == name]
        points = np.vstack([segments[k] for k in own])
        radius = max(model.leaves[k].radius for k in own)
        extents.append(np.ptp(points, axis=0).max() + 2.0 * radius)
    half = max(0.4 * min(extents), 0.75 * float(np.linalg.norm(ends[1] - ends[0])))
    return _cube(ends.mean(axis=0), half)


def _cube(middle: np.ndarray, half: float) -> np.ndarray:
    """Corners (8, 3) of a cube."""
    return middle + np.array(np.meshgrid(*([-half, half],) * 3)).reshape(3, -1).T


def _look(name: str, colour: str, marked: Sequence[str]) -> dict[str, Any]:
    """Drawing style of a link or an obstacle."""
    if name in marked:
        return {"color": _MARKED_COLORS[list(marked).index(name) % 2]}
    if not marked:
        return {"color": colour}
    # Without back faces: translucent ones would flicker through the front faces.
    return {"color": colour, "opacity": OPACITY, "culling": "back"}


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
    zoom: float = 1.0,
    marked: Sequence[str] = (),
    nearest: np.ndarray | None = None,
    close_up: str | os.PathLike = "",
    boxes: int | None = None,
) -> None:
    """Write a PNG of the robot at ``q`` (nq,): links, translucent leaves, and nearest points.

    Leaves have the colour of the clearance of their link between ``stop`` and ``warn`` metres.
    ``direction`` (3,) is the direction of the camera from the centre of the robot; its distance is
    the minimum that shows everything, divided by ``zoom``. ``marked`` links and obstacles are
    highlighted, and the others translucent; such a picture is cropped. ``nearest`` (2, 3) are the
    shown points of the marked two, in the base frame; by default those of the nearest leaves.
    ``close_up`` is the path of a second picture of these. ``boxes``: draw this level of the boxes
    over the triangles instead of leaves, with overlapping boxes where leaves touch, and crossing
    triangles, in a close view. Such a picture has a palette: many thin lines would make a large
    file.

    Raises:
        MissingDependencyError: pyvista is not installed.
    """
    pyvista = require_pyvista()
    with _quiet():
        plotter = pyvista.Plotter(off_screen=True, window_size=list(size))
        try:
            # Boxes are inside links, so these are translucent.
            _place(pyvista, plotter, model, q, marked if boxes is None else ("",))
            seen = None
            if boxes is not None:
                seen = _place_boxes(pyvista, plotter, model, q, boxes)
            elif leaves:
                _place_leaves(pyvista, plotter, model, q, warn, stop)
            if nearest is None and model.pairs:
                nearest = model.distance(q).points
            if nearest is not None:
                plotter.add_mesh(pyvista.Line(*nearest), color="black", line_width=4)
                plotter.add_points(
                    nearest, color="black", point_size=9, render_points_as_spheres=True
                )
            plotter.add_light(pyvista.Light(position=(4, 3, 6), intensity=0.35))
            if marked:  # its unlit side may be visible
                plotter.add_light(pyvista.Light(light_type="headlight", intensity=0.35))
            plotter.enable_anti_aliasing("ssaa")
            towards, aspect = np.array(direction, dtype=float), size[0] / size[1]
            filled = _aim(plotter, _drawn(plotter) if seen is None else seen, towards, aspect)
            if marked:
                plotter.enable_depth_peeling(8)
                aspect = min(max(filled, aspect), _MOST_ASPECT)
                plotter.window_size = [size[0], round(size[0] / aspect)]
                _aim(plotter, _drawn(plotter), towards, aspect)
            plotter.camera.zoom(zoom)
            plotter.screenshot(os.fspath(path))
            if boxes is not None:
                _reduce_colours(path)
            if close_up and nearest is not None:
                _aim(plotter, _around(model, q, marked, nearest), towards, aspect)
                plotter.render()
                plotter.screenshot(os.fspath(close_up))
        finally:
            plotter.close()


def _reduce_colours(path: str | os.PathLike) -> None:
    """Convert a PNG to a palette."""
    from PIL import Image  # pyvista needs it

    with Image.open(path) as image:
        reduced = image.convert("RGB").quantize(method=Image.Quantize.FASTOCTREE)
    reduced.save(path, optimize=True)


def _place(
    pyvista: Any, plotter: Any, model: CollisionModel, q: np.ndarray, marked: Sequence[str]
) -> None:
    """Draw links and obstacles."""
    poses = model.link_poses(q)
    for link in model.robot.links.values():
        for shape in link.shapes:
            mesh = pyvista.make_tri_mesh(*shape_surface(shape))
            plotter.add_mesh(
                mesh.transform(poses[link.name], inplace=False),
                smooth_shading=True,
                split_sharp_edges=True,
                specular=0.3,
                **_look(link.name, _LINK_COLOR, marked),
            )
    for obstacle in model.scene.obstacles:
        mesh = pyvista.make_tri_mesh(*shape_surface(obstacle.shape))
        plotter.add_mesh(
            mesh.transform(poses[obstacle.link], inplace=False),
            **_look(obstacle.name, COLOURS["obstacle"], marked),
        )


def _place_boxes(
    pyvista: Any, plotter: Any, model: CollisionModel, q: np.ndarray, level: int
) -> np.ndarray | None:
    """Draw boxes over triangles of a level, overlapping boxes, and crossing triangles.

    Returns points (8, 3) around the last two, or None if there are none.
    """
    boxes, poses = MeshBoxes(model), model.link_poses(q)

    def lines(edges: np.ndarray, colour: str, width: float) -> None:
        if len(edges):
            segments = pyvista.line_segments_from_points(edges.reshape(-1, 3))
            plotter.add_mesh(segments, color=colour, line_width=width)

    for name in boxes.of_links:
        pose = boxes.pose(poses, name)
        lines(boxes.at_level(name, level).moved(pose).edges(), COLOURS["box"], 1.0)
    colliding, crossing = boxes.meeting(model, q, _MOST)
    lines(colliding, COLOURS["meeting"], 1.0)
    if len(crossing):
        faces = np.arange(3 * len(crossing)).reshape(-1, 3)
        mesh = pyvista.make_tri_mesh(crossing.reshape(-1, 3), faces)
        plotter.add_mesh(mesh, color=COLOURS["crossing"])
    if not len(colliding):
        return None
    low, high = colliding.min(axis=(0, 1, 2)), colliding.max(axis=(0, 1, 2))
    return _cube(0.5 * (low + high), (high - low).max())  # as much again is shown on each side


def _place_leaves(
    pyvista: Any, plotter: Any, model: CollisionModel, q: np.ndarray, warn: float, stop: float
) -> None:
    """Draw the leaves of links in the colour of their clearance."""
    obstacles = {obstacle.name for obstacle in model.scene.obstacles}
    nearest = model.nearest_of_links(model.distances(q))
    for leaf, (p0, p1) in zip(model.leaves, model.leaf_segments(q), strict=True):
        if leaf.link in obstacles:
            continue
        plotter.add_mesh(
            pyvista.make_tri_mesh(*capsule_surface(p0, p1, leaf.radius, SIDES)),
            color=clearance_colour(nearest[leaf.link], warn, stop),
            opacity=0.28,
            smooth_shading=True,
        )
