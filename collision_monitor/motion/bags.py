# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""ROS 2 bags (mcap or sqlite3) without a ROS installation, by rosbags: messages and motions.

A bag is one motion: joint states, or one trajectory, of one or several topics. Recorded states are
interpolated linearly; partial states are merged.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.common.lazy_imports import optional_dependency
from collision_monitor.common.text import one_line, shortened
from collision_monitor.errors import MissingDependencyError, MotionError, TrajectoryError
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.motion.points import (
    Points,
    checked_values,
    joint_names,
    points_of,
    unused,
)
from collision_monitor.motion.trajectory import (
    NANO,
    OTHER_CLOCK,
    REST,
    Trajectory,
    hermite,
    joined,
    own_knots,
)
from collision_monitor.robot.angles import unwrapped

# -- messages --

STATES = "sensor_msgs/msg/JointState"
COMMANDS = "trajectory_msgs/msg/JointTrajectory"
_FILES = (".mcap", ".db3")

Unneeded = Callable[[str], bool]  # whether nobody needs the position of a joint


@dataclass(frozen=True, eq=False)
class StateMessage:
    """A JointState: time of recording and stamp, nanoseconds; its values.

    Attributes:
        positions: (n,) radians or metres.
        velocities, torques: (n,) their rates; efforts, N m or N; empty if there are none.
    """

    received: int
    stamp: int
    names: tuple[str, ...]
    positions: np.ndarray
    velocities: np.ndarray = field(default_factory=lambda: np.empty(0))
    torques: np.ndarray = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class CommandMessage:
    """A JointTrajectory: time of recording and stamp (0: now), nanoseconds; its points."""

    received: int
    stamp: int
    points: Points


@dataclass(frozen=True, eq=False)
class Topic:
    """The messages of a topic in the order of recording, and warnings about skipped ones."""

    name: str
    kind: str  # STATES or COMMANDS
    messages: list[StateMessage] | list[CommandMessage]
    warnings: tuple[str, ...]


def is_bag(path: Path) -> bool:
    """Whether a path is a bag: a folder, one of its files, or its metadata.yaml."""
    return path.is_dir() or path.suffix.lower() in _FILES or path.name == "metadata.yaml"


def read_topics(
    path: Path, names: Sequence[str] = (), unneeded: Unneeded = lambda joint: False
) -> list[Topic]:
    """Return topics of a bag; without ``names`` the only one with joint states or trajectories.

    Positions of ``unneeded`` joints may be NaN in joint states, and are then left out.

    Raises:
        MotionError: the message begins with the path; there is no bag, it is truncated or damaged,
            a topic is missing or empty, there are several topics to choose from, or a message is
            invalid.
        MissingDependencyError: rosbags is not installed.
    """
    bag = bag_location(path)
    try:
        with _library("rosbags.rosbag2").Reader(bag) as reader:
            chosen = _select_topics(reader.connections, names, path)
            return [
                _topic(reader, name, connections, path, unneeded)
                for name, connections in chosen.items()
            ]
    except (MotionError, MissingDependencyError):
        raise
    except Exception as error:  # on damaged files rosbags raises errors of many types
        raise MotionError(
            f"{path}: cannot be read as a ROS 2 bag: {one_line(error).rstrip('.')}. A truncated "
            "recording can be repaired: 'mcap recover' for mcap, 'ros2 bag reindex' for a lost "
            "metadata.yaml"
        ) from None


def _library(name: str) -> ModuleType:
    with optional_dependency("reading ROS 2 bags needs rosbags", "verify"):
        return import_module(name)


def bag_location(path: Path) -> Path:
    """Return what rosbags opens: a folder with metadata.yaml, or a file.

    Raises:
        MotionError: there is no bag, it was not closed, or the folder contains none.
    """
    if path.name == "metadata.yaml":
        path = path.parent
    try:
        if not path.is_dir():
            if not path.is_file():
                raise MotionError(f"{path}: no such bag")
            wal = Path(f"{path}-wal")
            if wal.is_file() and wal.stat().st_size:
                raise MotionError(
                    f"{path}: was not closed: {wal.name} has messages that are not in it; open and "
                    "close it with sqlite3 first"
                )
            return path
        if (path / "metadata.yaml").is_file():
            return path
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in _FILES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MotionError(f"{path}: cannot be read: {reason}") from None
    if len(files) != 1:
        raise MotionError(
            f"{path}: no metadata.yaml, and {len(files)} files *.mcap or *.db3; 'ros2 bag reindex' "
            "makes one"
        )
    return files[0]


