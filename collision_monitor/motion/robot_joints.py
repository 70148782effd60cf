# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions of all joints of a robot, in its order, made of motions of some joints."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.common.limits import LARGEST_OF_JOINT, array_range_problem
from collision_monitor.common.text import did_you_mean, shortened
from collision_monitor.errors import MotionError
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.motion.trajectory import Motion, Trajectory
from collision_monitor.motion.violation import Violation
from collision_monitor.robot.angles import apart
from collision_monitor.robot.bodies import leading_joint
from collision_monitor.robot.description import Joint, Robot

# rad or m by which positions may differ that should be equal: allowed_start_tolerance of MoveIt
SAME_POSITION = 0.01


@dataclass(frozen=True, eq=False)
class LoadedMotion:
    """A motion of all independent joints of a robot.

    Attributes:
        trajectory: all independent joints of the robot, in its order; it begins at 0 s.
        violations: found while a command was converted to a motion.
        warnings: assumptions that were made, as sentences that begin with the file.
        source: description of the source, for a report.
        along_line: whether the command moves a link along a line.
        named: joints of the trajectory that the file names; the others are held.
        known: held joints whose positions are given, by the caller or the start state of a plan.
        begin: the time of its first point in the file, seconds.
    """

    trajectory: Trajectory
    violations: tuple[Violation, ...]
    warnings: tuple[str, ...]
    source: str
    along_line: bool = False
    named: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    begin: float = 0.0

    @classmethod
    def of(cls, motion: Motion | Trajectory, robot: Robot) -> LoadedMotion:
        """A motion of some joints of ``robot``; a table of waypoints is linear between them.

        Raises:
            TrajectoryError: times do not increase, or shapes or values are faulty.
            MotionError: it does not fit the robot.
        """
        begin, held, given = 0.0, {}, motion
        if isinstance(motion, Motion):
            given = Trajectory.through(motion.joint_names, motion.times, motion.positions)
            begin, held = float(motion.times[0]), motion.held
        trajectory, warnings = on_robot(given, robot, "motion", start=held)
        named = led_by(motion.joint_names, robot)
        known = frozenset(held) - named
        return cls(trajectory, (), warnings, "motion", named=named, known=known, begin=begin)

    def only(self, joint_names: Collection[str]) -> LoadedMotion:
        """Return the same motion with only the given joints."""
        kept = [k for k, name in enumerate(self.trajectory.joint_names) if name in joint_names]
        polynomial, knots = self.trajectory.polynomial, self.trajectory.knots
        names = tuple(self.trajectory.joint_names[k] for k in kept)
        part = Trajectory(
            names,
            PPoly(polynomial.c[:, :, kept], polynomial.x),
            None if knots is None else knots[:, kept],
        )
        return replace(self, trajectory=part)


