# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints: of a URDF, and of a ``joint_limits.yaml`` as of MoveIt and ros2_control.

::

    joint_limits:
      right_joint_1:
        has_velocity_limits: true
        max_velocity: 2.0
        has_acceleration_limits: true
        max_acceleration: 5.0
        has_jerk_limits: true
        max_jerk: 50.0
        has_effort_limits: true
        max_effort: 80.0

Angles are radians unless they are tagged as ``!degrees``, as by Universal Robots.
A limit counts where its ``has_...`` is true; one that is given without a ``has_...``
counts as well. Scaling factors are not used; other keys of a joint are named in a warning.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collision_monitor.common.limits import LARGEST_OF_JOINT, range_problem
from collision_monitor.common.safe_files import read_document
from collision_monitor.common.text import MOST_LOGGED, closest, shortened
from collision_monitor.errors import JointLimitsError
from collision_monitor.robot.description import Robot
from collision_monitor.robot.yaml_values import finite_number, shown

logger = logging.getLogger(__name__)

_UPPER = ("upper", "velocity", "acceleration", "jerk", "effort")
_KEYS = {"has_position_limits", "min_position", "max_position"}.union(
    *({f"has_{what}_limits", f"max_{what}"} for what in _UPPER[1:])
)


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint, in rad or m, seconds, and N m or N; infinite where there is none.

    Raises:
        JointLimitsError: one is not a number: no motion would exceed it.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf
    effort: float = math.inf

    def __post_init__(self) -> None:
        """Reject NaN."""
        for name, value in vars(self).items():
            if math.isnan(value):
                raise JointLimitsError(f"{name}: {value} is no limit; {math.inf} is none")

    def tightened(self, other: JointLimits) -> JointLimits:
        """The tighter of both, limit by limit; ``lower`` may come out above ``upper``."""
        return JointLimits(
            max(self.lower, other.lower),
            *(min(getattr(self, key), getattr(other, key)) for key in _UPPER),
        )


def urdf_limits(robot: Robot, soft: bool = False) -> dict[str, JointLimits]:
    """Limits of all joints that move, by name; with ``soft``, those of safety_controller as well.

    A continuous joint has no position limits.

    Raises:
        JointLimitsError: soft limits leave no position of a joint.
    """
    limits = {}
    for joint in robot.joints:
        if joint.moves:
            ends = joint.lower, joint.upper
            if joint.kind == "continuous":
                ends = -math.inf, math.inf
            elif soft:
                ends = max(joint.lower, joint.soft[0]), min(joint.upper, joint.soft[1])
            if ends[0] > ends[1]:
                raise JointLimitsError(
                    f"robot {robot.name!r}: joint {joint.name!r}: its soft limits "
                    f"{joint.soft[0]:g} .. {joint.soft[1]:g} (safety_controller) leave nothing of "
                    f"its limits {joint.lower:g} .. {joint.upper:g}"
                )
            limits[joint.name] = JointLimits(*ends, velocity=joint.velocity, effort=joint.effort)
    return limits


def joint_limits(
    robot: Robot, path: str | os.PathLike | None = None, soft: bool = False
) -> dict[str, JointLimits]:
    """Limits of all joints that move: those of the URDF, and of a file where they are tighter.

    With ``soft``, position limits of safety_controller elements count as well.

    Raises:
        JointLimitsError: as `read_joint_limits`, and if the position ranges of both, or the soft
            ones, do not overlap.
    """
    limits = urdf_limits(robot, soft)
    return limits if path is None else limits | tightened_limits(robot, path, tuple(limits), soft)


def tightened_limits(
    robot: Robot, path: str | os.PathLike, joint_names: Sequence[str], soft: bool = False
) -> dict[str, JointLimits]:
    """Limits of those of ``joint_names`` that a file names: the tighter of file and URDF.

    Raises:
        JointLimitsError: as `joint_limits`.
    """
    limits, tightened = urdf_limits(robot, soft), {}
    for name, given in read_joint_limits(path, joint_names).items():
        tightened[name] = both = limits[name].tightened(given)
        if both.lower > both.upper:
            raise JointLimitsError(
                f"{path}: {name}: its positions {given.lower:g} .. {given.upper:g} do not overlap "
                f"{limits[name].lower:g} .. {limits[name].upper:g} of the URDF"
            )
    return tightened


def read_joint_limits(
    path: str | os.PathLike, joint_names: Sequence[str] | None = None
) -> dict[str, JointLimits]:
    """Limits by joint name.

    With ``joint_names``, the names that the robot has, others are left out with one
    warning that lists them.

    Raises:
        JointLimitsError: naming file, joint and key; no such file, no ``joint_limits``, a
            limit that is no number above zero, none of ``joint_names``.
    """
    path = Path(path)
    data = read_document(path, JointLimitsError, "file of limits", angles=True)
    if not isinstance(data, Mapping) or not isinstance(data.get("joint_limits"), Mapping):
        raise JointLimitsError(f"{path}: 'joint_limits: {{<joint>: ...}}' is needed")
    limits = {
        str(name): _limits(entry, f"{path}: joint_limits.{name}")
        for name, entry in data["joint_limits"].items()
    }
    if joint_names is None:
        return limits
    unknown = [name for name in limits if name not in joint_names]
    known = {name: found for name, found in limits.items() if name in joint_names}
    if not known:
        raise JointLimitsError(
            f"{path}: contains no joint of the robot ({shortened(unknown) or 'it is empty'}); "
            f"the robot has {closest(unknown[0] if unknown else '', joint_names)}"
        )
    if unknown:
        logger.warning("%s: unknown joints are ignored: %s", path, shortened(unknown, MOST_LOGGED))
    return known


def _limits(entry: Any, where: str) -> JointLimits:
    if not isinstance(entry, Mapping):
        raise JointLimitsError(f"{where}: a mapping is needed, such as {{max_velocity: 2.0}}")
    lower, upper = -math.inf, math.inf
    if _counts(entry, "position", ("min_position", "max_position"), where):
        lower = _number(entry, "min_position", where)
        upper = _number(entry, "max_position", where)
        if lower > upper:
            raise JointLimitsError(f"{where}: min_position {lower:g} is above {upper:g}")
    maxima = {}
    for what in _UPPER[1:]:
        key = f"max_{what}"
        if _counts(entry, what, (key,), where):
            value = _number(entry, key, where)
            if value <= 0.0:
                raise JointLimitsError(f"{where}.{key}: {value:g} is not above zero")
            if problem := range_problem(value, largest=LARGEST_OF_JOINT):
                raise JointLimitsError(f"{where}.{key}: {problem}")
            maxima[what] = value
    unused = [str(key) for key in entry if key not in _KEYS]
    if unused:
        logger.warning("%s: not used: %s", where, ", ".join(unused))
    return JointLimits(lower, upper, **maxima)


def _counts(entry: Mapping, what: str, keys: tuple[str, ...], where: str) -> bool:
    """Whether a limit applies."""
    switch = f"has_{what}_limits"
    value = entry.get(switch, any(key in entry for key in keys))
    if not isinstance(value, bool):
        raise JointLimitsError(f"{where}.{switch}: {shown(value)} is neither true nor false")
    return value


def _number(entry: Mapping, key: str, where: str) -> float:
    value = entry.get(key)
    number = finite_number(value)
    if math.isnan(number):
        problem = "is missing" if value is None else f"{shown(value)} is not a finite number"
        raise JointLimitsError(f"{where}.{key}: {problem}")
    return number
