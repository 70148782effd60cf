# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The speed policy of one robot: velocities, braking check, action and latch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.live.live_proximity import LiveProximity
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.proximity import Proximity
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.joint_states.cell_buffer import CellBuffer
from collision_monitor.monitoring.joint_states.joint_state_buffer import JointStateBuffer
from collision_monitor.monitoring.joint_states.velocities import JointSpeeds, SpeedsOfSeveral
from collision_monitor.monitoring.speed_policy.braking_check import Bounds, Outlook
from collision_monitor.monitoring.speed_policy.commanded_direction import Intention
from collision_monitor.monitoring.speed_policy.decelerations import by_rule
from collision_monitor.monitoring.speed_policy.decision import CALM, Decision
from collision_monitor.monitoring.speed_policy.escape_direction import WayOut
from collision_monitor.monitoring.speed_policy.latch import StopLatch
from collision_monitor.monitoring.speed_policy.settings import Settings


class Behaviour:
    """Decides how fast a robot may go, one joint state after another.

    Attributes:
        enabled: where it is not, nothing slows or stops the robot, and the state says so.
        latch: stops that are held for a person.
        decision: the last.
        pair: the two that it is about; None where nothing is near.
        speeds: joint velocities.
        intention: where a robot that stands is about to go.
    """

    def __init__(
        self,
        model: CollisionModel,
        settings: Settings | None = None,
        decelerations: np.ndarray | None = None,
        robots: Sequence[np.ndarray] = (),
        live: LiveScene | None = None,
    ) -> None:
        """Compiles what joint states run.

        Args:
            model: the robot.
            settings: how cautious.
            decelerations: (nq,) rad/s^2 or m/s^2; by `decelerations.by_rule` without them.
            robots: where the joints of each stand in q, if there are several with joint states of
                their own.
            live: objects around it, of the same model.
        """
        self.model, self.live = model, live
        self.enabled = True
        self.latch = StopLatch()
        self.decision = CALM
        self.pair: tuple[str, str] | None = None
        if decelerations is None:
            decelerations = by_rule(model.velocity_limits)
        self._outlook = Outlook(model, decelerations, settings, live)
        window = self.settings.velocity_window
        self.speeds: JointSpeeds | SpeedsOfSeveral = (
            SpeedsOfSeveral(robots, window) if robots
            else JointSpeeds(len(model.joint_names), window)
        )  # fmt: skip
        unknown = np.full(len(model.joint_names), np.nan)
        self.speeds.update(np.zeros(len(unknown)), unknown, -1e9)  # compiled; forgotten by the gap
        self.intention = Intention(model.joint_names)
        self._merged = 0.0  # seconds that passed with joint states merged since the last decision
        proximities = [Proximity(model), *([] if live is None else [LiveProximity(live)])]
        self._way_out = WayOut(*proximities)
        self.way_out(np.zeros(len(unknown)))  # compiled; else the first contact would wait for it

    @property
    def settings(self) -> Settings:
        """How cautious; may be set at any time."""
        return self._outlook.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._outlook.settings = settings
        self.speeds.window = settings.velocity_window

    @property
    def decelerations(self) -> np.ndarray:
        """(nq,) rad/s^2 or m/s^2; may be set at any time."""
        return self._outlook.decelerations

    @decelerations.setter
    def decelerations(self, decelerations: np.ndarray) -> None:
        self._outlook.decelerations = np.ascontiguousarray(decelerations, dtype=float)

    @property
    def widest_warning(self) -> float:
        """Largest warning distance of all pairs, metres."""
        return float(self._outlook.thresholds[:, 1].max(initial=0.0))

    @property
    def thresholds(self) -> np.ndarray:
        """(pairs, 2): stop and warning distance of every pair, metres."""
        return self._outlook.thresholds

    @property
    def thresholds_of_objects(self) -> np.ndarray:
        """(pair numbers, 2) as ``thresholds``, of pairs with objects of the live scene."""
        return self._outlook.all_thresholds[1]

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Distances of all pairs, in force at once.

        Raises:
            ThresholdsError: a rule that names no pair, or a distance that is none.
        """
        of_pairs = thresholds.of(
            self.model.pairs, objects=None if self.live is None else self.model.link_names
        )
        self._outlook.set_thresholds(of_pairs, thresholds)

    def look(
        self,
        buffer: JointStateBuffer | CellBuffer,
        clearance: Clearance,
        now: float,
        stamp: float = 0.0,
        lag: float = 0.0,
        exact: Bounds | None = None,
        live: Clearance | None = None,
    ) -> Decision:
        """Decide after a joint state; arguments as of `Monitor.update` and `Outlook.look`."""
        self.speeds.update(buffer.q, buffer.velocities, now, stamp, buffer.touched)
        passed, self._merged = self._merged + self.speeds.passed, 0.0
        return self._decide(buffer, clearance, now, passed, lag, exact, live)

    def merge(
        self, buffer: JointStateBuffer | CellBuffer, now: float, stamp: float = 0.0
    ) -> None:
        """Take in a joint state without deciding, for a newer one is there.

        The newer one may be another robot's, which tells nothing of this one's velocities.
        """
        if isinstance(self.speeds, SpeedsOfSeveral):
            self.speeds.update(buffer.q, buffer.velocities, now, stamp, buffer.touched)
            self._merged += self.speeds.passed

    def look_again(
        self,
        buffer: JointStateBuffer | CellBuffer,
        clearance: Clearance,
        now: float,
        lag: float,
        exact: Bounds | None = None,
        live: Clearance | None = None,
    ) -> Decision:
        """Decide without a new joint state; arguments as of `look`."""
        return self._decide(buffer, clearance, now, 0.0, lag, exact, live)

    def take_over(self, old: Behaviour) -> None:
        """Hold what ``old`` holds, of another model of the robot; know its velocities."""
        self._outlook.take_over(old._outlook)
        if self.model.joint_names == old.model.joint_names:
            self.speeds, self.intention = old.speeds, old.intention
            self.speeds.window = self.settings.velocity_window

    def _decide(
        self,
        buffer: JointStateBuffer | CellBuffer,
        clearance: Clearance,
        now: float,
        passed: float,
        lag: float,
        exact: Bounds | None,
        live: Clearance | None,
    ) -> Decision:
        velocities, intended = None, None
        if self.speeds.known:
            velocities = self.speeds.values
            intended = self.intention.direction(velocities, now)
        self.decision = self._outlook.look(
            buffer.q, velocities, clearance, passed, lag, exact, intended, live
        )
        # Now: an object may be gone when somebody asks.
        self.pair = self._outlook.pair(self.decision.pair) if self.decision.pair >= 0 else None
        self.latch.update(self.enabled and self.decision.stop)
        return self.decision

    def time_to_collision(self, q: np.ndarray) -> float:
        """Seconds until leaves touch if the joints go on as they do; inf if not soon or not known.

        A bound from below; 0 in contact, unless what is in contact moves away.
        """
        if not self.speeds.known:
            return math.inf
        if self.decision.inside and not self.decision.stop:
            return math.inf
        return self._outlook.collision_time(q, self.speeds.values)

    def way_out(self, q: np.ndarray) -> np.ndarray | None:
        """Joint direction (nq,) that parts all pairs within their stop distance; see `WayOut`."""
        limits = [each[:, 0] for each in self._outlook.all_thresholds]
        return self._way_out.direction(q, *limits)
