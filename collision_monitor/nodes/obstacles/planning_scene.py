# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles of MoveIt: ``~/planning_scene``, where moveit_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from collision_monitor.errors import CollisionMonitorError, LiveSceneError
from collision_monitor.fitting.fast_fit import cover, cover_bounds, cover_triangles
from collision_monitor.model.live.desired_scene import SceneKeeper, Wish
from collision_monitor.nodes.obstacles.marker_shapes import (
    AT_ONCE,
    Triangles,
    plain_name,
    points_of,
    pose_of,
)
from collision_monitor.robot.description import Shape

PREFIX = "planning_scene/"  # before the names of its objects

ADD, REMOVE, APPEND, MOVE = range(4)  # of moveit_msgs/CollisionObject
_BOX, _SPHERE, _CYLINDER, _CONE = range(1, 5)  # of shape_msgs/SolidPrimitive
_OPERATIONS = ("ADD", "REMOVE", "APPEND", "MOVE")


def message_type() -> Any:
    """moveit_msgs/PlanningScene; None where it is not installed."""
    try:
        from moveit_msgs.msg import PlanningScene
    except ImportError:
        return None
    return PlanningScene


def primitive_shape(kind: int, dimensions: Sequence[float], pose: np.ndarray) -> Shape:
    """The shape of a shape_msgs/SolidPrimitive; a cone is the cylinder around it.

    Raises:
        LiveSceneError: another kind, or lengths that are none.
    """
    counts = {_BOX: 3, _SPHERE: 1, _CYLINDER: 2, _CONE: 2}
    if kind not in counts:
        raise LiveSceneError(f"primitive type {kind} is not supported; use 1 to 4 (box to cone)")
    size = tuple(float(value) for value in dimensions[: counts[kind]])
    if len(size) < counts[kind] or not (np.isfinite(size).all() and min(size) > 0.0):
        raise LiveSceneError(f"a primitive has the dimensions {size}; lengths must be above 0 m")
    if kind == _BOX:
        return Shape("box", pose, size)
    if kind == _SPHERE:
        return Shape("sphere", pose, size)
    height, radius = size
    return Shape("cylinder", pose, (radius, height))


def _moved(rows: np.ndarray, pose: np.ndarray) -> np.ndarray:
    ends = rows[:, :6].reshape(-1, 3) @ pose[:3, :3].T + pose[:3, 3]
    return np.column_stack([ends.reshape(-1, 6), rows[:, 6]])


def _mesh_corners(mesh: Any, pose: np.ndarray) -> np.ndarray:
    vertices = points_of(mesh.vertices) @ pose[:3, :3].T + pose[:3, 3]
    index = np.array([list(each.vertex_indices) for each in mesh.triangles], dtype=np.int64)
    if not len(index) or index.shape[1] != 3:
        raise LiveSceneError("a mesh has no triangles")
    if index.min() < 0 or index.max() >= len(vertices):
        raise LiveSceneError(
            f"a mesh has {len(vertices)} vertices, but a triangle uses vertex {index.max()}"
        )
    return vertices[index]


def object_shape(message: Any, most: int) -> np.ndarray | Triangles | None:
    """Leaves (k, 7) around all shapes of a moveit_msgs/CollisionObject, in its own frame.

    None where it has none.

    Raises:
        LiveSceneError: a plane, which has no end, or a shape that is none.
    """
    if message.planes:
        raise LiveSceneError("it has a plane; infinite planes are not supported, use a box")
    shapes = (*message.primitives, *message.meshes)
    poses = [pose_of(each) for each in (*message.primitive_poses, *message.mesh_poses)]
    if not shapes:
        return None
    # One shape alone may be where the object is.
    if not poses and len(shapes) == 1:
        poses = [np.eye(4)]
    if len(poses) != len(shapes):
        raise LiveSceneError(f"it has {len(shapes)} shapes and {len(poses)} poses for them")
    rows = []
    for shape, pose in zip(shapes, poses, strict=True):
        if hasattr(shape, "dimensions"):
            body = primitive_shape(shape.type, shape.dimensions, pose)
            rows.append(_moved(cover(body, most), pose))
            continue
        corners = _mesh_corners(shape, pose)
        if len(corners) > AT_ONCE and len(shapes) == 1:
            return Triangles(corners, cover_bounds(corners.reshape(-1, 3), most))
        is_small = len(corners) <= AT_ONCE
        rows.append(
            cover_triangles(corners, most) if is_small
            else cover_bounds(corners.reshape(-1, 3), most)
        )  # fmt: skip
    return np.vstack(rows)


