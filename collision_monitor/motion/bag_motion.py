# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A bag as one motion: joint states, or commands, of one topic or several.

Recorded states are linear between messages; partial ones are merged. Commands are followed as the
joint_trajectory_controller of ros2_control does it: a message replaces what is under way as soon as
it comes in. From where the joints are then, with their rates, it goes to the first point that lies
ahead, and on from there by the splines of `Trajectory.through`.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.common.text import shortened
from collision_monitor.errors import MotionError, TrajectoryError
from collision_monitor.motion.bags import STATES, CommandMessage, StateMessage, Topic, read_topics
from collision_monitor.motion.trajectory import Trajectory, hermite, joined, raised, shifted

_NANO = 1e9
_HELD = 0.1  # seconds at an end for which nothing is known of a joint that are not told
_SAME = 1e-9  # rad or m between values of one instant that are one
_GAP, _GAPS = 1.0, 10.0  # seconds, and usual periods, without a message that are told
_FAR = 3600.0  # seconds between stamp and recording that are two clocks
_STILL = 1e-6  # rad or m that are no jump
_JUMP = 1e-3  # rad or m that a new message may be off the old one in silence
_STEP = 0.01  # seconds in which a jump is made
_ORDER = 6
_NOW = 1e-6  # seconds from now that are not ahead


def read_bag(
    path: Path, names: Sequence[str], stamps: str, turning: Collection[str] = ()
) -> tuple[Trajectory, str, list[str]]:
    """A motion from 0 s, what it was read from, and warnings.

    Args:
        path: a folder or a file.
        names: of topics; without any the only one that will do.
        stamps: ``header`` or ``receive``, the time of the messages that counts.
        turning: continuous joints.

    Raises:
        MotionError: the message begins with the path; see `read_topics`, `recorded`,
            `commanded`; a joint in two topics.
    """
    topics = read_topics(path, names)
    where = str(path)
    motions, zeros, warnings = [], [], []
    for topic in topics:
        try:
            if topic.kind == STATES:
                found, zero, more = recorded(topic, stamps, where, turning)
            else:
                found, zero, more = commanded(topic, stamps, where)
        except TrajectoryError as error:
            raise MotionError(f"{path}: {topic.name}: {error}") from None
        motions += [(joints, polynomial, zero) for joints, polynomial in found]
        zeros.append(zero)
        warnings += more
    zeroed = [
        (joints, PPoly(polynomial.c, polynomial.x + (zero - min(zeros)) / _NANO))
        for joints, polynomial, zero in motions
        if joints
    ]
    if not zeroed:
        raise MotionError(f"{path}: the messages name no joint")
    whole = joined([polynomial for _, polynomial in zeroed])
    for joints, polynomial in zeroed:
        late, early = polynomial.x[0] - whole.x[0], whole.x[-1] - polynomial.x[-1]
        for seconds, end in ((late, "first"), (early, "last")):
            if seconds > _HELD:
                warnings.append(
                    f"{path}: nothing is known of {shortened(joints)} in the {end} "
                    f"{seconds:.3g} s: held"
                )
    trajectory = Trajectory(
        tuple(name for joints, _ in zeroed for name in joints),
        PPoly(whole.c, whole.x - whole.x[0]),
    )
    if not np.isfinite(whole.c).all():
        raise MotionError(f"{path}: positions too large, or too near in time, to be computed with")
    said = "; ".join(f"{topic.name}, {len(topic.messages)} messages" for topic in topics)
    return trajectory, f"{path.name} (bag: {said})", warnings


def recorded(
    topic: Topic, stamps: str, where: str, turning: Collection[str] = ()
) -> tuple[list[tuple[tuple[str, ...], PPoly]], int, list[str]]:
    """Motions by groups of joints, the nanoseconds at which their time is 0, and warnings.

    Joints that always come together are a group. One joint may come in messages with different
    others: they are put in order of time.

    Args:
        topic: of joint states.
        stamps: ``header`` or ``receive``, the time that counts.
        where: what messages begin with.
        turning: continuous joints, whose positions may jump by a full turn.

    Raises:
        MotionError: stamps that are not set, or do not increase; two positions at one time.
    """
    where = f"{where}: {topic.name}"
    messages: dict[tuple[str, ...], list[StateMessage]] = {}
    for message in topic.messages:
        messages.setdefault(message.names, []).append(message)
    times = {names: _times(group, stamps, where) for names, group in messages.items()}
    values = {
        names: np.array([message.positions for message in group])
        for names, group in messages.items()
    }
    sources: dict[str, list[tuple[str, ...]]] = {}
    for names in messages:
        for name in names:
            sources.setdefault(name, []).append(names)
    groups: dict[tuple, list[str]] = {}
    for name, parts in sources.items():
        groups.setdefault(tuple(parts), []).append(name)
    zero = int(min(part[0] for part in times.values()))
    found, warnings = [], list(topic.warnings)
    for parts, joints in groups.items():
        at = np.concatenate([times[names] for names in parts])
        rows = np.concatenate(
            [values[names][:, [names.index(name) for name in joints]] for names in parts]
        )
        at, rows = _ordered(at, rows, joints, where)
        warnings += _unwrap(rows, joints, turning, where)
        seconds = (at - zero) / _NANO
        warnings += _gaps(seconds, joints, where)
        found.append((tuple(joints), _linear(seconds, rows)))
    return found, zero, warnings


