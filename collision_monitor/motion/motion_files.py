# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Loader of motion files: CSV, a JointTrajectory as YAML, ROS 2 bags, command files.

`read_motion` returns a table of waypoints, `load_trajectory` polynomials over time of all joints of
a robot. `open_motion` detects the kind of a file and reads what does not need the robot.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.common.files import read_file
from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.text import time_text
from collision_monitor.errors import MotionError, TrajectoryError
from collision_monitor.motion.bags import bag_location, is_bag, read_bag, topic_names
from collision_monitor.motion.commands import command_motion, is_command
from collision_monitor.motion.plans import find_points, start_positions
from collision_monitor.motion.points import Points, csv_points, documents, unused
from collision_monitor.motion.robot_joints import (
    LoadedMotion,
    is_ignored,
    is_unneeded,
    led_by,
    on_robot,
)
from collision_monitor.motion.samples import one_table
from collision_monitor.motion.trajectory import YAML_SUFFIXES, Motion, Trajectory
from collision_monitor.robot.description import Robot
from collision_monitor.robot.limits import urdf_limits
from collision_monitor.robot.scene import Scene

logger = logging.getLogger(__name__)

_CHORD_ERROR = 1e-3  # rad or m between a curved piece and the lines between its waypoints
_MAX_WAYPOINTS = 1_000_000  # waypoints
_HEAD = 100_000  # bytes at the start of a file that tell YAML from CSV


class Kind(Enum):
    """The content of a motion file."""

    CSV = "CSV"
    JOINT_TRAJECTORY = "JointTrajectory"
    COMMAND = "command"
    BAG = "bag"


@dataclass(frozen=True, eq=False)
class MotionFile:
    """A motion file, read as far as possible without the robot.

    Attributes:
        path: the file.
        kind: its content.
        points: of CSV and JointTrajectory files; else None.
        command: the YAML document of a command; else None.
    """

    path: Path
    kind: Kind
    points: Points | None = None
    command: Any = None


def open_motion(path: str | os.PathLike) -> MotionFile:
    """Detect the kind of a motion file.

    A folder, ``*.mcap``, ``*.db3`` and ``metadata.yaml`` are bags; ``*.yaml``, ``*.yml`` and
    ``*.json`` are YAML, ``*.csv`` is CSV. Other files are YAML if they contain ``joint_names`` or
    ``mode:``, else CSV. A YAML document with the key ``mode`` is a command.

    Raises:
        MotionError: names the file, and the line (CSV) or point (YAML); there is no such file, the
            header has no ``time`` or a joint twice, a row is short or not finite, times do not
            increase, or there are no rows.
    """
    path = Path(path)
    if is_bag(path):
        bag_location(path)
        return MotionFile(path, Kind.BAG)
    data = read_file(path, MotionError, "motion")  # once: it may be a pipe
    if not _is_yaml(path, data):
        return MotionFile(path, Kind.CSV, csv_points(data, path))
    found = documents(data, path)
    if len(found) == 1 and is_command(found[0]):
        return MotionFile(path, Kind.COMMAND, command=found[0])
    return MotionFile(path, Kind.JOINT_TRAJECTORY, find_points(found, path))


