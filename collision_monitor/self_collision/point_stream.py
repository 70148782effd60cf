# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Desired points one after the other, each adjusted from the last one that was commanded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.errors import AdjustmentError, ConfigurationError, TrajectoryError
from collision_monitor.hierarchy.query import warm_up_for_states
from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.arms import Arm, find_chains
from collision_monitor.self_collision.margins import Problem, choose_margins, yielding_arms
from collision_monitor.self_collision.mesh_proximity import prepare_meshes
from collision_monitor.self_collision.motion_clearance import closest_pair
from collision_monitor.self_collision.preparation import is_number
from collision_monitor.self_collision.stepper import Stepper, joint_weights

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


_SUBSTEP = np.radians(1.0)
_BUFFER = 0.003  # m above the limits, for dips between points
_HALVINGS = 6  # of a substep that is not certified
_SLACK = 1e-4  # m that a pair may come nearer than its limit, or than it is where it is below


class Streamer:
    """Adjusts desired configurations one by one, without look-ahead.

    Each result is as near to the newest desired configuration as clearances and velocity limits
    allow. If no motion is safe, the arms stay where they are. Every returned motion is certified
    from start to end. The arguments are those of `adjust`; call `reset` first.
    """

    def __init__(
        self,
        model: CollisionModel,
        arms: Sequence[Arm] | Sequence[str] | None = None,
        safe_distance: float = 0.1,
        danger_distance: float = 0.05,
        yielding: str = "both",
    ) -> None:
        """The constructor finds the arms and compiles the update."""
        if not arms or not all(isinstance(arm, Arm) for arm in arms):
            arms = find_chains(model.robot, model.semantics, arms)
        yielding_arms(arms, yielding)  # refuses what is no arm
        warm_up_for_states()
        prepare_meshes(model)
        self.model = model
        self.arms = tuple(arms)
        self._distances = safe_distance, danger_distance
        self._yielding = yielding
        self._proximity = Proximity(model)
        self._columns = tuple(
            np.array([model.joint_names.index(n) for n in arm.joint_names]) for arm in arms
        )
        self._stepper: Stepper | None = None
        self._q = np.empty(0)

    def reset(self, q: np.ndarray) -> None:
        """Start from the configuration ``q`` (nq,) of the robot.

        Raises:
            AdjustmentError: the arms are nearer than danger_distance at q.
            ConfigurationError: q has the wrong shape or a value that is not finite.
        """
        q = self._configuration("q", q)
        margins = choose_margins(self.model, self.arms, q[None, :], *self._distances)
        problem = Problem(
            self.model, self.arms, np.zeros(1), q[None, :], self._columns, margins, self._yielding
        )
        self._proximity = problem.proximity()
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
        columns = problem.yielding_columns
        self._stepper = Stepper(
            self._proximity, columns, self._limits, joint_weights(problem), _BUFFER
        )
        limits = self.model.velocity_limits
        self._fastest = np.where(limits > 0.0, limits, np.inf)
        self._velocity = self._fastest[columns]
        self._floor = np.full(len(self._limits), -np.inf)
        self._least = np.where(margins.on_meshes, 0.0, -np.inf)  # meshes never touch
        self._q = q

    def step(self, desired: np.ndarray, dt: float) -> tuple[np.ndarray, float, tuple[str, str]]:
        """Move towards a desired configuration.

        Args:
            desired: (nq,) desired configuration, radians or metres.
            dt: time until the result is reached, seconds.

        Returns:
            The configuration (nq,) to command, the minimum clearance there in metres, and its pair.

        Raises:
            ConfigurationError: `reset` was not called, dt is not positive, or desired has the
                wrong shape or a value that is not finite.
        """
        if self._stepper is None:
            raise ConfigurationError("the streamer does not know where the robot is: call reset()")
        if not (is_number(dt) and dt > 0.0):
            raise ConfigurationError(f"dt: {dt!r} is not a time above 0 s")
        desired = self._configuration("desired", desired)
        arms = np.concatenate(self._columns)  # where the others are is a fact
        desired[arms] = np.clip(desired[arms], self.model.lower[arms], self.model.upper[arms])
        desired = self._q + np.clip(desired - self._q, -self._fastest * dt, self._fastest * dt)
        reach = float(self._velocity.min()) * dt
        way = float(np.abs(desired - self._q).max())
        reach = min(reach, way) if np.isfinite(reach) else way
        path = [self._q]
        steps = max(1, int(np.ceil(reach / _SUBSTEP)))
        for _ in range(steps):
            path.append(self._stepper.step(path[-1], desired, reach / steps))
        q = self._q = self._certified(path)
        pair, clearance = closest_pair(self._proximity, self._limits > -np.inf, self._limits, q)
        return q.copy(), clearance, self.model.pairs[pair]

    def _configuration(self, name: str, values: np.ndarray) -> np.ndarray:
        values = np.array(values, dtype=float)
        count = len(self.model.joint_names)
        if values.shape != (count,) or not np.isfinite(values).all():
            raise ConfigurationError(
                f"{name}: {values} is not a configuration of {count} finite numbers"
            )
        return values

    def _certified(self, path: list[np.ndarray]) -> np.ndarray:
        """A pose far along ``path`` that is certified to be reached in a straight line."""
        # Never lower than they were: many small steps must not creep nearer.
        now = np.maximum(self._now() - _SLACK, self._least)
        self._floor = np.maximum(self._floor, np.minimum(self._limits, now))
        at = len(path) - 1  # the path bends around the other arm: its chord may be too near
        while at > 0:
            if self._proximity.certify(self._q, path[at], self._floor).holds:
                return path[at]
            at //= 2
        q = path[1]
        for _ in range(_HALVINGS):
            q = 0.5 * (self._q + q)
            if self._proximity.certify(self._q, q, self._floor).holds:
                return q
        return self._q

    def _now(self) -> np.ndarray:
        """Distances (pairs,) where the robot is; inf for pairs that are not near."""
        out = np.full(len(self._limits), np.inf)
        near = self._proximity.near(self._q, self._limits + 1e-3)
        np.minimum.at(out, near.pairs, near.distances)
        return out


