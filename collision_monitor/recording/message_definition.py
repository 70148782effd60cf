# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The definition of a ROS message with all that it is made of, as mcap files carry it (ros2msg)."""

from __future__ import annotations

import re

from collision_monitor.errors import RecordingError
from collision_monitor.robot.packages import FileFinder

_SEPARATOR = "\n" + "=" * 80 + "\nMSG: {}\n"
# A field: its type, with bounds of strings and arrays, and its name; constants have plain types.
_FIELD = re.compile(r"^\s*([A-Za-z]\w*(?:/[A-Za-z]\w*)?)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]\w*")
_PLAIN = {
    "bool", "byte", "char", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32",
    "uint32", "int64", "uint64", "string", "wstring",
}  # fmt: skip


def message_definition(kind: str) -> str:
    """Of a type such as ``sensor_msgs/msg/JointState``, read from the .msg files of its package.

    Raises:
        RecordingError: a file of it cannot be found or read.
    """
    package, _, name = kind.partition("/msg/")
    own = _text(package, name)
    parts, seen = [own], {(package, name)}
    waiting = _parts_of(own, package)
    while waiting:
        part = waiting.pop(0)
        if part in seen:
            continue
        seen.add(part)
        text = _text(*part)
        parts.append(_SEPARATOR.format("/".join(part)) + text)
        waiting += _parts_of(text, part[0])
    return "".join(parts)


def _parts_of(text: str, package: str) -> list[tuple[str, str]]:
    """(package, name) of the messages that the fields of a definition are of."""
    found = []
    for line in text.splitlines():
        field = _FIELD.match(line.partition("#")[0])
        if field and field[1] not in _PLAIN:
            there, _, name = field[1].rpartition("/")
            found.append((there or package, name))
    return found


def _text(package: str, name: str) -> str:
    uri = f"package://{package}/msg/{name}.msg"
    path = FileFinder().find(uri, "record: the definition of a message", RecordingError)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise RecordingError(f"record: {path}: cannot be read: {error}") from None