def read_motion(
    file: str | os.PathLike | MotionFile,
    robot: Robot | None = None,
    *,
    topic: str | Sequence[str] | None = None,
    stamps: str = "header",
    ignored: Sequence[str] = (),
    scene: Scene | None = None,
    smooth: bool = False,
) -> Motion:
    """Return a motion as a table of waypoints: seconds, radians or metres.

    CSV and JointTrajectory files have waypoints; with ``robot``, fixed and ``ignored`` joints are
    left out, and mimic joints, which give the motion of leaders that are not named. Of bags and
    commands the table has the moved joints in the robot's order; curved pieces get waypoints
    within 0.001 rad or m of the curve. ``held`` has the other joints of the state at which a plan
    of MoveIt starts.

    Args:
        file: path, or the result of `open_motion`.
        robot: needed for bags, commands, and plans with a start state.
        topic: see `load_trajectory`.
        stamps: see `load_trajectory`.
        ignored: see `load_trajectory`; with ``robot`` only.
        scene: see `load_trajectory`.
        smooth: of joint states of several publishers, see `samples.one_table`; else the samples of
            all are waypoints, at which the lines of others bend in next to no time.

    Raises:
        MotionError: see `open_motion` and `load_trajectory`; or the robot is needed and not given,
            or it cannot follow a line.
        MissingDependencyError: the file is a bag, and rosbags is not installed.
    """
    file = file if isinstance(file, MotionFile) else open_motion(file)
    if file.points is not None:
        _reject_topic(file, topic)
        points = file.points
        with_rates = int((~np.isnan(points.rows[1]).all(axis=1)).sum())
        if with_rates:
            logger.warning(
                "%s: velocities of %d points are not used: a motion is linear between its points, "
                "and a controller that uses velocities takes another path",
                file.path, with_rates,
            )  # fmt: skip
        held: dict[str, float] = {}
        if points.start is not None:
            robot = _required(robot, f"{file.path}: has a start state")
            held, warnings = start_positions(points, robot, scene, str(file.path), ignored)
            held = {k: v for k, v in held.items() if k not in led_by(points.joint_names, robot)}
            for warning in warnings:
                logger.warning("%s", warning)
        motion = Motion(points.joint_names, points.times, points.rows[0], held)
        return motion if robot is None else _independent(motion, robot, str(file.path), ignored)
    robot = _required(robot, f"{file.path}: is a {file.kind.value}")
    # Joints that are not named are omitted, but a line depends on their held positions.
    along_line = file.kind is Kind.COMMAND and file.command["mode"] == "line"
    elsewhere = () if along_line else [joint.name for joint in robot.joints]
    loaded = load_trajectory(
        file, robot, topic=topic, stamps=stamps, ignored=ignored, elsewhere=elsewhere
    )
    for warning in loaded.warnings:
        logger.warning("%s", warning)
    for violation in loaded.violations:
        findings = (
            f"{violation.code.value}, {violation.subject} at {violation.worst:.3f} s: "
            f"{violation.value:.4g} {violation.unit}, the limit is {violation.limit:.4g}"
        )
        if not violation.warning:
            raise MotionError(f"{file.path}: the robot cannot follow this line: {findings}")
        logger.warning("%s: %s", file.path, findings)
    trajectory = loaded.only(loaded.named).trajectory
    several = trajectory.knots is not None and not trajectory.knots.all()
    if smooth and several and trajectory.is_straight:
        of_urdf = urdf_limits(robot)
        limits = [of_urdf[name] for name in trajectory.joint_names]
        ends = np.array([(each.lower, each.upper) for each in limits]).T
        return one_table(trajectory, *ends)
    return _table(trajectory, str(file.path))


def _independent(motion: Motion, robot: Robot, where: str, ignored: Sequence[str]) -> Motion:
    """The motion of independent joints; mimic joints give that of their leaders.

    Raises:
        MotionError: as `on_robot`.
    """
    independent = {joint.name for joint in robot.joints if joint.moves and not joint.mimic}
    if independent.issuperset(motion.joint_names):
        return motion
    linear = Trajectory.through(motion.joint_names, motion.times, motion.positions)
    elsewhere = [joint.name for joint in robot.joints]
    whole, warnings = on_robot(linear, robot, where, ignored=ignored, elsewhere=elsewhere)
    for warning in warnings:
        logger.warning("%s", warning)
    leaders = led_by(motion.joint_names, robot)
    columns = [k for k, name in enumerate(whole.joint_names) if name in leaders]
    return replace(
        motion,
        joint_names=tuple(whole.joint_names[k] for k in columns),
        positions=whole.polynomial(motion.times - motion.times[0])[:, columns],
    )


def _required(robot: Robot | None, what: str) -> Robot:
    if robot is None:
        raise MotionError(
            f"{what}, which cannot be read without its robot: read_motion(path, model.robot, "
            "scene=model.scene)"
        )
    return robot


def _table(trajectory: Trajectory, where: str) -> Motion:
    """Return waypoints of a trajectory: its breakpoints, and more within curved pieces."""
    polynomial, breaks = trajectory.polynomial, trajectory.times
    steps = np.diff(breaks)
    parts = np.ones(len(steps))
    if not trajectory.is_straight:
        # A chord of duration h deviates from the curve by at most h^2 / 8 times the acceleration.
        rates = np.abs(polynomial.derivative(2).c)
        powers = np.arange(len(rates))[::-1, None, None]
        with np.errstate(over="ignore"):
            most = (rates * steps[:, None] ** powers).sum(axis=0).max(axis=1)
            parts = np.maximum(np.ceil(steps * np.sqrt(most / (8.0 * _CHORD_ERROR))), 1.0)
    if not parts.sum() <= _MAX_WAYPOINTS:
        raise MotionError(f"{where}: more than {_MAX_WAYPOINTS} waypoints would be needed")
    parts = parts.astype(int)
    piece = np.repeat(np.arange(len(parts)), parts)
    number = np.arange(len(piece)) - np.repeat(np.cumsum(parts) - parts, parts)
    times = np.append(breaks[piece] + steps[piece] * (number / parts[piece]), breaks[-1])
    rows = polynomial(times)
    moved = np.abs(np.diff(rows, axis=0)).max(axis=1, initial=0.0) > 1e-9
    keep = np.concatenate([[True], moved | (np.diff(times) >= SIX_DIGITS)])
    return Motion(trajectory.joint_names, times[keep], rows[keep])


