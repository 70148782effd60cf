# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints from a ``joint_limits.yaml``, as MoveIt and ros2_control have them.

::

    joint_limits:
      right_joint_1:
        has_velocity_limits: true
        max_velocity: 2.0
        has_acceleration_limits: true
        max_acceleration: 5.0

A limit counts where its ``has_...`` is true; one that is given without a ``has_...``
counts as well. Other keys (scaling factors, jerk, effort) are not used.
"""

from __future__ import annotations

import difflib
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collision_monitor.errors import JointLimitsError
from collision_monitor.robot.safe_yaml import read_document
from collision_monitor.robot.scene_values import shown

logger = logging.getLogger(__name__)

_LARGEST_FILE = 10_000_000  # bytes


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint, in radians or metres and seconds; infinite where there is none."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf


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
    data = read_document(path, JointLimitsError, _LARGEST_FILE, "file of limits")
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
        close = difflib.get_close_matches(unknown[0], joint_names, 3, 0.4) if unknown else ()
        raise JointLimitsError(
            f"{path}: no joint of the robot is in it ({', '.join(unknown[:5]) or 'it is empty'}); "
            f"the robot has {', '.join(close or joint_names[:5])}"
        )
    if unknown:
        logger.warning("%s: unknown joints are ignored: %s", path, ", ".join(unknown))
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
    found = {}
    for what in ("velocity", "acceleration"):
        key = f"max_{what}"
        if _counts(entry, what, (key,), where):
            value = _number(entry, key, where)
            if value <= 0.0:
                raise JointLimitsError(f"{where}.{key}: {value:g} is not above zero")
            found[what] = value
    return JointLimits(lower, upper, **found)


def _counts(entry: Mapping, what: str, keys: tuple[str, ...], where: str) -> bool:
    """Whether a limit is meant."""
    switch = f"has_{what}_limits"
    value = entry.get(switch, any(key in entry for key in keys))
    if not isinstance(value, bool):
        raise JointLimitsError(f"{where}.{switch}: {shown(value)} is neither true nor false")
    return value


def _number(entry: Mapping, key: str, where: str) -> float:
    value = entry.get(key)
    number = math.nan
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            pass
    if not math.isfinite(number):
        problem = "is missing" if value is None else f"{shown(value)} is not a finite number"
        raise JointLimitsError(f"{where}.{key}: {problem}")
    return number
