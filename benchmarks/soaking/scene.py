# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The live scene of the observer of the soak test, computed from messages only.

It implements docs/scene.md, independently of the node, with poses of pinocchio and shapes of coal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import coal
import numpy as np
import pinocchio as pin

ADD, DELETE, DELETEALL = 0, 2, 3
CUBE, SPHERE, CYLINDER, SPHERE_LIST, TRIANGLE_LIST = 1, 2, 3, 7, 11
# An object with a lifetime certainly exists until this many seconds before its end, and not later
# than this many after it: the node reads its clocks at different times.
SLACK = 0.05

Part = tuple[coal.CollisionGeometry, np.ndarray]  # shape and pose (4, 4) in the object


class Refusal(Exception):
    """A marker that the monitor must refuse."""


@dataclass(frozen=True)
class Thing:
    """An object: its parts and pose.

    ``expires``: nanoseconds.
    """

    parts: tuple[Part, ...]
    frame: str
    pose: np.ndarray
    touch: frozenset[str] = frozenset()
    expires: float = math.inf


class Robot:
    """Frames of a robot, computed by pinocchio."""

    def __init__(self, urdf: str) -> None:
        """Start at the zero pose."""
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        self.root = self.model.frames[1].name
        self._frames = {
            frame.name: k for k, frame in enumerate(self.model.frames)
            if frame.type == pin.FrameType.BODY
        }  # fmt: skip
        self._order: dict[tuple[str, ...], list[int]] = {}
        self.q = np.zeros(self.model.nq)
        self.move((), ())

    def move(self, names: tuple[str, ...], positions: Any) -> None:
        """Apply a joint state."""
        if names not in self._order:
            joints = self.model.joints
            self._order[names] = [joints[self.model.getJointId(name)].idx_q for name in names]
        self.q[self._order[names]] = positions
        pin.forwardKinematics(self.model, self.data, self.q)

    def move_to(self, other: Robot) -> None:
        """Copy the configuration of ``other``, which has the same joints."""
        self.q = other.q.copy()
        pin.forwardKinematics(self.model, self.data, self.q)

    def __contains__(self, frame: str) -> bool:
        """Whether the robot has this link."""
        return frame in self._frames

    def body(self, frame: str) -> int:
        """Index of the joint that moves a link, 0 for none."""
        return self.model.frames[self._frames[frame]].parentJoint

    def in_body(self, frame: str) -> np.ndarray:
        """Pose (4, 4) of a link in the frame of its joint."""
        return self.model.frames[self._frames[frame]].placement.homogeneous

    def pose(self, frame: str) -> np.ndarray:
        """Current pose (4, 4) of a link."""
        return self.data.oMi[self.body(frame)].homogeneous @ self.in_body(frame)


