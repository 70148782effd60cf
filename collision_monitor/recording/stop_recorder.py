# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Keeps the last minutes, and writes them to a file some seconds after each stop."""

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

from collision_monitor.errors import MissingDependencyError, RecordingError
from collision_monitor.recording import write_mcap

# Before each message: nanoseconds of recording, channel, bytes that follow. As in write_mcap.py.
HEAD = struct.Struct("<qHI")
_SEGMENT = 1 << 18  # bytes that are dropped at once
_MEGABYTE = 1 << 20
_LONGEST = 3.0  # times `after`, from the first stop of a file to its end
_WRITING_SECONDS = 300.0  # a writer that takes longer hangs


# -- the messages of the last minutes, in limited memory --


@dataclass
class _Segment:
    """Messages that are dropped together."""

    since: float  # seconds of the clock
    until: float = math.inf
    messages: bytearray = field(default_factory=bytearray)
    last: dict[int, bytes] = field(default_factory=dict)  # message of each latched channel
    scene: Any = None  # as it was when the first message came
    scene_bytes: int = 0

    @property
    def size(self) -> int:
        return len(self.messages) + self.scene_bytes


class MessageRing:
    """Messages as they come, the oldest dropped.

    They lie in segments of a quarter of a megabyte, which hold nothing that Python's search for
    cyclic garbage would have to look at, and which are handed out without a copy.

    Attributes:
        left_out: messages that were larger than half of all there is room for.
        before: of each latched channel the last message that was dropped: what held when
            the oldest message that is left came.
    """

    def __init__(
        self,
        seconds: float,
        most_bytes: int,
        clock: Callable[[], float] = time.monotonic,
        scene: Callable[[], tuple[Any, int]] = lambda: (None, 0),
    ) -> None:
        """Keep at least ``seconds`` where ``most_bytes`` allow it; ``clock`` in seconds.

        ``scene`` gives what holds now and is published by changes alone, and about how many bytes
        more of memory it takes to remember that.
        """
        self._seconds, self._most, self._clock, self._ask = seconds, most_bytes, clock, scene
        self._size = min(_SEGMENT, max(most_bytes // 8, 1))
        self._closed: deque[_Segment] = deque()
        self._closed_bytes = 0
        self._open = _Segment(clock())
        self.left_out = 0
        self.before: dict[int, bytes] = {}

    def add(self, channel: int, nanoseconds: int, data: bytes, latched: bool = False) -> None:
        """Keep a message that was recorded at this time."""
        now, space = self._clock(), HEAD.size + len(data)
        if space > self._most // 2:
            self.left_out += 1
            return
        if len(self._open.messages) + space > self._size:
            self._turn(now)
        segment = self._open
        if not segment.messages:
            segment.scene, segment.scene_bytes = self._ask()
        segment.messages += HEAD.pack(nanoseconds, channel, len(data))
        segment.messages += data
        if latched:
            segment.last[channel] = data
        closed = self._closed
        while closed and (now - closed[0].until > self._seconds or self.bytes > self._most):
            oldest = closed.popleft()
            self._closed_bytes -= oldest.size
            self.before.update(oldest.last)

    def _turn(self, now: float) -> None:
        if self._open.messages:
            self._open.until = now
            self._closed.append(self._open)
            self._closed_bytes += self._open.size
        self._open = _Segment(now)

    @property
    def _oldest(self) -> _Segment:
        return self._closed[0] if self._closed else self._open

    @property
    def bytes(self) -> int:
        """How much is held."""
        return self._closed_bytes + self._open.size

    @property
    def scene(self) -> tuple[Any, float]:
        """What held when the oldest message that is held came, and seconds of the clock then."""
        return self._oldest.scene, self._oldest.since

    @property
    def seconds(self) -> float:
        """How far back it reaches."""
        return self._clock() - self._oldest.since

    def segments(self) -> list[bytearray]:
        """What is held now; these segments do not change any more."""
        self._turn(self._clock())
        return [segment.messages for segment in self._closed]


# -- a file for each stop --


class SceneSource(Protocol):
    """Gives what is told by changes alone: obstacles that come and go on topics."""

    def held(self) -> tuple[Any, int]:
        """What holds now, and about how many bytes it takes to remember; in microseconds."""

    def messages(self, held: Any, since: float) -> list[tuple[int, bytes]]:
        """Channels and messages that say so; ``since``: seconds of the clock. In a thread."""

    def at_stop(self) -> Any:
        """What is watched now; as quick as ``held``."""

    def described(self, at_stop: Any) -> dict[str, Any]:
        """The same as a scene file has it. In a thread."""


@dataclass(frozen=True)
class Channel:
    """A topic of the file: its name, type (``std_msgs/msg/Bool``), and ros2msg definition.

    Of a latched one every file has what held when it begins, however old that is.
    """

    topic: str
    kind: str
    definition: str
    latched: bool = False
    qos: str = ""


def check_path(path: str, most_bytes: int) -> Path:
    """The file that recordings are named after, absolute.

    Raises:
        RecordingError: it is no path of an mcap file, or nothing of this size can be written
            beside it.
        MissingDependencyError: mcap is not installed.
    """
    target = Path(os.path.abspath(os.path.expanduser(path)))
    if target.suffix != ".mcap":
        raise RecordingError(f"record: {path!r}: a name that ends in .mcap is right")
    if find_spec("mcap") is None:
        raise MissingDependencyError(
            "record: recording needs mcap: pip install 'collision_monitor[record]'"
        )
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            free = shutil.disk_usage(target.parent).free
    except OSError as error:
        raise RecordingError(
            f"record: {target.parent}: cannot be written to: {error.strerror or error}"
        ) from None
    if free < most_bytes:
        raise RecordingError(
            f"record: {target.parent}: {free // _MEGABYTE} MB are free, a recording may take "
            f"{most_bytes // _MEGABYTE} MB (record_megabytes)"
        )
    return target


class StopRecorder:
    """Messages in, a file for each stop out. Nothing here waits, but for `close`."""

    def __init__(
        self,
        path: str,
        *,
        seconds: float = 120.0,
        after: float = 5.0,
        megabytes: int = 256,
        most_files: int = 20,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to keep messages.

        Args:
            path: of the first file; those after it are numbered, none is overwritten.
            seconds: kept before a stop.
            after: seconds from a stop to the end of its file. A stop in this time goes into
                the same file, and makes it longer, up to three times.
            megabytes: kept in memory at most.
            most_files: of this recorder; the oldest is removed for one more.
            clock: seconds, steady.

        Raises:
            RecordingError: values that mean nothing, or a file that could not be written.
            MissingDependencyError: mcap is not installed.
        """
        if not (seconds >= 1.0 and after >= 0.0 and megabytes >= 1 and most_files >= 1):
            raise RecordingError(
                f"record_seconds {seconds:g}, record_after {after:g}, record_megabytes "
                f"{megabytes}, record_files {most_files}: at least 1, 0, 1 and 1 are right"
            )
        self._target = check_path(path, megabytes * _MEGABYTE)
        self._after, self._most_files = after, most_files
        self._clock = clock
        self._scene: SceneSource | None = None
        self._scene_at_stop: Any = None
        self._ring = MessageRing(
            seconds + _LONGEST * after, megabytes * _MEGABYTE, clock, self._held
        )
        # Large messages that come often, such as point clouds, have a quarter of the room.
        self._most_often = 0.25 * megabytes * _MEGABYTE
        self._rate = self._most_often / (seconds + _LONGEST * after)
        self._credit, self._credited = 0.5 * self._most_often, clock()
        self._thinned = 0
        self._channels: list[Channel] = []
        self._stops: list[dict[str, str]] = []  # of the file to come
        self._first = self._due = 0.0
        self._thread: threading.Thread | None = None
        self._results: list[tuple[str, str]] = []  # path or "", error; from the thread
        self._failure = ""
        self.files: list[Path] = []

    def channel(self, channel: Channel) -> int:
        """Its number."""
        self._channels.append(channel)
        return len(self._channels) - 1

    def add(self, number: int, data: bytes) -> None:
        """Keep a serialized message (CDR) of a channel."""
        self._ring.add(number, time.time_ns(), data, self._channels[number].latched)

    def add_if_affordable(self, number: int, data: bytes) -> None:
        """Keep a message unless many large ones of this kind have been kept of late."""
        now = self._clock()
        self._credit += self._rate * (now - self._credited)
        self._credit, self._credited = min(self._credit, 0.5 * self._most_often), now
        if self._credit <= 0.0:
            self._thinned += 1
            return
        self._credit -= len(data)
        self.add(number, data)

    def follow(self, scene: SceneSource | None) -> None:
        """Put what a scene holds at the beginning of each file from now on."""
        self._scene = scene

    def _held(self) -> tuple[Any, int]:
        return (None, 0) if self._scene is None else self._scene.held()

    def stopped(self, reason: str) -> None:
        """A stop begins; its file is written some seconds later."""
        now = self._clock()
        if not self._stops:
            self._first = now
            self._scene_at_stop = None if self._scene is None else self._scene.at_stop()
        # Stop upon stop, the ring would lose what was before the first one: it ends before that.
        self._due = min(now + self._after, self._first + _LONGEST * self._after)
        self._stops.append({"unix_time": f"{time.time():.6f}", "reason": reason})

    def update(self) -> tuple[str, str] | None:
        """Begin to write what is due, and tell once what became of a file: (path, error)."""
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
        """What it is doing, for people."""
        if self._failure:
            return f"FAILED: {self._failure}"
        if self._is_writing():
            return f"writing {self._target.name}"
        if self._stops:
            return f"a stop, written in {max(self._due - self._clock(), 0.0):.0f} s"
        written = f", last {self.files[-1]}" if self.files else ""
        return (
            f"{self._ring.seconds:.0f} s in {self._ring.bytes / _MEGABYTE:.1f} MB; "
            f"{len(self.files)} files{written}"
        )

    def close(self, seconds: float = 20.0) -> tuple[str, str] | None:
        """Write what is still to be written now; as `update`. The writer outlives this process."""
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

    # -- writing ---------------------------------------------------------------------

    def _is_writing(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _begin(self) -> None:
        segments = self._ring.segments()
        # What was said before and held then, as if said when the recording begins.
        start = HEAD.unpack_from(segments[0])[0] if segments else time.time_ns()
        latched = _packed(start, self._ring.before.items())
        head = {
            "path": str(self._target),
            "channels": [asdict(channel) for channel in self._channels],
            "metadata": {
                "stops": json.dumps(self._stops),
                "messages_left_out": str(self._ring.left_out),
                "clouds_left_out": str(self._thinned),
            },
        }
        self._stops = []
        scene = self._scene, *self._ring.scene, self._scene_at_stop, start
        self._thread = threading.Thread(
            target=self._write, args=(head, latched, segments, scene), name="recording", daemon=True
        )
        self._thread.start()

    def _write(
        self, head: dict[str, Any], latched: bytes, segments: list[bytearray], scene: tuple
    ) -> None:
        """In a thread, which does next to nothing but wait for the writer."""
        try:
            source, held, since, at_stop, start = scene
            if source is not None:
                if at_stop is not None:
                    # Piece by piece, so that joint states do not wait for the whole of it.
                    pieces = json.JSONEncoder().iterencode(source.described(at_stop))
                    head["metadata"]["scene_at_stop"] = "".join(pieces)
                if held is not None:
                    latched += _packed(start, source.messages(held, since))
            text = json.dumps(head).encode()
            parts = [struct.pack("<Q", len(text)), text, latched, *segments]
            self._results.append(_written(parts))
        except Exception as error:  # a thread that dies would report nothing
            self._results.append(("", f"{type(error).__name__}: {error}"))

    def _remove_oldest(self) -> None:
        while len(self.files) > self._most_files:
            oldest = self.files.pop(0)
            try:
                oldest.unlink(missing_ok=True)
            except OSError as error:
                self._failure = f"{oldest}: cannot be removed: {error.strerror or error}"


def _packed(nanoseconds: int, messages: Iterable[tuple[int, bytes]]) -> bytes:
    """(channel, message) of one time as a ring holds them."""
    return b"".join(
        HEAD.pack(nanoseconds, number, len(data)) + data for number, data in messages
    )


def _written(parts: list[bytes | bytearray]) -> tuple[str, str]:
    """(path, "") of the file that the writer made of this, or ("", error)."""
    # A session of its own: Ctrl-C at the monitor is not meant for its writer.
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
                parts[k] = b""  # handed over: the ring may have dropped it already
    except BrokenPipeError:
        pass  # the writer says why
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
        return "", f"the writer ended with code {process.returncode} and said nothing"
    return answer.get("path", ""), answer.get("error", "")
