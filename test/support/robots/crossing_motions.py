# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Random motions of two arms that meet on the way, though both ends are free."""

from collections.abc import Iterator

import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.model.proximity import Proximity
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision.arms import Arm, find_chains
from collision_monitor.self_collision.margins import choose_margins, sides
from support.robots.robots import RobotFiles

SAFE, DANGER = 0.1, 0.05  # m, the defaults of `adjust`
WAYPOINTS = 100
_PERIOD = 0.05  # s
_SAMPLES = 200
_TRIES = 10
_LENGTH = 0.2, 1.0  # of the longest line
_BY_DESIGN = 0.5  # part of all configurations in which links of one arm overlap by design


def load_two_arms(files: RobotFiles) -> tuple[CollisionModel, tuple[Arm, Arm]]:
    """The model of a robot and its right and left arm."""
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    return model, find_chains(model.robot, model.semantics)


def rest(model: CollisionModel) -> np.ndarray:
    """(nq,) all joints at zero, or at the limit nearest to it."""
    return np.clip(0.0, model.lower, model.upper)


def kept_apart(
    model: CollisionModel, arms: tuple[Arm, Arm], safe: float, danger: float
) -> np.ndarray:
    """(pairs,) bool: pairs that `adjust` keeps apart by d_saf, with the other joints at rest."""
    return choose_margins(model, arms, rest(model)[None], safe, danger).kept


class CrossingMotions:
    """An endless supply of such motions, the same for the same seed.

    A configuration is drawn in which leaves of one arm meet leaves of the other, but not those
    of the rest of the robot, and a straight line in joint space through it: uniform within the
    joint limits, continuous joints within +-pi, the other joints of the robot at rest. At both
    ends F = 0: whatever is kept apart (arm from arm, arm from the rest of the robot) is so by
    d_saf, and no arm touches itself. (Between ends drawn at random TIAGo's arms hardly ever meet.)

    Attributes:
        motions: the supply.
        joint_names: of the motions.
        columns: where they are in q.
    """

    def __init__(
        self,
        model: CollisionModel,
        arms: tuple[Arm, Arm],
        seed: int = 0,
        safe: float = SAFE,
        danger: float = DANGER,
        bent: bool = False,
    ) -> None:
        """``bent``: both ends are drawn anywhere, and the line has a corner where the arms meet.

        For PR2: on straight lines its shoulders are nearly always too near at one end.
        """
        self._model = model
        self._bent = bent
        self._proximity = Proximity(model)
        self._random = np.random.default_rng(seed)
        self.joint_names = tuple(name for arm in arms for name in arm.joint_names)
        self.columns = [model.joint_names.index(name) for name in self.joint_names]
        self._lower = np.maximum(model.lower, -np.pi)[self.columns]
        self._upper = np.minimum(model.upper, np.pi)[self.columns]
        kinds = sides(model, arms)
        self._touching = np.where(kinds.between, 0.0, -np.inf)
        kept = kept_apart(model, arms, safe, danger)
        self._inside_the_rest = np.where(kinds.outside & kept, 0.0, -np.inf)
        self._least = np.where(kept, safe, -np.inf)
        samples = [self._anywhere() for _ in range(_SAMPLES)]
        overlap = np.mean([model.distances(q) < 0.0 for q in samples], axis=0)
        self._least[kinds.inside & (overlap < _BY_DESIGN)] = 0.0
        self.motions = self._generate()

    def _anywhere(self) -> np.ndarray:
        q = rest(self._model)
        q[self.columns] = self._random.uniform(self._lower, self._upper)
        return q

    def _any_nearer(self, q: np.ndarray, limits: np.ndarray) -> bool:
        return len(self._proximity.near(q, limits).pairs) > 0

    def _is_free(self, q: np.ndarray) -> bool:
        return not self._any_nearer(q, self._least)

    def _generate(self) -> Iterator[Motion]:
        times = _PERIOD * np.arange(WAYPOINTS)
        part = np.linspace(0.0, 1.0, WAYPOINTS)[:, None]
        while True:
            meeting = self._anywhere()
            if not self._any_nearer(meeting, self._touching):
                continue
            if self._any_nearer(meeting, self._inside_the_rest):
                continue
            for _ in range(_TRIES):
                start, end = self._line(meeting)
                if self._is_free(start) and self._is_free(end):
                    rows = start + part * (end - start)
                    if self._bent:
                        rows = np.where(
                            part < 0.5,
                            start + 2.0 * part * (meeting - start),
                            meeting + (2.0 * part - 1.0) * (end - meeting),
                        )
                    rows[-1] = end
                    yield Motion(self.joint_names, times, rows[:, self.columns])
                    break

    def _line(self, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of a line through ``middle``: the first uniform where the other has room."""
        if self._bent:
            return self._anywhere(), self._anywhere()
        part = self._random.uniform(0.3, 0.7)  # of the line before the middle
        x, ratio = middle[self.columns], part / (1.0 - part)
        low = np.maximum(self._lower, x - ratio * (self._upper - x))
        high = np.minimum(self._upper, x + ratio * (x - self._lower))
        first = self._random.uniform(low, high)
        start, end = middle.copy(), middle.copy()
        reach = self._random.uniform(*_LENGTH)
        start[self.columns] = x + reach * (first - x)
        end[self.columns] = np.clip(x - reach * (first - x) / ratio, self._lower, self._upper)
        return start, end

    def take(self, count: int) -> list[Motion]:
        """The next ``count`` motions."""
        return [next(self.motions) for _ in range(count)]