def _select_topics(
    connections: Sequence[Any], names: Sequence[str], path: Path
) -> dict[str, list[Any]]:
    """Connections by topic."""
    usable: dict[str, list[Any]] = {}
    for connection in connections:
        if connection.msgtype in (STATES, COMMANDS):
            usable.setdefault(connection.topic, []).append(connection)
    listed = "; ".join(
        f"{topic} ({parts[0].msgtype}, {sum(part.msgcount for part in parts)} messages)"
        for topic, parts in sorted(usable.items())
    )
    there = f"there are: {listed}" if listed else "no topic has these types"
    if not names:
        full = [name for name, parts in usable.items() if sum(part.msgcount for part in parts)]
        full = full or list(usable)  # some files do not contain their number
        if len(full) != 1:
            what = "no JointState and no JointTrajectory:"
            if full:
                what = "choose a topic (--topic);"
            raise MotionError(f"{path}: {what} {there}")
        names = full
    chosen = {}
    for name in names:
        topic = next((topic for topic in (name, f"/{name}") if topic in usable), None)
        if topic is None:
            other = next((c.msgtype for c in connections if c.topic in (name, f"/{name}")), None)
            reason = f"is of type {other}, not" if other else "does not exist with type"
            raise MotionError(f"{path}: topic {name!r} {reason} {STATES} or {COMMANDS}; {there}")
        if len({part.msgtype for part in usable[topic]}) > 1:
            raise MotionError(f"{path}: topic {topic!r} has messages of several types")
        chosen[topic] = usable[topic]
    return chosen


def _topic(reader: Any, name: str, connections: list[Any], path: Path, unneeded: Unneeded) -> Topic:
    kind = connections[0].msgtype
    formats = {connection.ext.serialization_format for connection in connections} - {"cdr"}
    if formats:
        raise MotionError(f"{path}: topic {name!r} is serialized as {formats.pop()}, not cdr")
    types = _library("rosbags.typesys")
    store = types.get_typestore(types.Stores.LATEST)
    take = partial(_state, unneeded) if kind == STATES else _command
    messages, empty, received = [], 0, 0
    for received, (_, time, data) in enumerate(reader.messages(connections), 1):
        where = f"{path}: {name}: message {received}"
        try:
            content = store.deserialize_cdr(data, kind)
        except Exception as error:  # many types of errors for damaged bytes
            raise MotionError(f"{where} is damaged: {type(error).__name__}: {error}") from None
        message = take(content, time, where)
        if message is None:
            empty += 1
        else:
            messages.append(message)
    total = sum(connection.msgcount for connection in connections)
    if total > received:
        raise MotionError(
            f"{path}: topic {name!r}: {received} of {total} messages: the others are lost; 'mcap "
            "recover' or 'ros2 bag reindex' recovers the remaining ones"
        )
    if not messages:
        reason = f"none of its {received} messages has positions" if received else "has no messages"
        raise MotionError(f"{path}: topic {name!r}: {reason}")
    warnings = ()
    if empty:
        what = "positions" if kind == STATES else "points"
        warnings = (f"{path}: {name}: {empty} of {received} messages are without {what}",)
    return Topic(name, kind, messages, warnings)


def _stamp(header: Any) -> int:
    return header.stamp.sec * NANO + header.stamp.nanosec


def _state(unneeded: Unneeded, message: Any, received: int, where: str) -> StateMessage | None:
    if not len(message.position):
        return None
    names, positions = joint_names(list(message.name), where), message.position.tolist()
    kept = list(range(len(names)))
    if len(positions) == len(names) and not all(map(math.isfinite, positions)):
        kept = [j for j in kept if math.isfinite(positions[j]) or not unneeded(names[j])]
        names, positions = tuple(names[j] for j in kept), [positions[j] for j in kept]
        if not names:
            return None
        if not all(map(math.isfinite, positions)):
            wrong = next(j for j, value in enumerate(positions) if not math.isfinite(value))
            raise MotionError(
                f"{where}: positions: {positions[wrong]} of {names[wrong]!r} is not a finite "
                "number; --ignore JOINT leaves out a joint that the robot does not have"
            )
    positions = np.array(checked_values("positions", positions, names, where))
    others = (
        np.array(values, dtype=float)[kept] if len(values) == len(message.name) else np.empty(0)
        for values in (message.velocity, message.effort)
    )
    return StateMessage(received, _stamp(message.header), names, positions, *others)


def _command(message: Any, received: int, where: str) -> CommandMessage | None:
    if not message.points:
        return None
    points = points_of(list(message.joint_names), _plain(message.points), where)
    return CommandMessage(received, _stamp(message.header), points)


def _plain(value: Any) -> Any:
    """A message as lists and mappings, as in YAML."""
    if is_dataclass(value):
        names = [each.name for each in fields(value) if not each.name.startswith("__")]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(each) for each in value] if isinstance(value, list) else value


