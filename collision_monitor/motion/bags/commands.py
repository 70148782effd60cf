# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recorded JointTrajectory messages as the motion that a controller makes of them.

As the joint_trajectory_controller of ros2_control does it: a message replaces what is under way as
soon as it comes in. From where the joints are then, with their rates, it goes to the first point
that lies ahead, and on from there by the splines of `Trajectory.through`.
"""

from __future__ import annotations

import bisect

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.errors import MotionError
from collision_monitor.motion import hermite
from collision_monitor.motion.bags.bags import CommandMessage, Topic
from collision_monitor.motion.trajectory import Trajectory

_NANO = 1e9
_FAR = 3600.0  # seconds between stamp and recording that are two clocks
_SAME = 1e-6  # rad or m that are no jump
_JUMP = 1e-3  # rad or m that a new message may be off the old one in silence
_STEP = 0.01  # seconds in which a jump is made
_ORDER = 6
_NOW = 1e-6  # seconds from now that are not ahead


class _Course:
    """Pieces of polynomials, one after the other, that are cut off where others take over."""

    def __init__(self, first: PPoly) -> None:
        self.breaks = [float(first.x[0])]
        self._pieces: list[np.ndarray] = []  # (_ORDER, columns) each
        self.add(first)

    @property
    def polynomial(self) -> PPoly:
        """All pieces."""
        return PPoly(np.array(self._pieces).transpose(1, 0, 2), np.array(self.breaks))

    def add(self, polynomial: PPoly) -> None:
        """Go on with ``polynomial``, which begins at the end."""
        self._pieces += list(hermite.raised(polynomial.c, _ORDER).transpose(1, 0, 2))
        self.breaks += polynomial.x[1:].tolist()

    def end(self, time: float) -> np.ndarray:
        """Positions, velocities, accelerations (3, columns) at ``time``, where it then ends.

        It rests from its end on; ``time`` is not before its beginning.
        """
        if time >= self.breaks[-1]:
            rest = np.zeros_like(self._pieces[-1])
            rest[-1] = _shifted(self._pieces[-1], self.breaks[-1] - self.breaks[-2])[-1]
            if time > self.breaks[-1]:
                self._pieces.append(rest)
                self.breaks.append(time)
            return rest[-1:-4:-1]
        k = bisect.bisect_right(self.breaks, time) - 1
        inside = time > self.breaks[k]
        state = _shifted(self._pieces[k], time - self.breaks[k])[-1:-4:-1]
        del self._pieces[k + inside :]
        self.breaks[k + 1 :] = [time] * inside
        return state * [[1.0], [1.0], [2.0]]


def commanded(
    topic: Topic, stamps: str, where: str
) -> tuple[list[tuple[tuple[str, ...], PPoly]], int, list[str]]:
    """Motions by groups of joints, the nanoseconds at which their time is 0, and warnings.

    Joints that are always named together are a group.

    Args:
        topic: of joint trajectories.
        stamps: ``header``: a message starts at its stamp, or at once where that is 0;
            ``receive``: it starts when it was recorded.
        where: what messages begin with.

    Raises:
        MotionError: a stamp far from the time of recording.
    """
    where = f"{where}: {topic.name}"
    zero = min(message.received for message in topic.messages)
    groups: dict[tuple[int, ...], list[str]] = {}
    named: dict[str, list[int]] = {}
    for k, message in enumerate(topic.messages):
        for name in message.names:
            named.setdefault(name, []).append(k)
    for name, numbers in named.items():
        groups.setdefault(tuple(numbers), []).append(name)
    warnings = list(topic.warnings)
    if any(set(a) & set(b) for a in groups for b in groups if a != b):
        warnings.append(
            f"{where}: messages name different joints: those that one does not name are taken to "
            "go on as they were told before"
        )
    found = []
    for numbers, joints in groups.items():
        messages = [topic.messages[k] for k in numbers]
        course, more = _course(messages, joints, zero, stamps, where)
        found.append((tuple(joints), course))
        warnings += more
    return found, zero, warnings


def _course(
    messages: list[CommandMessage], joints: list[str], zero: int, stamps: str, where: str
) -> tuple[PPoly, list[str]]:
    course: _Course | None = None
    warnings, jumps = [], []
    for message in messages:
        now = (message.received - zero) / _NANO
        columns = [message.names.index(name) for name in joints]
        times = _starts(message, stamps, where, zero) + message.times / _NANO
        rows = message.rows[:, :, columns]
        if course is not None and now < course.breaks[0]:
            course = None
            warnings.append(
                f"{where}: a message is replaced by another before its first point: it is left out"
            )
        if course is None:
            if times[0] > now + _NOW:
                warnings.append(
                    f"{where}: the first point of {joints[0]!r} is at {times[0]:.3f} s: how the "
                    "robot gets there is not in the bag"
                )
            course = _Course(_splines(times, rows))
            continue
        state = course.end(now)
        if times[0] > now + _NOW:
            rows = np.concatenate([state[:, None], rows], axis=1)
            course.add(_splines(np.append(now, times), rows))
        else:
            jumps += _go_on(course, now, state[0], _splines(times, rows))
    if jumps:
        time, size, column = max(jumps, key=lambda jump: jump[1])
        warnings.append(
            f"{where}: {len(jumps)} messages begin where the joints are not: at {time:.3f} s "
            f"{joints[column]!r} is {size:.3g} off, which is made up in {_STEP} s"
        )
    assert course is not None, "there is a message at least"
    return course.polynomial, warnings


def _starts(message: CommandMessage, stamps: str, where: str, zero: int) -> float:
    """Seconds at which a message's own time is 0."""
    if stamps == "receive" or message.stamp == 0:
        return (message.received - zero) / _NANO
    if abs(message.stamp - message.received) > _FAR * _NANO:
        raise MotionError(
            f"{where}: the stamp of a message, {message.stamp / _NANO:.3f} s, is far from its "
            f"recording, {message.received / _NANO:.3f} s: two clocks; stamps='receive' "
            "(--stamps receive) goes by the time of recording"
        )
    return (message.stamp - zero) / _NANO


