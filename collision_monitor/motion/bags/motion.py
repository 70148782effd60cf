# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The motion of all joints that topics of a bag tell of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.errors import MotionError, TrajectoryError
from collision_monitor.motion.bags.bags import STATES, read_topics
from collision_monitor.motion.bags.commands import commanded
from collision_monitor.motion.bags.states import recorded
from collision_monitor.motion.hermite import joined
from collision_monitor.motion.trajectory import Trajectory

_NANO = 1e9
_HELD = 0.1  # seconds at an end for which nothing is known of a joint that are not told


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
        MotionError: the message begins with the path; see `bags.read_topics`,
            `bag_states.recorded`, `bag_commands.commanded`; a joint in two topics.
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
                    f"{path}: nothing is known of {', '.join(joints[:5])} in the {end} "
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
