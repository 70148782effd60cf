# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recent joint positions, for sensor data that arrives with a delay."""

from __future__ import annotations

import numpy as np

_ROWS = 2048  # two seconds at 1 kHz
_SET_BACK = 1.0  # seconds: stamps that go back so far are of another clock, others come late


class JointHistory:
    """Positions of the last joint states by their stamps."""

    def __init__(self, joints: int) -> None:
        """``joints``: how many. Nothing is known yet."""
        self._times = np.zeros(_ROWS)
        self._rows = np.zeros((_ROWS, joints))
        self.forget()

    def forget(self) -> None:
        """Know nothing."""
        self._times.fill(-np.inf)
        self._next, self._newest = 0, -np.inf

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return not np.isfinite(self._newest)

    def add(self, stamp: float, q: np.ndarray) -> None:
        """Positions (joints,), NaN where they are not known, measured at ``stamp``, seconds."""
        if stamp <= self._newest:
            if stamp > self._newest - _SET_BACK:
                return
            self.forget()
        place = self._next
        self._times[place], self._rows[place] = stamp, q
        self._newest, self._next = stamp, (place + 1) % _ROWS

    def at(self, stamp: float) -> np.ndarray | None:
        """Positions (joints,) at ``stamp``, between two joint states on the line between them.

        The newest where nothing newer has come; None where that long ago is not known.
        """
        times, rows = (np.roll(each, -self._next, axis=0) for each in (self._times, self._rows))
        after = int(np.searchsorted(times, stamp))
        if after == _ROWS:
            found = rows[-1] if np.isfinite(times[-1]) else None
        elif times[after] == stamp:
            found = rows[after]
        elif after == 0 or not np.isfinite(times[after - 1]):
            found = None
        else:
            share = (stamp - times[after - 1]) / (times[after] - times[after - 1])
            found = (1.0 - share) * rows[after - 1] + share * rows[after]
        return None if found is None or np.isnan(found).any() else found
