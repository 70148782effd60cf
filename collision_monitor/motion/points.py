# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Points of a trajectory: read from CSV, YAML or messages, and checks of received points.

``ros2 topic echo`` prints such YAML, ``ros2 topic pub`` reads it.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.common.limits import LARGEST_OF_JOINT, range_problem
from collision_monitor.common.safe_files import LARGEST_YAML, parse_documents
from collision_monitor.common.text import closest, time_text
from collision_monitor.errors import MotionError, TrajectoryError
from collision_monitor.motion.trajectory import NANO
from collision_monitor.robot.yaml_values import finite_number, shown


@dataclass(frozen=True)
class StartState:
    """A moveit_msgs/RobotState: the state at which a plan starts.

    Attributes:
        positions: of joints, radians or metres.
        displaced: joints of several degrees of freedom that are not at the identity.
        carried: (object, link) of attached objects.
    """

    positions: Mapping[str, float]
    displaced: tuple[str, ...] = ()
    carried: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a trajectory.

    Attributes:
        joint_names: names of the columns.
        times: (n,) seconds, increasing.
        rows: (3, n, len(joint_names)) positions (radians or metres), velocities, accelerations;
            rows of NaN where none are given.
        efforts: number of points with efforts.
        start: of a plan: the state at which it starts, if that is known.
    """

    joint_names: tuple[str, ...]
    times: np.ndarray
    rows: np.ndarray
    efforts: int = 0
    start: StartState | None = None


def csv_points(data: bytes, path: Path) -> Points:
    """Return the points of a CSV file: a header ``time,<joint>,...``, then one row for each point.

    Args:
        data: content of the file.
        path: of the file, for messages.

    Raises:
        MotionError: names file and line; see `motion_files.open_motion`.
    """
    try:
        file = io.StringIO(data.decode("utf-8-sig"), newline="")
        lines = [(k, row) for k, row in enumerate(csv.reader(file), 1) if any(row)]
    except UnicodeDecodeError as error:
        raise MotionError(f"{path}: cannot be read as CSV in UTF-8: {error}") from None
    except csv.Error as error:
        raise MotionError(f"{path}: cannot be read as CSV: {error}") from None
    if not lines:
        raise MotionError(f"{path}: is empty; a header 'time,<joint>,...' and rows are needed")
    header = [cell.strip() for cell in lines[0][1]]
    if header[0] != "time" or len(header) < 2 or not all(header):
        raise MotionError(
            f"{path}:{lines[0][0]}: header {','.join(header)!r:.200}, not 'time,<joint>,...'"
            + _header_hint(header)
        )
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise MotionError(f"{path}:{lines[0][0]}: {sorted(repeated)} appear twice in the header")
    rows = [_row(cells, header, f"{path}:{line}") for line, cells in lines[1:]]
    if not rows:
        raise MotionError(f"{path}: has a header, but no rows")
    table = np.array(rows)
    late = np.flatnonzero(np.diff(table[:, 0]) <= 0.0)
    if len(late):
        line = lines[late[0] + 2][0]
        before, time = map(time_text, table[late[0] : late[0] + 2, 0].tolist())
        raise MotionError(f"{path}:{line}: time {time} does not increase after {before}")
    values = np.full((3, len(table), len(header) - 1), np.nan)
    values[0] = table[:, 1:]
    return Points(tuple(header[1:]), table[:, 0], values)


def _header_hint(header: list[str]) -> str:
    """How to convert a table of another program."""
    if header[0].startswith("#"):
        return ": remove lines of comments"
    if len(header) == 1 and any(separator in header[0] for separator in "; \t"):
        return ": write commas between the columns, and points in numbers"
    if header[0] == "time":
        return f": column {header.index('') + 1} has no name" if "" in header else ": no joint"
    if "time" in header:
        return ": put 'time' first; leave out row numbers (pandas: index=False) and blank columns"
    if header[0] == "__time":
        return (
            ": this is a table of PlotJuggler; name the first column 'time' and each column of "
            "positions as its joint (not '/joint_states/elbow/position'), leave the others out"
        )
    if re.match(r"(time|t|timestamp|seconds)\b", header[0].lower().replace("_", " ")):
        return ": name the first column 'time', in seconds, the others as joints, without units"
    return ""


def _row(cells: list[str], header: list[str], where: str) -> list[float]:
    if len(cells) != len(header):
        raise MotionError(f"{where}: {len(cells)} values for {len(header)} columns")
    values = []
    for name, cell in zip(header, cells, strict=True):
        try:
            value = float(cell) if "_" not in cell else np.nan  # Python takes 1_0 for 10
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise MotionError(f"{where}: {cell[:80]!r} in column {name!r} is not a finite number")
        # The first column is the time.
        if values and (problem := range_problem(value, largest=LARGEST_OF_JOINT)):
            raise MotionError(f"{where}: column {name!r}: {problem}")
        values.append(value)
    return values


def documents(data: bytes, path: Path) -> list[Any]:
    """Return the documents of a YAML file without empty ones; as of `csv_points`.

    Raises:
        MotionError: names the file; it is too large, or is not YAML.
    """
    if len(data) > LARGEST_YAML:
        raise MotionError(f"{path}: larger than {LARGEST_YAML} bytes, too large for YAML; use CSV")
    found = parse_documents(data, path, MotionError)
    return [document for document in found if document is not None]


def points_of(names: Any, points: Any, where: str) -> Points:
    """Return points from the fields of a JointTrajectory, with each point as a mapping.

    Raises:
        MotionError: the message begins with ``where`` and names the point; see
            `plans.find_points`.
    """
    names = joint_names(names, where)
    if not isinstance(points, list) or not points:
        raise MotionError(f"{where}: points: expected a list of at least one")
    times = np.empty(len(points))
    states = np.full((3, len(points), len(names)), np.nan)
    efforts = 0
    for number, point in enumerate(points):
        at = f"{where}: points[{number}]"
        if not isinstance(point, Mapping):
            hint = "; print all with 'ros2 topic echo --full-length'" if point == "..." else ""
            raise MotionError(f"{at}: {shown(point)} is not a point with 'positions'{hint}")
        states[0, number] = checked_values("positions", point.get("positions"), names, at)
        for order, key in enumerate(("velocities", "accelerations"), 1):
            if point.get(key) not in (None, []):
                states[order, number] = checked_values(key, point[key], names, at)
        if np.isnan(states[1, number, 0]) and not np.isnan(states[2, number, 0]):
            raise MotionError(
                f"{at}: accelerations without velocities; controllers take both, or neither"
            )
        times[number] = _seconds(point.get("time_from_start"), at)
        efforts += bool(point.get("effort"))
        if times[number] < 0.0:
            raise MotionError(f"{at}: time_from_start {time_text(times[number])} is negative")
        if number and times[number] <= times[number - 1]:
            raise MotionError(
                f"{at}: time_from_start {time_text(times[number])} does not increase after "
                f"{time_text(times[number - 1])}"
            )
    return Points(names, times, states, efforts)


def unused(points: Points, where: str) -> list[str]:
    """Warnings of values that do not determine the motion; they begin with ``where``."""
    warnings = []
    if points.efforts:
        warnings.append(f"{where}: efforts of {points.efforts} points are not used")
    if len(points.times) == 1 and np.nan_to_num(points.rows[1:]).any():
        warnings.append(f"{where}: velocities of the only point are not used: the robot is at rest")
    for what, part in zip(("velocities", "accelerations"), points.rows[1:], strict=True):
        without = int(np.isnan(part).all(axis=1).sum())
        if 0 < without < len(part):
            warnings.append(
                f"{where}: {without} of {len(part)} points are without {what}: pieces between two "
                "points are linear, cubic or quintic by what both of them have"
            )
    return warnings


def joint_names(names: Any, where: str) -> tuple[str, ...]:
    """Return names of joints as a tuple; MotionError if empty, not strings or duplicate."""
    if not isinstance(names, list) or not names:
        raise MotionError(f"{where}: joint_names: expected a list of names, got {shown(names)}")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise MotionError(f"{where}: joint_names: {shown(name)} is not a name")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise MotionError(f"{where}: joint_names: {repeated} appear twice")
    return tuple(names)


def checked_values(key: str, values: Any, names: Sequence[str], where: str) -> list[float]:
    """Return one finite number for each joint; MotionError names ``key`` and joint."""
    if not isinstance(values, list) or len(values) != len(names):
        count = f"{len(values)} values" if isinstance(values, list) else shown(values)
        raise MotionError(f"{where}: {key}: {count} for {len(names)} joint_names")
    numbers = [finite_number(value) for value in values]
    for name, value, number in zip(names, values, numbers, strict=True):
        if math.isnan(number):
            raise MotionError(f"{where}: {key}: {shown(value)} of {name!r} is not a finite number")
        if problem := range_problem(number, largest=LARGEST_OF_JOINT):
            raise MotionError(f"{where}: {key} too large: {name!r}: {problem}")
    return numbers


def _seconds(value: Any, where: str) -> float:
    """Seconds of a builtin_interfaces/Duration; secs and nsecs of ROS 1 are accepted."""
    where = f"{where}: time_from_start"
    if not isinstance(value, Mapping) or not value:
        raise MotionError(f"{where}: expected {{sec: , nanosec: }}, got {shown(value)}")
    known = {"sec": NANO, "nanosec": 1, "secs": NANO, "nsecs": 1}
    total = 0
    for key, part in value.items():
        if key not in known:
            raise MotionError(f"{where}: unknown {shown(key)}; expected {{sec: , nanosec: }}")
        if isinstance(part, bool) or not isinstance(part, int):
            raise MotionError(f"{where}: {key}: {shown(part)} is not a whole number")
        if key in ("nanosec", "nsecs") and not 0 <= part < NANO:
            raise MotionError(f"{where}: {key}: {part} is not between 0 and {NANO - 1}")
        total += part * known[key]
    return total / NANO


# -- checks of received points --

Rows = Sequence[Sequence[float]]


def checked_points(
    robot_joints: Collection[str],
    joint_names: Sequence[str],
    times: Sequence[float],
    positions: Rows,
) -> tuple[np.ndarray, np.ndarray]:
    """Return times (n,), seconds, and positions (n, joints), radians or metres.

    Args:
        robot_joints: joints that may be named.
        joint_names: of the columns.
        times: of each point, seconds from the start.
        positions: one number for each joint of each point.

    Raises:
        TrajectoryError: names, numbers or times are invalid; the message continues "the
            trajectory".
    """
    if not joint_names:
        raise TrajectoryError("names no joints")
    for column, name in enumerate(joint_names):
        if name in joint_names[:column]:
            raise TrajectoryError(f"names joint '{name}' twice")
        if name not in robot_joints:
            raise TrajectoryError(
                f"names '{name}', which the robot does not move; its joints are "
                f"{closest(name, robot_joints)}"
            )
    if not len(positions):
        raise TrajectoryError("has no points")
    table = checked_rows("positions", positions, joint_names)
    clock = np.array(times, dtype=float)
    if clock.shape != (len(table),):
        raise TrajectoryError(f"has {len(clock)} times for {len(table)} points")
    bad = np.flatnonzero(~np.isfinite(clock) | (clock < 0.0))
    if len(bad):
        raise TrajectoryError(
            f"point {bad[0]} is to be reached {clock[bad[0]]:g} s after the start; times begin at 0"
        )
    late = np.flatnonzero(np.diff(clock) <= 0.0)
    if len(late):
        point = int(late[0]) + 1
        raise TrajectoryError(
            f"point {point} is to be reached at {clock[point]:g} s, not after point {point - 1} at "
            f"{clock[point - 1]:g} s: times must increase"
        )
    return clock, table


def checked_rows(field: str, of_points: Rows, joint_names: Sequence[str]) -> np.ndarray:
    """Return one field of all points, such as ``velocities``, as an array (n, joints).

    Raises:
        TrajectoryError: a row has another length, or a number is not finite.
    """
    for point, of_point in enumerate(of_points):
        if len(of_point) != len(joint_names):
            raise TrajectoryError(
                f"point {point} has {len(of_point)} {field} for {len(joint_names)} joints"
            )
    table = np.fromiter(chain.from_iterable(of_points), dtype=float).reshape(-1, len(joint_names))
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        point, j = bad[0]
        raise TrajectoryError(
            f"point {point}: {field} of joint '{joint_names[j]}' are {table[point, j]:g}; a finite "
            "number is needed"
        )
    far = np.argwhere(np.abs(table) > LARGEST_OF_JOINT)
    if len(far):
        point, j = far[0]
        problem = range_problem(table[point, j], largest=LARGEST_OF_JOINT)
        raise TrajectoryError(f"point {point}: {field} of joint '{joint_names[j]}': {problem}")
    return table
