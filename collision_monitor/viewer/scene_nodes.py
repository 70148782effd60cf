# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robot, obstacles, leaves and nearest points as nodes of the 3D scene of the page.

Surfaces are sent once, each below the frame of its link. Of later updates, viser sends only the
poses and colours that have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.hierarchy_boxes import MOST_BOXES, MeshBoxes
from collision_monitor.robot.description import Shape
from collision_monitor.robot.poses import pose as pose_matrix
from collision_monitor.robot.scene import Obstacle
from collision_monitor.robot.shape_kinds import SIDES, surface_mesh
from collision_monitor.viewer.clearance_display import COLOURS, OPACITY, clearance_colour

Rgb = tuple[int, int, int]
Surface = tuple[np.ndarray, np.ndarray]  # vertices (n, 3) in metres, triangles (m, 3)

_LINK, _LINE, _CHOSEN, _OBSTACLE, _BOX, _MEETING, _CROSSING = (
    tuple(bytes.fromhex(colour[1:]))
    for colour in ("#bcc2cc", "#0f0f0f", "#5f9bd7", *COLOURS.values())
)
_STEPS = 24  # levels of a colour channel: every change of a colour is a message
_SIDES = SIDES // 2  # of leaves in the page, where they are many
_SMOOTH_ANGLE = 0.6  # maximum angle in radians between triangles of a smooth surface
_SMOOTHED = 60_000  # maximum number of triangles; more take seconds, and look smooth anyway


def shown_colour(distance: float, warn: float, stop: float) -> Rgb:
    """The colour of a clearance, channels 0 to 255, in few steps so that it rarely changes."""
    r, g, b = (
        round(255 * round(channel * _STEPS) / _STEPS)
        for channel in clearance_colour(distance, warn, stop)
    )
    return r, g, b


