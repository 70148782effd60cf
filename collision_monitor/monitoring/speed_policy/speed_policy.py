# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Policies of a monitor: they compute the allowed speed from joint states and distances."""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.errors import ConfigurationError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.near_by_design import MinimumDistance, NearPair, near_by_design
from collision_monitor.model.proximity import Proximity
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.cell_buffer import CellBuffer
from collision_monitor.monitoring.joint_history import JointVelocities
from collision_monitor.monitoring.joint_state_buffer import JointState, JointStateBuffer
from collision_monitor.monitoring.settings import SpeedSettings, default_decelerations
from collision_monitor.monitoring.speed_policy.braking_check import BrakingCheck, Measured
from collision_monitor.monitoring.speed_policy.decision import CALM, Decision, StopLatch
from collision_monitor.monitoring.speed_policy.directions import (
    CommandedDirection,
    EscapeDirection,
)

Buffer = JointStateBuffer | CellBuffer


class DistancePolicy:
    """Decides by the minimum distance only: no velocities, no hysteresis, no per-pair thresholds.

    Attributes:
        live: objects that change at run time, if any.
        enabled: if False, the robot is neither slowed nor stopped, and the state reports that.
        latch: stops that are held for an operator.
        decision: the last decision.
        pair: names of the pair that it is about; None if nothing is near.
        cause: names of the pair that caused it, if only hysteresis holds it now; None otherwise.
        minimum_distance: measures that of the pairs not near by design; None if all pairs count.
    """

    def __init__(self, live: LiveScene | None = None) -> None:
        """``live``: objects that change at run time."""
        self.live = live
        self.enabled = True
        self.latch = StopLatch()
        self.decision = CALM
        self.pair: tuple[str, str] | None = None
        self.cause: tuple[str, str] | None = None
        self.minimum_distance: MinimumDistance | None = None
        self._warn_distance = self._stop_distance = 0.0

    @property
    def exact_within(self) -> float:
        """Distance of leaves within which shapes decide, metres: the largest that warns."""
        return self._warn_distance

    def set_thresholds(self, thresholds: Thresholds, exact: bool = True) -> None:
        """Set the distances of all pairs, which are measured on meshes (``exact``) or leaves.

        Raises:
            ConfigurationError: there are rules for single pairs.
            ThresholdsError: a distance is invalid.
        """
        if thresholds.rules:
            raise ConfigurationError(
                f"{thresholds.source}: per-pair thresholds require a monitor with a behaviour"
            )
        thresholds.of(())
        self._stop_distance = thresholds.stop
        self._warn_distance = max(thresholds.warn, thresholds.stop)  # a stop implies a warning

    def update(self, buffer: Buffer, message: JointState, measured: Measured) -> None:
        """Decide after a joint state.

        Args:
            buffer: the configuration, with the joint state merged.
            message: the joint state.
            measured: distances at the configuration.
        """
        self.reevaluate(buffer, message.now, measured)

    def merge(self, buffer: Buffer, message: JointState) -> None:
        """Process a joint state without a decision, because a newer one is waiting."""

    def reevaluate(self, buffer: Buffer, now: float, measured: Measured) -> None:
        """Decide without a new joint state; see `update`."""
        warn, stop, distance = self._warn_distance, self._stop_distance, measured.nearest.distance
        inside, near = not distance > stop, not distance > warn
        scale = 0.0 if inside else (distance - stop) / (warn - stop) if near else 1.0
        self._conclude(Decision(scale, inside, near, stop=inside, slow=near))

    def fast_joints(self) -> tuple[str, ...]:
        """Names of joints of the pair at their speed limits, if the braking path decides."""
        return ()

    def take_over(self, old: DistancePolicy) -> None:
        """Continue from the policy of another model of the same robot."""

    def _conclude(self, decision: Decision, pair: tuple[str, str] | None = None) -> None:
        self.decision, self.pair = decision, pair
        self.latch.update(self.enabled and decision.stop)


