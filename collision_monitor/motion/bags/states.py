# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recorded joint states as a motion: linear between messages, partial ones merged."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.errors import MotionError
from collision_monitor.motion import hermite
from collision_monitor.motion.bags.bags import StateMessage, Topic

_NANO = 1e9
_SAME = 1e-9  # rad or m between values of one instant that are one
_GAP, _GAPS = 1.0, 10.0  # seconds, and usual periods, without a message that are told


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
    return PPoly(hermite.linear(np.diff(seconds), rows[:-1], rows[1:]), seconds)
