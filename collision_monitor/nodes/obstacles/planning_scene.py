# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Planning scenes of MoveIt on ``~/planning_scene``, if moveit_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import numpy as np

from collision_monitor.errors import LiveSceneError
from collision_monitor.model.live.desired_scene import ObjectRequest
from collision_monitor.monitoring.faults import FaultRegister, Level
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

_PART = (
    "of the planning scene only changes were received: what was in it before is not monitored "
    "until it is published as a whole"
)

_SEVERAL = (
    "a whole scene of one removes the objects of the others, which are then not monitored; let one "
    "publish all objects"
)

ADD, REMOVE, APPEND, MOVE = range(4)  # of moveit_msgs/CollisionObject
_OCTOMAP = f"{PREFIX}<octomap>"  # an id that MoveIt reserves
_OPERATIONS = ("ADD", "REMOVE", "APPEND", "MOVE")


def message_type() -> Any:
    """moveit_msgs/PlanningScene; None if it is not installed."""
    try:
        from moveit_msgs.msg import PlanningScene
    except ImportError:
        return None
    return PlanningScene


def service_and_request() -> tuple[Any, Any] | None:
    """moveit_msgs/GetPlanningScene and its request; None if it is not installed."""
    try:
        from moveit_msgs.msg import PlanningSceneComponents as Components
        from moveit_msgs.srv import GetPlanningScene
    except ImportError:
        return None
    request = GetPlanningScene.Request()
    request.components.components = (
        Components.ROBOT_STATE | Components.ROBOT_STATE_ATTACHED_OBJECTS
        | Components.WORLD_OBJECT_NAMES | Components.WORLD_OBJECT_GEOMETRY | Components.OCTOMAP
    )  # fmt: skip
    return GetPlanningScene, request


def _operation(message: Any) -> int:
    value = message.operation
    return value[0] if isinstance(value, (bytes, bytearray)) else int(value)


def _require_operation(operation: int, *allowed: int) -> None:
    if operation not in allowed:
        names = ", ".join(_OPERATIONS[each] for each in allowed)
        raise LiveSceneError(f"its operation {operation} is not one of {names}")


def _has_shapes(message: Any) -> bool:
    return bool(message.primitives or message.meshes or message.planes)


def _is_whole_state(state: Any) -> bool:
    """Whether a moveit_msgs/RobotState has all attached objects.

    One without joints is invalid in MoveIt, and detaches nothing.
    """
    has_joints = state.joint_state.name or state.multi_dof_joint_state.joint_names
    return bool(has_joints) and not state.is_diff