def on_robot(
    motion: Trajectory,
    robot: Robot,
    where: str,
    held: Mapping[str, float] | None = None,
    ignored: Sequence[str] = (),
    elsewhere: Collection[str] = (),
    start: Mapping[str, float] | None = None,
) -> tuple[Trajectory, tuple[str, ...]]:
    """Return the motion of all independent joints of `robot`, in its order, and warnings.

    Missing joints are held: at their position in ``held``, else in ``start``, else at zero, or at
    the nearer limit if zero is outside their limits. The position of a mimic joint is compared with
    that of its leader, or determines the leader if that is not named.

    Args:
        motion: of some joints.
        robot: the robot that owns the joints.
        where: prefix of messages, such as the file.
        held: positions of independent joints within their limits, radians or metres.
        ignored: names of joints that are not the robot's, with ``*`` and ``?`` as wildcards.
        elsewhere: joints moved by another motion: holding them here raises no warning.
        start: positions of independent joints as the motion starts, radians or metres.

    Raises:
        MotionError: a joint is named twice or unknown, all are ignored, or none moves in this
            robot; a fixed joint moves, a joint is held outside its limits, or numbers are too large
            to compute with.
    """
    joints = robot.joint_named
    independent = [joint for joint in robot.joints if joint.moves and joint.mimic is None]
    names = tuple(joint.name for joint in independent)
    held = _held(held or {}, joints, names, robot, f"{where}: held (--q)")
    start = _held(start or {}, joints, names, robot, f"{where}: held", within_limits=False)
    named = _columns_by_joint(motion, joints, robot, where, ignored)
    warnings = [
        _fixed_joint_warning(motion, column, joints[name], where)
        for name, column in named.items() if not joints[name].moves
    ]  # fmt: skip
    moved, derived = _moved(motion.polynomial.c, joints, named, where)
    if named and not moved:
        raise MotionError(
            f"{where}: no named joint moves in this robot ({_quoted(tuple(named))}); robot "
            f"{robot.name!r} has {_quoted(names)}"
        )
    if both := moved.keys() & held.keys():
        raise MotionError(f"{where}: held (--q): {_quoted(sorted(both))}: also moved by the motion")
    rest = {joint.name: joint.rest for joint in independent} | start | held
    unasked = [
        f"{name} at {rest[name]:g}"
        for name in names if name not in {*moved, *held, *start, *elsewhere}
    ]  # fmt: skip
    warnings += derived
    if unasked:
        warnings.append(f"{where}: joints that are not named are held: {', '.join(unasked)}")
    result = _whole(motion, moved, {name: rest[name] for name in names}, where)
    for name, column in named.items():
        if joints[name].moves and joints[name].mimic:
            warnings += _mimic_warning(motion, column, result, joints[name], joints, where)
    return result, tuple(warnings)


def _whole(
    motion: Trajectory, moved: Mapping[str, tuple], rest: Mapping[str, float], where: str
) -> Trajectory:
    """The motion of the joints in ``rest``, which are there unless ``moved`` has them."""
    out = np.zeros((*motion.polynomial.c.shape[:2], len(rest)))
    knots = None if motion.knots is None else np.zeros((len(motion.times), len(rest)), dtype=bool)
    for number, (name, position) in enumerate(rest.items()):
        if name in moved:
            column, out[:, :, number] = moved[name]
            if knots is not None:
                knots[:, number] = motion.knots[:, column]
        else:
            out[-1, :, number] = position
    if problem := array_range_problem(out[-1], LARGEST_OF_JOINT):
        raise MotionError(f"{where}: positions too large: {problem}")
    return Trajectory(tuple(rest), PPoly(out, motion.polynomial.x), knots)


def _moved(
    source: np.ndarray, joints: Mapping[str, Joint], named: Mapping[str, int], where: str
) -> tuple[dict[str, tuple[int, np.ndarray]], list[str]]:
    """Column in ``source`` and coefficients (order, pieces) of each independent joint that moves.

    Also warnings of those that are not named themselves, but lead a mimic joint that is.
    """
    moving = [joints[name] for name in named if joints[name].moves]
    moved = {
        j.name: (named[j.name], source[:, :, named[j.name]]) for j in moving if not j.mimic
    }
    warnings = []
    for joint in moving:
        leader, gain, offset = leading_joint(joint, joints)
        if leader is None or gain == 0.0 or leader in moved:
            continue
        column = named[joint.name]
        coefficients = source[:, :, column] / gain
        coefficients[-1] -= offset / gain
        moved[leader] = column, coefficients
        warnings.append(
            f"{where}: joint {leader!r} is not named: its motion follows from that of "
            f"{joint.name!r}, which mimics it"
        )
    return moved, warnings


def is_unneeded(robot: Robot, ignored: Sequence[str], name: str) -> bool:
    """Whether a position of the joint ``name`` is not used: it is fixed, or to be ignored."""
    joint = next((joint for joint in robot.joints if joint.name == name), None)
    return _matches(name, ignored) if joint is None else not joint.moves


def is_ignored(robot: Robot, ignored: Sequence[str], name: str) -> bool:
    """Whether the joint ``name`` is not the robot's, and to be ignored."""
    return name not in robot.joint_named and _matches(name, ignored)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def led_by(joint_names: Iterable[str], robot: Robot) -> frozenset[str]:
    """Replace mimic joints by their leaders; unknown names are skipped."""
    joints = robot.joint_named
    moving = (joints[name] for name in joint_names if name in joints and joints[name].moves)
    leaders = (leading_joint(joint, joints)[0] for joint in moving)
    return frozenset(leader for leader in leaders if leader is not None)


