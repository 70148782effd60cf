# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The messages of the last minutes, in no more than so many bytes."""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

# Before each message: nanoseconds of recording, channel, bytes that follow. As in write_mcap.py.
HEAD = struct.Struct("<qHI")
_SEGMENT = 1 << 18  # bytes that are dropped at once


class _Segment(NamedTuple):
    since: float  # seconds of the clock
    until: float
    messages: bytearray
    last: dict[int, bytes]  # of each latched channel
    scene: Any  # as it was when the first message came
    scene_bytes: int


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

        ``scene`` gives what holds now and is told by changes alone, and about how many bytes more
        of memory it takes to remember that.
        """
        self._seconds, self._most, self._clock, self._ask = seconds, most_bytes, clock, scene
        self._size = min(_SEGMENT, max(most_bytes // 8, 1))
        self._closed: deque[_Segment] = deque()
        self._closed_bytes = 0
        self._open, self._last, self._since = bytearray(), {}, clock()
        self._scene, self._scene_bytes = None, 0
        self.left_out = 0
        self.before: dict[int, bytes] = {}

    def add(self, channel: int, nanoseconds: int, data: bytes, latched: bool = False) -> None:
        """Take in a message that was recorded at this time."""
        now, space = self._clock(), HEAD.size + len(data)
        if space > self._most // 2:
            self.left_out += 1
            return
        if len(self._open) + space > self._size:
            self._turn(now)
        if not self._open:
            self._scene, self._scene_bytes = self._ask()
        self._open += HEAD.pack(nanoseconds, channel, len(data))
        self._open += data
        if latched:
            self._last[channel] = data
        closed = self._closed
        while closed and (now - closed[0].until > self._seconds or self.bytes > self._most):
            oldest = closed.popleft()
            self._closed_bytes -= len(oldest.messages) + oldest.scene_bytes
            self.before.update(oldest.last)

    def _turn(self, now: float) -> None:
        if self._open:
            self._closed.append(
                _Segment(self._since, now, self._open, self._last, self._scene, self._scene_bytes)
            )
            self._closed_bytes += len(self._open) + self._scene_bytes
        self._open, self._last, self._since = bytearray(), {}, now
        self._scene, self._scene_bytes = None, 0

    @property
    def bytes(self) -> int:
        """How much is held."""
        return self._closed_bytes + len(self._open) + self._scene_bytes

    @property
    def scene(self) -> tuple[Any, float]:
        """What held when the oldest message that is held came, and seconds of the clock then."""
        if self._closed:
            return self._closed[0].scene, self._closed[0].since
        return self._scene, self._since

    @property
    def seconds(self) -> float:
        """How far back it reaches."""
        return self._clock() - (self._closed[0].since if self._closed else self._since)

    def segments(self) -> list[bytearray]:
        """What is held now; nobody changes these any more."""
        self._turn(self._clock())
        return [segment.messages for segment in self._closed]
