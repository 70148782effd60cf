# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Messages out of ROS 2 bags, mcap or sqlite3, without a ROS installation (by rosbags)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from collision_monitor.common.optional_dependencies import optional_dependency
from collision_monitor.errors import MissingDependencyError, MotionError
from collision_monitor.motion.points import Points, checked_values, joint_names, points_of

STATES = "sensor_msgs/msg/JointState"
COMMANDS = "trajectory_msgs/msg/JointTrajectory"
_FILES = (".mcap", ".db3")
_NANO = 1_000_000_000


@dataclass(frozen=True, eq=False)
class StateMessage:
    """A JointState: nanoseconds when it was recorded and of its header, and positions (n,)."""

    received: int
    stamp: int
    names: tuple[str, ...]
    positions: np.ndarray


@dataclass(frozen=True, eq=False)
class CommandMessage:
    """A JointTrajectory: nanoseconds when it was recorded, of its header (0: at once), points."""

    received: int
    stamp: int
    points: Points


@dataclass(frozen=True, eq=False)
class Topic:
    """The messages of a topic in the order of recording, and what was passed over."""

    name: str
    kind: str  # STATES or COMMANDS
    messages: list[StateMessage] | list[CommandMessage]
    warnings: tuple[str, ...]


def is_bag(path: Path) -> bool:
    """Whether a path is that of a bag: a folder, one of its files, or its metadata.yaml."""
    return path.is_dir() or path.suffix.lower() in _FILES or path.name == "metadata.yaml"


def read_topics(path: Path, names: Sequence[str] = ()) -> list[Topic]:
    """Topics of a bag; without ``names`` the only one with joint states or trajectories.

    Raises:
        MotionError: the message begins with the path; no bag, one that is cut off or damaged, a
            topic that is not there or has no messages, several to choose from, a message that
            cannot be used.
        MissingDependencyError: rosbags is not installed.
    """
    bag = bag_location(path)
    try:
        with _library("rosbags.rosbag2").Reader(bag) as reader:
            chosen = _chosen(reader.connections, names, path)
            return [_topic(reader, name, connections, path) for name, connections in chosen.items()]
    except (MotionError, MissingDependencyError):
        raise
    except Exception as error:  # on damaged files rosbags raises what its parts do
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise MotionError(
            f"{path}: cannot be read as a ROS 2 bag: {reason}. A recording that was cut off can be "
            "mended: 'mcap recover' for mcap, 'ros2 bag reindex' for a lost metadata.yaml"
        ) from None


def _library(name: str) -> ModuleType:
    with optional_dependency("reading ROS 2 bags needs rosbags", "verify"):
        return import_module(name)


def bag_location(path: Path) -> Path:
    """What rosbags opens: a folder with metadata.yaml, or a file.

    Raises:
        MotionError: no such bag, one that was not closed, a folder without one.
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


def _chosen(
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
        full = full or list(usable)  # some files do not tell how many there are
        if len(full) != 1:
            what = "no JointState and no JointTrajectory:"
            if full:
                what = "which topic is meant (--topic)?"
            raise MotionError(f"{path}: {what} {there}")
        names = full
    chosen = {}
    for name in names:
        topic = next((topic for topic in (name, f"/{name}") if topic in usable), None)
        if topic is None:
            other = next((c.msgtype for c in connections if c.topic in (name, f"/{name}")), None)
            reason = f"is of type {other}, not" if other else "is not there with"
            raise MotionError(
                f"{path}: topic {name!r} {reason} {STATES} or {COMMANDS}; {there}"
            )
        if len({part.msgtype for part in usable[topic]}) > 1:
            raise MotionError(f"{path}: topic {topic!r} has messages of several types")
        chosen[topic] = usable[topic]
    return chosen


def _topic(reader: Any, name: str, connections: list[Any], path: Path) -> Topic:
    kind = connections[0].msgtype
    formats = {connection.ext.serialization_format for connection in connections} - {"cdr"}
    if formats:
        raise MotionError(f"{path}: topic {name!r} is serialized as {formats.pop()}; cdr is right")
    types = _library("rosbags.typesys")
    store = types.get_typestore(types.Stores.LATEST)
    take = _state if kind == STATES else _command
    messages, empty, received = [], 0, 0
    for received, (_, time, data) in enumerate(reader.messages(connections), 1):
        where = f"{path}: {name}: message {received}"
        try:
            content = store.deserialize_cdr(data, kind)
        except Exception as error:  # whatever damaged bytes lead to
            raise MotionError(f"{where} is damaged: {type(error).__name__}: {error}") from None
        message = take(content, time, where)
        if message is None:
            empty += 1
        else:
            messages.append(message)
    told = sum(connection.msgcount for connection in connections)
    if told > received:
        raise MotionError(
            f"{path}: topic {name!r}: {received} messages of {told}: the others are lost; 'mcap "
            "recover' or 'ros2 bag reindex' make a bag of those that are left"
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
    return header.stamp.sec * _NANO + header.stamp.nanosec


def _state(message: Any, received: int, where: str) -> StateMessage | None:
    if not len(message.position):
        return None
    names = joint_names(list(message.name), where)
    positions = checked_values("positions", message.position.tolist(), names, where)
    return StateMessage(received, _stamp(message.header), names, np.array(positions))


def _command(message: Any, received: int, where: str) -> CommandMessage | None:
    if not message.points:
        return None
    points = [
        {
            "positions": point.positions.tolist(),
            "velocities": point.velocities.tolist(),
            "accelerations": point.accelerations.tolist(),
            "time_from_start": {
                "sec": point.time_from_start.sec,
                "nanosec": point.time_from_start.nanosec,
            },
        }
        for point in message.points
    ]
    points = points_of(list(message.joint_names), points, where)
    if points.times[0] < 0.0:
        first = f"{where}: points[0]: time_from_start {points.times[0]:g} s"
        raise MotionError(f"{first} is negative; 0 or more is right")
    return CommandMessage(received, _stamp(message.header), points)


def topic_names(topic: str | Sequence[str] | None) -> tuple[str, ...]:
    """An option of one topic, several, or none, as a tuple."""
    if topic is None:
        return ()
    return (topic,) if isinstance(topic, (str, os.PathLike)) else tuple(topic)
