# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Names, shapes and poses of obstacles in messages: markers, and objects of a planning scene."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from geometry_msgs.msg import Quaternion
from rclpy.node import Node
from rclpy.time import Time
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker

from collision_monitor.common.disk_cache import content_key
from collision_monitor.common.limits import array_range_problem, range_problem
from collision_monitor.common.text import six_digits
from collision_monitor.errors import LiveSceneError, reason_of
from collision_monitor.fitting.fast_fit import cover_bounds
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.live.object_geometry import ObjectGeometry, moved_rows
from collision_monitor.nodes.common.messages import seconds_of
from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import KINDS
from collision_monitor.robot.yaml_values import QUATERNION_TOLERANCE

# Maximum number of triangles fitted at once. More are fitted in a thread; meanwhile their bounding
# box is used.
AT_ONCE = 100


@dataclass(frozen=True)
class MeshFile:
    """A mesh file that has to be read first; meanwhile there is nothing to use."""

    resource: str
    scale: tuple[float, float, float]
    coarse: None = None

    @property
    def key(self) -> tuple:
        """Equal for the same file at the same scale."""
        return self.resource, self.scale


@dataclass(frozen=True, eq=False)
class ManyTriangles:
    """Parts of an object, meshes of many triangles among them, and what to use meanwhile."""

    parts: tuple[ObjectGeometry | Shape, ...]
    coarse: ObjectGeometry

    @cached_property
    def key(self) -> str:
        """Equal for parts of which all numbers are equal."""
        return content_key(*(part.content for part in self.parts))


def plain_name(text: str) -> str:
    """An injective name without spaces: a space becomes %20, for example."""
    return re.sub(r"[%\s\x00-\x1f\x7f]", lambda found: f"%{ord(found[0]):02X}", text)


def marker_name(marker: Marker) -> str:
    """Name of a marker in pairs: its namespace and id."""
    return plain_name(f"{marker.ns}/{marker.id}")


def pose_of(message: Any) -> np.ndarray:
    """The pose (4, 4) of a geometry_msgs/Pose; zero orientation means none, as in RViz.

    Raises:
        LiveSceneError: it is not finite, or its quaternion is invalid.
    """
    o = message.orientation
    return _pose(message.position, o if any((o.x, o.y, o.z, o.w)) else Quaternion(w=1.0))


def _pose(p: Any, o: Any) -> np.ndarray:
    """The pose (4, 4) of a position and a quaternion in messages; errors as of `pose_of`."""
    values = (p.x, p.y, p.z, o.x, o.y, o.z, o.w)
    if not all(map(math.isfinite, values)):
        raise LiveSceneError(f"its pose is not finite: {six_digits(values)}")
    if problem := range_problem(max(map(abs, values[:3]))):
        raise LiveSceneError(f"its position: {problem}")
    length = math.sqrt(o.x * o.x + o.y * o.y + o.z * o.z + o.w * o.w)
    pose = np.eye(4)
    pose[:3, 3] = values[:3]
    if abs(length - 1.0) > QUATERNION_TOLERANCE:
        raise LiveSceneError(f"its quaternion has length {length:.3g} instead of 1")
    pose[:3, :3] = Rotation.from_quat(values[3:]).as_matrix()
    return pose


def process_object(
    refuse: Callable[[str, str, float], None],
    name: str,
    process: Callable[[Any], None],
    message: Any,
    expires: float = math.inf,
) -> None:
    """Call ``process`` with a message; its error is the reason to ``refuse`` object ``name``.

    ``refuse`` is `DesiredScene.refuse`, or `refuse_attaching` for messages about attached objects.
    """
    try:
        process(message)
    except Exception as error:  # monitoring continues, and the state reports any error
        refuse(name, reason_of(error).removeprefix(f"{name}: "), expires)


# -- shapes --


def _lengths(values: Sequence[float], what: str, count: int = 3) -> tuple[float, ...]:
    values = tuple(map(float, values[:count]))
    if len(values) < count or not all(math.isfinite(v) and v > 0.0 for v in values):
        raise LiveSceneError(f"{what} {six_digits(values)}; lengths must be above 0 m")
    if problem := range_problem(max(values)):
        raise LiveSceneError(f"{what} {six_digits(values)}: {problem}")
    return values


def points_of(messages: Sequence[Any]) -> np.ndarray:
    """Coordinates (n, 3) of geometry_msgs/Points.

    Raises:
        LiveSceneError: there is none, or one is not finite.
    """
    points = np.array([(p.x, p.y, p.z) for p in messages], dtype=float).reshape(-1, 3)
    if not len(points):
        raise LiveSceneError("it has no points")
    if not np.isfinite(points).all():
        raise LiveSceneError("it has a point that is not finite")
    if problem := array_range_problem(points):
        raise LiveSceneError(f"point coordinate {problem}")
    return points


