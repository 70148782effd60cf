# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Positions of joint states that are doubted: zeros of a driver, and jumps there and back.

Some drivers send only zeros until they have read their encoders: at the start, and when they are
restarted. Joints that jump there and back have several publishers, which send conflicting
positions.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np

# -- zeros --

# Zeros of joints that were last known elsewhere must repeat this many times as long: a robot is
# hardly moved to exactly zero unseen, and drivers need up to three seconds to read their encoders.
_ELSEWHERE = 10.0


class ZeroConfirmation:
    """Which joints are at zeros that are doubted and have not repeated long enough.

    At the start all joints are doubted, later those that were lost. Positions other than zeros end
    the doubt.

    Attributes:
        seconds: for which zeros must repeat.
    """

    def __init__(self, joints: int, seconds: float) -> None:
        """``joints``: their number."""
        self.seconds = seconds
        self._doubted = np.ones(joints, dtype=bool)
        self._since = np.full(joints, np.nan)  # NaN where no zero waits
        self._needed = np.zeros(joints)

    @property
    def waiting(self) -> np.ndarray:
        """(joints,) whether the position is a zero that is not accepted."""
        return np.isfinite(self._since)

    @property
    def longest(self) -> float:
        """Seconds for which the zeros that wait must repeat."""
        return float(self._needed[self.waiting].max(initial=0.0))

    def by_joint(self) -> tuple[np.ndarray, ...]:
        """All arrays with one entry for each joint."""
        return self._doubted, self._since, self._needed

    def doubt(self, joints: np.ndarray, now: float) -> None:
        """Doubt zeros of ``joints`` (bool, (joints,)); for those that wait, time begins again."""
        self._doubted |= joints
        self._since[joints & self.waiting] = now

    def update(self, joints: np.ndarray, zeros: bool, elsewhere: bool, now: float) -> None:
        """Report new positions of ``joints``, indices.

        Args:
            joints: those of the message.
            zeros: whether all its positions are zero.
            elsewhere: whether one of them was known at another position before.
            now: time of the steady clock.
        """
        if not zeros:
            self._since[joints] = np.nan
            self._doubted[joints] = False
            return
        is_new = np.isnan(self._since[joints])
        self._since[joints[is_new]] = now
        self._needed[joints[is_new]] = self.seconds * (_ELSEWHERE if elsewhere else 1.0)
        accepted = now - self._since[joints] >= self._needed[joints]
        accepted |= ~self._doubted[joints]
        self._since[joints[accepted]] = np.nan
        self._doubted[joints[accepted]] = False


# -- jumps --

# A joint jumps if it moves by more than this many times its velocity limit (at most _FASTEST)
# allows, and by more than the slack: limits in URDFs are exceeded a little, and messages arrive
# irregularly.
_FACTOR, _FASTEST, SLACK = 1.5, 20.0, 0.02
# A jump is a step that differs from the one before it by more than this share of itself. Steps of a
# fast robot in messages that arrive all at once resemble each other.
_CHANGE = 0.5
# A joint is back if the step before was as long, but for this share of it. All joints that jump are
# back if each is as near to a position that was left earlier, and as it can have moved since.
_BACK = 0.25
# The conflict of as many publishers is found, since each of them is left once in a round.
_PUBLISHERS = 4
# A fault of an encoder may jump once; a publisher that sends at less than 1 Hz is stale by itself.
_RETURNS, _SECONDS = 3, 2.0


class ConflictWatch:
    """Compares new positions with those that were left by a jump.

    Attributes:
        until: until when the conflict that was found counts, seconds; -inf without one.
    """

    def __init__(
        self, joint_names: Sequence[str], velocity_limits: Sequence[float] | np.ndarray
    ) -> None:
        """Start without a jump.

        Args:
            joint_names: the joints of q, in its order.
            velocity_limits: (nq,) rad/s or m/s; may be infinite.
        """
        self._names = joint_names
        self._speed = np.minimum(velocity_limits, _FASTEST)
        self._left: deque[tuple[float, np.ndarray]] = deque(maxlen=_PUBLISHERS)
        self._returns, self._returned = 0, -math.inf
        self._text = ""
        self.until = -math.inf

    def is_impossible(
        self, step: np.ndarray, joints: np.ndarray, seconds: np.ndarray | float
    ) -> np.ndarray:
        """Whether steps (k,) of these joints (indices into q) in so many seconds are impossible."""
        return np.abs(step) > _FACTOR * self._speed[joints] * seconds + SLACK

    def update(
        self,
        q: np.ndarray,
        steps: tuple[np.ndarray, np.ndarray],
        joints: np.ndarray,
        seconds: np.ndarray,
        now: float,
    ) -> None:
        """Report new positions.

        Args:
            q: (nq,) positions before.
            steps: by how much the joints (indices into q) move now, (k,), and moved before.
            joints: those of the message.
            seconds: (k,) for which they had the positions before; inf for the first position.
            now: time of the steady clock.
        """
        step, before = steps
        jumps = self.is_impossible(step, joints, seconds)
        if not jumps.any():
            return
        jumps &= np.abs(step - before) > _CHANGE * np.abs(step)
        step, before, joints = step[jumps], before[jumps], joints[jumps]
        if not len(joints):
            return
        to = q[joints] + step
        is_back = (np.abs(step + before) < _BACK * np.abs(step)).any()  # one joint is enough
        if is_back or any(self._is_back(to, step, joints, each, now) for each in self._left):
            is_soon = now - self._returned < _SECONDS
            self._returns, self._returned = self._returns + 1 if is_soon else 1, now
            self.until = now + _SECONDS if self._returns >= _RETURNS else -math.inf
            k = int(np.abs(step).argmax())
            low, high = sorted((to[k] - step[k], to[k]))
            self._text = (
                f"joint '{self._names[joints[k]]}' jumps between {low:.4g} and {high:.4g}: two "
                "publishers send conflicting positions"
            )
        self._left.append((now, q.copy()))

    def _is_back(
        self,
        to: np.ndarray,
        step: np.ndarray,
        joints: np.ndarray,
        left: tuple[float, np.ndarray],
        now: float,
    ) -> bool:
        time, q = left
        away = to - q[joints]
        return now - time < _SECONDS and not (
            (np.abs(away) > _BACK * np.abs(step)).any()
            or self.is_impossible(away, joints, now - time).any()
        )

    def text(self, now: float) -> str:
        """Which joint has conflicting positions, as a message; empty if there is none."""
        return self._text if now < self.until else ""
