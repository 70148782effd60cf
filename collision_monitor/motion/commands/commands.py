# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Commands become motions: each joint on its own profile, or a link along a line."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.errors import MotionError
from collision_monitor.motion.commands.cartesian_line import CartesianLine
from collision_monitor.motion.commands.command_file import JointCommand, LineCommand, Ramps
from collision_monitor.motion.commands.line_motion import follow_line
from collision_monitor.motion.commands.trapezoid import Trapezoid
from collision_monitor.motion.hermite import joined
from collision_monitor.motion.robot_joints import on_robot
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Violation
from collision_monitor.robot.batch_poses import link_poses
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.description import Robot

_STAYS = (1e-9, 1e-9)  # metres and radians that are no line
_HALF_TURN = 1e-3  # radians short of a half turn at which its axis hangs on rounding
_ELSEWHERE = 0.01  # rad or m off the target's configuration that is told


def joint_motion(command: JointCommand, where: str) -> tuple[Trajectory, list[str]]:
    """Each joint of the command on its profile from 0 s; it rests when it has arrived.

    Raises:
        MotionError: a profile that cannot be; the message begins with ``where`` and names the
            joint.
    """
    parts = []
    for name, start in command.start.items():
        change = command.target.get(name, start) - start
        if name in command.target and (change or command.ramps[name].tf is not None):
            profile = _profile(command.ramps[name], (change,), f"{where}: joint {name!r}")
            parts.append(profile.path([start], [change]))
        else:
            parts.append(PPoly(np.full((1, 1, 1), start), np.array([0.0, 1e-9])))
    return Trajectory(tuple(command.start), joined(parts)), _steps(command.ramps.values(), where)


def line_motion(
    command: LineCommand,
    robot: Robot,
    where: str,
    held: Mapping[str, float] | None = None,
    ignored: Sequence[str] = (),
    elsewhere: Collection[str] = (),
) -> tuple[Trajectory, tuple[Violation, ...], list[str]]:
    """The link of the command along its line; see `line_motion.follow_line`.

    Raises:
        MotionError: the message begins with ``where``; joints that do not fit the robot, a
            target where the start is, a profile that cannot be, a line that cannot be
            followed at all.
    """
    bodies = rigid_bodies(robot)
    at_start = Trajectory.through(tuple(command.start), [0.0], [list(command.start.values())])
    rest, warnings = on_robot(at_start, robot, f"{where}: start", held, ignored, elsewhere)
    q = rest.positions(np.zeros(1))[0]
    goal = _goal_configuration(command, bodies.joint_names, q, where)
    rows = np.array([q, q if goal is None else goal])
    frames = link_poses(bodies, [command.link, command.frame or robot.root], rows)
    start, end = frames[command.link].copy()
    if goal is None:
        frame = frames[command.frame or robot.root][0]
        if command.position is not None:
            end[:3, 3] = frame[:3, :3] @ command.position + frame[:3, 3]
        if command.rotation is not None:
            end[:3, :3] = frame[:3, :3] @ command.rotation
    line = CartesianLine(start, end)
    if line.length <= _STAYS[0] and line.angle <= _STAYS[1]:
        raise MotionError(f"{where}: the target is where {command.link!r} is at the start")
    said = list(warnings) + _steps([command.ramps], where)
    if line.angle > math.pi - _HALF_TURN:
        said.append(
            f"{where}: the turn is {math.degrees(line.angle):.4f} deg, about "
            f"{np.round(line.twist[3:] / line.angle, 4).tolist()}: at a half turn rounding decides "
            "between this axis and the opposite one"
        )
    profile = _profile(command.ramps, (line.length, line.angle), where)
    try:
        followed = follow_line(bodies, command.link, q, line, profile, command.moving)
    except MotionError as error:
        raise MotionError(f"{where}: {error}") from None
    if goal is not None:
        said += _other_configuration(followed.trajectory, goal, where)
    return followed.trajectory, followed.violations, said


def _profile(ramps: Ramps, changes: tuple[float, ...], where: str) -> Trapezoid:
    names = ("speed", "turning")
    if ramps.tf is None and len(changes) == 2:
        for name, change, rate, least in zip(names, changes, ramps.rates, _STAYS, strict=True):
            if rate is None and change > least:
                raise MotionError(f"{where}: {name}: is missing; the line has a change of it")
    try:
        return ramps.profile(changes)
    except MotionError as error:
        raise MotionError(f"{where}: {error}") from None


def _steps(ramps: Sequence[Ramps], where: str) -> list[str]:
    """A warning where a ramp has no length."""
    if all(ramp.tsa > 0.0 and ramp.tsd > 0.0 for ramp in ramps):
        return []
    return [f"{where}: a ramp of 0 s is a step in the rate, without end in acceleration"]


def _goal_configuration(
    command: LineCommand, names: Sequence[str], q: np.ndarray, where: str
) -> np.ndarray | None:
    if command.target is None:
        return None
    goal = q.copy()
    for name, value in command.target.items():
        if name not in names:
            raise MotionError(f"{where}: target: joint {name!r} has no place of its own")
        goal[list(names).index(name)] = value
    return goal


def _other_configuration(trajectory: Trajectory, goal: np.ndarray, where: str) -> list[str]:
    """A warning where the line ends in another configuration than the target's."""
    off = np.abs(trajectory.positions(np.array([trajectory.duration]))[0] - goal)
    worst = int(off.argmax())
    if off[worst] <= _ELSEWHERE:
        return []
    return [
        f"{where}: the line ends in another configuration than the target: joint "
        f"{trajectory.joint_names[worst]!r} is {off[worst]:.3g} off"
    ]