def geometry_of(
    parts: Sequence[ObjectGeometry | Shape], most: int
) -> ObjectGeometry | ManyTriangles:
    """All parts of an object as one; `ManyTriangles`, to be fitted later, if there are many."""
    if not any(map(_is_large, parts)):
        return fitted(parts, most)
    coarse = [_coarse(each, most) if _is_large(each) else each for each in parts]
    return ManyTriangles(tuple(parts), fitted(coarse, most))


def _is_large(part: ObjectGeometry | Shape) -> bool:
    meshes = part.meshes if isinstance(part, ObjectGeometry) else (part,)
    return sum(len(each.triangles) for each in meshes if each.kind == "mesh") > AT_ONCE


def _coarse(part: ObjectGeometry | Shape, most: int) -> ObjectGeometry:
    """Leaves around a part, known or around its bounding box."""
    if isinstance(part, ObjectGeometry):
        return ObjectGeometry.of_leaves(part.rows)
    return ObjectGeometry.of_leaves(moved_rows(cover_bounds(part.vertices, most), part.pose))


def fitted(parts: Sequence[ObjectGeometry | Shape], most: int) -> ObjectGeometry:
    """All parts of an object as one, each of at most ``most`` leaves.

    Raises:
        FitError: a mesh has no triangles, or their corners do not exist or are not finite.
    """
    return ObjectGeometry.joined(
        [
            each if isinstance(each, ObjectGeometry) else ObjectGeometry.of_shape(each, most)
            for each in parts
        ]
    )


def marker_shape(marker: Marker, most: int) -> Shape | ObjectGeometry | MeshFile | ManyTriangles:
    """The shape of a marker in its own frame.

    Ellipsoids are replaced by enclosing balls, elliptic cylinders by round ones.

    Args:
        marker: with the action ADD.
        most: maximum number of leaves.

    Raises:
        LiveSceneError: a type without a volume, or invalid lengths.
    """
    kind, home, s = marker.type, np.eye(4), marker.scale

    def lengths() -> tuple[float, ...]:
        return _lengths((s.x, s.y, s.z), "its scale is")

    if kind == Marker.CUBE:
        return Shape("box", home, lengths())
    if kind == Marker.SPHERE:
        return Shape("sphere", home, (0.5 * max(lengths()),))
    if kind == Marker.CYLINDER:
        x, y, z = lengths()
        return Shape("cylinder", home, (0.5 * max(x, y), z))
    if kind == Marker.CUBE_LIST:
        return ObjectGeometry.of_boxes(points_of(marker.points), lengths())
    if kind == Marker.SPHERE_LIST:
        points = points_of(marker.points)
        radii = np.full(len(points), 0.5 * max(lengths()))
        return ObjectGeometry.of_leaves(np.column_stack([points, points, radii]))
    if kind == Marker.MESH_RESOURCE:
        return MeshFile(marker.mesh_resource, lengths())
    if kind == Marker.TRIANGLE_LIST:
        points = points_of(marker.points)
        if len(points) % 3:
            raise LiveSceneError(f"it has {len(points)} points, which is not a multiple of 3")
        points = points * lengths()
        if problem := array_range_problem(points):
            raise LiveSceneError(f"scaled point coordinate {problem}")
        triangles = np.arange(len(points)).reshape(-1, 3)
        return geometry_of([Shape("mesh", home, (), points, triangles)], most)
    raise LiveSceneError(
        f"its type {kind} is not supported; use CUBE, SPHERE, CYLINDER, CUBE_LIST, SPHERE_LIST, "
        "MESH_RESOURCE or TRIANGLE_LIST"
    )


# Types of shape_msgs/SolidPrimitive from 1 on. A cone is replaced by its enclosing cylinder.
_PRIMITIVES = dict(enumerate(("box", "sphere", "cylinder", "cylinder"), 1))


def _primitive(solid: Any, pose: np.ndarray) -> Shape:
    if solid.type not in _PRIMITIVES:
        raise LiveSceneError(
            f"primitive type {solid.type} is not supported; use 1 to 4 (box to cone)"
        )
    name = _PRIMITIVES[solid.type]
    count = 3 if name == "box" else len(KINDS[name])
    size = _lengths(solid.dimensions, "a primitive has the dimensions", count)
    return Shape(name, pose, size[::-1] if name == "cylinder" else size)  # height comes first


