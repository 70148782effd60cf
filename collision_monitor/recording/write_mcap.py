# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A program that writes messages from its standard input into an mcap file.

It runs in its own process: writing some hundred thousand messages takes seconds, during which a
monitor in the same process would often wait for the interpreter. It is started by its path and
imports nothing of this package, to start fast.

Input: eight bytes with the length of a JSON object (``path``, ``channels``, ``metadata``), that
object, and messages to the end, each behind `HEAD`. Output: one line of JSON, ``path`` or
``error``. The file is written completely or not at all, and none is overwritten.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<Q")
HEAD = struct.Struct("<qHI")  # nanoseconds, channel, bytes of the message


def numbered(path: Path) -> Iterator[Path]:
    """The path, then numbered paths: 2, 3 and so on after the stem."""
    yield path
    number = 2
    while True:
        yield path.with_name(f"{path.stem}_{number}{path.suffix}")
        number += 1


def messages_of(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (nanoseconds, channel, message)."""
    at = 0
    while at < len(data):
        nanoseconds, channel, size = HEAD.unpack_from(data, at)
        at += HEAD.size
        yield nanoseconds, channel, data[at : at + size]
        at += size


def write(stream: BinaryIO, head: dict[str, Any], data: bytes) -> None:
    """Write a complete mcap file."""
    from mcap.writer import Writer

    writer = Writer(stream)
    writer.start(profile="ros2", library="collision_monitor")
    schemas: dict[str, int] = {}
    channels: dict[int, int] = {}
    for number, channel in enumerate(head["channels"]):
        kind = channel["kind"]
        if kind not in schemas:
            schemas[kind] = writer.register_schema(kind, "ros2msg", channel["definition"].encode())
        channels[number] = writer.register_channel(
            channel["topic"], "cdr", schemas[kind], {"offered_qos_profiles": channel["qos"]}
        )
    writer.add_metadata("collision_monitor", head["metadata"])
    for nanoseconds, channel, message in messages_of(data):
        writer.add_message(channels[channel], nanoseconds, message, nanoseconds)
    writer.finish()


def _place(temporary: Path, target: Path) -> Path:
    """Rename a file to the first free name."""
    for path in numbered(target):
        try:
            os.link(temporary, path)
        except FileExistsError:
            continue
        except OSError:  # a file system without hard links
            if path.exists():
                continue
            os.rename(temporary, path)
        return path
    raise AssertionError  # unreachable


def main() -> int:
    """Write the input to a file; returns 0, or 1 with the reason."""
    with contextlib.suppress(OSError):
        os.nice(10)  # the monitor has priority
    source = sys.stdin.buffer
    try:
        head = json.loads(source.read(_LENGTH.unpack(source.read(_LENGTH.size))[0]))
        data = source.read()
        target = Path(head["path"])
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}")
        number = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        try:
            with os.fdopen(number, "wb") as stream:
                write(stream, head, data)
                stream.flush()
                os.fsync(stream.fileno())
            print(json.dumps({"path": str(_place(temporary, target))}))
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return 0
    except Exception as error:  # the monitor reports it
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        print(json.dumps({"error": reason}))
        return 1


if __name__ == "__main__":
    sys.exit(main())
