# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Planning scenes of MoveIt on ``~/planning_scene``, if moveit_msgs is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from collision_monitor.errors import LiveSceneError
from collision_monitor.model.live.desired_scene import ObjectRequest
from collision_monitor.nodes.obstacles.message_shapes import (
    ManyTriangles,
    geometry_of,
    object_shapes,
    plain_name,
    pose_of,
    process_object,
    with_object_pose,
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

    def _on_object(
        self, message: Any, touch: Sequence[str] = (), is_attached: bool = False
    ) -> None:
        name, keeper = self._name(message), self._objects.keeper
        operation = _operation(message)
        if operation == REMOVE:
            if message.id:
                self._objects.drop(name)
            else:
                self._remove_all()
            return
        if operation not in (ADD, APPEND, MOVE):
            raise LiveSceneError(
                f"its operation {operation} is not one of {', '.join(_OPERATIONS)}"
            )
        known, shapes = keeper.requests.get(name), object_shapes(message)
        before = None if known is None else self._objects.unmade(name) or known.shape
        is_move = operation == MOVE or not shapes
        if is_move and before is None:
            raise LiveSceneError("it cannot be moved: there is no such object")
        if not message.header.frame_id:
            raise LiveSceneError("header.frame_id is empty")
        frame, pose = message.header.frame_id, pose_of(message.pose)
        is_there = before is not None and (keeper.is_carried(name) or not is_attached)
        if is_move:
            shape = before
        elif operation == APPEND and is_there:
            parts = before.parts if isinstance(before, ManyTriangles) else (before,)
            shape = geometry_of([*parts, *shapes], self._most)
            # As in MoveIt, only a pose of an attached object moves what is there already.
            if not is_attached or np.array_equal(pose, np.eye(4)):
                frame, pose = known.link, known.pose
        else:
            pose, shapes = with_object_pose(shapes, message)
            shape = geometry_of(shapes, self._most)
        self._objects.request(ObjectRequest(name, None, frame, pose, frozenset(touch)), shape)

    def _remove_all(self) -> None:
        """Remove all objects that are not attached, as MoveIt does for an object without an id."""
        keeper, kept = self._objects.keeper, f"{PREFIX}octomap"
        keeper.drop_all(
            lambda name: name.startswith(PREFIX) and name != kept and not keeper.is_carried(name)
        )

    def _detach_all(self, link: str) -> None:
        """Detach all objects, or those of a ``link``, as MoveIt does for one without an id."""
        keeper = self._objects.keeper
        for name in [each for each in keeper.requests if each.startswith(PREFIX)]:
            if keeper.is_carried(name) and link in ("", keeper.link_of(name)):
                keeper.detach(name, self._objects.q)

    def _on_attached(self, message: Any) -> None:
        name, keeper = self._name(message.object), self._objects.keeper
        if _operation(message.object) == REMOVE:
            if not message.object.id:
                self._detach_all(message.link_name)
            elif keeper.is_carried(name):
                keeper.detach(name, self._objects.q)
            return
        touch = [*message.touch_links]
        if message.object.primitives or message.object.meshes or message.object.planes:
            self._on_object(message.object, touch, is_attached=True)
        keeper.attach(name, message.link_name, self._objects.q, touch)
