# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Adjusting single points ahead of time, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.errors import AdjustmentError, ConfigurationError
from collision_monitor.proximity import Proximity
from collision_monitor.repulsion.arms import Arm, find_arms
from collision_monitor.repulsion.margins import choose_margins
from collision_monitor.repulsion.problem import Problem
from collision_monitor.repulsion.sharing import joint_weights
from collision_monitor.repulsion.stepper import Stepper

if TYPE_CHECKING:
    from collision_monitor.collision_model import CollisionModel

_SUBSTEP = np.radians(1.0)
_BUFFER = 0.003  # m above the limits, for dips between points
_HALVINGS = 6  # of a step that is not certified


class Streamer:
    """Desired configurations in, safe ones out, each reached from the last.

    No look ahead: it keeps as near to the newest desired point as clearances and velocity
    limits allow, and stands still where nothing else is safe. Every move that it
    returns is certified from its start to its end.
    """

    def __init__(
        self,
        model: CollisionModel,
        arms: tuple[Arm, Arm] | Sequence[str] | None = None,
        safe_distance: float = 0.1,
        danger_distance: float = 0.05,
        yielding: str = "both",
    ) -> None:
        """Options as those of `adjustment.adjust`; `reset` sets where the arms are."""
        if yielding not in ("both", "left", "right"):
            raise ConfigurationError(f"yielding: {yielding!r} is none of both, left, right")
        if arms is None or isinstance(arms[0], str):
            arms = find_arms(model.robot, model.semantics, arms)
        self.model = model
        self.arms = arms
        self._distances = safe_distance, danger_distance
        self._yielding = yielding
        self._proximity = Proximity(model)
        self._columns = tuple(
            np.array([model.joint_names.index(n) for n in arm.joint_names]) for arm in arms
        )
        self._stepper: Stepper | None = None
        self._q = np.empty(0)

    def reset(self, q: np.ndarray) -> None:
        """Start from the configuration ``q`` (nq,) at which the robot is.

        Raises:
            AdjustmentError: the arms are nearer than danger_distance there.
        """
        q = np.array(q, dtype=float)
        margins = choose_margins(self.model, self.arms, q[None, :], *self._distances)
        near = self._proximity.near(q, margins.danger)
        if len(near.pairs):
            k = int(near.distances.argmin())
            pair, distance = self.model.pairs[near.pairs[k]], float(near.distances[k])
            raise AdjustmentError(
                f"'{pair[0]}' and '{pair[1]}' are {distance:.4f} m apart, less than "
                f"{margins.danger[near.pairs[k]]:.4f} m: the arms cannot be led from there",
                pair=pair,
                distance=distance,
            )
        self._limits = margins.safe
        problem = Problem(
            self.model, self.arms, np.zeros(1), q[None, :], self._columns, margins, self._yielding
        )
        which = {"right": (0,), "left": (1,), "both": (0, 1)}[self._yielding]
        columns = np.concatenate([self._columns[k] for k in which])
        self._stepper = Stepper(
            self._proximity, columns, self._limits, joint_weights(problem, (0.5, 0.5)), _BUFFER
        )
        self._velocity = self.model.velocity_limits[columns]
        self._q = q

    def step(self, desired: np.ndarray, dt: float) -> tuple[np.ndarray, float, tuple[str, str]]:
        """(q, clearance, pair): the point (nq,) to be reached within ``dt`` s, on to ``desired``.

        ``clearance`` is that of the closest ``pair`` of all that take part, metres.

        Raises:
            ConfigurationError: `reset` was not called, dt is not above 0, or desired is not finite.
        """
        if self._stepper is None:
            raise ConfigurationError("the streamer does not know where the robot is: call reset()")
        if not dt > 0.0:
            raise ConfigurationError(f"dt: {dt!r} is not a time above 0 s")
        desired = np.clip(
            np.asarray(desired, dtype=float), self.model.lower, self.model.upper
        )
        if desired.shape != self._q.shape or not np.isfinite(desired).all():
            raise ConfigurationError(
                f"desired: {desired} is not a configuration of {len(self._q)} finite numbers"
            )
        reach = float(np.min(np.where(self._velocity > 0.0, self._velocity, np.inf))) * dt
        way = float(np.abs(desired - self._q).max())
        reach = min(reach, way) if np.isfinite(reach) else way
        q = self._q
        steps = max(1, int(np.ceil(reach / _SUBSTEP)))
        for _ in range(steps):
            q = self._stepper.step(q, desired, reach / steps)
        q = self._certified(q)
        self._q = q
        clearance, pair = self._closest(q)
        return q.copy(), clearance, pair

    def _certified(self, q: np.ndarray) -> np.ndarray:
        """q, or what is nearer to where we are and certified to be reached safely."""
        limits = np.minimum(self._limits, self._now() - 1e-4)
        for _ in range(_HALVINGS):
            if self._proximity.certify(self._q, q, limits).holds:
                return q
            q = 0.5 * (self._q + q)
        return self._q

    def _now(self) -> np.ndarray:
        """Distances (pairs,) where the robot is; inf for pairs that are not near."""
        out = np.full(len(self._limits), np.inf)
        near = self._proximity.near(self._q, self._limits + 1e-3)
        np.minimum.at(out, near.pairs, near.distances)
        return out

    def _closest(self, q: np.ndarray) -> tuple[float, tuple[str, str]]:
        taking_part = self._limits > -np.inf
        for more in (0.1, 0.4):
            near = self._proximity.near(q, self._limits + more)
            if len(near.pairs):
                k = int(near.distances.argmin())
                return float(near.distances[k]), self.model.pairs[near.pairs[k]]
        distances = np.where(taking_part, self.model.distances(q), np.inf)
        k = int(distances.argmin())
        return float(distances[k]), self.model.pairs[k]
