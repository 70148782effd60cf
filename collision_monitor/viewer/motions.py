# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions that the page can play, and where in one of them it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.errors import MotionError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.motion.motion import Motion

_SAMPLES = 800  # of a curve: more than a chart has pixels


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A motion of some joints of a model, the others held.

    Attributes:
        label: what its button says.
        motion: the table.
        columns: for each of its joints, the index in the model's configuration.
        held: configuration (nq,) of the joints that it does not name.
    """

    label: str
    motion: Motion
    columns: np.ndarray
    held: np.ndarray

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.motion.duration

    def at(self, time: float) -> np.ndarray:
        """The configuration (nq,) ``time`` seconds after its start; held at both ends."""
        q = self.held.copy()
        q[self.columns] = self.motion.at(time)
        return q

    def distances(self, model: CollisionModel, times: np.ndarray) -> np.ndarray:
        """Clearance in metres (n,) at ``times``; 0 where nothing is checked."""
        if not model.pairs:
            return np.zeros(len(times))
        return model.min_distances(np.array([self.at(time) for time in times]))


def planned(model: CollisionModel, label: str, motion: Motion, held: np.ndarray) -> PlannedMotion:
    """A motion for this model.

    Raises:
        MotionError: it names a joint that the model does not have.
    """
    if unknown := [name for name in motion.joint_names if name not in model.joint_names]:
        raise MotionError(
            f"{label}: '{model.name}' has no joint {unknown[0]!r}; it has "
            f"{', '.join(model.joint_names)}"
        )
    columns = np.array([model.joint_names.index(name) for name in motion.joint_names], dtype=int)
    return PlannedMotion(label, motion, columns, np.array(held, dtype=float))


def curve_times(motions: list[PlannedMotion]) -> np.ndarray:
    """Instants (n,) at which clearances of all motions are drawn, from 0 to the longest's end."""
    return np.linspace(0.0, max(motion.duration for motion in motions), _SAMPLES)


class Playback:
    """Where in a motion the page is; times of a steady clock in seconds."""

    def __init__(self, speed: float = 1.0) -> None:
        self.motion: PlannedMotion | None = None
        self.time = 0.0
        self.speed = speed
        self._last: float | None = None

    @property
    def playing(self) -> bool:
        """Whether time goes on."""
        return self._last is not None

    def play(self, motion: PlannedMotion, now: float) -> None:
        """Begin a motion, or go on with it; one at its end begins anew."""
        if motion is not self.motion or self.time >= motion.duration:
            self.time = 0.0
        self.motion, self._last = motion, now

    def pause(self) -> None:
        """Stand still."""
        self._last = None

    def seek(self, motion: PlannedMotion, time: float) -> np.ndarray:
        """Stand still at this instant of a motion; returns the configuration (nq,) there."""
        self.pause()
        self.motion, self.time = motion, min(max(time, 0.0), motion.duration)
        return motion.at(self.time)

    def configuration(self, now: float) -> np.ndarray | None:
        """The configuration of this moment while it plays, else None; it stops at the end."""
        if self._last is None or self.motion is None:
            return None
        self.time = min(self.time + self.speed * (now - self._last), self.motion.duration)
        self._last = None if self.time >= self.motion.duration else now
        return self.motion.at(self.time)
