# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Planning scenes of MoveIt on ``~/planning_scene``, if moveit_msgs is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from collision_monitor.errors import LiveSceneError
from collision_monitor.model.live.desired_scene import ObjectRequest
from collision_monitor.nodes.obstacles.message_shapes import (
    ManyTriangles,
    geometry_of,
    object_shape,
    plain_name,
    pose_of,
    process_object,
)
from collision_monitor.nodes.obstacles.scene_objects import SceneObjects

PREFIX = "planning_scene/"  # prefix of the names of its objects

ADD, REMOVE, APPEND, MOVE = range(4)  # of moveit_msgs/CollisionObject
_OPERATIONS = ("ADD", "REMOVE", "APPEND", "MOVE")


def message_type() -> Any:
    """moveit_msgs/PlanningScene; None if it is not installed."""
    try:
        from moveit_msgs.msg import PlanningScene
    except ImportError:
        return None
    return PlanningScene


def _operation(message: Any) -> int:
    value = message.operation
    return value[0] if isinstance(value, (bytes, bytearray)) else int(value)


class PlanningSceneTopic:
    """Applies planning scenes, complete ones and differences.

    Objects are named ``planning_scene/<id>``. Its allowed collision matrix is not used: only the
    SRDF and touch links exclude pairs.
    """

    def __init__(self, objects: SceneObjects, most: int) -> None:
        """``objects`` are updated; ``most``: maximum number of leaves of a shape."""
        self._objects, self._most = objects, most

    def process(self, message: Any) -> None:
        """Apply a moveit_msgs/PlanningScene."""
        keeper = self._objects.keeper
        attached = message.robot_state.attached_collision_objects
        if not message.is_diff:
            named = {self._name(each) for each in message.world.collision_objects}
            named |= {self._name(each.object) for each in attached}
            keeper.drop_all(lambda name: name.startswith(PREFIX) and name not in named)
        for each in message.world.collision_objects:
            process_object(keeper.refuse, self._name(each), self._on_object, each)
        for each in attached:
            name = self._name(each.object)
            process_object(keeper.refuse_attaching, name, self._on_attached, each)
        name = f"{PREFIX}octomap"
        if len(message.world.octomap.octomap.data):
            keeper.refuse(name, "octomaps are not supported; publish their points on ~/cloud")
        elif not message.is_diff:
            keeper.clear_refusal(name)

    @staticmethod
    def _name(message: Any) -> str:
        return PREFIX + plain_name(message.id)

    def _on_object(self, message: Any, touch: Sequence[str] = ()) -> None:
        name, keeper = self._name(message), self._objects.keeper
        operation = _operation(message)
        if operation == REMOVE:
            self._objects.drop(name)
            return
        if operation not in (ADD, APPEND, MOVE):
            raise LiveSceneError(
                f"its operation {operation} is not one of {', '.join(_OPERATIONS)}"
            )
        known = keeper.requests.get(name)
        shape = object_shape(message, self._most)
        is_move = operation == MOVE or shape is None
        if is_move and (known is None or known.shape is None):
            raise LiveSceneError("it cannot be moved: there is no such object")
        if not message.header.frame_id:
            raise LiveSceneError("header.frame_id is empty")
        request = ObjectRequest(
            name, None, message.header.frame_id, pose_of(message.pose), frozenset(touch)
        )
        unmade = self._objects.unmade(name)
        if is_move and unmade is None:
            keeper.request(replace(request, shape=known.shape))
            return
        if is_move:
            shape = unmade
        elif operation == APPEND and known is not None and known.shape is not None:
            before = known.shape if unmade is None else unmade
            parts = [
                part
                for each in (before, shape)
                for part in (each.parts if isinstance(each, ManyTriangles) else [each])
            ]
            shape = geometry_of(parts, self._most)
        self._objects.request(request, shape)

    def _on_attached(self, message: Any) -> None:
        name, keeper = self._name(message.object), self._objects.keeper
        if _operation(message.object) == REMOVE:
            if keeper.is_carried(name):
                keeper.detach(name, self._objects.q)
            return
        touch = [*message.touch_links]
        if message.object.primitives or message.object.meshes or message.object.planes:
            self._on_object(message.object, touch)
        keeper.attach(name, message.link_name, self._objects.q, touch)
