# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Small ROS 2 bags, made anew for a test."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="rosbags is not installed")
typesys = pytest.importorskip("rosbags.typesys")

STORE = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
KINDS = {"mcap": rosbag2.StoragePlugin.MCAP, "sqlite3": rosbag2.StoragePlugin.SQLITE3}
NANO = 1_000_000_000


def _make(kind: str, *values: object) -> object:
    return STORE.types[kind](*values)


def _header(seconds: float) -> object:
    nanoseconds = round(seconds * NANO)
    stamp = _make("builtin_interfaces/msg/Time", nanoseconds // NANO, nanoseconds % NANO)
    return _make("std_msgs/msg/Header", stamp, "")


def state(
    stamp: float,
    names: Iterable[str],
    positions: Iterable[float],
    velocities: Iterable[float] = (),
    efforts: Iterable[float] = (),
) -> object:
    """A JointState."""
    rows = (np.array(list(row), dtype=float) for row in (positions, velocities, efforts))
    return _make("sensor_msgs/msg/JointState", _header(stamp), list(names), *rows)


def command(stamp: float, names: Iterable[str], points: Iterable[tuple]) -> object:
    """A JointTrajectory; points are (seconds, positions, velocities, accelerations)."""
    made = []
    for seconds, *rows in points:
        nanoseconds = round(seconds * NANO)
        duration = _make("builtin_interfaces/msg/Duration", nanoseconds // NANO, nanoseconds % NANO)
        rows = [np.array(row, dtype=float) for row in (*rows, (), (), ())[:3]]
        made.append(_make("trajectory_msgs/msg/JointTrajectoryPoint", *rows, np.zeros(0), duration))
    return _make("trajectory_msgs/msg/JointTrajectory", _header(stamp), list(names), made)


def text(words: str) -> object:
    """A String."""
    return _make("std_msgs/msg/String", words)


def write_bag(
    path: Path, messages: Iterable[tuple[str, float, object]], storage: str = "mcap"
) -> Path:
    """Write (topic, seconds of recording, message) into a bag."""
    connections: dict[str, object] = {}
    with rosbag2.Writer(path, version=9, storage_plugin=KINDS[storage]) as writer:
        for topic, seconds, message in messages:
            kind = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=STORE)
            data = STORE.serialize_cdr(message, kind)
            writer.write(connections[topic], round(seconds * NANO), data)
    return path


def bag_file(path: Path) -> Path:
    """The file with the messages of a bag."""
    return next(file for file in path.iterdir() if file.suffix in (".mcap", ".db3"))