def _times(group: list[StateMessage], stamps: str, where: str) -> np.ndarray:
    """(n,) nanoseconds of messages that name the same joints, in the order of recording."""
    if stamps == "receive":
        return np.array([message.received for message in group], dtype=np.int64)
    times = np.array([message.stamp for message in group], dtype=np.int64)
    first = f"{group[0].names[0]!r}" if group[0].names else "no joint"
    unset = int((times == 0).sum())
    if unset:
        raise MotionError(
            f"{where}: {unset} of {len(times)} messages with {first} have no stamp in their "
            "header; stamps='receive' (--stamps receive) goes by the time of recording"
        )
    late = np.flatnonzero(np.diff(times) < 0)
    if len(late):
        k = int(late[0])
        raise MotionError(
            f"{where}: stamps do not increase: {times[k + 1] / _NANO:.6f} s after "
            f"{times[k] / _NANO:.6f} s in messages {k + 1} and {k + 2} of those with {first}; "
            "stamps='receive' (--stamps receive) goes by the time of recording"
        )
    return times


def _ordered(
    at: np.ndarray, rows: np.ndarray, joints: list[str], where: str
) -> tuple[np.ndarray, np.ndarray]:
    """In order of time, one row an instant."""
    order = np.argsort(at, kind="stable")
    at, rows = at[order], rows[order]
    same = np.diff(at) == 0
    off = np.abs(np.diff(rows, axis=0))[same]
    if off.size and off.max() > _SAME:
        k, column = np.unravel_index(int(off.argmax()), off.shape)
        raise MotionError(
            f"{where}: two positions of {joints[column]!r} at one time, "
            f"{at[:-1][same][k] / _NANO:.6f} s, {off[k, column]:g} apart"
        )
    keep = np.concatenate([[True], ~same])
    return at[keep], rows[keep]


def _unwrap(
    rows: np.ndarray, joints: list[str], turning: Collection[str], where: str
) -> list[str]:
    """Take full turns out of jumps of continuous joints, in place."""
    warnings = []
    for column, name in enumerate(joints):
        if name not in turning:
            continue
        jumps = int((np.abs(np.diff(rows[:, column])) > np.pi).sum())
        if jumps:
            rows[:, column] = np.unwrap(rows[:, column])
            warnings.append(
                f"{where}: continuous joint {name!r} jumps by a full turn {jumps} times: it is "
                "taken to go the short way"
            )
    return warnings


def _gaps(seconds: np.ndarray, joints: list[str], where: str) -> list[str]:
    steps = np.diff(seconds)
    if not len(steps) or steps.max() <= max(_GAP, _GAPS * float(np.median(steps))):
        return []
    k = int(steps.argmax())
    return [
        f"{where}: nothing is recorded of {joints[0]!r} for {steps[k]:.3g} s from "
        f"{seconds[k]:.3f} s on: the motion goes straight there"
    ]


def _linear(seconds: np.ndarray, rows: np.ndarray) -> PPoly:
    if len(seconds) == 1:
        seconds, rows = np.array([seconds[0], seconds[0] + 1e-9]), rows.repeat(2, axis=0)
    return PPoly(hermite(np.diff(seconds), [rows[:-1]], [rows[1:]]), seconds)


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
        self._pieces += list(raised(polynomial.c, _ORDER).transpose(1, 0, 2))
        self.breaks += polynomial.x[1:].tolist()

    def end(self, time: float) -> np.ndarray:
        """Positions, velocities, accelerations (3, columns) at ``time``, where it then ends.

        It rests from its end on; ``time`` is not before its beginning.
        """
        if time >= self.breaks[-1]:
            rest = np.zeros_like(self._pieces[-1])
            rest[-1] = shifted(self._pieces[-1], self.breaks[-1] - self.breaks[-2])[-1]
            if time > self.breaks[-1]:
                self._pieces.append(rest)
                self.breaks.append(time)
            return rest[-1:-4:-1]
        k = bisect.bisect_right(self.breaks, time) - 1
        inside = time > self.breaks[k]
        state = shifted(self._pieces[k], time - self.breaks[k])[-1:-4:-1]
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
        for name in message.points.joint_names:
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
        columns = [message.points.joint_names.index(name) for name in joints]
        times = _starts(message, stamps, where, zero) + message.points.times
        rows = message.points.rows[:, :, columns]
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
    if off.max() > _STILL:
        meet = now + _STEP
        target = new(min(meet, end))
        ramp = hermite(np.array([_STEP]), [positions[None]], [target[None]])
        course.add(PPoly(ramp, np.array([now, meet])))
    elif now >= end - _NOW:
        course.add(PPoly(positions[None, None], np.array([now, now + 1e-9])))
    if meet < end - _NOW:
        piece = int(np.searchsorted(new.x, meet, side="right")) - 1
        rest = PPoly(new.c[:, piece:].copy(), np.append(meet, new.x[piece + 1 :]))
        rest.c[:, 0] = shifted(new.c[:, piece], meet - new.x[piece])
        course.add(rest)
    if off.max() <= _JUMP:
        return []
    return [(now, float(off.max()), int(off.argmax()))]
