# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Braking check: the clearance along the braking path, and the allowed speed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.near_pairs import DISTANCE, LEAST, PAIR, RATE
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.settings import MOST_CYCLES, SpeedSettings, checked_decelerations
from collision_monitor.monitoring.speed_policy.braking_paths import (
    BrakingInputs,
    BrakingPaths,
    released,
)
from collision_monitor.monitoring.speed_policy.candidate_kernels import LOOSE_NOW
from collision_monitor.monitoring.speed_policy.decision import (
    CALM,
    GIVEN,
    RING,
    STOP_FLAG,
    Decision,
    decide,
    reserve,
)
from collision_monitor.monitoring.speed_policy.exact_level import ExactLevel, Measured

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_NO_PAIRS = np.empty(0, dtype=int)


class BrakingCheck:
    """Checks the braking path of one robot. It has its own work space, for one thread."""

    def __init__(
        self,
        model: CollisionModel,
        decelerations: np.ndarray,
        settings: SpeedSettings | None = None,
        live: LiveScene | None = None,
    ) -> None:
        """Compile all kernels.

        Args:
            model: the robot.
            decelerations: (nq,) rad/s^2 or m/s^2.
            settings: of the speed policy, by default its defaults.
            live: objects of the same model that change at run time.

        Raises:
            BehaviourError: a deceleration is no number from 0.001 to 1e9.
        """
        self.model = model
        self._exact: ExactLevel | None = None
        self.decelerations = decelerations
        self._still = np.zeros(len(model.joint_names))
        self._memory = np.zeros(RING + MOST_CYCLES)
        self._reset()
        self._settings = SpeedSettings() if settings is None else settings
        self._paths = BrakingPaths(model, live)
        self._compile()

    @property
    def tests(self) -> int:
        """Number of configurations in the last search."""
        return self._paths.tests

    @property
    def settings(self) -> SpeedSettings:
        """Settings of the speed policy; may be set at any time."""
        return self._settings

    @settings.setter
    def settings(self, settings: SpeedSettings) -> None:
        # A longer ring buffer is filled with its minimum: a change does not release anything.
        ring = self._memory[RING :]
        ring[:] = ring[: self._settings.release_cycles].min()
        self._settings = settings

    @property
    def decelerations(self) -> np.ndarray:
        """(nq,) rad/s^2 or m/s^2; may be set at any time."""
        return self._decelerations

    @decelerations.setter
    def decelerations(self, values: np.ndarray) -> None:
        self._decelerations = checked_decelerations(self.model.joint_names, values)

    @property
    def exact_within(self) -> float:
        """Largest distance at which a pair holds a flag, metres."""
        widest = self._paths.classes.widest_warning
        return widest + reserve.py_func(self._settings.release_distance, widest)

    def prepare_exact(self) -> None:
        """Get ready for decisions with exact distances."""
        if self._exact is None:
            self._exact = ExactLevel(self.model, self._paths)

    def set_thresholds(self, thresholds: np.ndarray, of_objects: Thresholds | None = None) -> None:
        """Set ``thresholds`` (pairs, 2): stop and warning distance of each pair of the model.

        ``of_objects``: thresholds of pairs with objects of a live scene. Metres.
        """
        self._paths.set_thresholds(thresholds, of_objects)

    @property
    def thresholds(self) -> np.ndarray:
        """(pairs, 2) stop and warning distance of the pairs of the model, then of objects."""
        return self._paths.classes.thresholds

    @property
    def near(self) -> np.ndarray | None:
        """(k,) pairs of the model that were within their warning distance at the last decision.

        A pair in contact is the only one if no other was searched. None if all that is known is a
        pair that is too close, but apart: others may be nearer.
        """
        if self._count == 0:
            return _NO_PAIRS
        candidates = self._paths.candidates[: self._count]
        pairs, distances = candidates[:, PAIR].astype(int), candidates[:, DISTANCE]
        stop, warn = self.thresholds[pairs].T
        if len(pairs) == 1 and 0.0 < distances[0] <= stop[0]:
            return None
        return pairs[(pairs < len(self.model.pairs)) & ~(distances > warn)]

    def pair(self, number: int) -> tuple[str, str]:
        """Names of the pair with this number; see `Decision.pair`."""
        tables = self._paths.tables
        one, other = tables.pair_rows[number].tolist()
        return tables.name_of(one), tables.name_of(other)

    def decide(
        self,
        q: np.ndarray,
        velocities: np.ndarray,
        measured: Measured,
        passed: float = math.inf,
        late: float = 0.0,
        commanded: np.ndarray | None = None,
        known: bool = True,
    ) -> Decision:
        """The decision at q; call it once for each joint state.

        Args:
            q: (nq,), finite.
            velocities: (nq,) rad/s or m/s; 0 where they are unknown.
            measured: distances at q.
            passed: seconds since the last call.
            late: seconds since q was measured.
            commanded: velocities (nq,) of the last command to a stationary robot, which decide
                whether pairs move away. Predictions use ``velocities`` only.
            known: whether all velocities are known. Otherwise no pair counts as moving away.
        """
        s = self._settings
        away = velocities if commanded is None else commanded
        inputs = BrakingInputs(
            q,
            away if known else self._still,  # for the search, too: what holds a stop ends it
            velocities if s.prediction else self._still,
            self.decelerations,
            s.reaction_time + max(late, 0.0),
            s,
        )
        paths = self._paths
        if measured.exact is None:
            count = self._use_leaves(inputs)
        else:
            count = self._exact.fill(inputs, measured, self._memory[STOP_FLAG] > 0.0)
        candidates, self._count = paths.candidates, count
        if not count and self._calm:
            return CALM
        rise = passed / s.rise_time if s.rise_time > 0.0 else math.inf
        scale, inside, near, stop, slow, approach, row, least, self._calm = decide(
            candidates, count, paths.classes.thresholds, s.release_distance, s.release_cycles, rise,
            s.escape_scale, s.parting_speed, inputs.tolerance, self._memory,
        )  # fmt: skip
        if row < 0:
            return Decision(scale, inside, near, stop, slow, approach)
        deciding = candidates[row]
        pair = int(deciding[PAIR])
        low, high = paths.classes.thresholds[pair].tolist()
        rate = float(deciding[RATE]) if known else math.nan
        distance = float(deciding[DISTANCE])
        is_measured = measured.exact is None or pair == paths.number_of(measured.nearest.links)
        if not is_measured and high < distance:  # it may be a lower bound
            bound = measured.exact(
                np.array([pair]), deciding[[DISTANCE]], math.inf, LOOSE_NOW, math.inf
            )
            distance = max(distance, float(bound[0]))
        return Decision(
            scale, inside, near, stop, slow, approach, pair, distance, low, high, rate, least
        )

    def _use_leaves(self, inputs: BrakingInputs) -> int:
        """Fill the candidates of the paths, with distances of leaves; how many."""
        paths = self._paths
        count = paths.coarse_search(inputs)
        if not count:
            return 0
        candidates = paths.candidates[:count]
        candidates[:, LEAST] = np.minimum(candidates[:, LEAST], candidates[:, DISTANCE])
        pairs = candidates[:, PAIR].astype(int)
        stop, warn = paths.classes.thresholds[pairs].T
        enough = released(warn, inputs.settings)
        is_open = ~(candidates[:, LEAST] > enough)
        if is_open.any() and inputs.moves:
            some = candidates[is_open]
            stops = paths.bound_leaves(inputs, some, stop[is_open], enough[is_open])
            candidates[is_open] = some
            if not stops:
                paths.keep(pairs[is_open], some[:, DISTANCE], some[:, LEAST])
        candidates = candidates[~(candidates[:, LEAST] > enough)]
        paths.set_rates(inputs, candidates)
        paths.candidates[: len(candidates)] = candidates
        return len(candidates)

    def collision_time(self, q: np.ndarray, velocities: np.ndarray, horizon: float = 10.0) -> float:
        """Lower bound in seconds of the time until leaves touch at constant joint velocities.

        0 if leaves already touch; inf if it exceeds ``horizon``, or nothing moves.
        """
        return self._paths.collision_time(q, velocities, horizon)

    def take_over(self, old: BrakingCheck) -> None:
        """Copy flags and speed scale of the check of another model."""
        self._memory[:], self._calm = old._memory, old._calm

    def _reset(self) -> None:
        """Clear all flags and set the scale to 1."""
        self._memory.fill(0.0)
        self._memory[GIVEN :] = 1.0
        self._calm = True
        self._count = 0  # of candidates in the last decision

    def _compile(self) -> None:
        """Run everything once, so that no joint state has to wait for it."""
        q, moving = self._still, np.ones_like(self._still)
        # At rest: the search of a long path takes seconds on robots of hundreds of joints.
        inputs = BrakingInputs(q, moving, self._still, self.decelerations, 0.0, self._settings)
        inputs.path(2)
        count = self._paths.coarse_search(inputs)
        candidates = self._paths.candidates[:count].copy()
        if self._paths.live is not None:  # its first object comes while joint states do
            self._paths.search_objects(inputs, now=True)
        self._paths.set_rates(inputs, candidates)
        self._paths.bound_leaves(inputs, candidates[:0], np.empty(0), np.empty(0))
        self._paths.keep(np.empty(0, dtype=int), np.empty(0), np.empty(0))
        decide(
            self._paths.candidates, 0, self._paths.classes.thresholds, 0.0, 1, 1.0, 1.0, 0.0, 0.0,
            self._memory,
        )
        self._reset()
        self.collision_time(q, moving, 0.0)