def _splines(times: np.ndarray, rows: np.ndarray) -> PPoly:
    names = [""] * rows.shape[2]
    polynomial = Trajectory.through(names, times, *rows).polynomial
    return PPoly(polynomial.c, polynomial.x + times[0])


def _go_on(
    course: _Course, now: float, positions: np.ndarray, new: PPoly
) -> list[tuple[float, float, int]]:
    """Change over to a message that has begun already; time, size and column of a jump."""
    end = float(new.x[-1])
    off = np.abs(new(min(now, end)) - positions)
    meet = now
    if off.max() > _SAME:
        meet = now + _STEP
        target = new(min(meet, end))
        ramp = hermite.linear(np.array([_STEP]), positions[None], target[None])
        course.add(PPoly(ramp, np.array([now, meet])))
    elif now >= end - _NOW:
        course.add(PPoly(positions[None, None], np.array([now, now + 1e-9])))
    if meet < end - _NOW:
        piece = int(np.searchsorted(new.x, meet, side="right")) - 1
        rest = PPoly(new.c[:, piece:].copy(), np.append(meet, new.x[piece + 1 :]))
        rest.c[:, 0] = _shifted(new.c[:, piece], meet - new.x[piece])
        course.add(rest)
    if off.max() <= _JUMP:
        return []
    return [(now, float(off.max()), int(off.argmax()))]


def _shifted(coefficients: np.ndarray, by: float) -> np.ndarray:
    """(order, columns) of the same polynomial, ``by`` seconds later."""
    out = coefficients.copy()
    for last in range(len(out) - 1, 0, -1):
        for k in range(1, last + 1):
            out[k] += out[k - 1] * by
    return out
