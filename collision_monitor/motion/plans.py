# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The JointTrajectory in a document, and what a plan of MoveIt says beside it.

A DisplayTrajectory or a response also has the state at which the plan starts: positions of joints
that the trajectory does not move, and objects that the robot carries. All of this changes the
result of a check, so it is used or refused, never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.errors import MotionError
from collision_monitor.motion.points import (
    Points,
    StartState,
    checked_values,
    joint_names,
    points_of,
)
from collision_monitor.motion.robot_joints import SAME_POSITION, is_unneeded, led_by, on_robot
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.robot.angles import apart
from collision_monitor.robot.description import Robot
from collision_monitor.robot.scene import Scene
from collision_monitor.robot.yaml_values import finite_number, shown

_TRAJECTORY = {"joint_names", "points"}
_STATE_KEYS = {"name", "position"}
_MULTI_DOF = ("multi_dof_joint_trajectory", "multi_dof_trajectory")
_STATE = {"joint_state", "multi_dof_joint_state", "attached_collision_objects"}


def find_points(documents: Sequence[Any], path: Path) -> Points:
    """Return the points of the only JointTrajectory in the documents of a YAML file.

    Raises:
        MotionError: names file and point; there are no or several messages, a joint of several
            degrees of freedom moves, names are missing or repeated, values are missing, too many
            or not finite, accelerations have no velocities, or times do not increase.
    """
    if any(isinstance(one, Mapping) and _STATE_KEYS <= set(one) for one in documents):
        raise MotionError(
            f"{path}: joint states are read from a bag ('ros2 bag record'), not from YAML"
        )
    if len(documents) != 1:
        content = f"{len(documents)} messages" if documents else "an empty file"
        raise MotionError(f"{path}: expected one JointTrajectory, got {content}")
    messages, states = _parts(documents[0], path)
    messages = [m for m in messages if m["joint_names"] or m["points"]] or messages[:1]
    if not messages:
        raise MotionError(f"{path}: no JointTrajectory: 'joint_names' and 'points' are needed")
    if len(messages) > 1:
        raise MotionError(
            f"{path}: expected one JointTrajectory, got {len(messages)} in one message"
        )
    points = points_of(messages[0]["joint_names"], messages[0]["points"], str(path))
    starts = [_start_state(state, f"{path}: start state") for state in states]
    starts = [state for state in starts if state != StartState({})]
    if len(starts) > 1:
        raise MotionError(f"{path}: expected one start state, got {len(starts)} in one message")
    return replace(points, start=starts[0]) if starts else points


def _parts(document: Any, path: Path) -> tuple[list[Mapping], list[Mapping]]:
    """The JointTrajectories and the RobotStates at any level of a document."""
    level, trajectories, states, seen = [document], [], [], set()
    while level:
        inner = []
        for value in level:
            if id(value) in seen:  # an alias of a visited mapping
                continue
            seen.add(id(value))
            if isinstance(value, list):
                inner += value
            elif isinstance(value, Mapping):
                if _TRAJECTORY <= set(value):
                    trajectories.append(value)
                    continue
                if _STATE & set(value):
                    states.append(value)
                for key in _MULTI_DOF:
                    _refuse_moving(value.get(key), f"{path}: {key}")
                inner += [v for k, v in value.items() if k not in (*_MULTI_DOF, *_STATE)]
        level = [value for value in inner if isinstance(value, (list, Mapping))]
    return trajectories, states


def _refuse_moving(message: Any, where: str) -> None:
    """Refuse a MultiDOFJointTrajectory that has points."""
    if not (message.get("points") if isinstance(message, Mapping) else message):
        return
    names = message.get("joint_names") if isinstance(message, Mapping) else message
    raise MotionError(
        f"{where}: moves {shown(names)}: planar and floating joints do not move in this package, "
        "so this motion cannot be checked; describe the base by prismatic, revolute or continuous "
        "joints, and plan for these"
    )


def _start_state(state: Mapping, where: str) -> StartState:
    positions: dict[str, float] = {}
    joints = state.get("joint_state") or {}
    if not isinstance(joints, Mapping):
        raise MotionError(f"{where}: joint_state: {shown(joints)} has no 'name' and 'position'")
    if joints.get("name") or joints.get("position"):
        names = joint_names(joints.get("name"), f"{where}: joint_state")
        values = checked_values("position", joints.get("position"), names, f"{where}: joint_state")
        positions = dict(zip(names, values, strict=True))
    return StartState(positions, tuple(_displaced(state, where)), tuple(_carried(state, where)))