def load_trajectory(
    file: str | os.PathLike | MotionFile,
    robot: Robot,
    *,
    topic: str | Sequence[str] | None = None,
    stamps: str = "header",
    held: Mapping[str, float] | None = None,
    ignored: Sequence[str] = (),
    elsewhere: Collection[str] = (),
    scene: Scene | None = None,
) -> LoadedMotion:
    """Return a motion of ``robot`` from a file, see docs/verify.md.

    Args:
        file: a YAML file with a JointTrajectory or a command of this package, CSV, or a ROS 2 bag
            (its folder or its file); or the result of `open_motion`.
        robot: the robot that moves.
        topic: one or several of a bag; not needed if it has only one of joint states or joint
            trajectories.
        stamps: of the messages of a bag: ``header``, or ``receive`` for the time of recording.
        held: positions of joints that the file does not name, radians or metres; other joints are
            held where a plan starts, else at zero, or at the nearer limit if zero is outside
            their limits.
        ignored: names of joints in the file that are not the robot's, with wildcards.
        elsewhere: joints moved by another motion: holding them here raises no warning.
        scene: with the objects that the robot carries in a plan.

    Raises:
        MotionError: the message begins with the file; it cannot be read, or does not fit the robot.
        MissingDependencyError: the file is a bag, and rosbags is not installed.
    """
    if stamps not in ("header", "receive"):
        path = file.path if isinstance(file, MotionFile) else file
        raise MotionError(f"{path}: stamps: {stamps!r} is not 'header' or 'receive'")
    file = file if isinstance(file, MotionFile) else open_motion(file)
    path = file.path
    with np.errstate(over="ignore", invalid="ignore"):  # the result is checked below
        if file.kind is Kind.BAG:
            turning = [joint.name for joint in robot.joints if joint.kind == "continuous"]
            motion, source, warnings, begin = read_bag(
                path, topic_names(topic), stamps, turning, partial(is_unneeded, robot, ignored),
                lambda name: is_ignored(robot, ignored, name),
            )  # fmt: skip
        else:
            _reject_topic(file, topic)
            if file.kind is Kind.COMMAND:
                return command_motion(file.command, path, robot, held, ignored, elsewhere)
            motion, source, warnings = _load_points(file)
            begin = float(file.points.times[0])
        start: dict[str, float] = {}
        if file.points is not None:
            start, more = start_positions(file.points, robot, scene, str(path), ignored)
            warnings += more
        trajectory, more = on_robot(motion, robot, str(path), held, ignored, elsewhere, start)
    named = led_by(motion.joint_names, robot)
    known = frozenset({*(held or {}), *start}) - named
    return LoadedMotion(
        trajectory, (), (*warnings, *more), source, named=named, known=known, begin=begin
    )


def _reject_topic(file: MotionFile, topic: str | Sequence[str] | None) -> None:
    if topic is not None:
        raise MotionError(f"{file.path}: is not a bag, so it has no topic {topic!r}")


def _is_yaml(path: Path, data: bytes) -> bool:
    suffix = path.suffix.lower()
    if suffix in (*YAML_SUFFIXES, ".json", ".csv"):
        return suffix != ".csv"
    return b"joint_names" in data[:_HEAD] or b"mode:" in data[:_HEAD]


def _load_points(file: MotionFile) -> tuple[Trajectory, str, list[str]]:
    """Return a trajectory through the points of a file, its source, and warnings."""
    path, points = file.path, file.points
    warnings = []
    if points.times[0] != 0.0:
        warnings.append(
            f"{path}: the first point is at {time_text(points.times[0])}: the motion before it is "
            "not in the file; it begins at that point, at 0 s"
        )
    warnings += unused(points, str(path))
    try:
        motion = Trajectory.through(points.joint_names, points.times, *points.rows)
    except TrajectoryError as error:
        raise MotionError(f"{path}: {error}") from None
    rows = "rows" if file.kind is Kind.CSV else "points"
    return motion, f"{path.name} ({file.kind.value}, {len(points.times)} {rows})", warnings