class SpeedPolicy(DistancePolicy):
    """Decides by distances, joint velocities and the braking path of the robot, with hysteresis.

    Pairs that move away do not slow the robot down. Pairs may have thresholds of their own.

    Attributes:
        velocities: joint velocities.
        command: direction in which a stationary robot is commanded to move.
        structural_pairs: pairs by index that are near by design, with their distances. A
            distance that a rule gives comes first; pairs with rules for both are not listed.
    """

    def __init__(
        self,
        model: CollisionModel,
        settings: SpeedSettings | None = None,
        decelerations: np.ndarray | None = None,
        live: LiveScene | None = None,
    ) -> None:
        """Compile all kernels.

        Args:
            model: the robot.
            settings: by default those of the node.
            decelerations: (nq,) rad/s^2 or m/s^2; by default `default_decelerations`.
            live: objects of the same model that change at run time.

        Raises:
            BehaviourError: a deceleration is no number from 0.001 to 1e9.
        """
        super().__init__(live)
        self.model = model
        if decelerations is None:
            decelerations = default_decelerations(model.velocity_limits)
        self._braking_check = BrakingCheck(model, decelerations, settings, live)
        self._last_cause: tuple[str, str] | None = None
        zeros = np.zeros(len(model.joint_names))
        self.velocities = JointVelocities(
            len(zeros), self.settings.velocity_window, model.velocity_limits
        )
        self.velocities.update(zeros, np.full_like(zeros, np.nan), -1e9)  # compiles
        self.command = CommandedDirection(model.joint_names)
        self.structural_pairs: dict[int, NearPair] = {}
        self._merged = 0.0  # seconds of joint states merged since the last decision
        self._escape_direction = EscapeDirection(Proximity(model, live))
        self.escape_direction(zeros)  # compiles

    @property
    def near(self) -> np.ndarray | None:
        """As of `BrakingCheck`."""
        return self._braking_check.near

    @property
    def settings(self) -> SpeedSettings:
        """May be set at any time."""
        return self._braking_check.settings

    @settings.setter
    def settings(self, settings: SpeedSettings) -> None:
        self._braking_check.settings = settings
        self.velocities.window = settings.velocity_window

    @property
    def decelerations(self) -> np.ndarray:
        """(nq,) rad/s^2 or m/s^2, from 0.001 to 1e9; may be set at any time."""
        return self._braking_check.decelerations

    @decelerations.setter
    def decelerations(self, decelerations: np.ndarray) -> None:
        self._braking_check.decelerations = decelerations

    @property
    def exact_within(self) -> float:
        """Distance of leaves within which shapes decide, metres: the largest that holds a level."""
        return self._braking_check.exact_within

    @property
    def thresholds(self) -> np.ndarray:
        """(pairs, 2): stop and warning distance of every pair of the model, metres."""
        return self.all_thresholds[: len(self.model.pairs)]

    @property
    def all_thresholds(self) -> np.ndarray:
        """(pairs, 2) as ``thresholds``, followed by those of pairs with objects."""
        return self._braking_check.thresholds

    def set_thresholds(self, thresholds: Thresholds, exact: bool = True) -> None:
        """Set the distances of all pairs at once; pairs near by design get their own.

        ``exact``: whether distances are measured on meshes instead of leaves.

        Raises:
            ThresholdsError: a rule matches no pair, or a distance is invalid.
        """
        pairs = self.model.pairs
        if exact:
            self._braking_check.prepare_exact()
        near_pairs = near_by_design(self.model, thresholds.stop, thresholds.warn, exact)
        of_pairs = thresholds.of(
            pairs, objects=None if self.live is None else self.model.link_names,
            near=near_pairs, left_out=self.model.unmonitored_pairs,
        )  # fmt: skip
        self.structural_pairs = thresholds.without_rules(near_pairs, of_pairs)
        self._braking_check.set_thresholds(of_pairs, thresholds)
        near = {*near_pairs, *self.model.sampled_distances(exact).constant}
        self.minimum_distance = MinimumDistance(self.model, near, self.thresholds[:, 1], exact)

    def update(self, buffer: Buffer, message: JointState, measured: Measured) -> None:
        """Decide after a joint state; see `DistancePolicy.update`."""
        self._add_velocities(buffer, message)
        late = buffer.lateness(message.lag, message.now)
        self._decide(buffer.q, message.now, late, measured)

    def merge(self, buffer: Buffer, message: JointState) -> None:
        """Process a joint state without a decision, because a newer one is waiting.

        Its positions count for the velocities: without them, a backlog would look like one jump.
        """
        self._add_velocities(buffer, message)

    def reevaluate(self, buffer: Buffer, now: float, measured: Measured) -> None:
        """Decide without a new joint state; see `update`."""
        self._decide(buffer.q, now, buffer.age(now), measured)

    def take_over(self, old: DistancePolicy) -> None:
        """Copy flags and scale from the policy of another model, and velocities if joints agree."""
        if not isinstance(old, SpeedPolicy):
            return
        self._braking_check.take_over(old._braking_check)
        self._last_cause = old._last_cause
        if self.model.joint_names == old.model.joint_names:
            limits = self.velocities.limits
            self.velocities, self.command = old.velocities, old.command
            self.velocities.limits = limits
            self.velocities.window = self.settings.velocity_window

    def _add_velocities(self, buffer: Buffer, message: JointState) -> None:
        if buffer.behind > 0.0:  # ignored: newer positions are known
            return
        self.velocities.update(
            buffer.q, buffer.velocities, message.now, message.stamp, buffer.joints
        )
        self._merged += self.velocities.passed

    def _decide(self, q: np.ndarray, now: float, late: float, measured: Measured) -> None:
        passed, self._merged = self._merged, 0.0
        velocities, known = self.velocities.values, self.velocities.known
        commanded = self.command.direction(velocities, now) if known else None
        check = self._braking_check
        decision = check.decide(q, velocities, measured, passed, late, commanded, known)
        # The name of the pair is looked up now: an object may be removed later.
        self._conclude(decision, check.pair(decision.pair) if decision.pair >= 0 else None)
        if not decision.is_held:
            self._last_cause = self.pair
        self.cause = (self._last_cause or measured.nearest.links) if decision.is_held else None

    def fast_joints(self) -> tuple[str, ...]:
        """See `DistancePolicy.fast_joints`."""
        if self.pair is None or not (self.decision.stop or self.decision.approach):
            return ()
        fast = self.velocities.at_limit()
        if not len(fast):
            return ()
        moving = self.model.joints_between(*self.pair)
        return tuple(self.model.joint_names[k] for k in fast if k in moving)

    def time_to_collision(self, q: np.ndarray) -> float:
        """Lower bound in seconds of the time until leaves touch at constant joint velocities.

        0 in contact, unless the pairs in contact move away; inf if it is far away or unknown.
        """
        if self.decision.stop and not self.decision.distance > 0.0:
            return 0.0  # also at rest
        if not self.velocities.known or (self.decision.inside and not self.decision.stop):
            return math.inf
        return self._braking_check.collision_time(q, self.velocities.values)

    def escape_direction(self, q: np.ndarray) -> np.ndarray | None:
        """Joint direction (nq,) that separates all pairs within their stop distance, or None.

        See `EscapeDirection.direction`.
        """
        return self._escape_direction.direction(q, self.all_thresholds[:, 0])
