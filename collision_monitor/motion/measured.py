# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What joints did, from the joint states of a bag: positions, velocities and torques over time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from collision_monitor.errors import MotionError
from collision_monitor.motion.bags import STATES, Unneeded, message_times, read_topics, recorded
from collision_monitor.motion.trajectory import NANO
from collision_monitor.robot.angles import whole_turns

POSITIONS, VELOCITIES, TORQUES = "positions", "velocities", "torques"


@dataclass(frozen=True, eq=False)
class MeasuredMotion:
    """A recorded motion, to be compared with its command.

    Attributes:
        source: name of the bag.
        samples: times (n,), seconds since the command began, and values (n,), by joint and
            quantity: radians or metres, their rates, N m or N.
        turning: continuous joints.
    """

    source: str
    samples: Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray]]
    turning: frozenset[str] = frozenset()

    def at(self, joint: str, quantity: str, times: np.ndarray) -> np.ndarray:
        """Values at ``times`` (n,), linear between samples, NaN where nothing was recorded."""
        known, values = self.samples.get((joint, quantity), (np.zeros(1), np.full(1, np.nan)))
        return np.interp(times, known, values, left=np.nan, right=np.nan)

    def beside(
        self, joint_names: Sequence[str], times: np.ndarray, positions: np.ndarray
    ) -> MeasuredMotion:
        """The recording with continuous joints moved by whole turns to lie beside their command.

        ``positions`` (n, joints) of the command at ``times`` (n,).
        """
        samples = dict(self.samples)
        for joint, commanded in zip(joint_names, positions.T, strict=True):
            off = commanded - self.at(joint, POSITIONS, times)
            if joint in self.turning and np.isfinite(off).any():
                known, values = samples[joint, POSITIONS]
                turns = whole_turns(0.0, np.nanmedian(off), True)
                samples[joint, POSITIONS] = known, values + turns
        return replace(self, samples=samples)


def read_measured(
    path: Path,
    begin: float = 0.0,
    topics: Sequence[str] = (),
    stamps: str = "header",
    turning: Collection[str] = (),
    unneeded: Unneeded = lambda joint: False,
) -> MeasuredMotion:
    """Read the joint states of a bag.

    Velocities that are not in the messages are those of the positions. Torques are the efforts.

    Args:
        path: a folder or a file.
        begin: the command began this many seconds after the first joint state.
        topics: of joint states; by default the only one.
        stamps: ``header`` or ``receive``, the time of messages to use.
        turning: continuous joints, whose positions may jump by a full turn.
        unneeded: see `bags.read_topics`.

    Raises:
        MotionError: as `bags.read_topics` and `bags.recorded`; or a topic has no joint states.
        MissingDependencyError: rosbags is not installed.
    """
    samples: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = {}
    read = read_topics(path, topics, unneeded)
    for topic in read:
        if topic.kind != STATES:
            raise MotionError(f"{path}: topic {topic.name!r} has no joint states to compare with")
    motions = [recorded(topic, stamps, str(path), turning) for topic in read]
    zero = min(start for _, start, _ in motions) + round(begin * NANO)
    for topic, (polynomials, start, _) in zip(read, motions, strict=True):
        for joint, polynomial in polynomials:
            times = polynomial.x + (start - zero) / NANO
            values = polynomial(polynomial.x)[:, 0]
            samples[joint, POSITIONS] = times, values
            if len(times) > 1:
                samples[joint, VELOCITIES] = times, np.gradient(values, times)
        for names in {message.names: None for message in topic.messages}:
            group = [message for message in topic.messages if message.names == names]
            times = (message_times(group, stamps, str(path)) - zero) / NANO
            for quantity in (VELOCITIES, TORQUES):
                given = [getattr(message, quantity) for message in group]
                if all(len(row) == len(names) for row in given):
                    for joint, column in zip(names, np.array(given).T, strict=True):
                        known = np.isfinite(column)
                        if known.any():
                            samples[joint, quantity] = times[known], column[known]
    return MeasuredMotion(path.name, samples, frozenset(turning))