class PlanningSceneTopic:
    """Applies planning scenes, complete ones and differences, as `planning_scene.cpp` of MoveIt.

    Objects are named ``planning_scene/<id>``. What MoveIt logs as an error, and what would differ
    from its scene, is refused. Its allowed collision matrix, paddings and scales are not used: only
    the SRDF and touch links exclude pairs. That only changes of the scene of move_group were
    received, and not the whole one, is the fault "planning_scene", a remark, and so is that several
    publishers replace each other's objects.
    """

    def __init__(
        self, objects: SceneObjects, most: int, faults: FaultRegister,
        restarted: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """Start without a scene.

        Args:
            objects: are updated.
            most: maximum number of leaves of a shape.
            faults: the register of the node.
            restarted: called when a scene begins to replace all that was received before.
        """
        self._objects, self._most, self._faults = objects, most, faults
        self._restarted = restarted
        self._is_whole = False
        self._since_request: list[Any] = []  # scenes; kept while an answer is expected
        self._is_asked = False

    def expect_answer(self, is_asked: bool = True) -> None:
        """Keep what is received from now on: it may be newer than the answer to a request.

        ``is_asked`` is False if no answer will come any more.
        """
        self._since_request, self._is_asked = [], is_asked

    def answer_steps(self, message: Any) -> Iterator[None]:
        """Apply the whole scene that was asked for, and again what was received since then.

        Objects of messages that it includes already do not change.
        """
        later, self._since_request, self._is_asked = self._since_request, [], False
        for each in (message, *later):
            yield from self.steps(each)

    def watch(self, publishers: int) -> None:
        """Remark on several ``publishers``, if one sends whole scenes; call it regularly."""
        if self._is_whole:
            text = f"{publishers} publishers on ~/planning_scene: {_SEVERAL}"
            self._faults.put("planning_scene", Level.WARN, "", text if publishers > 1 else "")

    def steps(self, message: Any) -> Iterator[None]:
        """Apply a moveit_msgs/PlanningScene, one object in each step.

        Attached objects come first, then those of the world. At last those go that a complete scene
        does not have: what is replaced is not missing in between.
        """
        if self._is_asked:
            self._since_request.append(message)
        if not message.is_diff and _is_whole_state(message.robot_state):
            self._restarted()
        if not (message.is_diff or self._is_whole):
            self._is_whole = True
            self._faults.clear("planning_scene")
        # Only move_group names the robot: what somebody else adds is no change of its scene.
        if message.robot_model_name and not self._is_whole:
            self._faults.put("planning_scene", Level.WARN, "", _PART)
        keeper, state = self._objects.keeper, message.robot_state
        world, attached = message.world.collision_objects, state.attached_collision_objects
        gone = self._gone(message)
        for each in attached:
            apply = partial(self._on_attached, is_diff=state.is_diff)
            process_object(keeper.refuse_attaching, self._name(each.object), apply, each)
            yield
        is_partial = False
        for each in world:
            name = self._name(each)
            if name in gone:  # It was attached.
                gone.remove(name)
                self._objects.drop(name)
            while gone and not self._objects.has_room(name):
                self._objects.drop(gone.pop())
                is_partial = True  # What replaces it may come later: the rest is one step.
            process_object(keeper.refuse, name, self._on_world_object, each)
            if not is_partial:
                yield
        for name in gone:
            self._objects.drop(name)
            yield
        octomap = message.world.octomap.octomap
        if len(octomap.data):
            why = "not supported: publish scenes without octomaps, and their points on ~/cloud"
            keeper.refuse(_OCTOMAP, why)
        elif octomap.id or not message.is_diff:
            keeper.withdraw_refusal(_OCTOMAP)

    def _gone(self, message: Any) -> set[str]:
        """Objects that a complete scene, or a complete state of the robot, does not have."""
        state = message.robot_state
        gone, named = set(), {self._name(each.object) for each in state.attached_collision_objects}
        if _is_whole_state(state):
            gone |= {name for name in self._names(are_attached=True) if name not in named}
        if not message.is_diff:
            named |= {self._name(each) for each in message.world.collision_objects}
            gone |= {name for name in self._names(are_attached=False) if name not in named}
        return gone

    @staticmethod
    def _name(message: Any) -> str:
        return PREFIX + plain_name(message.id)

    def _names(self, are_attached: bool) -> list[str]:
        """Objects of planning scenes that are attached, or in the world or refused."""
        keeper = self._objects.keeper
        return [
            name
            for name in {*keeper.requests, *keeper.refused}
            if name.startswith(PREFIX) and name != _OCTOMAP
            and (keeper.attachment(name) is not None) == are_attached
        ]  # fmt: skip

    # -- objects of the world --

    def _on_world_object(self, message: Any) -> None:
        name, keeper = self._name(message), self._objects.keeper
        operation, attached = _operation(message), keeper.attachment(name)
        _require_operation(operation, ADD, REMOVE, APPEND, MOVE)
        if operation == REMOVE and not message.id:
            for each in self._names(are_attached=False):
                self._objects.drop(each)
        elif operation == REMOVE and attached is None:
            self._objects.drop(name)
        elif operation == REMOVE:  # An attached object is not in the world of MoveIt.
            keeper.withdraw_refusal(name)
        elif attached is not None:
            # MoveIt would have both, but fails to move one that is not in its world.
            why = f"it is attached to {attached[0]!r}: detach it before it is in the world"
            keeper.refuse_attaching(name, why)
        else:
            self._request(message, operation)
            self._place(name)

    def _place(self, name: str) -> None:
        """Fix an object in the world, as MoveIt does, if its frame moves with the robot."""
        keeper = self._objects.keeper
        request, live = keeper.requests.get(name), keeper.live
        if request is None or keeper.attachment(name) is not None:
            return
        is_there = live is not None and keeper.is_monitored(name)
        if not is_there or live.is_moving(request.link.removeprefix("/")):
            keeper.place(name, self._objects.q)

    # -- attached objects --

    def _on_attached(self, message: Any, is_diff: bool) -> None:
        name, keeper, q = self._name(message.object), self._objects.keeper, self._objects.q
        operation, attached = _operation(message.object), keeper.attachment(name)
        link = None if attached is None else attached[0]
        _require_operation(operation, ADD, REMOVE, APPEND)
        if not is_diff and operation != ADD:
            raise LiveSceneError(
                f"its operation is {_OPERATIONS[operation]}, which MoveIt ignores unless is_diff "
                "of robot_state is true"
            )
        if operation == REMOVE and not message.object.id:
            self._detach_all(message.link_name)
            return
        if operation == REMOVE:
            if link is not None and message.link_name not in ("", link):
                raise LiveSceneError(f"it is attached to {link!r}, not to {message.link_name!r}")
            if keeper.is_attached(name):  # or is to be, once it exists
                keeper.detach(name, q)
            return
        self._objects.require_link(message.link_name)
        touch = {*message.touch_links}
        if _has_shapes(message.object):
            if operation == APPEND and attached is not None:
                touch.update(attached[1])
            self._request(message.object, operation, touch, is_attached=True)
        elif link not in (None, message.link_name):
            raise LiveSceneError(f"it is attached to {link!r} already: detach it first")
        keeper.attach(name, message.link_name, q, touch)

    def _detach_all(self, link: str) -> None:
        """Detach all objects, or those of a ``link``, as MoveIt does for one without an id."""
        keeper = self._objects.keeper
        for name in self._names(are_attached=True):
            if link in ("", keeper.attachment(name)[0]):
                keeper.detach(name, self._objects.q)

    # -- both --

    def _request(
        self, message: Any, operation: int, touch: Collection[str] = (), is_attached: bool = False
    ) -> None:
        """Request an object that is new, moved or extended."""
        name, keeper = self._name(message), self._objects.keeper
        known = keeper.requests.get(name)
        before = None if known is None else self._objects.unmade(name) or known.shape
        if not message.header.frame_id:
            raise LiveSceneError("header.frame_id is empty")
        frame, pose = message.header.frame_id, pose_of(message.pose)
        # One that is attached with other shapes replaces one of the world.
        is_there = before is not None and is_attached == (keeper.attachment(name) is not None)
        if operation == MOVE:
            if before is None:
                raise LiveSceneError("it cannot be moved: there is no such object")
            if message.primitive_poses or message.mesh_poses or message.plane_poses:
                raise LiveSceneError(
                    "a MOVE with poses of its shapes is not supported; give its pose alone, or ADD "
                    "it again"
                )
            shape = before
        elif not _has_shapes(message):
            raise LiveSceneError("it has no shapes")
        elif operation == APPEND and is_there:
            parts = before.parts if isinstance(before, ManyTriangles) else (before,)
            shape = geometry_of([*parts, *object_shapes(message)], self._most)
            # As in MoveIt, only a pose of an attached object moves what is there already.
            if not is_attached or np.array_equal(pose, np.eye(4)):
                frame, pose = known.link, known.pose
        else:
            pose, shapes = with_object_pose(object_shapes(message), message)
            shape = geometry_of(shapes, self._most)
        self._objects.request(ObjectRequest(name, None, frame, pose, frozenset(touch)), shape)
