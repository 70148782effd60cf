# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The package's own command files, in the two modes of a ground station, and their motions.

Method of Liu Qian, Liu Chuankai et al., J. NUAA 54(1), 2022: joint mode and Cartesian line mode,
both on trapezoidal profiles. docs/verify.md describes the format. Angles here are in radians,
whatever the unit of the file.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.common.limits import range_problem
from collision_monitor.errors import MotionError, SceneError
from collision_monitor.motion.line_motion import CartesianLine, Trapezoid, follow_line
from collision_monitor.motion.robot_joints import SAME_POSITION, on_robot
from collision_monitor.motion.trajectory import Trajectory, joined
from collision_monitor.motion.violation import Violation
from collision_monitor.robot.bodies import link_poses, rigid_bodies
from collision_monitor.robot.description import Robot
from collision_monitor.robot.yaml_values import Entry, position_of, rotation_of

_COMMON_KEYS = ("mode", "unit", "start", "target", "tf", "tsa", "tsd")
_RATES = (("rate", "acceleration"),)
_LINE_RATES = (("speed", "acceleration"), ("turning", "turning_acceleration"))
_JOINT_KEYS = (*_COMMON_KEYS, *_RATES[0], "profiles")
_LINE_KEYS = (*_COMMON_KEYS, *_LINE_RATES[0], *_LINE_RATES[1], "link", "pose", "moving")


@dataclass(frozen=True)
class Ramps:
    """Duration or peak rates of a motion, and its ramps or peak accelerations.

    Attributes:
        tf: total duration, seconds; None if the rates determine it.
        rates: peak rates: one for a joint; of position and of rotation for a line; infinite if not
            given.
        tsa: seconds of the ramp at the start; 0 if the accelerations determine it.
        tsd: seconds of the ramp at the end.
        accelerations: the largest ones, as ``rates``; none if ramps are given.
    """

    tf: float | None
    rates: tuple[float, ...]
    tsa: float
    tsd: float
    accelerations: tuple[float, ...] = ()

    def profile(self, changes: tuple[float, ...]) -> Trapezoid:
        """Return the profile for changes, one for each rate; the slowest determines the duration.

        Raises:
            MotionError: the times are no valid profile, or a change has no rate.
        """
        if self.tf is not None:
            return Trapezoid(self.tf, self.tsa, self.tsd)
        if self.accelerations:
            rate, acceleration = (
                min(limit / abs(c) for c, limit in zip(changes, limits, strict=True) if c)
                for limits in (self.rates, self.accelerations)
            )
            return Trapezoid.within(rate, acceleration)
        change, rate = max(
            zip(changes, self.rates, strict=True), key=lambda each: abs(each[0]) / each[1]
        )
        return Trapezoid.at_rate(change, rate, self.tsa, self.tsd)


@dataclass(frozen=True)
class JointCommand:
    """Each joint follows its own profile; by name: ``start``, ``target`` and ``ramps``."""

    start: dict[str, float]
    target: dict[str, float]
    ramps: dict[str, Ramps]


@dataclass(frozen=True, eq=False)
class LineCommand:
    """A link moves along a straight line.

    Attributes:
        link: the moving link.
        start: joint positions by name.
        target: joint positions at which the link has its target pose, or None.
        position: (3,) target, metres, or None to keep the position.
        rotation: (3, 3) target, or None to keep the orientation.
        frame: the link whose frame at the start these refer to; None for the base.
        ramps: one for both position and rotation.
        moving: the only joints that may move, or None.
    """

    link: str
    start: dict[str, float]
    target: dict[str, float] | None
    position: np.ndarray | None
    rotation: np.ndarray | None
    frame: str | None
    ramps: Ramps
    moving: tuple[str, ...] | None


def is_command(document: object) -> bool:
    """Whether a YAML document is a command: it has the key ``mode``."""
    return isinstance(document, Mapping) and "mode" in document


def parse_command(document: Any, where: str, robot: Robot) -> JointCommand | LineCommand:
    """Return the command in a YAML document.

    Raises:
        MotionError: the message begins with ``where`` and names the key.
    """
    try:
        mode = Entry(where, {"mode": document.get("mode")}, ("mode",)).choice(
            "mode", ("joint", "line")
        )
        if mode == "joint":
            return _joint_command(document, where, robot)
        return _line_command(document, where, robot)
    except SceneError as problem:  # scene files share these checks of values
        raise MotionError(str(problem)) from None


