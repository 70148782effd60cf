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
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.common.limits import range_problem
from collision_monitor.common.text import closest
from collision_monitor.errors import MotionError, SceneError
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.motion.line_motion import CartesianLine, Trapezoid, follow_line
from collision_monitor.motion.robot_joints import (
    SAME_POSITION,
    LoadedMotion,
    is_ignored,
    led_by,
    on_robot,
)
from collision_monitor.motion.trajectory import REST, Trajectory, joined, own_knots
from collision_monitor.robot.bodies import Bodies, link_poses, rigid_bodies
from collision_monitor.robot.description import Robot
from collision_monitor.robot.yaml_values import Entry, position_of, rotation_of

_COMMON_KEYS = ("mode", "unit", "start", "target", "tf", "tsa", "tsd")
_RATES = (("rate", "acceleration"),)
_LINE_RATES = (("speed", "acceleration"), ("turning", "turning_acceleration"))
_JOINT_KEYS = (*_COMMON_KEYS, *chain(*_RATES), "profiles")
_LINE_KEYS = (*_COMMON_KEYS, *chain(*_LINE_RATES), "link", "pose", "moving")
_HALF_TURN = 1e-3  # radians from a half turn within which its axis depends on rounding


def is_command(document: object) -> bool:
    """Whether a YAML document is a command: it has the key ``mode``."""
    return isinstance(document, Mapping) and "mode" in document


def command_motion(
    document: Mapping[str, Any],
    path: Path,
    robot: Robot,
    held: Mapping[str, float] | None = None,
    ignored: Sequence[str] = (),
    elsewhere: Collection[str] = (),
) -> LoadedMotion:
    """Return the motion of the command in a YAML document.

    In joint mode each joint follows its own profile, from 0 s. In line mode a link moves along a
    straight line, see `line_motion.follow_line`. ``held``, ``ignored`` and ``elsewhere`` are those
    of `robot_joints.on_robot`.

    Raises:
        MotionError: the message begins with the path and names the key or the joint; a value is
            invalid, joints do not fit the robot, a profile is not possible, or the line has no
            length or cannot be followed at all.
    """
    where, rest = str(path), (held, ignored, elsewhere)
    try:
        mode = Entry(where, {"mode": document.get("mode")}, ("mode",)).choice(
            "mode", ("joint", "line")
        )
        document = _without(document, robot, ignored)
        if mode == "joint":
            return _joint_motion(document, path, robot, rest)
        return _line_motion(document, path, robot, rest)
    except SceneError as problem:  # scene files share these checks of values
        raise MotionError(str(problem)) from None


def _without(document: Mapping[str, Any], robot: Robot, ignored: Sequence[str]) -> dict[str, Any]:
    """The command without joints that are not the robot's and are to be ignored."""
    return {
        key: {
            name: each for name, each in value.items() if not is_ignored(robot, ignored, str(name))
        }
        if key in ("start", "target", "profiles") and isinstance(value, Mapping) else value
        for key, value in document.items()
    }  # fmt: skip


# -- joint mode --


def _joint_motion(document: Mapping, path: Path, robot: Robot, rest: tuple) -> LoadedMotion:
    where = str(path)
    top = Entry(where, document, _JOINT_KEYS)
    radians = _unit(top)
    start = _joints(document, "start", where, robot, radians)
    target = _joints(document, "target", where, robot, radians)
    for name in target:
        if name not in start:
            top.fail("start", f"lacks joint {name!r}, which has a target")
    given = document["profiles"] if "profiles" in top else {}
    Entry(f"{where}: profiles", given, tuple(target))
    parts, profiles = [], []
    for name, begin in start.items():
        profile, change = None, target.get(name, begin) - begin
        if name in target:
            entry = top
            if name in given:
                keys = ("tf", "tsa", "tsd", *_RATES[0])
                entry = Entry(f"{where}: profiles.{name}", given[name], keys)
            try:
                profile = _profile(entry, _RATES, (_factor(robot, name, radians),), (change,))
            except MotionError as error:
                raise MotionError(f"{where}: joint {name!r}: {error}") from None
        if profile is None:
            parts.append(PPoly(np.full((1, 1, 1), begin), np.array([0.0, REST])))
        else:
            parts.append(profile.path([begin], [change]))
            profiles.append(profile)
    whole = joined(parts)
    motion = Trajectory(tuple(start), whole, own_knots(parts, whole.x))
    trajectory, warnings = on_robot(motion, robot, where, *rest)
    named = led_by(motion.joint_names, robot)
    warnings = (*_ramp_warnings(profiles, where), *warnings)
    return LoadedMotion(trajectory, (), warnings, f"{path.name} (command, joint mode)", named=named)


