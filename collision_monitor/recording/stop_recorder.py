# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Stores the messages of the last minutes, and writes them to a file after each stop."""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from collision_monitor.common.lazy_imports import install_command
from collision_monitor.common.settings import check_settings, setting
from collision_monitor.errors import MissingDependencyError, RecordingError
from collision_monitor.recording import write_mcap
from collision_monitor.recording.write_mcap import HEAD

MEGABYTE = 1 << 20
_SEGMENT = MEGABYTE // 4  # bytes that are discarded at once
_LONGEST = 3.0  # times `after`, from the first stop of a file to its end
_WRITING_SECONDS = 300.0  # a writer that takes longer is treated as hanging


# -- the messages of the last minutes, in limited memory --


@dataclass
class _Segment:
    """Messages that are discarded together."""

    since: float  # seconds of the clock, until those of the next one
    messages: bytearray = field(default_factory=bytearray)
    last: dict[int, bytes] = field(default_factory=dict)  # message of each latched channel
    scene: Any = None  # when the first message was received
    scene_bytes: int = 0


class MessageRing:
    """Ring buffer of messages; the oldest are discarded.

    Messages are stored in segments of a quarter of a megabyte. They contain no objects for garbage
    collection, and are returned without a copy.

    Attributes:
        bytes: size of the stored messages.
        left_out: number of messages that were larger than half of the memory.
        before: the last discarded message of each latched channel, which was valid when the oldest
            message in the ring was received.
    """

    def __init__(
        self,
        seconds: float,
        most_bytes: int,
        clock: Callable[[], float] = time.monotonic,
        scene: Callable[[], tuple[Any, int]] = lambda: (None, 0),
    ) -> None:
        """Keep at least ``seconds`` if ``most_bytes`` allow it; ``clock`` in seconds.

        ``scene`` gives the current state of topics that publish only changes, and the approximate
        memory for it in bytes.
        """
        self._seconds, self._most, self._clock, self._read_scene = seconds, most_bytes, clock, scene
        self._size = min(_SEGMENT, max(most_bytes // 8, 1))
        self._segments = deque([_Segment(clock())])  # the last one grows
        self.bytes = self.left_out = 0
        self.before: dict[int, bytes] = {}

    def add(self, channel: int, nanoseconds: int, data: bytes, latched: bool = False) -> None:
        """Store a message received at this time."""
        now, space = self._clock(), HEAD.size + len(data)
        if space > self._most // 2:
            self.left_out += 1
            return
        segments = self._segments
        if len(segments[-1].messages) + space > self._size:
            self._turn(now)
        segment = segments[-1]
        if not segment.messages:
            segment.scene, segment.scene_bytes = self._read_scene()
            self.bytes += segment.scene_bytes
        self.bytes += space
        segment.messages += HEAD.pack(nanoseconds, channel, len(data))
        segment.messages += data
        if latched:
            segment.last[channel] = data
        while len(segments) > 1 and (
            now - segments[1].since > self._seconds or self.bytes > self._most
        ):
            oldest = segments.popleft()
            self.bytes -= len(oldest.messages) + oldest.scene_bytes
            self.before.update(oldest.last)

    def _turn(self, now: float) -> None:
        if self._segments[-1].messages:
            self._segments.append(_Segment(now))
        self._segments[-1].since = now

    @property
    def scene(self) -> Any:
        """The scene when the oldest stored message was received."""
        return self._segments[0].scene

    @property
    def seconds(self) -> float:
        """Age of the oldest segment."""
        return self._clock() - self._segments[0].since

    def segments(self) -> list[bytearray]:
        """All stored messages; these segments no longer change."""
        self._turn(self._clock())
        return [segment.messages for segment in self._segments if segment.messages]


# -- a file for each stop --


class SceneSource(Protocol):
    """State of topics that publish only changes: obstacles.

    Both methods take microseconds. The functions that they return are called in a thread.
    """

    def held(self) -> tuple[Callable[[], list[tuple[int, bytes]]], int]:
        """What gives channels and messages of the current state; its approximate bytes."""

    def at_stop(self) -> Callable[[], dict[str, Any]]:
        """What gives the objects that are monitored now, as content of a scene file."""


@dataclass(frozen=True)
class Channel:
    """A topic of the file: its name, type (``std_msgs/msg/Bool``), and ros2msg definition.

    A file begins with the last message of each latched channel, however old it is.
    """

    topic: str
    kind: str
    definition: str
    latched: bool = False
    qos: str = ""


def check_path(path: str, most_bytes: int) -> Path:
    """Absolute path from which the names of recordings are derived.

    Raises:
        RecordingError: it is not the path of an mcap file, or a file of this size cannot be written
            there.
        MissingDependencyError: mcap is not installed.
    """
    target = Path(os.path.abspath(os.path.expanduser(path)))
    if target.suffix != ".mcap":
        raise RecordingError(f"record: {path!r}: the name must end in .mcap")
    if find_spec("mcap") is None:
        raise MissingDependencyError(f"record: recording needs mcap: {install_command('record')}")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            free = shutil.disk_usage(target.parent).free
    except OSError as error:
        raise RecordingError(
            f"record: {target.parent}: cannot be written to: {error.strerror or error}"
        ) from None
    if free < most_bytes:
        raise RecordingError(
            f"record: {target.parent}: {free // MEGABYTE} MB are free, a recording may take "
            f"{most_bytes // MEGABYTE} MB (record_megabytes)"
        )
    return target


@dataclass(frozen=True)
class RecordingSettings:
    """How much is recorded.

    A stop in the time of ``record_after`` is added to the same file, which becomes longer, up to
    three times.

    Raises:
        RecordingError: a value is out of range.
    """

    record_seconds: float = setting(
        120.0, "recorded time before a stop, seconds", least=1.0, most=3600.0
    )
    record_after: float = setting(
        5.0, "recorded time after the start of a stop, seconds; then the file is written",
        most=600.0,
    )  # fmt: skip
    record_megabytes: int = setting(
        256, "maximum memory, megabytes; if it is too small for record_seconds, the oldest "
        "messages are dropped", most=4096,
    )  # fmt: skip
    record_files: int = setting(
        20, "maximum number of recordings per run; the oldest ones are removed", most=10000
    )

    def __post_init__(self) -> None:
        """Check ranges."""
        check_settings(self, RecordingError)


class StopRecorder:
    """Records messages, and writes a file for each stop. Only `close` blocks."""

    def __init__(
        self, path: str, settings: RecordingSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start recording.

        Args:
            path: of the first file; those after it are numbered, none is overwritten.
            settings: how much is recorded.
            clock: seconds, steady.

        Raises:
            RecordingError: the file cannot be written.
            MissingDependencyError: mcap is not installed.
        """
        most_bytes = settings.record_megabytes * MEGABYTE
        self._target = check_path(path, most_bytes)
        self._after, self._most_files = settings.record_after, settings.record_files
        self._clock = clock
        self._scene: SceneSource | None = None
        self._scene_at_stop: Any = None
        span = settings.record_seconds + _LONGEST * self._after
        self._ring = MessageRing(span, most_bytes, clock, self._held)
        # Large and frequent messages, such as point clouds, may take a quarter of the memory.
        self._frequent_bytes = 0.25 * most_bytes
        self._rate = self._frequent_bytes / span
        self._credit, self._credited = 0.5 * self._frequent_bytes, clock()
        self._left_out = 0
        self._channels: list[Channel] = []
        self._stops: list[dict[str, str]] = []  # of the file to come
        self._first = self._due = 0.0
        self._thread: threading.Thread | None = None
        self._results: list[tuple[str, str]] = []  # path or "", error; from the thread
        self._failure = ""
        self.files: list[Path] = []

    def channel(self, channel: Channel) -> int:
        """Add a channel; returns its number."""
        self._channels.append(channel)
        return len(self._channels) - 1

    def add(self, number: int, data: bytes) -> None:
        """Record a serialized message (CDR) of a channel."""
        self._ring.add(number, time.time_ns(), data, self._channels[number].latched)

    def add_if_affordable(self, number: int, data: bytes) -> None:
        """Record a message, unless large messages have used up their share of memory."""
        now = self._clock()
        self._credit += self._rate * (now - self._credited)
        self._credit, self._credited = min(self._credit, 0.5 * self._frequent_bytes), now
        if self._credit <= 0.0:
            self._left_out += 1
            return
        self._credit -= len(data)
        self.add(number, data)

    def follow(self, scene: SceneSource | None) -> None:
        """Write the state of a scene at the start of each file from now on."""
        self._scene = scene

    def _held(self) -> tuple[Any, int]:
        return (None, 0) if self._scene is None else self._scene.held()

    def stopped(self, reason: str) -> None:
        """Register a stop; its file is written some seconds later."""
        now = self._clock()
        if not self._stops:
            self._first = now
            self._scene_at_stop = None if self._scene is None else self._scene.at_stop()
        # A file ends before the ring loses messages from before its first stop.
        self._due = min(now + self._after, self._first + _LONGEST * self._after)
        self._stops.append({"unix_time": f"{time.time():.6f}", "reason": reason})

    def update(self) -> tuple[str, str] | None:
        """Start writing a file that is due; returns the next result (path, error), if any."""
        if self._stops and self._clock() >= self._due and not self._is_writing():
            self._begin()
        if not self._results:
            return None
        path, error = self._results.pop(0)
        self._failure = error
        if path:
            self.files.append(Path(path))
            self._remove_oldest()
        return path, error

    @property
    def text(self) -> str:
        """Status for display."""
        if self._failure:
            return f"FAILED: {self._failure}"
        if self._is_writing():
            return f"writing {self._target.name}"
        if self._stops:
            return f"a stop, written in {max(self._due - self._clock(), 0.0):.0f} s"
        written = f", last {self.files[-1]}" if self.files else ""
        return (
            f"{self._ring.seconds:.0f} s in {self._ring.bytes / MEGABYTE:.1f} MB; "
            f"{len(self.files)} files{written}"
        )

    def close(self, seconds: float = 20.0) -> tuple[str, str] | None:
        """Write pending files now; returns as `update`. The writer outlives this process."""
        end = time.monotonic() + seconds
        last = None
        while True:
            if self._thread is not None:
                self._thread.join(max(end - time.monotonic(), 0.0))
            self._due = -math.inf
            pending = bool(self._stops)
            last = self.update() or last
            if not pending or time.monotonic() >= end:
                return last

    # -- writing --

    def _is_writing(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _begin(self) -> None:
        segments = self._ring.segments()
        # Earlier latched messages, stamped with the start of the recording.
        start = HEAD.unpack_from(segments[0])[0] if segments else time.time_ns()
        latched = _packed(start, self._ring.before.items())
        head = {
            "path": str(self._target),
            "channels": [asdict(channel) for channel in self._channels],
            "metadata": {
                "stops": json.dumps(self._stops),
                "messages_left_out": str(self._ring.left_out),
                "clouds_left_out": str(self._left_out),
            },
        }
        self._stops = []
        scene = self._ring.scene, self._scene_at_stop, start
        self._thread = threading.Thread(
            target=self._write, args=(head, latched, segments, scene), name="recording", daemon=True
        )
        self._thread.start()

    def _write(
        self, head: dict[str, Any], latched: bytes, segments: list[bytearray], scene: tuple
    ) -> None:
        """Run the writer; this thread mostly waits."""
        try:
            held, at_stop, start = scene
            if at_stop is not None:
                # In pieces, so that joint states are processed in between.
                pieces = json.JSONEncoder().iterencode(at_stop())
                head["metadata"]["scene_at_stop"] = "".join(pieces)
            if held is not None:
                latched += _packed(start, held())
            text = json.dumps(head).encode()
            parts = [struct.pack("<Q", len(text)), text, latched, *segments]
            self._results.append(_written(parts))
        except Exception as error:  # otherwise the thread would end without a report
            self._results.append(("", f"{type(error).__name__}: {error}"))

    def _remove_oldest(self) -> None:
        while len(self.files) > self._most_files:
            oldest = self.files.pop(0)
            try:
                oldest.unlink(missing_ok=True)
            except OSError as error:
                self._failure = f"{oldest}: cannot be removed: {error.strerror or error}"


def _packed(nanoseconds: int, messages: Iterable[tuple[int, bytes]]) -> bytes:
    """Messages of one time in the format of the ring."""
    return b"".join(HEAD.pack(nanoseconds, number, len(data)) + data for number, data in messages)


def _written(parts: list[bytes | bytearray]) -> tuple[str, str]:
    """Run the writer on these parts: (path, "") of the file, or ("", error)."""
    # In its own session, so that Ctrl-C does not reach it.
    process = subprocess.Popen(
        [sys.executable, os.path.abspath(write_mcap.__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        with process.stdin as pipe:
            for k, part in enumerate(parts):
                pipe.write(part)
                parts[k] = b""  # free the memory
    except BrokenPipeError:
        pass  # the writer reports why
    try:
        output = process.stdout.read()
        process.wait(_WRITING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "", f"the writer did not end within {_WRITING_SECONDS:.0f} s"
    finally:
        process.stdout.close()
    try:
        answer = json.loads(output)
    except ValueError:
        return "", f"the writer ended with code {process.returncode} and no message"
    return answer.get("path", ""), answer.get("error", "")
