# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that recordings show nearer than their stop distance.

A robot was where its recording says, without harm. What the model calls a contact or a stop there
is an artefact of its meshes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.motion import Motion

_SAME = 0.01  # rad or m: a pose nearer than this to the last one measured shows nothing new
_APART = 0.1  # rad or m: poses are measured between waypoints that are farther apart


class Seen(NamedTuple):
    """The nearest that a pair was seen.

    Attributes:
        distance: metres; 0 or less in contact.
        time: seconds of the motion.
        file: name of its file.
    """

    distance: float
    time: float
    file: str

    @property
    def reason(self) -> str:
        """For a file of thresholds."""
        where = f"at t = {self.time:.3f} s in {self.file}"
        if not self.distance > 0.0:
            return f"meshes meet {where}"
        # To the micrometre, as the distances of rules are written.
        return f"seen at {np.format_float_positional(self.distance, 6, trim='-')} m {where}"


def seen_near(
    model: CollisionModel,
    motions: Sequence[tuple[Path, Motion]],
    rest: np.ndarray,
    limits: np.ndarray,
    exact: bool,
) -> dict[int, Seen]:
    """Pairs of links (by index) that come nearer than ``limits`` (pairs,), metres, in ``motions``.

    Args:
        model: the robot and its scene.
        motions: files and what they contain.
        rest: (nq,) positions of joints that a motion does not name, rad or m.
        limits: metres; distances of meshes if ``exact``, or else of leaves, are compared with them.
        exact: see ``limits``.

    Raises:
        MotionError: a motion names a joint that the robot does not have.
    """
    seen: dict[int, Seen] = {}
    most = float(limits.max(initial=0.0))
    for path, motion in motions:
        motion = motion.with_held().of_joints(model.joint_names, rest, f"{path}: '{model.name}'")
        for time, q in _poses(motion):
            distances = model.distances(q, exact=exact, within=most)
            for k in np.flatnonzero((distances < limits) | (distances <= 0.0)).tolist():
                if k not in seen or distances[k] < seen[k].distance:
                    seen[k] = Seen(float(distances[k]), time, path.name)
    return seen


def _poses(motion: Motion) -> Iterator[tuple[float, np.ndarray]]:
    """Yield (seconds, configuration (nq,)) along a motion, `_SAME` to `_APART` from each other."""
    last = None
    for k, (time, row) in enumerate(zip(motion.times, motion.positions, strict=True)):
        before = max(k - 1, 0)
        step = row - motion.positions[before]
        count = max(1, int(np.ceil(np.abs(step).max(initial=0.0) / _APART)))
        for part in range(1, count + 1):
            q = row - (1.0 - part / count) * step
            if last is None or np.abs(q - last).max(initial=0.0) >= _SAME:
                last = q
                yield float(time - (1.0 - part / count) * (time - motion.times[before])), q
