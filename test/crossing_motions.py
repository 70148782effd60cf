# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Random motions of two arms that meet on the way, though both ends are free."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from robots import RobotFiles

from collision_monitor import CollisionModel
from collision_monitor.motion import Motion
from collision_monitor.repulsion.arms import Arm, find_arms
from collision_monitor.repulsion.margins import choose_margins, sides

SAFE, DANGER = 0.1, 0.05  # m, the defaults of `adjust`
WAYPOINTS = 100
_PERIOD = 0.05  # s
_BATCH = 200
_BY_DESIGN = 0.5  # part of all configurations in which links of one arm overlap by design


def load_two_arms(files: RobotFiles) -> tuple[CollisionModel, tuple[Arm, Arm]]:
    """The model of a robot and its right and left arm."""
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    return model, find_arms(model.robot, model.semantics)


def rest(model: CollisionModel) -> np.ndarray:
    """(nq,) all joints at zero, or at the limit nearest to it."""
    return np.clip(0.0, model.lower, model.upper)


def kept_apart(model: CollisionModel, arms: tuple[Arm, Arm]) -> np.ndarray:
    """(pairs,) bool: pairs that `adjust` keeps apart by d_saf, with the other joints at rest."""
    return choose_margins(model, arms, rest(model)[None], SAFE, DANGER).kept


class CrossingMotions:
    """An endless supply of such motions, the same for the same seed.

    Both ends are uniform within the joint limits, continuous joints within +-pi, the other
    joints of the robot at rest. At both ends F = 0: whatever is kept apart (arm from arm, arm
    from the rest of the robot) is so by d_saf, and no arm touches itself. Between them
    the arms run straight in joint space, and leaves of one meet leaves of the other.
    """

    def __init__(self, model: CollisionModel, arms: tuple[Arm, Arm], seed: int) -> None:
        self._model = model
        self._random = np.random.default_rng(seed)
        self._names = tuple(name for arm in arms for name in arm.joint_names)
        self._columns = [model.joint_names.index(name) for name in self._names]
        self._lower = np.maximum(model.lower, -np.pi)[self._columns]
        self._upper = np.minimum(model.upper, np.pi)[self._columns]
        kinds = sides(model, arms)
        self._between = kinds.between
        least = np.where(kept_apart(model, arms), SAFE, -np.inf)
        overlap = np.mean(self._distances(self._anywhere(_BATCH)) < 0.0, axis=0)
        least[kinds.inside & (overlap < _BY_DESIGN)] = 0.0
        self._least = least
        self.motions = self._generate()

    def _anywhere(self, count: int) -> np.ndarray:
        rows = np.repeat(rest(self._model)[None], count, axis=0)
        shape = (count, len(self._columns))
        rows[:, self._columns] = self._random.uniform(self._lower, self._upper, shape)
        return rows

    def _distances(self, rows: np.ndarray) -> np.ndarray:
        return np.array([self._model.distances(q) for q in rows])

    def _free(self) -> Iterator[np.ndarray]:
        while True:
            rows = self._anywhere(_BATCH)
            # Whole batches are sorted out by the nearest pair of all before pairs are measured.
            for q in rows:
                if (self._model.distances(q) >= self._least).all():
                    yield q

    def _generate(self) -> Iterator[Motion]:
        free = self._free()
        times = _PERIOD * np.arange(WAYPOINTS)
        part = np.linspace(0.0, 1.0, WAYPOINTS)[:, None]
        while True:
            start, end = next(free), next(free)
            rows = start + part * (end - start)
            rows[-1] = end
            if any(self._model.distances(q)[self._between].min() < 0.0 for q in rows[::2]):
                yield Motion(self._names, times, rows[:, self._columns])


def crossing_motions(
    model: CollisionModel, arms: tuple[Arm, Arm], count: int, seed: int = 0
) -> list[Motion]:
    """The first ``count`` motions of `CrossingMotions`."""
    motions = CrossingMotions(model, arms, seed).motions
    return [next(motions) for _ in range(count)]