def position_and_wxyz(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and quaternion (w, x, y, z) of a pose (4, 4)."""
    x, y, z, w = Rotation.from_matrix(matrix[:3, :3]).as_quat()
    return matrix[:3, 3].copy(), np.array([w, x, y, z])


def pose_of(position: Sequence[float], wxyz: Sequence[float]) -> np.ndarray:
    """The pose (4, 4) of a position and a quaternion (w, x, y, z)."""
    w, x, y, z = (float(value) for value in wxyz)
    return pose_matrix(Rotation.from_quat((x, y, z, w)).as_matrix(), position)


def node_path(*names: str) -> str:
    """The path of a node; slashes in names of links are escaped."""
    return "".join("/" + name.replace("/", "\N{FRACTION SLASH}") for name in names)


# -- surfaces of shapes and leaves as triangles --


def shape_surface(shape: Shape) -> Surface:
    """A shape in the frame of its link, with corners duplicated at edges."""
    mesh = surface_mesh(shape)
    vertices, triangles = np.array(mesh.vertices), np.array(mesh.faces)
    if len(triangles) <= _SMOOTHED:
        mesh.merge_vertices()
        vertices, triangles = _with_edges(mesh)
    return vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3], triangles


def leaf_surface(leaves: Iterable[Leaf]) -> Surface:
    """All leaves of a link as one surface, in the frame of the link."""
    return joined(capsule_surface(leaf.p0, leaf.p1, leaf.radius) for leaf in leaves)


def joined(surfaces: Iterable[Surface]) -> Surface:
    """Several surfaces, at least one, as one."""
    return trimesh.util.append_faces(*zip(*surfaces, strict=True))


def capsule_surface(p0: np.ndarray, p1: np.ndarray, radius: float, sides: int = _SIDES) -> Surface:
    """Surface of the capsule around the segment p0 p1: a sphere with one half displaced.

    The triangles enclose the capsule: otherwise a leaf that touches its link would be hidden.
    """
    axis = np.asarray(p1, dtype=float) - p0
    length = float(np.linalg.norm(axis))
    ball = trimesh.creation.uv_sphere(
        radius=radius / np.cos(np.pi / sides) ** 2, count=(sides + 1, sides)
    )
    vertices = np.array(ball.vertices)
    if length > 0.0:
        vertices[:, 2] += np.where(vertices[:, 2] > 1e-9 * radius, length, 0.0)
        vertices = vertices @ trimesh.geometry.align_vectors([0.0, 0.0, 1.0], axis)[:3, :3].T
    return vertices + p0, np.array(ball.faces)


def _with_edges(mesh: trimesh.Trimesh) -> Surface:
    """The same triangles, with separate corners at visible edges."""
    angles = mesh.face_adjacency_angles
    smooth = trimesh.graph.connected_component_labels(
        mesh.face_adjacency[angles <= _SMOOTH_ANGLE], node_count=len(mesh.faces)
    )
    # A corner is defined by its vertex and the smooth piece of its triangle.
    corners = np.column_stack([mesh.faces.reshape(-1), np.repeat(smooth, 3)])
    kept, number = np.unique(corners, axis=0, return_inverse=True)
    return np.asarray(mesh.vertices)[kept[:, 0]], number.reshape(-1, 3)


# -- nodes --


class _LeafNodes:
    """Leaves by the name of their link or obstacle."""

    def __init__(self) -> None:
        self._leaves: dict[str, Any] = {}

    def colour(self, distances: Mapping[str, float], warn: float, stop: float) -> None:
        """Colour leaves by the minimum distance (metres) of their link or obstacle."""
        for name, node in self._leaves.items():
            node.color = shown_colour(distances[name], warn, stop)

    def show_leaves(self, visible: bool) -> None:
        """Show or hide leaves."""
        for node in self._leaves.values():
            node.visible = visible


class RobotNodes(_LeafNodes):
    """The nodes of a robot, and the line between the nearest points."""

    def __init__(self, scene: Any, model: CollisionModel) -> None:
        """``scene``: that of a viser server."""
        super().__init__()
        self._scene = scene
        self._boxes: list[Any] = []
        self._meeting: list[Any] = []
        self._mesh_boxes: MeshBoxes | None = None
        self._frames = {
            name: scene.add_frame(node_path("robot", name), show_axes=False)
            for name in model.robot.links
        }
        self._shapes = []
        for name, link in model.robot.links.items():
            if not link.shapes:
                continue
            vertices, triangles = joined(shape_surface(shape) for shape in link.shapes)
            path = node_path("robot", name, "shapes")
            self._shapes.append(
                scene.add_mesh_simple(path, vertices, triangles, color=_LINK, side="double")
            )
            self._leaves[name] = add_leaves(
                scene, node_path("robot", name, "leaves"), model, name, np.eye(4)
            )
        self._line = scene.add_line_segments(
            "/nearest/line", np.zeros((1, 2, 3)), _LINE, thickness=4.0, thickness_units="screen"
        )
        self._ends = [
            scene.add_icosphere(f"/nearest/end_{k}", radius=0.006, color=_LINE) for k in (0, 1)
        ]
        self._label = scene.add_label("/nearest/label", "", anchor="bottom-center")

    def place(self, poses: Mapping[str, np.ndarray]) -> None:
        """Move every link to its pose (4, 4) in the base frame."""
        for name, pose in poses.items():
            frame = self._frames[name]
            frame.position, frame.wxyz = position_and_wxyz(pose)

    def nearest(self, clearance: Clearance | None) -> None:
        """Draw the line between the nearest points with its length, if any."""
        for node in (self._line, *self._ends, self._label):
            node.visible = clearance is not None
        if clearance is None:
            return
        points = clearance.points
        self._line.points = points[None].astype(np.float32)
        for end, point in zip(self._ends, points, strict=True):
            end.position = point
        self._label.position = points.mean(axis=0)
        self._label.text = f"{clearance.distance:.3f} m"

    def show_boxes(self, model: CollisionModel | None) -> None:
        """Show boxes over the triangles of links, of the deepest level below the maximum number.

        None hides them.
        """
        for node in self._boxes:
            node.remove()
        self._boxes, self._mesh_boxes = [], None
        if model is None:
            return
        self._mesh_boxes = boxes = MeshBoxes(model)
        level = boxes.deepest_level(MOST_BOXES)
        for obstacle in model.scene.obstacles:  # the page may move these
            del boxes.of_links[obstacle.name]
        for name in boxes.of_links:
            edges = boxes.at_level(name, level).edges()
            self._boxes.append(self._lines(node_path("robot", name, "boxes"), edges, _BOX, 1.0))

    def _lines(self, path: str, edges: np.ndarray, colour: Rgb, width: float) -> Any:
        return self._scene.add_line_segments(
            path, edges.reshape(-1, 2, 3).astype(np.float32), colour, thickness=width,
            thickness_units="screen",
        )  # fmt: skip

    def show_meeting(self, model: CollisionModel, q: np.ndarray) -> None:
        """Draw overlapping boxes of links whose leaves touch, and crossing triangles."""
        for node in self._meeting:
            node.remove()
        self._meeting = []
        if self._mesh_boxes is None:
            return
        colliding, crossing = self._mesh_boxes.meeting(model, q)
        if len(colliding):
            self._meeting.append(self._lines("/meeting/boxes", colliding, _MEETING, 2.0))
        if len(crossing):
            faces = np.arange(3 * len(crossing)).reshape(-1, 3)
            mesh = self._scene.add_mesh_simple(
                "/meeting/triangles", crossing.reshape(-1, 3), faces, color=_CROSSING,
                side="double",
            )  # fmt: skip
            self._meeting.append(mesh)

    def show_shapes(self, visible: bool) -> None:
        """Show or hide shapes."""
        for node in self._shapes:
            node.visible = visible


def add_leaves(scene: Any, path: str, model: CollisionModel, name: str, pose: np.ndarray) -> Any:
    """Translucent leaves of a link or an obstacle, relative to a frame with ``pose`` (4, 4)."""
    inverse = np.linalg.inv(pose)
    leaves = [leaf.moved(inverse, name) for leaf in model.leaves if leaf.link == name]
    vertices, triangles = leaf_surface(leaves)
    return scene.add_mesh_simple(
        path, vertices, triangles, opacity=OPACITY, cast_shadow=False, receive_shadow=False
    )


class ObstacleNodes(_LeafNodes):
    """The nodes of the obstacles of a model; ``picked(name)`` is called on a click."""

    def __init__(self, scene: Any, picked: Callable[[str], None]) -> None:
        """``scene``: that of a viser server."""
        super().__init__()
        self._scene = scene
        self._picked = picked
        self._frames: dict[str, Any] = {}
        self._shapes: dict[str, Any] = {}
        self._drawn: dict[str, Obstacle] = {}
        self._chosen: str | None = None
        self._leaves_visible = False

    def draw(self, model: CollisionModel) -> None:
        """Update the nodes: add, move and remove obstacles."""
        desired = {obstacle.name: obstacle for obstacle in model.scene.obstacles}
        for name in self._drawn.keys() - desired.keys():
            self._remove(name)
        for name, obstacle in desired.items():
            before = self._drawn.get(name)
            if before is obstacle:
                continue
            if before is not None and not _same_but_pose(before, obstacle):
                self._remove(name)
            if name not in self._frames:
                self._add(model, obstacle)
            frame = self._frames[name]
            frame.position, frame.wxyz = position_and_wxyz(obstacle.shape.pose)
            self._drawn[name] = obstacle

    def _add(self, model: CollisionModel, obstacle: Obstacle) -> None:
        name, scene = obstacle.name, self._scene
        path = node_path("robot", obstacle.link, "obstacles", name)
        self._frames[name] = scene.add_frame(path, show_axes=False)
        vertices, triangles = shape_surface(replace(obstacle.shape, pose=np.eye(4)))
        colour = _CHOSEN if name == self._chosen else _OBSTACLE
        shape = scene.add_mesh_simple(
            f"{path}/shape", vertices, triangles, color=colour, side="double"
        )
        shape.on_click(lambda event: self._picked(name))
        self._shapes[name] = shape
        leaves = add_leaves(scene, f"{path}/leaves", model, name, obstacle.shape.pose)
        leaves.visible = self._leaves_visible
        self._leaves[name] = leaves

    def _remove(self, name: str) -> None:
        del self._drawn[name], self._leaves[name], self._shapes[name]
        self._frames.pop(name).remove()  # and its children

    def choose(self, name: str | None) -> None:
        """Highlight the obstacle that is being edited."""
        for old in (self._chosen, name):
            if old in self._shapes:
                self._shapes[old].color = _CHOSEN if old == name else _OBSTACLE
        self._chosen = name

    def show_leaves(self, visible: bool) -> None:
        """Show or hide leaves, also those of future obstacles."""
        self._leaves_visible = visible
        super().show_leaves(visible)


def _same_but_pose(a: Obstacle, b: Obstacle) -> bool:
    """Whether two obstacles have the same drawn surface."""
    one, other = a.shape, b.shape
    return (
        a.link == b.link and one.kind == other.kind and one.size == other.size
        and one.vertices is other.vertices and one.triangles is other.triangles
    )  # fmt: skip