def _displaced(state: Mapping, where: str) -> list[str]:
    where = f"{where}: multi_dof_joint_state"
    joints = state.get("multi_dof_joint_state") or {}
    names = joints.get("joint_names") if isinstance(joints, Mapping) else joints
    if not names:
        return []
    poses = joints.get("transforms") if isinstance(joints, Mapping) else None
    if not isinstance(poses, list) or len(poses) != len(joint_names(names, where)):
        raise MotionError(f"{where}: expected a transform for each of {shown(names)}")
    return [name for name, pose in zip(names, poses, strict=True) if not _is_identity(pose, where)]


def _is_identity(pose: Any, where: str) -> bool:
    parts = [pose.get(key, {}) if isinstance(pose, Mapping) else None
             for key in ("translation", "rotation")]  # fmt: skip
    if not all(isinstance(part, Mapping) for part in parts):
        raise MotionError(f"{where}: {shown(pose)} is not a transform")
    # The real part of the quaternion is irrelevant: without an imaginary part it rotates nothing.
    values = [finite_number(part.get(axis, 0.0)) for part in parts for axis in "xyz"]
    return all(abs(value) <= SIX_DIGITS for value in values)  # not a number: no identity


def _carried(state: Mapping, where: str) -> list[tuple[str, str]]:
    where = f"{where}: attached_collision_objects"
    carried = []
    objects = state.get("attached_collision_objects") or []
    for each in objects if isinstance(objects, list) else [objects]:
        shape = each.get("object") if isinstance(each, Mapping) else None
        if not isinstance(shape, Mapping):
            raise MotionError(f"{where}: {shown(each)} has no 'link_name' and 'object'")
        carried.append((str(shape.get("id", "")), str(each.get("link_name", ""))))
    return carried


def start_positions(
    points: Points, robot: Robot, scene: Scene | None, where: str, ignored: Sequence[str] = ()
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return positions of independent joints at the start of a plan, and warnings.

    Args:
        points: of the plan.
        robot: the robot that moves.
        scene: with the objects that the robot carries, each on its link.
        where: prefix of messages, such as the file.
        ignored: names of joints that are not the robot's, with ``*`` and ``?`` as wildcards.

    Raises:
        MotionError: an object that the robot carries is not in the scene, the first point is not
            where the plan starts, a planar or floating joint of the robot is displaced, or a joint
            is unknown.
    """
    if points.start is None:
        return {}, ()
    where = f"{where}: start state"
    start, joints = points.start, robot.joint_named
    in_scene = {(each.name, each.link) for each in (scene.obstacles if scene else ())}
    for name, link in start.carried:
        if (name, link) not in in_scene:
            raise MotionError(
                f"{where}: the robot carries {name!r} on link {link!r}, which is not in the scene: "
                f"add an obstacle with 'name: {name}' and 'link: {link}' to the scene file, and "
                "pairs with its touch_links to 'ignore'"
            )
    for name in start.displaced:
        if name in joints:
            raise MotionError(
                f"{where}: joint {name!r} is displaced, but {joints[name].kind} joints are held "
                "at zero in this package: obstacles would not be where they are for the robot"
            )
    warnings = [
        f"{where}: {name!r} is displaced: obstacles count in the frame of {robot.root!r}"
        for name in start.displaced
    ]
    for name, first in zip(points.joint_names, points.rows[0, 0].tolist(), strict=True):
        endless = name in joints and joints[name].kind == "continuous"
        if abs(apart(first, start.positions.get(name, first), endless)) > SAME_POSITION:
            raise MotionError(
                f"{where}: joint {name!r} is at {start.positions[name]:g}, but at {first:g} in the "
                "first point: the motion from one to the other is not in the plan"
            )
    given = {
        name: value for name, value in start.positions.items()
        if name in joints or not is_unneeded(robot, ignored, name)
    }  # fmt: skip
    if all(is_unneeded(robot, ignored, name) for name in given):
        return {}, tuple(warnings)
    at_start = Trajectory.through(tuple(given), np.zeros(1), np.array([list(given.values())]))
    names = [joint.name for joint in robot.joints]
    full, more = on_robot(at_start, robot, where, elsewhere=names)
    known = led_by(given, robot)
    positions = dict(zip(full.joint_names, full.positions(np.zeros(1))[0].tolist(), strict=True))
    return {name: positions[name] for name in positions if name in known}, (*warnings, *more)