def _operation(message: Any) -> int:
    value = message.operation
    return value[0] if isinstance(value, (bytes, bytearray)) else int(value)


class _Scene(Protocol):
    """What takes objects in; `scene_topics.SceneTopics`."""

    keeper: SceneKeeper
    q: np.ndarray | None

    def want(self, wish: Wish, shape: np.ndarray | Shape | Triangles) -> None: ...

    def drop(self, name: str) -> None: ...


class PlanningSceneTopic:
    """Takes planning scenes over, whole ones and differences.

    Objects are called ``planning_scene/<id>``. Its own matrix of what may collide is not taken
    over: what is not checked is a matter of the SRDF and of touch links.
    """

    def __init__(self, scene: _Scene, most: int) -> None:
        """``most``: leaves around a shape."""
        self._scene, self._most = scene, most

    def take(self, message: Any) -> None:
        """Take over a moveit_msgs/PlanningScene."""
        keeper = self._scene.keeper
        attached = message.robot_state.attached_collision_objects
        if not message.is_diff:
            named = {self._name(each) for each in message.world.collision_objects}
            named |= {self._name(each.object) for each in attached}
            keeper.drop_all(lambda name: name.startswith(PREFIX) and name not in named)
        for each in message.world.collision_objects:
            self._guarded(self._take_object, each, each)
        for each in attached:
            self._guarded(self._take_attached, each, each.object)
        name = f"{PREFIX}octomap"
        if len(message.world.octomap.octomap.data):
            keeper.refuse(name, "octomaps are not supported; publish their points on ~/cloud")
        elif not message.is_diff:
            keeper.forgive(name)

    @staticmethod
    def _name(message: Any) -> str:
        return PREFIX + plain_name(message.id)

    def _guarded(self, take: Callable[[Any], None], message: Any, thing: Any) -> None:
        try:
            take(message)
        except CollisionMonitorError as error:
            name = self._name(thing)
            self._scene.keeper.refuse(name, str(error).removeprefix(f"{name}: "))
        except Exception as error:  # whatever it is, the watch goes on, and says so
            text = f"internal error, {type(error).__name__}: {error}"
            self._scene.keeper.refuse(self._name(thing), text)

    def _take_object(self, message: Any, touch: Sequence[str] = ()) -> None:
        name, keeper = self._name(message), self._scene.keeper
        operation = _operation(message)
        if operation == REMOVE:
            self._scene.drop(name)
            return
        if operation not in (ADD, APPEND, MOVE):
            raise LiveSceneError(
                f"its operation {operation} is not one of {', '.join(_OPERATIONS)}"
            )
        known = keeper.wishes.get(name)
        shape = object_shape(message, self._most)
        if operation == MOVE or shape is None:
            if known is None or known.shape is None:
                raise LiveSceneError("it cannot be moved: there is no such object")
            shape = known.shape
        elif operation == APPEND and known is not None and isinstance(known.shape, np.ndarray):
            more = shape.coarse if isinstance(shape, Triangles) else shape
            shape = np.vstack([known.shape, more])
        if not message.header.frame_id:
            raise LiveSceneError("header.frame_id is empty")
        wish = Wish(name, None, message.header.frame_id, pose_of(message.pose), frozenset(touch))
        self._scene.want(wish, shape)

    def _take_attached(self, message: Any) -> None:
        name, keeper = self._name(message.object), self._scene.keeper
        if _operation(message.object) == REMOVE:
            if keeper.is_carried(name):
                keeper.detach(name, self._scene.q)
            return
        touch = [*message.touch_links]
        if message.object.primitives or message.object.meshes or message.object.planes:
            self._take_object(message.object, touch)
        keeper.attach(name, message.link_name, self._scene.q, touch)