# -- line mode --


def _line_motion(document: Mapping, path: Path, robot: Robot, rest: tuple) -> LoadedMotion:
    where = str(path)
    top, bodies = Entry(where, document, _LINE_KEYS), rigid_bodies(robot)
    radians = _unit(top)
    if ("target" in top) == ("pose" in top):
        top.fail("target", "give either a target of joints or a pose")
    moving = None
    if "moving" in top:
        moving = tuple(top.list("moving"))
        if not moving or not all(isinstance(name, str) for name in moving):
            top.fail("moving", "expected a list of names of joints")
    link = _link(top, "link", robot)
    start = _joints(document, "start", where, robot, radians)
    at_start = Trajectory.through(tuple(start), [0.0], [list(start.values())])
    resting, warnings = on_robot(at_start, robot, f"{where}: start", *rest)
    q, goal = resting.positions(np.zeros(1))[0], None
    if "target" in top:
        goal = q.copy()
        for name, value in _joints(document, "target", where, robot, radians).items():
            if name not in bodies.joint_names:
                raise MotionError(f"{where}: target: joint {name!r} is not independent")
            goal[bodies.joint_names.index(name)] = value
        frames = link_poses(bodies, [link], np.array([q, goal]))
        line = CartesianLine(*frames[link])
    else:
        line = _line_to_pose(document["pose"], where, robot, bodies, link, q, radians)
    if max(line.length, line.angle) <= ROUNDING:
        raise MotionError(f"{where}: the target is where {link!r} is at the start")
    try:
        profile = _profile(top, _LINE_RATES, (1.0, radians), (line.length, line.angle))
        trajectory, violations = follow_line(bodies, link, q, line, profile, moving)
    except MotionError as error:
        raise MotionError(f"{where}: {error}") from None
    if not np.isfinite(trajectory.polynomial.c).all():
        raise MotionError(f"{where}: numbers too large")
    warnings = [*warnings, *_ramp_warnings([profile], where)]
    if line.angle > math.pi - _HALF_TURN:
        warnings.append(
            f"{where}: the turn is {math.degrees(line.angle):.4f} deg, about "
            f"{np.round(line.twist[3:] / line.angle, 4).tolist()}: at a half turn rounding decides "
            "between this axis and the opposite one"
        )
    if goal is not None:
        warnings += _other_configuration(trajectory, goal, where)
    chain = bodies.columns[bodies.chain(bodies.link_bodies[link])]
    named = led_by(start, robot) | {bodies.joint_names[k] for k in chain.tolist()}
    source = f"{path.name} (command, {link} along a line)"
    return LoadedMotion(trajectory, violations, tuple(warnings), source, True, named)


def _line_to_pose(
    data: Any, where: str, robot: Robot, bodies: Bodies, link: str, q: np.ndarray, radians: float
) -> CartesianLine:
    """The line of ``link`` from ``q`` (nq,) to the pose that a command gives."""
    pose = Entry(f"{where}: pose", data, ("position", "rpy", "quaternion", "frame"))
    position, rotation = position_of(pose), rotation_of(pose, "quaternion", radians)
    if position is None and rotation is None:
        pose.fail("position", "give a position, rpy, or a quaternion x, y, z, w")
    base = _link(pose, "frame", robot) if "frame" in pose else robot.root
    frames = link_poses(bodies, [link, base], q[None])
    start, frame = frames[link][0], frames[base][0]
    end = start.copy()
    if position is not None:
        end[:3, 3] = frame[:3, :3] @ position + frame[:3, 3]
    if rotation is not None:
        end[:3, :3] = frame[:3, :3] @ rotation
    return CartesianLine(start, end)


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


