# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Adjustment of streamed points: each starts from the last commanded one."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.settings import is_number
from collision_monitor.common.text import told_apart
from collision_monitor.errors import AdjustmentError, ConfigurationError, TrajectoryError
from collision_monitor.hierarchy.query import warm_up_for_states
from collision_monitor.model.proximity import Proximity
from collision_monitor.motion.trajectory import Motion
from collision_monitor.robot.angles import apart, whole_turns
from collision_monitor.self_collision.arms import Arm, find_chains
from collision_monitor.self_collision.margins import Problem, choose_margins, yielding_arms
from collision_monitor.self_collision.mesh_proximity import prepare_meshes
from collision_monitor.self_collision.motion_clearance import RequiredClearances, closest_pair
from collision_monitor.self_collision.preparation import limited, velocity_limits
from collision_monitor.self_collision.settings import AdjustmentSettings
from collision_monitor.self_collision.stepper import BUFFER, SUBSTEP, Stepper, joint_weights

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


_HALVINGS = 6  # of a substep that is not certified
_SLACK = 1e-4  # m by which a pair may be below its limit, or come closer if it is below already


class Streamer:
    """Adjusts desired configurations one by one, without look-ahead.

    Each result is as near to the newest desired configuration as clearances and velocity limits
    allow. If no motion is safe, the arms stop. Every returned motion is certified from start to
    end. The arguments are those of `adjust`; call `reset` first.

    Attributes:
        fastest: (nq,) velocity limits, rad/s or m/s; infinite without one.
        endless: (nq,) bool, joints of which a whole turn changes no pose.
    """

    def __init__(
        self,
        model: CollisionModel,
        arms: Sequence[Arm] | Sequence[str] | None = None,
        safe_distance: float = 0.1,
        danger_distance: float = 0.05,
        yielding: str = "both",
    ) -> None:
        """Find the arms, and compile the kernels of `update`."""
        if not arms or not all(isinstance(arm, Arm) for arm in arms):
            arms = find_chains(model.robot, model.semantics, arms)
        self._able = yielding_arms(arms, yielding)
        AdjustmentSettings(safe_distance, danger_distance)  # raises for invalid distances
        warm_up_for_states()
        prepare_meshes(model)
        self._robot = self.model = model
        self.arms = tuple(arms)
        self._distances = safe_distance, danger_distance
        self._proximity = Proximity(model)
        self._columns = tuple(model.columns_of(arm.joint_names) for arm in arms)
        self.fastest = velocity_limits(model)
        self.endless = model.bodies.endless
        self._stepper: Stepper | None = None
        self._q = np.empty(0)

    def reset(self, q: np.ndarray) -> None:
        """Start from the configuration ``q`` (nq,) of the robot.

        Raises:
            AdjustmentError: the arms are closer than danger_distance at q.
            ConfigurationError: q has the wrong shape or a value that is not finite.
        """
        q = self._configuration("q", q)
        names = [name for arm in self.arms for name in arm.joint_names]
        self.model = limited(self._robot, names, q)
        margins = choose_margins(self.model, self.arms, q[None, :], *self._distances, ends=False)
        problem = Problem(
            self.model, self.arms, np.zeros(1), q[None, :], self._columns, margins, self._able
        )
        self._proximity = problem.proximity
        if worst := RequiredClearances(problem).worst(q, margins.danger):
            pair, distance = self.model.pairs[worst[0]], worst[1]
            needed = float(margins.danger[worst[0]])
            apart = told_apart(distance, needed, "{} m apart, less than {} m")
            raise AdjustmentError(
                f"'{pair[0]}' and '{pair[1]}' are {apart}: a stream cannot start below "
                "danger_distance",
                pair=pair,
                distance=distance,
            )
        self._limits = margins.safe
        columns = problem.yielding_columns
        self._stepper = Stepper(
            self._proximity, columns, self._limits, joint_weights(problem), BUFFER
        )
        self._velocity = self.fastest[columns]
        self._floor = np.full(len(self._limits), -np.inf)
        self._least = np.where(margins.on_meshes, 0.0, -np.inf)  # meshes must never touch
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
            raise ConfigurationError("the position of the robot is unknown: call reset()")
        if not (is_number(dt) and dt > 0.0):
            raise ConfigurationError(f"dt: {dt!r} is not a time above 0 s")
        desired = self._configuration("desired", desired)
        desired += whole_turns(desired, self._q, self.endless)
        arms = np.concatenate(self._columns)  # the other joints are not commanded
        lower, upper = self.model.position_limits
        desired[arms] = np.clip(desired[arms], lower[arms], upper[arms])
        desired = self._q + np.clip(desired - self._q, -self.fastest * dt, self.fastest * dt)
        reach = float(self._velocity.min()) * dt
        way = float(np.abs(desired - self._q).max())
        reach = min(reach, way) if np.isfinite(reach) else way
        path = [self._q]
        steps = max(1, int(np.ceil(reach / SUBSTEP)))
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
        """Farthest pose on ``path`` (k, nq) to which the straight motion is certified."""
        # Never lower than before: many small steps must not reduce the distance.
        distances = self._proximity.distances_below(self._q, self._limits + 1e-3)
        now = np.maximum(distances - _SLACK, self._least)
        self._floor = np.maximum(self._floor, np.minimum(self._limits, now))
        at = len(path) - 1  # the path bends around the other arm, so its chord may be too close
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


_MOST_PENDING = 100  # commanded points that are not reached yet
_SHORTEST = 1e-6  # s between two commanded points
_LATE = 1e-3  # s after which a point that is reached after it is due counts as late


