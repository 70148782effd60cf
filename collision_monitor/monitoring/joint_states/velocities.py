# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint velocities: those of the driver where they agree with the positions, else estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collision_monitor.monitoring.joint_states.joint_speeds import joint_speeds

_ROWS = 24


class JointSpeeds:
    """Velocities of all joints of q, from one joint state to the next.

    Attributes:
        passed: seconds between the last two joint states; inf before.
        values: (nq,) rad/s or m/s; 0 where they are not known.
        known: whether they are: not before two joint states, nor after a gap.
    """

    def __init__(self, count: int, window: float = 0.05) -> None:
        """``count`` joints; ``window``: seconds of joint states that an estimate is made of."""
        self.window = window
        self.values = np.zeros(count)
        self.known = False
        self._times = np.zeros(_ROWS)
        self._history = np.zeros((_ROWS, count))
        self._place = np.zeros(2, dtype=np.int64)
        self._time, self._now = 0.0, 0.0
        self.passed = np.inf

    def update(
        self,
        q: np.ndarray,
        given: np.ndarray,
        now: float,
        stamp: float = 0.0,
        touched: Sequence[int] = (0,),
    ) -> None:
        """Take in positions q (nq,) and what the driver ``given`` (nq,), NaN for nothing.

        Times are those of the stamps, so that neither jitter nor simulated time matters; a joint
        state without one is as much later than the last as it came later.
        """
        before = self._time
        self._time = stamp if stamp > 0.0 else self._time + now - self._now
        self._now = now
        self.passed = max(0.0, self._time - before)
        self.known = joint_speeds(
            self._times, self._history, self._place, q, self._time, self.window, given, self.values
        )


class SpeedsOfSeveral:
    """As `JointSpeeds`, of several robots whose joint states come each in its own time.

    A position of one says nothing about when those of the others were measured: put into one
    history they would be stairs, and a robot that is heard seldom would seem to stand.
    """

    def __init__(self, robots: Sequence[np.ndarray], window: float = 0.05) -> None:
        """``robots``: where the joints of each stand in q, all in all each once."""
        self.values = np.zeros(sum(map(len, robots)))
        self.known = False
        self.passed = np.inf
        self._robots = [np.asarray(places) for places in robots]
        self._parts = [JointSpeeds(len(places), window) for places in self._robots]
        # A robot without joints has no joint states.
        self._clock = next((k for k, places in enumerate(self._robots) if len(places)), 0)

    @property
    def window(self) -> float:
        """Seconds of joint states that an estimate is made of."""
        return self._parts[0].window

    @window.setter
    def window(self, seconds: float) -> None:
        for part in self._parts:
            part.window = seconds

    def update(
        self,
        q: np.ndarray,
        given: np.ndarray,
        now: float,
        stamp: float = 0.0,
        touched: Sequence[int] | None = None,
    ) -> None:
        """As `JointSpeeds.update`; ``touched``: whose joint state it is, all without it.

        Time passes by the joint states of one robot: seconds are not to count twice.
        """
        self.passed = 0.0
        for k in range(len(self._parts)) if touched is None else touched:
            part, places = self._parts[k], self._robots[k]
            part.update(q[places], given[places], now, stamp)
            self.values[places] = part.values
            if k == self._clock:
                self.passed = part.passed
        self.known = all(
            part.known for part, places in zip(self._parts, self._robots, strict=True)
            if len(places)
        )  # fmt: skip