def _joint_command(document: Mapping, where: str, robot: Robot) -> JointCommand:
    top = Entry(where, document, _JOINT_KEYS)
    radians = _unit(top)
    start = _joints(document, "start", where, robot, radians)
    target = _joints(document, "target", where, robot, radians)
    for name in target:
        if name not in start:
            top.fail("start", f"lacks joint {name!r}, which has a target")
    profiles: dict[str, Ramps] = {}
    if "profiles" in top:
        given = document["profiles"]
        Entry(f"{where}: profiles", given, tuple(target))
        for name, data in given.items():
            entry = Entry(f"{where}: profiles.{name}", data, ("tf", "tsa", "tsd", *_RATES[0]))
            profiles[name] = _ramps(entry, _RATES, (_factor(robot, name, radians),))
    rest = [name for name in target if name not in profiles]
    ramps = {name: _ramps(top, _RATES, (_factor(robot, name, radians),)) for name in rest}
    return JointCommand(start, target, {**ramps, **profiles})


def _line_command(document: Mapping, where: str, robot: Robot) -> LineCommand:
    top = Entry(where, document, _LINE_KEYS)
    radians = _unit(top)
    if ("target" in top) == ("pose" in top):
        top.fail("target", "give either a target of joints or a pose")
    target = None
    if "target" in top:
        target = _joints(document, "target", where, robot, radians)
    position = rotation = frame = None
    if "pose" in top:
        keys = ("position", "rpy", "quaternion", "frame")
        pose = Entry(f"{where}: pose", document["pose"], keys)
        position, rotation = _pose(pose, radians)
        frame = pose.text("frame") if "frame" in pose else None
        if frame is not None and frame not in robot.links:
            pose.fail("frame", f"robot {robot.name!r} has no link {frame!r}")
    moving = None
    if "moving" in top:
        moving = tuple(top.list("moving"))
        if not moving or not all(isinstance(name, str) for name in moving):
            top.fail("moving", "expected a list of names of joints")
    link = top.text("link")
    if link not in robot.links:
        top.fail("link", f"robot {robot.name!r} has no link {link!r}")
    return LineCommand(
        link=link,
        start=_joints(document, "start", where, robot, radians),
        target=target,
        position=position,
        rotation=rotation,
        frame=frame,
        ramps=_ramps(top, _LINE_RATES, (1.0, radians)),
        moving=moving,
    )


def _unit(top: Entry) -> float:
    """Radians per unit of angle of the file."""
    unit = top.choice("unit", ("rad", "deg")) if "unit" in top else "rad"
    return 1.0 if unit == "rad" else math.pi / 180.0


def _factor(robot: Robot, name: str, radians: float) -> float:
    """Radians, or metres, per unit of the file for a joint."""
    slides = any(joint.name == name and joint.kind == "prismatic" for joint in robot.joints)
    return 1.0 if slides else radians


def _joints(
    document: Mapping, key: str, where: str, robot: Robot, radians: float
) -> dict[str, float]:
    known = tuple(joint.name for joint in robot.joints)
    data = document.get(key)
    entry = Entry(f"{where}: {key}", data, known)
    if not data:
        entry.fail(key, "names no joint")
    positions = {}
    for name in data:
        positions[name] = entry.number(name) * _factor(robot, name, radians)
        if problem := range_problem(positions[name]):
            entry.fail(name, problem)
    return positions


def _ramps(
    entry: Entry, keys: tuple[tuple[str, str], ...], factors: tuple[float, ...]
) -> Ramps:
    """Read tf or a rate, and tsa and tsd or an acceleration for each rate that is given.

    ``keys``: names of a rate and of its acceleration; ``factors``: radians or metres of their unit.
    """
    given = [pair for pair in keys if pair[0] in entry]
    if ("tf" in entry) == bool(given):
        entry.fail("tf", f"give either tf or {' and '.join(rate for rate, _ in keys)}")
    acceleration_keys = [acceleration for _, acceleration in keys if acceleration in entry]
    if acceleration_keys and (acceleration_keys != [acceleration for _, acceleration in given]):
        entry.fail(acceleration_keys[0], "give an acceleration for each rate, and no tf")
    if acceleration_keys and ("tsa" in entry or "tsd" in entry):
        entry.fail(acceleration_keys[0], "determines the ramps: leave out tsa and tsd")
    rates, accelerations = (
        tuple(
            entry.number(names[which], positive=True) * factor
            if names[which] in entry
            else math.inf
            for names, factor in zip(keys, factors, strict=True)
        )
        for which in range(2)
    )
    if acceleration_keys:
        return Ramps(None, rates, 0.0, 0.0, accelerations)
    tf = entry.number("tf", positive=True) if "tf" in entry else None
    return Ramps(tf, rates, entry.number("tsa"), entry.number("tsd"))


