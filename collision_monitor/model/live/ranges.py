# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Who has which part of an array: ranges of a power of two, given back when they are free."""

from __future__ import annotations


def rounded(count: int) -> int:
    """The least power of two that is no less than ``count``."""
    return 1 << max(count - 1, 0).bit_length()


class Ranges:
    """Ranges of ``size`` places."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.clear()

    def clear(self) -> None:
        """Everything is free."""
        self._end = 0
        self._free: dict[int, list[int]] = {}

    def take(self, count: int) -> int:
        """The first of ``count`` places in a row, or -1 where no such range is free."""
        size = rounded(count)
        if free := self._free.get(size):
            return free.pop()
        if self._end + size > self.size:
            return -1
        first = self._end
        self._end += size
        return first

    def give_back(self, first: int, count: int) -> None:
        """Free what `take` gave for the same ``count``."""
        self._free.setdefault(rounded(count), []).append(first)
