# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Markers that wait to be applied to the scene: the latest of each object, a few at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from visualization_msgs.msg import Marker


class PendingMarkers:
    """The latest state of each object on ``~/scene`` that is not applied yet, oldest first.

    Many markers take longer than joint states may wait. So a message is applied in parts, and
    several of them count as one. Objects that are deleted stay until all that are added or changed
    are there: a message that deletes all and adds them again never leaves them out in between.
    """

    def __init__(self) -> None:
        """Start without any."""
        self._changed: dict[str, tuple[float, Marker]] = {}  # received when first, the latest
        self._deleted: dict[str, float] = {}
        self._is_partial = False

    def __len__(self) -> int:
        """Number of objects."""
        return len(self._changed) + len(self._deleted)

    def change(self, name: str, marker: Marker, now: float) -> None:
        """Add or change an object. Times are seconds of a steady clock."""
        since = self._deleted.pop(name, now)
        since, _ = self._changed.get(name, (since, marker))
        self._changed[name] = since, marker

    def delete(self, names: Iterable[str], now: float) -> None:
        """Delete objects."""
        for name in names:
            since, _ = self._changed.pop(name, (now, None))
            self._deleted.setdefault(name, since)

    def names(self) -> list[str]:
        """Names of the objects that are to be added or changed."""
        return list(self._changed)

    def waited(self, now: float) -> float:
        """How long the oldest one has waited, seconds; 0 without any."""
        first = next(iter(self._changed.values()), (math.inf,))[0]
        return max(0.0, now - min(first, next(iter(self._deleted.values()), math.inf)))

    @property
    def is_partial(self) -> bool:
        """Whether objects were deleted before those that replace them were added."""
        return self._is_partial and bool(self._changed)

    def apply_one(
        self,
        has_room: Callable[[str], bool],
        change: Callable[[Marker], None],
        delete: Callable[[str], None],
    ) -> None:
        """Apply the next one; ``has_room`` tells whether an object can be added now."""
        if self._changed:
            name = next(iter(self._changed))
            if not self._deleted or has_room(name):
                _, marker = self._changed.pop(name)
                change(marker)
                return
        self._is_partial = bool(self._changed)
        name = next(iter(self._deleted))
        del self._deleted[name]
        delete(name)
