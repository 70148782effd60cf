# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Desired points one after the other, each adjusted from the last one that was commanded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from collision_monitor.errors import TrajectoryError

ROUNDING = 1e-6  # rad or m off what was wanted that nobody calls adjusted


class Step(Protocol):
    """What adjusts one configuration: `streaming.Streamer`."""

    def reset(self, q: np.ndarray) -> None:
        """Begin at ``q`` (nq,)."""

    def step(
        self, q_desired: np.ndarray, dt: float
    ) -> tuple[np.ndarray, float, tuple[str, str] | None]:
        """Go on towards ``q_desired`` (nq,) for ``dt`` s: configuration, clearance, pair."""


class Streamed(NamedTuple):
    """What is commanded instead of a desired point.

    Attributes:
        positions: of every joint of the arms, radians or metres.
        clearance: least clearance there, metres; ``pair``: of which links.
        largest_change: how far a joint is from where it was wanted.
    """

    positions: dict[str, float]
    clearance: float
    pair: tuple[str, str] | None
    largest_change: float


class PointStream:
    """One stream of points. Times are seconds of one clock, whichever.

    A stream begins where the robot stands, with its first point, and is over when no
    point has come for ``timeout``.
    """

    def __init__(
        self,
        streamer: Step,
        joint_names: Sequence[str],
        arm_joints: Sequence[str],
        horizon: float = 1.0,
        timeout: float = 0.5,
    ) -> None:
        """``joint_names``: order of q; ``horizon``: how far ahead a point may lie, s."""
        self._streamer = streamer
        self._names = tuple(joint_names)
        self._columns = {name: self._names.index(name) for name in arm_joints}
        self.horizon = horizon
        self.timeout = timeout
        self._due: float | None = None  # when the last point commanded is to be reached
        self._last = -np.inf  # when it was commanded
        self.points = self.adjusted = self.late = 0

    def active(self, now: float) -> bool:
        """Whether a stream goes on."""
        return self._due is not None and now <= max(self._due, self._last) + self.timeout

    def end(self) -> None:
        """The next point begins a new stream."""
        self._due = None

    def step(
        self, target: Mapping[str, float], due: float, now: float, present: Mapping[str, float]
    ) -> Streamed:
        """What to command so that the arms come as near to ``target`` as they may by ``due``.

        Args:
            target: position of every joint of the arms.
            due: when the point is to be reached.
            now: the time.
            present: position of every joint of the robot; the arms' are used at the beginning.

        Raises:
            TrajectoryError: a point too far ahead, long past, or not after the one before.
        """
        ahead = due - now
        if ahead > self.horizon:
            raise TrajectoryError(
                f"is due {ahead:.3g} s ahead; stream_horizon allows {self.horizon:g} s"
            )
        if ahead < -self.timeout:
            raise TrajectoryError(f"was due {-ahead:.3g} s ago: too old to follow")
        going = self.active(now)
        dt = due - (self._due if going and self._due is not None else now)
        if dt <= 0.0:
            if going:
                raise TrajectoryError(
                    f"is due {abs(dt):.3g} s before the point that was commanded last"
                )
            raise TrajectoryError(
                f"was due {abs(dt):.3g} s before the stream began: points must come ahead of time"
            )
        wanted = np.array([present[name] for name in self._names])
        if not going:
            self._streamer.reset(wanted)
        for name, column in self._columns.items():
            wanted[column] = target[name]
        q, clearance, pair = self._streamer.step(wanted, dt)
        change = max(abs(float(q[column]) - target[name]) for name, column in self._columns.items())
        self._due, self._last = due, now
        self.points += 1
        self.adjusted += change > ROUNDING
        self.late += ahead <= 0.0
        positions = {name: float(q[column]) for name, column in self._columns.items()}
        return Streamed(positions, float(clearance), pair, change)