def _quoted(names: Sequence[str]) -> str:
    return shortened(map(repr, names), 20) or "none"


def _columns_by_joint(
    motion: Trajectory,
    joints: Mapping[str, Joint],
    robot: Robot,
    where: str,
    ignored: Sequence[str],
) -> dict[str, int]:
    """Return the columns of the motion by joint of the robot."""
    named: dict[str, int] = {}
    unknown = []
    for k, name in enumerate(motion.joint_names):
        if name in named:
            raise MotionError(f"{where}: names joint {name!r} twice")
        if name in joints:
            named[name] = k
        elif not _matches(name, ignored):
            unknown.append(name)
    moving = [name for name, joint in joints.items() if joint.moves]
    if motion.joint_names and not named and not unknown:
        raise MotionError(
            f"{where}: all joints of the motion are left out ({_quoted(motion.joint_names)}); "
            f"robot {robot.name!r} has {_quoted(moving)}"
        )
    if unknown:
        hint = f"{close} It" if (close := did_you_mean(unknown[0], moving)) else "it"
        raise MotionError(
            f"{where}: robot {robot.name!r} has no joint {_quoted(unknown)}; {hint} has "
            f"{_quoted(moving)}. --ignore JOINT leaves joints out"
        )
    return named


def _held(
    held: Mapping[str, float],
    joints: Mapping[str, Joint],
    independent: Collection[str],
    robot: Robot,
    where: str,
    within_limits: bool = True,
) -> dict[str, float]:
    """Positions of joints that are ``independent``; MotionError for others, and for no numbers."""
    for name, value in held.items():
        if name not in joints:
            raise MotionError(f"{where}: robot {robot.name!r} has no joint {name!r}")
        if name not in independent:
            reason = "follows another" if joints[name].moves else "does not move"
            raise MotionError(f"{where}: joint {name!r} {reason}")
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise MotionError(f"{where}: {value!r} for {name!r} is not a number")
        joint = joints[name]
        low, high = joint.lower - ROUNDING, joint.upper + ROUNDING
        if joint.kind == "continuous" or not within_limits:
            low, high = -LARGEST_OF_JOINT, LARGEST_OF_JOINT
        if not low <= value <= high:
            raise MotionError(
                f"{where}: {name} at {value:g} is beyond its limits {low:g} to {high:g}"
            )
    return {name: float(value) for name, value in held.items()}


def _fixed_joint_warning(motion: Trajectory, column: int, joint: Joint, where: str) -> str:
    values = motion.polynomial(motion.times)[:, column]
    if np.ptp(values) > SAME_POSITION:
        raise MotionError(
            f"{where}: joint {joint.name!r} moves from {values.min():g} to {values.max():g}, but "
            f"is {joint.kind} in this robot, which is held"
        )
    return f"{where}: joint {joint.name!r} is {joint.kind} in this robot: its values are not used"


def _mimic_warning(
    motion: Trajectory,
    column: int,
    result: Trajectory,
    joint: Joint,
    joints: Mapping[str, Joint],
    where: str,
) -> list[str]:
    """Return a warning if a mimic joint differs from the position given by its leader."""
    leader, gain, offset = leading_joint(joint, joints)
    times = motion.times
    due = np.full(len(times), offset)
    if leader is not None:
        due += gain * result.polynomial(times)[:, result.joint_names.index(leader)]
    off = np.abs(apart(motion.polynomial(times)[:, column], due, joint.kind == "continuous"))
    worst = int(off.argmax())
    if off[worst] <= SAME_POSITION:
        return []
    return [
        f"{where}: joint {joint.name!r} follows {joint.mimic.joint!r} in this robot, but is up to "
        f"{off[worst]:.3g} off that (at {times[worst]:g} s); its values are not used"
    ]