def _mesh_shape(mesh: Any, pose: np.ndarray) -> Shape:
    vertices = points_of(mesh.vertices)
    index = np.array([each.vertex_indices for each in mesh.triangles], dtype=np.int64)
    if not len(index) or index.shape[1] != 3:
        raise LiveSceneError("a mesh has no triangles")
    if index.min() < 0 or index.max() >= len(vertices):
        raise LiveSceneError(
            f"a mesh has {len(vertices)} vertices, but a triangle uses vertex {index.max()}"
        )
    return Shape("mesh", pose, (), vertices, index)


def object_shapes(message: Any) -> list[Shape]:
    """All shapes of a moveit_msgs/CollisionObject, in its own frame.

    Raises:
        LiveSceneError: a plane, which is infinite, or an invalid shape.
    """
    if message.planes:
        raise LiveSceneError("it has a plane; infinite planes are not supported, use a box")
    kinds = (
        (message.primitives, message.primitive_poses, _primitive),
        (message.meshes, message.mesh_poses, _mesh_shape),
    )
    shapes = []
    for given, poses, shape_of in kinds:
        if len(poses) > len(given):
            raise LiveSceneError(
                f"it has {len(given)} primitives or meshes and {len(poses)} poses for them"
            )
        missing = [np.eye(4)] * (len(given) - len(poses))  # as in MoveIt
        placed = zip(given, [*map(pose_of, poses), *missing], strict=True)
        shapes += [shape_of(each, pose) for each, pose in placed]
    return shapes


def with_object_pose(shapes: Sequence[Shape], message: Any) -> tuple[np.ndarray, list[Shape]]:
    """The pose (4, 4) of a new moveit_msgs/CollisionObject in its frame, and its shapes at that.

    As in MoveIt, an object without a pose has that of its shape, if this is the only one: there it
    is moved from, and there other shapes are appended.
    """
    pose = pose_of(message.pose)
    if len(shapes) == 1 and np.array_equal(pose, np.eye(4)):
        return shapes[0].pose, [replace(shapes[0], pose=np.eye(4))]
    return pose, list(shapes)


# -- frames: links of the robot, and others if tf2 is installed --


def listen_to_tf(node: Node) -> Any:
    """A tf2 buffer that listens to /tf; None if tf2_ros is not installed."""
    try:
        from tf2_ros import Buffer, TransformListener
    except ImportError:
        return None
    buffer = Buffer()
    buffer.listener = TransformListener(buffer, node)  # tied to the lifetime of the buffer
    return buffer


class Frames:
    """Finds the link to which a frame is attached, and its pose in the frame of the link.

    Frames of links move with the robot. Other frames of tf2 are attached to the root link at their
    current pose, or at that of a stamp.
    """

    def __init__(self, buffer: Any) -> None:
        """``buffer``: of tf2, or None."""
        self._buffer = buffer

    def close(self) -> None:
        """Stop listening to /tf."""
        if self._buffer is not None:
            self._buffer.listener.unregister()

    def find(self, frame: str, model: CollisionModel, stamp: Any = None) -> tuple[str, np.ndarray]:
        """Return (link, pose (4, 4) of the frame in that of the link).

        ``stamp``: a builtin_interfaces/Time, of the pose in tf2; None or zero for the newest.

        Raises:
            LiveSceneError: the frame, named in the message, does not exist, or tf2 has forgotten
                where it was.
        """
        frame = frame.removeprefix("/")
        if not frame:
            raise LiveSceneError("header.frame_id is empty")
        if frame in model.robot.links:
            return frame, np.eye(4)
        if self._buffer is None:
            raise LiveSceneError(
                f"frame {frame!r} is not a link of '{model.name}'; other frames require tf2_ros, "
                "which is not installed"
            )
        try:
            transform = self._newest_until(stamp, model.root, frame).transform
        except Exception as error:  # tf2 raises several types
            raise LiveSceneError(
                f"frame {frame!r} is not a link of '{model.name}', and tf2 has no transform to "
                f"{model.root!r}: {error}"
            ) from None
        try:
            return model.root, _pose(transform.translation, transform.rotation)
        except LiveSceneError as error:
            raise LiveSceneError(f"frame {frame!r}: its transform from tf2: {error}") from None

    def _newest_until(self, stamp: Any, root: str, frame: str) -> Any:
        """The transform at a stamp; the newest for one that is later, as of joint states."""
        newest = self._buffer.lookup_transform(root, frame, Time())
        # Of frames that do not move, the stamp is 0.
        if stamp is None or not 0.0 < seconds_of(stamp) < seconds_of(newest.header.stamp):
            return newest
        return self._buffer.lookup_transform(root, frame, Time.from_msg(stamp))
