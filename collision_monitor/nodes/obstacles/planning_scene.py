# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles of MoveIt: ``~/planning_scene``, where moveit_msgs is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from collision_monitor.errors import LiveSceneError
from collision_monitor.model.live.desired_scene import Wish
from collision_monitor.nodes.obstacles.message_shapes import (
    Triangles,
    object_shape,
    plain_name,
    pose_of,
    take_in,
)

PREFIX = "planning_scene/"  # before the names of its objects

ADD, REMOVE, APPEND, MOVE = range(4)  # of moveit_msgs/CollisionObject
_OPERATIONS = ("ADD", "REMOVE", "APPEND", "MOVE")


def message_type() -> Any:
    """moveit_msgs/PlanningScene; None where it is not installed."""
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

    def __init__(self, scene: Any, most: int) -> None:
        """``scene``: a `SceneTopics`; ``most``: maximum number of leaves of a shape."""
        self._scene, self._most = scene, most

    def take(self, message: Any) -> None:
        """Apply a moveit_msgs/PlanningScene."""
        keeper = self._scene.keeper
        attached = message.robot_state.attached_collision_objects
        if not message.is_diff:
            named = {self._name(each) for each in message.world.collision_objects}
            named |= {self._name(each.object) for each in attached}
            keeper.drop_all(lambda name: name.startswith(PREFIX) and name not in named)
        for each in message.world.collision_objects:
            take_in(keeper, self._name(each), self._take_object, each)
        for each in attached:
            take_in(keeper, self._name(each.object), self._take_attached, each)
        name = f"{PREFIX}octomap"
        if len(message.world.octomap.octomap.data):
            keeper.refuse(name, "octomaps are not supported; publish their points on ~/cloud")
        elif not message.is_diff:
            keeper.forgive(name)

    @staticmethod
    def _name(message: Any) -> str:
        return PREFIX + plain_name(message.id)

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
