# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A slider that both a browser and the program move."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_LEFT_ALONE = 0.5  # seconds behind the last move of a hand


class SharedSlider:
    """A slider of viser's that shows a value, and tells which ones a hand has chosen.

    What the program has sent may reach the browser behind a hand's move, and then the browser
    shows what nobody wants. So it keeps still while a hand moves, and says it again afterwards.
    """

    def __init__(
        self, handle: Any, step: float, moved: Callable[[float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """``moved``: called on a thread of the server; ``step``: less is no change."""
        self._handle = handle
        self._step = step
        self._clock = clock
        self._touched: float | None = None
        self._moved = moved
        handle.on_update(self._on_update)

    @property
    def value(self) -> float:
        """What it shows."""
        return float(self._handle.value)

    def _on_update(self, event: Any) -> None:
        if event.client is not None:  # not our own `show`
            self._touched = self._clock()
            self._moved(self.value)

    def show(self, value: float) -> None:
        """Show a value within its limits, unless a hand is at it."""
        if self._touched is not None:
            if self._clock() - self._touched < _LEFT_ALONE:
                return
            self._touched = None
            # viser does not send what it holds already.
            low, high = self._handle.min, self._handle.max
            self._handle.value = low if self.value != low else high
        elif abs(self.value - value) <= 0.5 * self._step:
            return
        self._handle.value = value
