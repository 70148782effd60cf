# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states of several robots merged into one configuration; each robot is checked alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from collision_monitor.common.text import shortened
from collision_monitor.errors import ConfigurationError, JointStateError
from collision_monitor.monitoring.joint_state_buffer import (
    JointState,
    JointStateBuffer,
    no_position,
    require_positions,
)
from collision_monitor.monitoring.publisher_watch import MOST_LISTS
from collision_monitor.monitoring.settings import MonitorSettings

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


class _Route(NamedTuple):
    """The entries of a message, by its list of names, that belong to a robot; None for all."""

    robot: int
    names: list[str]
    entries: list[int] | None


class CellBuffer:
    """A `JointStateBuffer` for each robot, and the configuration of all robots.

    Robots are checked separately: only zeros or another clock of one robot do not affect the
    others. A message is given to the robots whose joints it contains.

    Attributes:
        joint_names: the joints of q.
        q: latest positions, (nq,).
        velocities: of the driver, (nq,); NaN where there are none.
        groups: indices into q of the joints of each robot.
        touched: indices of the robots that the last message belongs to.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        velocity_limits: Sequence[float] | np.ndarray,
        robots: Mapping[str, Collection[str]],
        zero_confirmation: float = MonitorSettings.zero_state_confirmation,
        endless: np.ndarray | bool = False,
    ) -> None:
        """Start empty.

        Args:
            joint_names: the joints of q, in its order.
            velocity_limits: (nq,) rad/s or m/s; may be infinite.
            robots: joints of each robot by its name, including mimic and fixed joints.
            zero_confirmation: as of `JointStateBuffer`.
            endless: as of `JointStateBuffer`.

        Raises:
            ConfigurationError: a joint of q does not belong to exactly one robot.
        """
        self.joint_names = tuple(joint_names)
        limits = np.asarray(velocity_limits, dtype=float)
        endless = np.broadcast_to(endless, len(joint_names))
        self.q = np.zeros(len(joint_names))
        self.velocities = np.full(len(joint_names), np.nan)
        self.groups = joint_groups(joint_names, robots)
        self.touched: tuple[int, ...] = ()
        self._names = list(robots)
        self._parts = [
            JointStateBuffer(
                [joint_names[k] for k in places], limits[places], robots[name], zero_confirmation,
                endless[places],
            )  # fmt: skip
            for name, places in zip(robots, self.groups, strict=True)
        ]
        self._owner = {joint: k for k, name in enumerate(robots) for joint in robots[name]}
        self._routes = lru_cache(MOST_LISTS)(self._find_routes)
        self._unknown: set[str] = set()  # in messages for several robots

    def update(self, message: JointState) -> None:
        """Merge a joint state.

        Raises:
            JointStateError: as of `JointStateBuffer.update`; the text names the robot.
        """
        names, positions, _, _, _, velocities = message
        self.touched = ()
        routes = self._routes(tuple(names))
        require_positions(names, positions)
        if len(routes) > 1:
            self._require_finite(routes, positions)
        has_velocities = len(velocities) == len(positions)
        for robot, robot_names, entries in routes:
            part = self._parts[robot]
            if entries is None:
                robot_message = message._replace(names=robot_names)
            else:
                robot_message = message._replace(
                    names=robot_names,
                    positions=[positions[k] for k in entries],
                    velocities=[velocities[k] for k in entries] if has_velocities else (),
                )
            try:
                part.update(robot_message)
            except JointStateError as error:
                raise JointStateError(f"{self._names[robot]}: {error}", error.kind) from None
            self._copy(robot)
        self.touched = tuple(route.robot for route in routes)

    def take_over(self, old: CellBuffer) -> None:
        """Copy the state of joints with the same names of the same robots."""
        before = dict(zip(old._names, old._parts, strict=True))
        for robot, name in enumerate(self._names):
            if name in before:
                self._parts[robot].take_over(before[name])
                self._copy(robot)

    def report_loss(self, seconds: float, now: float) -> None:
        """As of `JointStateBuffer`."""
        for part in self._parts:
            part.report_loss(seconds, now)

    def report_other_publishers(self, now: float) -> None:
        """As of `JointStateBuffer`."""
        for part in self._parts:
            part.report_other_publishers(now)

    def _copy(self, robot: int) -> None:
        part, places = self._parts[robot], self.groups[robot]
        self.q[places] = part.q
        self.velocities[places] = part.velocities

    def _find_routes(self, names: tuple[str, ...]) -> list[_Route]:
        owners = [self._owner.get(name) for name in names]
        if len(self._unknown) < MOST_LISTS:
            self._unknown.update(name for name in names if name not in self._owner)
        robots = dict.fromkeys(owner for owner in owners if owner is not None)
        if not robots:
            raise JointStateError(
                f"joint state contains no joint of {shortened(self._names)}; received: "
                f"{shortened(names) or 'none'}; expected: {shortened(self.joint_names)}"
            )
        if len(robots) == 1:
            return [_Route(*robots, list(names), None)]
        routes = []
        for robot in robots:
            entries = [k for k, owner in enumerate(owners) if owner == robot]
            routes.append(_Route(robot, [names[k] for k in entries], entries))
        for route in routes:
            if len(set(route.names)) < len(route.names):
                twice = next(name for name in route.names if route.names.count(name) > 1)
                raise JointStateError(f"joint '{twice}' appears twice in one joint state", "twice")
        return routes

    def _require_finite(
        self, routes: Sequence[_Route], positions: Sequence[float] | np.ndarray
    ) -> None:
        """Reject the whole message, before a part of it is given to a robot."""
        for route in routes:
            known = self._parts[route.robot].joint_names
            for name, k in zip(route.names, route.entries or (), strict=True):
                if name in known and not math.isfinite(positions[k]):
                    raise no_position(name, positions[k])

    @property
    def unknown_names(self) -> set[str]:
        """Joints in messages that do not belong to any robot."""
        return self._unknown.union(*(part.unknown_names for part in self._parts))

    @property
    def behind(self) -> float:
        """As of `JointStateBuffer`, for a message that was ignored for all its robots."""
        return min((self._parts[robot].behind for robot in self.touched), default=0.0)

    @property
    def set_back(self) -> float:
        """As of `JointStateBuffer`: the maximum of the robots in the last message."""
        return max((self._parts[robot].set_back for robot in self.touched), default=0.0)

    @property
    def reported(self) -> np.ndarray:
        """As of `JointStateBuffer`."""
        found = self.q.copy()
        for group, part in zip(self.groups, self._parts, strict=True):
            found[group] = part.reported
        return found

    @property
    def joints(self) -> np.ndarray:
        """As of `JointStateBuffer`."""
        parts = [(self.groups[robot], self._parts[robot].joints) for robot in self.touched]
        return np.concatenate([group if own is None else group[own] for group, own in parts])

    def missing(self) -> str:
        """Why there is no configuration yet, by robot; empty if there is one."""
        # A robot without joints has no joint states.
        return self._by_robot(part.missing() if part.joint_names else "" for part in self._parts)

    def unconfirmed(self) -> str:
        """As of `JointStateBuffer`, by robot."""
        return self._by_robot(part.unconfirmed() for part in self._parts)

    def age(self, now: float) -> float:
        """Seconds since the oldest joint position was measured; inf before all are known."""
        return max(part.age(now) for part in self._parts)

    def ages(self, now: float) -> dict[str, float]:
        """Age in seconds by robot, without robots that have no joints."""
        return {
            name: part.age(now)
            for name, part in zip(self._names, self._parts, strict=True)
            if part.joint_names
        }

    def lateness(self, lag: float, now: float) -> float:
        """Age of q in seconds after a message that was ``lag`` old: that of the oldest robot."""
        return max(lag, self.age(now))

    def too_old(self, seconds: float, now: float) -> str:
        """Which positions are older than this, by robot; empty if there are none."""
        return self._by_robot(part.too_old(seconds, now) for part in self._parts)

    @property
    def conflict_until(self) -> float:
        """As of `JointStateBuffer`: that of the robot whose conflict lasts longest."""
        return max(part.conflict_until for part in self._parts)

    def conflict(self, now: float) -> str:
        """Which joints have two conflicting publishers, by robot; empty if there are none."""
        return self._by_robot(part.conflict(now) for part in self._parts)

    def _by_robot(self, texts: Iterable[str]) -> str:
        found = zip(self._names, texts, strict=True)
        return "; ".join(f"{name}: {text}" for name, text in found if text)


def buffer_of(
    model: CollisionModel,
    robots: Mapping[str, Collection[str]],
    zero_confirmation: float = MonitorSettings.zero_state_confirmation,
) -> JointStateBuffer | CellBuffer:
    """The buffer for the joints of a model; ``robots`` is empty for a robot that is alone."""
    names, limits, endless = model.joint_names, model.velocity_limits, model.bodies.endless
    if robots:
        return CellBuffer(names, limits, robots, zero_confirmation, endless)
    known = [joint.name for joint in model.robot.joints]
    return JointStateBuffer(names, limits, known, zero_confirmation, endless)


def joint_groups(
    joint_names: Sequence[str], robots: Mapping[str, Collection[str]]
) -> list[np.ndarray]:
    """Indices into q of the joints of each robot.

    Raises:
        ConfigurationError: a joint belongs to no robot, or to two.
    """
    groups = [
        np.array([k for k, joint in enumerate(joint_names) if joint in names], dtype=int)
        for names in map(set, robots.values())
    ]
    counts = np.bincount(np.concatenate(groups), minlength=len(joint_names))
    if (counts != 1).any():
        bad = int((counts != 1).argmax())
        raise ConfigurationError(
            f"joint '{joint_names[bad]}' belongs to {counts[bad]} of the robots "
            f"{', '.join(robots)}; each joint must belong to exactly one"
        )
    return groups