class Scene:
    """All objects around a robot.

    Attributes:
        things: objects that must be monitored, by name.
        refused: objects that must be reported as refused, and until when, nanoseconds.
        changes: number of changes.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.things: dict[str, Thing] = {}
        self.refused: dict[str, float] = {}
        self.changes = 0
        self._wishes: dict[str, Thing] = {}
        self._misfits: set[str] = set()  # refused for this robot only
        self._waiting: dict[str, tuple[str, frozenset[str]]] = {}  # attached before it exists
        self._attached: set[str] = set()  # since the last call of `doubt_attached`
        self._robot: Robot | None = None

    def attend(self, robot: Robot) -> None:
        """Replace the robot; objects are attached to it again."""
        self._robot = robot
        self.things.clear()
        self.changes += 1
        for name, thing in self._wishes.items():
            if thing.frame in robot:
                self.things[name] = thing
                if name in self._misfits:
                    self._forgive(name)
            elif name not in self.refused:
                self._refuse(name, thing.expires, is_misfit=True)

    def sure(self, now: int) -> dict[str, Thing]:
        """Objects that certainly exist at ``now``, nanoseconds; see `SLACK`."""
        return {n: t for n, t in self.things.items() if now < t.expires - 1e9 * SLACK}

    def surely_refused(self, now: int) -> list[str]:
        """Objects that must be reported as not monitored at ``now``, nanoseconds."""
        return [name for name, end in self.refused.items() if now < end - 1e9 * SLACK]

    def doubt_attached(self, refused: str) -> int:
        """Ignore objects that the monitor could not attach immediately; returns their number.

        If the robot was unknown, the monitor reports this in ``refused`` and attaches them later,
        at a pose that messages do not show.
        """
        names, self._attached = self._attached, set()
        doubted = [n for n in names if f"{n}: to be attached" in refused or " more" in refused]
        for name in doubted:
            self._drop(name)
        self.changes += len(doubted)
        return len(doubted)

    def expire(self, now: int) -> None:
        """Remove objects that have certainly expired."""
        for name in [n for n, t in self.things.items() if now > t.expires + 1e9 * SLACK]:
            del self.things[name]
            self.changes += 1
        for name in [n for n, t in self._wishes.items() if now > t.expires + 1e9 * SLACK]:
            del self._wishes[name]
        for name in [n for n, end in self.refused.items() if now > end + 1e9 * SLACK]:
            del self.refused[name]

    def take(self, topic: str, message: Any, now: int) -> None:
        """Process a MarkerArray on ``scene`` or ``attach``, received at ``now``, nanoseconds."""
        take = {"scene": self._take_marker, "attach": self._take_attached}[topic]
        self.changes += 1
        for marker in message.markers:
            name = f"{marker.ns}/{marker.id}"
            seconds = marker.lifetime.sec + 1e-9 * marker.lifetime.nanosec
            expires = now + 1e9 * seconds if seconds > 0.0 else math.inf
            try:
                take(name, marker, expires)
            except Refusal:
                self._refuse(name, expires)

    def _take_marker(self, name: str, marker: Any, expires: float) -> None:
        if marker.action == DELETEALL:
            for each in {*self._wishes, *self.refused}:
                if not marker.ns or each.startswith(f"{marker.ns}/"):
                    self._drop(each)
        elif marker.action == DELETE:
            self._drop(name)
        elif marker.action == ADD:
            self._want(name, marker, expires, frozenset())
        else:
            raise Refusal

    def _take_attached(self, name: str, marker: Any, expires: float) -> None:
        if marker.action == ADD:
            if marker.header.frame_id not in self._robot:
                raise Refusal
            touch = frozenset(marker.text.split())
            size = (marker.scale.x, marker.scale.y, marker.scale.z)
            if size == (0.0, 0.0, 0.0):
                self._attach(name, marker.header.frame_id, touch)
            else:
                self._want(name, marker, expires, touch)
        elif marker.action in (DELETE, DELETEALL):
            for each in {name} if marker.action == DELETE else {*self._waiting}:
                if self._waiting.pop(each, None) is not None:
                    self._forgive(each)
            for each, thing in list(self.things.items()):
                is_meant = marker.action == DELETEALL or each == name
                if is_meant and self._robot.body(thing.frame) > 0:
                    self._attach(each, self._robot.root, frozenset())
        else:
            raise Refusal

    def _want(self, name: str, marker: Any, expires: float, touch: frozenset[str]) -> None:
        parts = _parts(marker)
        frame = marker.header.frame_id
        if not frame:
            raise Refusal
        thing = Thing(parts, frame, _pose(marker.pose), touch, expires)
        waiting = self._waiting.pop(name, None) if name not in self._wishes else None
        self._wishes[name] = thing
        if frame not in self._robot:
            self._refuse(name, expires, is_misfit=True)
            return
        self.things[name] = thing
        self._forgive(name)
        if waiting is not None:
            self._attach(name, *waiting)

    def _attach(self, name: str, frame: str, touch: frozenset[str]) -> None:
        if name not in self._wishes:
            self._waiting[name] = frame, touch
        if name not in self.things:
            raise Refusal
        robot, thing = self._robot, self.things[name]
        pose = np.linalg.inv(robot.pose(frame)) @ robot.pose(thing.frame) @ thing.pose
        self.things[name] = replace(thing, frame=frame, pose=pose, touch=touch)
        self._wishes[name] = self.things[name]
        self._attached.add(name)
        self._forgive(name)

    def _drop(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._wishes.pop(name, None)
        self.things.pop(name, None)
        self._forgive(name)

    def _refuse(self, name: str, expires: float, is_misfit: bool = False) -> None:
        self.refused[name] = expires
        (self._misfits.add if is_misfit else self._misfits.discard)(name)

    def _forgive(self, name: str) -> None:
        self.refused.pop(name, None)
        self._misfits.discard(name)


def _parts(marker: Any) -> tuple[Part, ...]:
    """Parts of a marker."""
    home = np.eye(4)
    size = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
    points = np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3)
    if not (np.isfinite(size).all() and (size > 0.0).all() and np.isfinite(points).all()):
        raise Refusal
    if marker.type == CUBE:
        return ((coal.Box(*size), home),)
    if marker.type == SPHERE:  # with one radius, as for cylinders of the test
        return ((coal.Sphere(0.5 * size.max()), home),)
    if marker.type == CYLINDER:
        return ((coal.Cylinder(0.5 * size[:2].max(), size[2]), home),)
    if marker.type == SPHERE_LIST and len(points):
        places = [home.copy() for _ in points]
        for place, point in zip(places, points, strict=True):
            place[:3, 3] = point
        return tuple((coal.Sphere(0.5 * size.max()), place) for place in places)
    if marker.type == TRIANGLE_LIST and len(points) and not len(points) % 3:
        mesh = coal.BVHModelOBBRSS()
        mesh.beginModel(len(points) // 3, len(points))
        for corners in (points * size).reshape(-1, 3, 3):
            mesh.addTriangle(*corners)
        mesh.endModel()
        return ((mesh, home),)
    raise Refusal


def _pose(message: Any) -> np.ndarray:
    p, o = message.position, message.orientation
    if not all(map(math.isfinite, (p.x, p.y, p.z, o.x, o.y, o.z, o.w))):
        raise Refusal
    turn = np.array([o.x, o.y, o.z, o.w])
    if turn.any() and abs(np.linalg.norm(turn) - 1.0) > 0.01:
        raise Refusal
    pose = np.eye(4)
    pose[:3, 3] = p.x, p.y, p.z
    if turn.any():
        pose[:3, :3] = pin.Quaternion(turn / np.linalg.norm(turn)).toRotationMatrix()
    return pose
