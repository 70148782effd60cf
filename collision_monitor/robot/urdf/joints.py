# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joints of a URDF as plain data: poses, axes and limits.

A joint whose position is never known (floating, planar) is held at zero, and its
mimic joints at their offsets: they become fixed joints. Warnings name these joints.
"""

from __future__ import annotations

import math
from graphlib import CycleError, TopologicalSorter

import numpy as np
from urdf_parser_py import urdf as parser

from collision_monitor.common.limits import LARGEST_LIMIT, LARGEST_POSITION, LARGEST_RATE
from collision_monitor.common.text import six_digits
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.description import MOVING_JOINT_KINDS, Joint, Mimic
from collision_monitor.robot.poses import joint_motion, pose_from_xyz_rpy
from collision_monitor.robot.urdf.elements import Elements

# -- joints of a URDF that follow other joints --


_MOST_NAMED = 8


def find_mimics(urdf: parser.Robot, elements: Elements) -> tuple[dict[str, Mimic], list[str]]:
    """Return the mimic of every moving joint that has one, and names of others that have one.

    Raises RobotDescriptionError where a joint mimics an unknown or fixed joint, or itself.
    """
    ignored: list[str] = []
    by_name = {joint.name: joint for joint in urdf.joints}
    found: dict[str, Mimic] = {}
    for number, joint in enumerate(urdf.joints):
        if joint.mimic is None:
            continue
        label = f"{elements.joints[number]}: joint {joint.name!r}"
        leader = by_name.get(joint.mimic.joint)
        if joint.type not in MOVING_JOINT_KINDS:
            ignored.append(joint.name)
        elif leader is None:
            raise RobotDescriptionError(
                f"{label} mimics {joint.mimic.joint!r}, which does not exist"
            )
        elif leader is joint:
            raise RobotDescriptionError(f"{label} mimics itself")
        elif leader.type == "fixed":
            raise RobotDescriptionError(f"{label} mimics {leader.name!r}, which is fixed")
        else:
            multiplier, offset = joint.mimic.multiplier, joint.mimic.offset
            found[joint.name] = Mimic(
                leader.name,
                1.0 if multiplier is None else multiplier,
                0.0 if offset is None else offset,
            )
    return found, ignored


def _leaders_first(mimics: dict[str, Mimic], elements: Elements) -> list[str]:
    """Names of mimic joints and their leaders, each leader before those that mimic it."""
    try:
        order = TopologicalSorter({name: (mimic.joint,) for name, mimic in mimics.items()})
        return list(order.static_order())
    except CycleError as error:
        cycle = error.args[1][::-1]  # the first name is the last too
        names = " -> ".join(map(repr, [*cycle[:-1][:_MOST_NAMED], cycle[-1]]))
        more = f" ({len(cycle) - 1} joints)" if len(cycle) > _MOST_NAMED + 1 else ""
        where = elements.joints[elements.joint_numbers[cycle[0]]]
        raise RobotDescriptionError(
            f"{where}: joints mimic each other in a cycle: {names}{more}"
        ) from None


def held_positions(
    urdf: parser.Robot, mimics: dict[str, Mimic], elements: Elements
) -> dict[str, float]:
    """Return the constant position of every joint that mimics a held one, also at second hand.

    Raises RobotDescriptionError where joints mimic each other in a cycle.
    """
    held = {joint.name: 0.0 for joint in urdf.joints if joint.type in ("floating", "planar")}
    for name in _leaders_first(mimics, elements):
        if name in mimics and (mimic := mimics[name]).joint in held:
            held[name] = mimic.multiplier * held[mimic.joint] + mimic.offset
    return held


_SHORTEST_AXIS = 1e-9
_FARTHEST_TURN = 1e300  # radians


def convert_joints(
    urdf: parser.Robot, elements: Elements, order: list[int]
) -> tuple[tuple[Joint, ...], list[str]]:
    """Return the joints in the given order, and warnings.

    Raises RobotDescriptionError naming the joint and ``file:line``.
    """
    assumptions: dict[str, list[str]] = {}  # joints by what is assumed of them
    mimics, ignored = find_mimics(urdf, elements)
    held = held_positions(urdf, mimics, elements)
    joints = tuple(_convert(urdf.joints[n], elements, mimics, held, assumptions) for n in order)
    if ignored:
        assumptions["their <mimic> is ignored, since they have no axis to follow on"] = ignored
    return joints, [f"joints {', '.join(map(repr, a))}: {what}" for what, a in assumptions.items()]


def _convert(
    joint: parser.Joint,
    elements: Elements,
    mimics: dict[str, Mimic],
    held: dict[str, float],
    assumptions: dict[str, list[str]],
) -> Joint:
    where = elements.joints[elements.joint_numbers[joint.name]]
    origin = np.eye(4)
    if joint.origin is not None:
        origin = pose_from_xyz_rpy(joint.origin.xyz, joint.origin.rpy)
    if joint.type not in MOVING_JOINT_KINDS:
        axis = np.array([1.0, 0.0, 0.0])
        if joint.type != "fixed":
            assumptions.setdefault(f"{joint.type}, held at zero", []).append(joint.name)
        return Joint(joint.name, joint.type, joint.parent, joint.child, origin, axis)
    axis = np.array(joint.axis if joint.axis is not None else (1.0, 0.0, 0.0))
    norm = math.hypot(*axis)
    if not (_SHORTEST_AXIS < norm < math.inf):
        raise RobotDescriptionError(
            f"{where}: joint {joint.name!r}: the axis {six_digits(axis)} has no direction; it "
            "should be a unit vector"
        )
    axis = axis / norm
    lower, upper = _limits(joint, elements, where, assumptions)
    if joint.name in held:
        position = held[joint.name]
        if not math.isfinite(position):
            raise RobotDescriptionError(f"{where}: joint {joint.name!r}: its mimic overflows")
        what = f"held at {position:g}, since {mimics[joint.name].joint!r} is held"
        assumptions.setdefault(what, []).append(joint.name)
        origin = origin @ joint_motion(joint.type == "prismatic", axis, position)
        return Joint(joint.name, "fixed", joint.parent, joint.child, origin, axis)
    velocity = effort = math.inf
    if joint.limit is not None:
        velocity, effort = joint.limit.velocity, joint.limit.effort
        if velocity > LARGEST_RATE:  # joint states that are faster are refused
            velocity = math.inf
    return Joint(
        joint.name, joint.type, joint.parent, joint.child, origin, axis,
        lower, upper, velocity, effort, mimics.get(joint.name),
    )  # fmt: skip


def _limits(
    joint: parser.Joint, elements: Elements, where: str, assumptions: dict[str, list[str]]
) -> tuple[float, float]:
    """Return lower and upper limit; a missing one is half a turn, or zero along a line."""
    if joint.type == "continuous":
        return -math.pi, math.pi
    missing = elements.missing_limits[joint.name]
    reach = math.pi if joint.type == "revolute" else 0.0
    lower, upper = 0.0 - reach, reach
    if "lower" not in missing:
        lower = joint.limit.lower
        upper = max(upper, lower)
    if "upper" not in missing:
        upper = joint.limit.upper
        lower = min(lower, upper) if "lower" in missing else lower
    # A joint that turns may have limits far away, meaning none; samples are taken between them.
    most = LARGEST_LIMIT if joint.type == "prismatic" else _FARTHEST_TURN
    if max(abs(lower), abs(upper)) > most:
        raise RobotDescriptionError(
            f"{where}: joint {joint.name!r}: limits {lower:g} and {upper:g} are beyond reason, "
            f"{most:g} is the most"
        )
    lower, upper = max(lower, -LARGEST_POSITION), min(upper, LARGEST_POSITION)
    if lower > upper:
        raise RobotDescriptionError(
            f"{where}: joint {joint.name!r}: the lower limit {lower:g} is above the upper limit "
            f"{upper:g}"
        )
    if missing:
        only = f", so it is sampled at {lower:g} only" if lower == upper else ""
        what = f"no {' and no '.join(missing)} limit, {lower:.6g} to {upper:.6g} is assumed{only}"
        assumptions.setdefault(what, []).append(joint.name)
    return lower, upper
