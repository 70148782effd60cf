# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joints of a scene: what moves obstacles, such as a door, a slide or a solar wing.

They join the robot as joints of its own, behind the others in q, each with a link without a
shape as its child, under the joint's name: obstacles are fixed to that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from collision_monitor.common.magnitudes import beyond_reason
from collision_monitor.errors import SceneError
from collision_monitor.robot.description import MOVING_JOINT_KINDS, Joint, Link, Robot
from collision_monitor.robot.yaml_values import Entry, pose_of

_COMMON = ("name", "type", "axis", "position", "orientation", "rpy", "link", "joint", "velocity")
_LIMITS = ("lower", "upper")


def read_joints(path: str, items: Sequence[object], robot: Robot) -> dict[str, Joint]:
    """Joints by name out of the list ``joints`` of a scene; ``path`` is for messages.

    Raises SceneError; the message starts with the key's path.
    """
    joints: dict[str, Joint] = {}
    taken = {joint.name: "a joint of the robot" for joint in robot.joints}
    taken |= dict.fromkeys(robot.links, "a link of the robot")
    for i, item in enumerate(items):
        joint = _joint(f"{path}[{i}]", item, robot, joints)
        if joint.name in taken:
            raise SceneError(f"{path}[{i}].name: {joint.name!r} is already {taken[joint.name]}")
        taken[joint.name] = "a joint of the scene"
        joints[joint.name] = joint
    return joints


def carrier(entry: Entry, robot: Robot, joints: dict[str, Joint]) -> str:
    """The link that an obstacle or a joint is fixed to; by default the robot's root."""
    if "joint" not in entry:
        return entry.choice("link", tuple(robot.links), "link") if "link" in entry else robot.root
    if "link" in entry:
        entry.fail("joint", "give link or joint, not both")
    if not joints:
        entry.fail("joint", "the scene has no joint before it, under 'joints'")
    return entry.choice("joint", tuple(joints), "joint of the scene")


def with_joints(robot: Robot, joints: Sequence[Joint]) -> Robot:
    """The robot with the joints of a scene behind its own."""
    if not joints:
        return robot
    frames = {joint.child: Link(joint.child) for joint in joints}
    return replace(robot, links=robot.links | frames, joints=(*robot.joints, *joints))


def without_joints(robot: Robot, joints: Sequence[Joint]) -> Robot:
    """The robot as it was before `with_joints`."""
    if not joints:
        return robot
    names = {joint.name for joint in joints}
    return replace(
        robot,
        links={name: link for name, link in robot.links.items() if name not in names},
        joints=tuple(joint for joint in robot.joints if joint.name not in names),
    )


def _joint(path: str, item: object, robot: Robot, joints: dict[str, Joint]) -> Joint:
    entry = Entry(path, item, (*_COMMON, *_LIMITS))
    name = entry.text("name")
    kind = entry.choice("type", MOVING_JOINT_KINDS)
    lower, upper = -math.pi, math.pi
    if kind == "continuous":
        entry.allow_only(_COMMON, "a continuous joint")
    else:
        lower, upper = (entry.number(key) for key in _LIMITS)
        if lower > upper:
            entry.fail("lower", f"{lower:g} is above the upper limit {upper:g}")
        for key, value in zip(_LIMITS, (lower, upper), strict=True):
            if problem := beyond_reason(value):
                entry.fail(key, problem)
    axis = np.array(entry.numbers("axis", 3))
    norm = math.hypot(*axis)
    if not 1e-9 < norm < math.inf:
        entry.fail("axis", f"{axis.tolist()} has no direction; it should be a unit vector")
    velocity = entry.number("velocity", positive=True) if "velocity" in entry else math.inf
    return Joint(
        name, kind, carrier(entry, robot, joints), name, pose_of(entry), axis / norm,
        lower, upper, velocity,
    )  # fmt: skip
