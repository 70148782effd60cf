# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files of motions of every kind: a JointTrajectory as YAML, CSV, a bag, a command."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.errors import MotionError, TrajectoryError
from collision_monitor.motion.bags.bags import is_bag, topic_names
from collision_monitor.motion.bags.motion import read_bag
from collision_monitor.motion.commands.command_file import JointCommand, is_command, parse_command
from collision_monitor.motion.commands.commands import joint_motion, line_motion
from collision_monitor.motion.motion_csv import read_csv
from collision_monitor.motion.motion_yaml import documents, find_points
from collision_monitor.motion.robot_joints import led_by, on_robot
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Violation
from collision_monitor.robot.description import Robot

_YAML = (".yaml", ".yml", ".json")


@dataclass(frozen=True, eq=False)
class LoadedMotion:
    """A motion out of a file.

    Attributes:
        trajectory: all joints that the robot moves by, in its order; it begins at 0 s.
        violations: what already was wrong while the motion was made from a command.
        warnings: what was taken for granted, sentences that begin with the file.
        source: what it was read from, for a report.
        along_line: whether it was made by a command that leads a link along a line.
        named: joints of the trajectory that the file moves or holds; the others are held because
            it does not name them.
    """

    trajectory: Trajectory
    violations: tuple[Violation, ...]
    warnings: tuple[str, ...]
    source: str
    along_line: bool = False
    named: frozenset[str] = frozenset()

    def only(self, joint_names: Collection[str]) -> LoadedMotion:
        """The same motion without the joints that are not given."""
        kept = [k for k, name in enumerate(self.trajectory.joint_names) if name in joint_names]
        polynomial = self.trajectory.polynomial
        names = tuple(self.trajectory.joint_names[k] for k in kept)
        part = Trajectory(names, PPoly(polynomial.c[:, :, kept], polynomial.x))
        return replace(self, trajectory=part)


def load_trajectory(
    path: str | os.PathLike,
    robot: Robot,
    *,
    topic: str | Sequence[str] | None = None,
    stamps: str = "header",
    held: Mapping[str, float] | None = None,
    ignored: Sequence[str] = (),
    elsewhere: Collection[str] = (),
) -> LoadedMotion:
    """A motion of ``robot`` from a file, see docs/verify.md.

    Args:
        path: a YAML file with a JointTrajectory or a command of this package, CSV, or a
            ROS 2 bag (its folder, or its file).
        robot: whose motion it is.
        topic: of a bag, one or several; not needed where it has one of joint states or joint
            trajectories.
        stamps: of the messages of a bag: ``header``, or ``receive`` for when they were recorded.
        held: positions of joints that the file does not name, radians or metres; the others
            are held at zero, or in their middle where zero is beyond their limits.
        ignored: names of joints in the file that are not the robot's, with wildcards.
        elsewhere: joints that another motion moves: no warning that they are held in this one.

    Raises:
        MotionError: the message begins with the file; it cannot be read, or does not fit the
            robot.
        MissingDependencyError: a bag, and rosbags is not installed.
    """
    path = Path(path)
    if stamps not in ("header", "receive"):
        raise MotionError(f"{path}: stamps: {stamps!r}; 'header' or 'receive' is right")
    with np.errstate(over="ignore", invalid="ignore"):  # what comes out is looked at
        if is_bag(path):
            turning = [joint.name for joint in robot.joints if joint.kind == "continuous"]
            motion, source, warnings = read_bag(path, topic_names(topic), stamps, turning)
        elif topic is not None:
            raise MotionError(f"{path}: is no bag, and has no topic {topic!r}")
        elif _is_yaml(path):
            found = documents(path)
            if len(found) == 1 and is_command(found[0]):
                return _commanded(found[0], path, robot, held, ignored, elsewhere)
            motion, source, warnings = _from_yaml(found, path)
        else:
            names, times, positions = read_csv(path)
            motion = _through(path, names, times, positions)
            source, warnings = f"{path.name} (CSV, {len(times)} rows)", _late(path, times)
        trajectory, more = on_robot(motion, robot, str(path), held, ignored, elsewhere)
    named = led_by(motion.joint_names, robot)
    return LoadedMotion(trajectory, (), (*warnings, *more), source, named=named)


def _commanded(
    document: Any,
    path: Path,
    robot: Robot,
    held: Mapping[str, float] | None,
    ignored: Sequence[str],
    elsewhere: Collection[str],
) -> LoadedMotion:
    where = str(path)
    command = parse_command(document, where, robot)
    if isinstance(command, JointCommand):
        motion, warnings = joint_motion(command, where)
        trajectory, more = on_robot(motion, robot, where, held, ignored, elsewhere)
        source = f"{path.name} (command, joint mode)"
        named = led_by(motion.joint_names, robot)
        return LoadedMotion(trajectory, (), (*warnings, *more), source, named=named)
    trajectory, violations, warnings = line_motion(
        command, robot, where, held, ignored, elsewhere
    )
    if not np.isfinite(trajectory.polynomial.c).all():
        raise MotionError(f"{where}: numbers too large to be computed with")
    source = f"{path.name} (command, {command.link} along a line)"
    return LoadedMotion(
        trajectory, violations, tuple(warnings), source, True, frozenset(trajectory.joint_names)
    )


def _is_yaml(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix in (*_YAML, ".csv"):
        return suffix in _YAML
    try:
        with path.open("rb") as file:
            head = file.read(100_000)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MotionError(f"{path}: cannot be read: {reason}") from None
    return b"joint_names" in head or b"mode:" in head


def _from_yaml(found: list[Any], path: Path) -> tuple[Trajectory, str, list[str]]:
    points = find_points(found, path)
    warnings = _late(path, points.times)
    if points.efforts:
        warnings.append(f"{path}: efforts of {points.efforts} points are not used")
    rates = (points.velocities, points.accelerations)
    for what, part in zip(("velocities", "accelerations"), rates, strict=True):
        without = int(np.isnan(part).all(axis=1).sum())
        if 0 < without < len(part):
            warnings.append(
                f"{path}: {without} of {len(part)} points are without {what}: pieces between two "
                "points are linear, cubic or quintic by what both of them have"
            )
    motion = _through(path, points.joint_names, points.times, points.positions, *rates)
    return motion, f"{path.name} (JointTrajectory, {len(points.times)} points)", warnings


def _through(path: Path, *points: object) -> Trajectory:
    try:
        return Trajectory.through(*points)
    except TrajectoryError as error:
        raise MotionError(f"{path}: {error}") from None


def _late(path: Path, times: np.ndarray) -> list[str]:
    """A warning where the first point is not at zero."""
    if times[0] == 0.0:
        return []
    return [
        f"{path}: the first point is at {times[0]:g} s: how the robot gets there is not in the "
        "file; the motion begins at that point, at 0 s"
    ]