class Streamed(NamedTuple):
    """The command for a desired point.

    Attributes:
        motion: of the arms, through the commanded points that are not reached yet. Its last point
            is the new one; its times are those of the clock.
        clearance: minimum clearance there, metres; ``pair``: its links.
        largest_change: largest difference of a joint from the desired point, radians or metres.
        late: whether it is reached after it is due.
    """

    motion: Motion
    clearance: float
    pair: tuple[str, str] | None
    largest_change: float
    late: bool


class PointStream:
    """One stream of points. Times are seconds of any one clock.

    A stream begins at the current configuration of the robot with its first point, and ends if no
    point arrives for ``timeout`` seconds. A point is reached when it is due, or as soon as velocity
    limits allow after that. Certified is the polyline through the commanded points. So each command
    contains those that are not reached yet: it replaces the previous command.
    """

    def __init__(
        self,
        streamer: Streamer,
        joint_names: Sequence[str],
        arm_joints: Sequence[str],
        horizon: float,
        timeout: float,
    ) -> None:
        """``joint_names``: order of q; ``horizon``: maximum time ahead of a point, seconds."""
        self._streamer = streamer
        self._names, self._arm_joints = tuple(joint_names), tuple(arm_joints)
        self._columns = [self._names.index(name) for name in arm_joints]
        self._endless = streamer.endless[self._columns]
        self.horizon = horizon
        self.timeout = timeout
        self._due: float | None = None  # time at which the last commanded point is due
        self._last = -np.inf  # time at which it was commanded
        # When a commanded point is reached, and the positions of the arms there.
        self._path: deque[tuple[float, np.ndarray]] = deque()
        self.points = self.adjusted = self.late = 0

    def active(self, now: float) -> bool:
        """Whether a stream is active at ``now``."""
        if self._due is None or now < self._last:  # the clock was set back
            return False
        return now <= max(self._path[-1][0], self._last) + self.timeout

    def end(self) -> None:
        """End the stream: the next point begins a new one."""
        self._due = None

    def departure(self, now: float, present: Mapping[str, float], tolerance: float) -> str:
        """Why the robot does not follow the stream; empty if it does.

        The position of each joint is compared with those that were commanded, from ``timeout``
        seconds ago on, so that a robot may be as late as that.
        """
        if not self.active(now):
            return ""
        self._forget(now - self.timeout)
        rows = np.array([row for _, row in self._path])
        here = np.array([present[name] for name in self._arm_joints])
        lowest, highest = rows.min(axis=0), rows.max(axis=0)
        here += whole_turns(here, 0.5 * (lowest + highest), self._endless)
        off = np.maximum(lowest - here, here - highest)
        worst = int(off.argmax())
        if off[worst] <= tolerance:
            return ""
        return (
            f"joint '{self._arm_joints[worst]}' is at {here[worst]:.4g}, {off[worst]:.3g} away "
            f"from the positions {lowest[worst]:.4g} to {highest[worst]:.4g}, which were commanded "
            f"in the last {self.timeout:g} s; start_tolerance is {tolerance:g}"
        )

    def step(
        self, target: Mapping[str, float], due: float, now: float, present: Mapping[str, float]
    ) -> Streamed:
        """The command that brings the arms as near to ``target`` as allowed by the time ``due``.

        Args:
            target: position of every joint of the arms, radians or metres.
            due: time at which the point is reached.
            now: current time.
            present: position of every joint of the robot; those of the arms are used at the
                beginning.

        Raises:
            TrajectoryError: the point is too far ahead, too old, or not after the previous one; or
                too many commanded points are not reached yet.
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
                f"was due {abs(dt):.3g} s before the stream began: points must come ahead of time, "
                "by time_from_start or the stamp"
            )
        if going and len(self._pending(now)) >= _MOST_PENDING:
            raise TrajectoryError(
                f"was received while {_MOST_PENDING} commanded points are not reached yet, which "
                "is the maximum: send fewer points, or less far ahead"
            )
        wanted = np.array([present[name] for name in self._names])
        if not going:
            self._streamer.reset(wanted)
            self._path = deque([(now, wanted[self._columns])])
        wanted[self._columns] = goal = np.array([target[name] for name in self._arm_joints])
        q, clearance, pair = self._streamer.step(wanted, dt)
        row = q[self._columns]
        change = float(np.abs(apart(row, goal, self._endless)).max())
        reached = self._reached(row, due, now)
        late = ahead <= 0.0 or reached > due + _LATE
        self._due, self._last = due, now
        self._path.append((reached, row))
        self._forget(now - self.timeout)
        self.points += 1
        self.adjusted += change > SIX_DIGITS
        self.late += late
        times, rows = zip(*self._pending(now), strict=True)
        motion = Motion(self._arm_joints, np.array(times), np.array(rows))
        return Streamed(motion, float(clearance), pair, change, late)

    def _reached(self, row: np.ndarray, due: float, now: float) -> float:
        """Time at which the arms are at ``row``: not before the last point, nor too fast."""
        left, last = self._path[-1]
        needed = float((np.abs(row - last) / self._streamer.fastest[self._columns]).max())
        return max(due, max(left, now) + max(needed, _SHORTEST))

    def _pending(self, now: float) -> list[tuple[float, np.ndarray]]:
        return [point for point in self._path if point[0] > now + 0.5 * _SHORTEST]

    def _forget(self, before: float) -> None:
        """Forget points that the arms had left by this time."""
        while len(self._path) > 1 and self._path[1][0] <= before:
            self._path.popleft()
