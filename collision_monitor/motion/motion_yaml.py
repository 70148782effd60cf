# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions as a trajectory_msgs/JointTrajectory in YAML, as ROS 2's command line has it.

``ros2 topic echo`` prints such a file, ``ros2 topic pub`` takes one. A message inside a goal, a
plan or an answer (``trajectory``, ``joint_trajectory`` and so on) is found.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.common.safe_yaml import read_documents
from collision_monitor.errors import MotionError
from collision_monitor.robot.yaml_values import shown

_LARGEST_FILE = 200_000_000  # bytes
_NANO = 1_000_000_000
_DEEPEST = 8  # levels of messages around a JointTrajectory
_KEYS = {"joint_names", "points"}


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a JointTrajectory, or of CSV.

    Attributes:
        joint_names: names of the columns.
        times: (n,) seconds, increasing.
        positions: (n, len(joint_names)) radians or metres.
        velocities: (n, len(joint_names)) per second; rows of NaN where none are given.
        accelerations: (n, len(joint_names)) per second squared; rows of NaN likewise.
        efforts: how many points have efforts.
    """

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    efforts: int


def documents(path: Path) -> list[Any]:
    """What stands in a YAML file, empty documents left out.

    Raises:
        MotionError: naming the file; no such file, too large, no YAML.
    """
    found = read_documents(path, MotionError, _LARGEST_FILE, "motion")
    return [document for document in found if document is not None]


def find_points(documents: Sequence[Any], path: Path) -> Points:
    """The points of the only JointTrajectory in the documents of a YAML file.

    Raises:
        MotionError: naming file and point; none or several messages, names that are none or
            twice there, values that are missing, too many or not finite, accelerations
            without velocities, times that do not increase.
    """
    if len(documents) != 1:
        found = f"{len(documents)} messages" if documents else "is empty"
        raise MotionError(f"{path}: {found}; one JointTrajectory is right")
    message = _message(documents[0], path)
    names = _names(message["joint_names"], path)
    points = message["points"]
    if not isinstance(points, list) or not points:
        raise MotionError(f"{path}: points: a list of at least one is needed")
    times = np.empty(len(points))
    rows = np.full((3, len(points), len(names)), np.nan)
    efforts = 0
    for k, point in enumerate(points):
        where = f"{path}: points[{k}]"
        if not isinstance(point, Mapping):
            raise MotionError(f"{where}: {shown(point)} is not a point with 'positions'")
        rows[0, k] = _values("positions", point.get("positions"), names, where)
        for row, key in enumerate(("velocities", "accelerations"), 1):
            if point.get(key) not in (None, []):
                rows[row, k] = _values(key, point[key], names, where)
        if np.isnan(rows[1, k, 0]) and not np.isnan(rows[2, k, 0]):
            raise MotionError(
                f"{where}: accelerations without velocities; controllers take both, or neither"
            )
        times[k] = _seconds(point.get("time_from_start"), where)
        efforts += bool(point.get("effort"))
        if k and times[k] <= times[k - 1]:
            raise MotionError(
                f"{where}: time_from_start {times[k]:g} s does not increase after {times[k - 1]:g}"
            )
    return Points(names, times, *rows, efforts)


def _message(document: Any, path: Path) -> Mapping:
    """The mapping with ``joint_names`` and ``points`` in a document, which others may wrap.

    A trajectory of joints with several degrees of freedom has these keys too; it is passed over.
    """
    level, found, seen = [document], [], set()
    for _ in range(_DEEPEST):
        inner = []
        for value in level:
            if id(value) in seen:  # an alias: the same again
                continue
            seen.add(id(value))
            if isinstance(value, list):
                inner += value
            elif isinstance(value, Mapping):
                if _KEYS <= set(value):
                    found.append(value)
                    continue
                inner += [v for k, v in value.items() if k != "multi_dof_joint_trajectory"]
        if found:
            break
        level = [value for value in inner if isinstance(value, (list, Mapping))]
    if not found:
        raise MotionError(f"{path}: no JointTrajectory: 'joint_names' and 'points' are needed")
    if len(found) > 1:
        raise MotionError(f"{path}: {len(found)} JointTrajectories in one message; one is right")
    return found[0]


def _names(names: Any, path: Path) -> tuple[str, ...]:
    if not isinstance(names, list) or not names:
        raise MotionError(f"{path}: joint_names: a list of names is needed, got {shown(names)}")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise MotionError(f"{path}: joint_names: {shown(name)} is not a name")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise MotionError(f"{path}: joint_names: {repeated} stand there twice")
    return tuple(names)


def _number(value: Any) -> float:
    """A finite number, else nan; YAML takes 1e-3 for text, so texts of numbers are taken too."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _values(key: str, values: Any, names: tuple[str, ...], where: str) -> list[float]:
    if not isinstance(values, list) or len(values) != len(names):
        count = f"{len(values)} values" if isinstance(values, list) else shown(values)
        raise MotionError(f"{where}: {key}: {count} for {len(names)} joint_names")
    numbers = [_number(value) for value in values]
    for name, value, number in zip(names, values, numbers, strict=True):
        if math.isnan(number):
            raise MotionError(f"{where}: {key}: {shown(value)} of {name!r} is not a finite number")
    return numbers


def _seconds(value: Any, where: str) -> float:
    """Seconds of a builtin_interfaces/Duration; ROS 1's secs and nsecs are understood."""
    where = f"{where}: time_from_start"
    if not isinstance(value, Mapping) or not value:
        raise MotionError(f"{where}: {shown(value)}; {{sec: , nanosec: }} is right")
    known = {"sec": _NANO, "nanosec": 1, "secs": _NANO, "nsecs": 1}
    total = 0
    for key, part in value.items():
        if key not in known:
            raise MotionError(f"{where}: unknown {shown(key)}; {{sec: , nanosec: }} is right")
        if isinstance(part, bool) or not isinstance(part, int):
            raise MotionError(f"{where}: {key}: {shown(part)} is not a whole number")
        if key in ("nanosec", "nsecs") and not 0 <= part < _NANO:
            raise MotionError(f"{where}: {key}: {part} is not between 0 and {_NANO - 1}")
        total += part * known[key]
    return total / _NANO


def yaml_text(joint_names: Sequence[str], times: np.ndarray, positions: np.ndarray) -> str:
    """A JointTrajectory that `find_points` reads back: positions bit by bit, times to the ns.

    Raises:
        MotionError: a time that a Duration cannot hold, or two within one nanosecond.
    """
    lines = ["joint_names:"]
    # A JSON string is a YAML string, whatever is in it.
    lines += [f"- {json.dumps(name)}" for name in joint_names]
    lines.append("points:")
    last = -1
    for time, row in zip(times.tolist(), positions.tolist(), strict=True):
        whole = math.floor(time)
        nanoseconds = whole * _NANO + round((time - whole) * _NANO)
        if not 0 <= nanoseconds < 2**31 * _NANO:
            raise MotionError(
                f"time {time!r} s cannot be written as time_from_start, which is 0 to 2^31 s; "
                "write CSV, or shift the times"
            )
        if nanoseconds <= last:
            raise MotionError(f"time {time!r} s: less than a nanosecond after the one before")
        last = nanoseconds
        lines.append(f"- positions: [{', '.join(map(_float, row))}]")
        seconds, rest = divmod(nanoseconds, _NANO)
        lines.append(f"  time_from_start: {{sec: {seconds}, nanosec: {rest}}}")
    return "\n".join(lines) + "\n"


def _float(value: float) -> str:
    """The shortest text that reads back the same, and is a number to YAML 1.1: 1.0e-05."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"