def topic_names(topic: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return an option of one topic, several, or none, as a tuple."""
    if topic is None:
        return ()
    return (topic,) if isinstance(topic, (str, os.PathLike)) else tuple(topic)


# -- a bag as one motion --

NO_DATA = 0.1  # seconds without data of a joint at either end that raise no warning
_GAP, _GAPS = 1.0, 10.0  # seconds, and multiples of the usual period, without a message: warn


def read_bag(
    path: Path,
    names: Sequence[str],
    stamps: str,
    turning: Collection[str] = (),
    unneeded: Unneeded = lambda joint: False,
    ignored: Unneeded = lambda joint: False,
) -> tuple[Trajectory, str, list[str], float]:
    """Return a motion from 0 s, its source, warnings, and its begin on the bag's clock, seconds.

    Args:
        path: a folder or a file.
        names: of topics; by default the only suitable one.
        stamps: ``header`` or ``receive``, the time of messages to use.
        turning: continuous joints.
        unneeded: whether positions of a joint in joint states are not needed.
        ignored: whether a joint is left out, unless all are: it does not make the motion longer.

    Raises:
        MotionError: the message begins with the path; see `read_topics`, `recorded` and
            `commanded`; or a joint is in two topics.
    """
    topics = read_topics(path, names, unneeded)
    where = str(path)
    motions, zeros, warnings = [], [], []
    for topic in topics:
        try:
            if topic.kind == STATES:
                polynomials, zero, more = recorded(topic, stamps, where, turning)
            else:
                polynomials, zero, more = commanded(topic, stamps, where)
        except TrajectoryError as error:
            raise MotionError(f"{path}: {topic.name}: {error}") from None
        motions += [(name, polynomial, zero) for name, polynomial in polynomials]
        zeros.append(zero)
        warnings += more
    motions = [motion for motion in motions if not ignored(motion[0])] or motions
    parts = [
        (name, PPoly(polynomial.c, polynomial.x + (zero - min(zeros)) / NANO))
        for name, polynomial, zero in motions
    ]
    whole = joined([polynomial for _, polynomial in parts])
    held: dict[str, list[str]] = {}
    for name, polynomial in parts:
        late, early = polynomial.x[0] - whole.x[0], whole.x[-1] - polynomial.x[-1]
        for seconds, end in ((late, "first"), (early, "last")):
            if seconds > NO_DATA:
                held.setdefault(f"in the {end} {seconds:.3g} s", []).append(name)
    warnings += [
        f"{path}: no positions of {shortened(joints)} {when}: held" for when, joints in held.items()
    ]
    names = tuple(name for name, _ in parts)
    knots = own_knots([polynomial for _, polynomial in parts], whole.x)
    trajectory = Trajectory(names, PPoly(whole.c, whole.x - whole.x[0]), knots)
    if not np.isfinite(whole.c).all():
        raise MotionError(f"{path}: positions too large, or too close in time")
    summary = "; ".join(f"{topic.name}, {len(topic.messages)} messages" for topic in topics)
    return trajectory, f"{path.name} (bag: {summary})", warnings, min(zeros) / NANO + whole.x[0]


def recorded(
    topic: Topic, stamps: str, where: str, turning: Collection[str] = ()
) -> tuple[list[tuple[str, PPoly]], int, list[str]]:
    """Return a motion for each joint, the nanoseconds of their time 0, and warnings.

    Messages that name the same joints are taken to come from one publisher.

    Args:
        topic: of joint states.
        stamps: ``header`` or ``receive``, the time that is used.
        where: prefix of messages.
        turning: continuous joints, whose positions may jump by a full turn.

    Raises:
        MotionError: stamps are missing or do not increase, or there are two positions at one time.
    """
    where = f"{where}: {topic.name}"
    publishers: dict[tuple[str, ...], list[StateMessage]] = {}
    for message in topic.messages:
        publishers.setdefault(message.names, []).append(message)
    sources: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for names, group in publishers.items():
        times = message_times(group, stamps, where)
        rows = np.array([message.positions for message in group])
        for name, column in zip(names, rows.T, strict=True):
            sources.setdefault(name, []).append((times, column))
    zero = int(min(times[0] for parts in sources.values() for times, _ in parts))
    motions, warnings = [], list(topic.warnings)
    gaps: dict[str, list[str]] = {}
    for name, parts in sources.items():
        times, positions = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        times, positions = _sort_by_time(times, positions, name, where)
        if name in turning:
            positions, jumps = unwrapped(positions)
            if jumps:
                warnings.append(
                    f"{where}: continuous joint {name!r} jumps by a full turn {jumps} times: the "
                    "short way is assumed"
                )
        seconds = (times - zero) / NANO
        if gap := _longest_gap(seconds):
            gaps.setdefault(gap, []).append(repr(name))
        motions.append((name, _linear(seconds, positions[:, None])))
    warnings += [
        f"{where}: no samples of {shortened(names)} {gap}: the motion is linear there"
        for gap, names in gaps.items()
    ]
    return motions, zero, warnings


def message_times(group: list[StateMessage], stamps: str, where: str) -> np.ndarray:
    """(n,) nanoseconds of messages with the same joints, in the order of recording.

    ``stamps``, ``where`` and errors as of `recorded`.
    """
    if stamps == "receive":
        return np.array([message.received for message in group], dtype=np.int64)
    times = np.array([message.stamp for message in group], dtype=np.int64)
    first = repr(group[0].names[0])
    unset = int((times == 0).sum())
    if unset:
        raise MotionError(
            f"{where}: {unset} of {len(times)} messages with {first} have no stamp in their "
            "header; stamps='receive' (--stamps receive) goes by the time of recording"
        )
    late = np.flatnonzero(np.diff(times) < 0)
    if len(late):
        k = int(late[0])
        raise MotionError(
            f"{where}: stamps do not increase: {times[k + 1] / NANO:.6f} s after "
            f"{times[k] / NANO:.6f} s in messages {k + 1} and {k + 2} of those with {first}; "
            "stamps='receive' (--stamps receive) goes by the time of recording"
        )
    return times


def _sort_by_time(
    times: np.ndarray, positions: np.ndarray, name: str, where: str
) -> tuple[np.ndarray, np.ndarray]:
    """Sort positions by time and merge those of the same instant."""
    order = np.argsort(times, kind="stable")
    times, positions = times[order], positions[order]
    same = np.diff(times) == 0
    off = np.abs(np.diff(positions)) * same
    if off.max(initial=0.0) > ROUNDING:
        k = int(off.argmax())
        raise MotionError(
            f"{where}: two positions of {name!r} at one time, {times[k] / NANO:.6f} s, "
            f"{off[k]:g} apart; stamps='receive' (--stamps receive) goes by the time of recording"
        )
    keep = np.concatenate([[True], ~same])
    return times[keep], positions[keep]


def _longest_gap(seconds: np.ndarray) -> str:
    """When samples are missing, as part of a sentence; empty if they are regular."""
    steps = np.diff(seconds)
    if not len(steps) or steps.max() <= max(_GAP, _GAPS * float(np.median(steps))):
        return ""
    k = int(steps.argmax())
    return f"for {steps[k]:.3g} s from {seconds[k]:.3f} s on"


def _linear(seconds: np.ndarray, rows: np.ndarray) -> PPoly:
    if len(seconds) == 1:
        seconds, rows = np.array([seconds[0], seconds[0] + REST]), rows.repeat(2, axis=0)
    return PPoly(hermite(np.diff(seconds), [rows[:-1]], [rows[1:]]), seconds)


def commanded(
    topic: Topic, stamps: str, where: str
) -> tuple[list[tuple[str, PPoly]], int, list[str]]:
    """Return the motion of each joint by the only message, its start (ns), and warnings.

    Args:
        topic: of joint trajectories.
        stamps: ``header``: the message starts at its stamp, or immediately if that is 0;
            ``receive``: it starts at the time of recording.
        where: prefix of messages.

    Raises:
        MotionError: there are several messages, or the stamp is far from the time of recording.
    """
    where = f"{where}: {topic.name}"
    if len(topic.messages) > 1:
        raise MotionError(
            f"{where}: has {len(topic.messages)} trajectories, and one can be read; what the robot "
            "made of them is in its joint states"
        )
    (message,) = topic.messages
    start, points, warnings = message.received, message.points, list(topic.warnings)
    if stamps == "header" and message.stamp != 0:
        start = message.stamp
        if abs(start - message.received) > OTHER_CLOCK * NANO:
            raise MotionError(
                f"{where}: the stamp of a message, {start / NANO:.3f} s, is far from its "
                f"recording, {message.received / NANO:.3f} s: two clocks; stamps='receive' "
                "(--stamps receive) goes by the time of recording"
            )
    if points.times[0] > 0.0:
        warnings.append(
            f"{where}: the first point is at {points.times[0]:.3f} s: the motion before it is not "
            "in the bag"
        )
    warnings += unused(points, where)
    polynomial = Trajectory.through(points.joint_names, points.times, *points.rows).polynomial
    times = polynomial.x + points.times[0]
    found = [
        (name, PPoly(polynomial.c[:, :, [k]], times)) for k, name in enumerate(points.joint_names)
    ]
    return found, start, warnings