ROUNDING = 1e-6  # rad or m: smaller changes do not count as adjusted


class Streamed(NamedTuple):
    """What is commanded instead of a desired point.

    Attributes:
        positions: of every joint of the arms, radians or metres.
        clearance: least clearance there, metres; ``pair``: of which links.
        largest_change: how far a joint is from where it was wanted.
    """

    positions: dict[str, float]
    clearance: float
    pair: tuple[str, str] | None
    largest_change: float


class PointStream:
    """One stream of points. Times are seconds of one clock, whichever.

    A stream begins where the robot stands, with its first point, and is over when no
    point has come for ``timeout``.
    """

    def __init__(
        self,
        streamer: Streamer,
        joint_names: Sequence[str],
        arm_joints: Sequence[str],
        horizon: float = 1.0,
        timeout: float = 0.5,
    ) -> None:
        """``joint_names``: order of q; ``horizon``: how far ahead a point may lie, s."""
        self._streamer = streamer
        self._names = tuple(joint_names)
        self._columns = {name: self._names.index(name) for name in arm_joints}
        self.horizon = horizon
        self.timeout = timeout
        self._due: float | None = None  # when the last point commanded is to be reached
        self._last = -np.inf  # when it was commanded
        self.points = self.adjusted = self.late = 0

    def active(self, now: float) -> bool:
        """Whether a stream goes on."""
        return self._due is not None and now <= max(self._due, self._last) + self.timeout

    def end(self) -> None:
        """The next point begins a new stream."""
        self._due = None

    def step(
        self, target: Mapping[str, float], due: float, now: float, present: Mapping[str, float]
    ) -> Streamed:
        """What to command so that the arms come as near to ``target`` as they may by ``due``.

        Args:
            target: position of every joint of the arms.
            due: when the point is to be reached.
            now: the time.
            present: position of every joint of the robot; the arms' are used at the beginning.

        Raises:
            TrajectoryError: a point too far ahead, long past, or not after the one before.
        """
        ahead = due - now
        if ahead > self.horizon:
            raise TrajectoryError(
                f"is due {ahead:.3g} s ahead; stream_horizon allows {self.horizon:g} s"
            )
        if ahead < -self.timeout:
            raise TrajectoryError(f"was due {-ahead:.3g} s ago: too old to follow")
        going = self.active(now)
        dt = due - (self._due if going else now)
        if dt <= 0.0:
            if going:
                raise TrajectoryError(
                    f"is due {abs(dt):.3g} s before the point that was commanded last"
                )
            raise TrajectoryError(
                f"was due {abs(dt):.3g} s before the stream began: points must come ahead of time"
            )
        wanted = np.array([present[name] for name in self._names])
        if not going:
            self._streamer.reset(wanted)
        for name, column in self._columns.items():
            wanted[column] = target[name]
        q, clearance, pair = self._streamer.step(wanted, dt)
        change = max(abs(float(q[column]) - target[name]) for name, column in self._columns.items())
        self._due, self._last = due, now
        self.points += 1
        self.adjusted += change > ROUNDING
        self.late += ahead <= 0.0
        positions = {name: float(q[column]) for name, column in self._columns.items()}
        return Streamed(positions, float(clearance), pair, change)