# -- values of both modes --


def _unit(top: Entry) -> float:
    """Radians per unit of angle of the file."""
    unit = top.choice("unit", ("rad", "deg")) if "unit" in top else "rad"
    return 1.0 if unit == "rad" else math.pi / 180.0


def _factor(robot: Robot, name: str, radians: float) -> float:
    """Radians, or metres, per unit of the file for a joint."""
    slides = any(joint.name == name and joint.kind == "prismatic" for joint in robot.joints)
    return 1.0 if slides else radians


def _link(entry: Entry, key: str, robot: Robot) -> str:
    link = entry.text(key)
    if link not in robot.links:
        links = closest(link, robot.links)
        entry.fail(key, f"robot {robot.name!r} has no link {link!r}; it has {links}")
    return link


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


def _profile(
    entry: Entry,
    keys: tuple[tuple[str, str], ...],
    factors: tuple[float, ...],
    changes: tuple[float, ...],
) -> Trapezoid | None:
    """Return the profile of ``changes``; None if nothing changes, and no time is given for it.

    It has tf or rates, of which the slowest determines the duration; and tsa and tsd, or an
    acceleration for each rate that is given.

    Args:
        entry: with these values.
        keys: names of a rate and of its acceleration, for each change.
        factors: radians or metres per unit of the file, likewise.
        changes: radians or metres.

    Raises:
        MotionError: the times are no valid profile, or a change has no rate.
    """
    ramps = _has_accelerations(entry, keys)
    largest = {
        name: entry.number(name, positive=True) * factor
        for names, factor in zip(keys, factors, strict=True) for name in names if name in entry
    }  # fmt: skip
    times = () if ramps else (entry.number("tsa"), entry.number("tsd"))
    if "tf" in entry:
        return Trapezoid(entry.number("tf", positive=True), *times)
    moving = [(pair, abs(c)) for pair, c in zip(keys, changes, strict=True) if abs(c) > ROUNDING]
    for (rate, _), _ in moving:
        if rate not in largest:
            raise MotionError(f"{rate}: is missing, but it changes along the line")
    if not moving:
        return None
    if ramps:
        rate, acceleration = (
            min(largest[pair[which]] / change for pair, change in moving) for which in range(2)
        )
        return Trapezoid.within(rate, acceleration)
    (rate, _), change = max(moving, key=lambda each: each[1] / largest[each[0][0]])
    return Trapezoid.at_rate(change, largest[rate], *times)


def _has_accelerations(entry: Entry, keys: tuple[tuple[str, str], ...]) -> bool:
    """Whether accelerations determine the ramps; fails for values that do not go together."""
    given = [pair for pair in keys if pair[0] in entry]
    if ("tf" in entry) == bool(given):
        entry.fail("tf", f"give either tf or {' and '.join(rate for rate, _ in keys)}")
    ramps = [acceleration for _, acceleration in keys if acceleration in entry]
    if ramps and ramps != [acceleration for _, acceleration in given]:
        entry.fail(ramps[0], "give an acceleration for each rate, and no tf")
    if ramps and ("tsa" in entry or "tsd" in entry):
        entry.fail(ramps[0], "determines the ramps: leave out tsa and tsd")
    return bool(ramps)


def _ramp_warnings(profiles: Sequence[Trapezoid], where: str) -> list[str]:
    """Return a warning if a ramp has no length."""
    steps = any(min(profile.tsa, profile.tsd) == 0.0 for profile in profiles)
    return [f"{where}: a ramp of 0 s requires infinite acceleration"] if steps else []