def _pose(pose: Entry, radians: float) -> tuple[np.ndarray | None, np.ndarray | None]:
    position, rotation = position_of(pose), rotation_of(pose, "quaternion", radians)
    if position is None and rotation is None:
        pose.fail("position", "give a position, rpy, or a quaternion x, y, z, w")
    return position, rotation


_MIN_LINE = 1e-9  # metres, and radians; a shorter line is an error
_HALF_TURN = 1e-3  # radians from a half turn within which its axis depends on rounding


def joint_motion(command: JointCommand, where: str) -> tuple[Trajectory, list[str]]:
    """Move each joint of the command on its profile from 0 s.

    Raises:
        MotionError: a profile is not possible; the message begins with ``where`` and names the
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
    return Trajectory(tuple(command.start), joined(parts)), _warnings(command.ramps.values(), where)


def line_motion(
    command: LineCommand,
    robot: Robot,
    where: str,
    held: Mapping[str, float] | None = None,
    ignored: Sequence[str] = (),
    elsewhere: Collection[str] = (),
) -> tuple[Trajectory, tuple[Violation, ...], list[str]]:
    """Move the link of the command along its line; see `line_motion.follow_line`.

    Raises:
        MotionError: the message begins with ``where``; the joints do not fit the robot, the target
            equals the start, a profile is not possible, or the line cannot be followed at all.
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
    if max(line.length, line.angle) <= _MIN_LINE:
        raise MotionError(f"{where}: the target is where {command.link!r} is at the start")
    notes = list(warnings) + _warnings([command.ramps], where)
    if line.angle > math.pi - _HALF_TURN:
        notes.append(
            f"{where}: the turn is {math.degrees(line.angle):.4f} deg, about "
            f"{np.round(line.twist[3:] / line.angle, 4).tolist()}: at a half turn rounding decides "
            "between this axis and the opposite one"
        )
    profile = _profile(command.ramps, (line.length, line.angle), where)
    try:
        trajectory, violations = follow_line(
            bodies, command.link, q, line, profile, command.moving
        )
    except MotionError as error:
        raise MotionError(f"{where}: {error}") from None
    if goal is not None:
        notes += _other_configuration(trajectory, goal, where)
    return trajectory, violations, notes


def _profile(ramps: Ramps, changes: tuple[float, ...], where: str) -> Trapezoid:
    names = ("speed", "turning")
    if ramps.tf is None and len(changes) == 2:
        for name, change, rate in zip(names, changes, ramps.rates, strict=True):
            if math.isinf(rate) and change > _MIN_LINE:
                raise MotionError(f"{where}: {name}: is missing, but it changes along the line")
    try:
        return ramps.profile(changes)
    except MotionError as error:
        raise MotionError(f"{where}: {error}") from None


def _warnings(ramps: Sequence[Ramps], where: str) -> list[str]:
    """Return a warning if a ramp has no length."""
    if all(ramp.accelerations or min(ramp.tsa, ramp.tsd) > 0.0 for ramp in ramps):
        return []
    return [f"{where}: a ramp of 0 s requires infinite acceleration"]


def _goal_configuration(
    command: LineCommand, names: Sequence[str], q: np.ndarray, where: str
) -> np.ndarray | None:
    if command.target is None:
        return None
    goal = q.copy()
    for name, value in command.target.items():
        if name not in names:
            raise MotionError(f"{where}: target: joint {name!r} is not independent")
        goal[list(names).index(name)] = value
    return goal


def _other_configuration(trajectory: Trajectory, goal: np.ndarray, where: str) -> list[str]:
    """Return a warning if the line ends in another configuration than the target's."""
    off = np.abs(trajectory.positions(np.array([trajectory.duration]))[0] - goal)
    worst = int(off.argmax())
    if off[worst] <= SAME_POSITION:
        return []
    return [
        f"{where}: the line ends in another configuration than the target: joint "
        f"{trajectory.joint_names[worst]!r} is {off[worst]:.3g} off"
    ]
