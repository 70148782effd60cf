# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances for a monitor: of the leaves, and on the triangles where these are near."""

from __future__ import annotations

import math
import time
from collections import deque

import numpy as np

from collision_monitor.errors import CollisionMonitorError, ConfigurationError
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.leaf_queries import nearest_clearance
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.monitoring.settings import NARROW_PHASES
from collision_monitor.monitoring.speed_policy.braking_check import Measured
from collision_monitor.monitoring.speed_policy.speed_policy import DistancePolicy

# CPU time of a cycle after which no further pair is measured on the triangles: a third now, the
# rest on the braking path. Bounds of the others, from their leaves and earlier cycles, are on the
# near side. It is at most half of the period of the joint states, because the rest is for the
# leaves, the messages and other callbacks; and as long as the pairs that decide need: joint states
# faster than 250 Hz are merged where triangles matter.
_LEAST_SECONDS, _MOST_SECONDS, _SHARE = 2e-3, 12e-3, 0.5
_FIRST_SECONDS = 0.2  # in the first cycle, when nothing is known of any pair
_PERIODS = 20  # of joint states, of which the mean counts: several publishers take turns


class MonitoredDistances:
    """Measures the pairs of a model and its live scene as ``narrow_phase`` says; for one thread.

    Attributes:
        narrow_phase: ``leaf`` or ``auto``, as of `Monitor`.
        is_first: whether nothing was measured yet.
    """

    def __init__(
        self, model: CollisionModel, live: LiveScene | None, behaviour: DistancePolicy
    ) -> None:
        """``behaviour``: says which pairs count, and within which distance shapes are measured."""
        self._model, self._live, self._behaviour = model, live, behaviour
        self.narrow_phase = "leaf"
        self.forget()

    def forget(self) -> None:
        """Begin anew, as without a joint state."""
        self.is_first = True
        self._times: deque[float] = deque(maxlen=_PERIODS + 1)  # of joint states

    def take_over(self, old: MonitoredDistances) -> None:
        """Continue from those of another model of the same robot."""
        self.is_first = old.is_first
        self._times.extend(old._times)

    def use(self, narrow_phase: str) -> None:
        """Set the narrow phase; prepares exact distances if it needs them.

        Raises:
            ConfigurationError: it is unknown.
        """
        if narrow_phase not in NARROW_PHASES:
            raise ConfigurationError(
                f"narrow_phase: {narrow_phase!r} is not one of {', '.join(NARROW_PHASES)}"
            )
        if narrow_phase != "leaf":
            self._model.prepare_exact()
            if self._live is not None:
                self._live.prepare_exact()
        self.narrow_phase = narrow_phase

    def report_joint_state(self, now: float) -> None:
        """Report the time of a joint state, seconds."""
        self._times.append(now)

    @property
    def mesh_seconds(self) -> tuple[float, float]:
        """CPU time of a cycle for triangles: at the present configuration, and on the braking path.

        No measurement begins later. It depends on the rate of the last joint states.
        """
        times = self._times
        period = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else math.inf
        third = min(max(_SHARE * period, _LEAST_SECONDS), _MOST_SECONDS) / 3.0
        return third, 2.0 * third

    @property
    def _exact_within(self) -> float:
        """Distances of leaves, in metres, up to which shapes are measured."""
        return -math.inf if self.narrow_phase == "leaf" else self._behaviour.exact_within

    def measured(self, q: np.ndarray, now: float) -> Measured:
        """What a decision needs at ``q`` (nq,), at time ``now``."""
        if self._live is not None:
            self._live.expire(now)
        nearest = self._nearest(q)
        if not math.isfinite(nearest.distance):
            raise CollisionMonitorError(f"the result is {nearest.distance}")
        seconds, path_seconds = self.mesh_seconds
        if self.is_first:
            self.is_first, seconds = False, _FIRST_SECONDS
        if self.narrow_phase == "leaf":
            return Measured(nearest)
        model = self._model if self._live is None else self._live
        end = time.thread_time() + seconds  # of all calls; each measures one pair at least

        def exact(
            pairs: np.ndarray, leaves: np.ndarray, within: float | np.ndarray,
            loose: float | np.ndarray, near: float | np.ndarray,
        ) -> np.ndarray:  # fmt: skip
            left = max(end - time.thread_time(), 0.0)
            return model.exact_bounds(q, pairs, leaves, within, loose, near, seconds=left)

        def points(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return model.surface_points(q, pairs, np.full(len(pairs), np.inf))

        return Measured(nearest, exact, points, path_seconds)

    def _nearest(self, q: np.ndarray) -> Clearance:
        """The nearest of the pairs that count in any case, with an object or without."""
        minimum, within = self._behaviour.minimum_distance, self._exact_within
        objects = None if self._live is None else self._live.distance(q)
        if objects is not None and objects.distance <= within:
            objects = self._live.distance(q, exact=True)
        if objects is not None and not self._model.pairs:
            return objects
        own = nearest_clearance(self._model if minimum is None else minimum.others, q, within)
        # Written so that NaN counts.
        return own if objects is None or not own.distance > objects.distance else objects

    def counted(self, q: np.ndarray, nearest: Clearance) -> Clearance:
        """``nearest``, or a pair that counts since it is within its own warning distance."""
        minimum = self._behaviour.minimum_distance
        if minimum is None:
            return nearest
        near, within = self._behaviour.near, self._exact_within
        if near is not None and not len(near):
            return nearest
        clearance = minimum.with_near(q, nearest, within, near)
        if self._behaviour.decision.distance <= 0.0 < clearance.distance:
            # Only leaves were in contact, as time ran out; no other pair was searched.
            clearance = minimum.with_near(q, nearest, within)
        return clearance

    @property
    def not_counted(self) -> list[tuple[str, str]]:
        """Pairs that only count within their warning distances."""
        minimum = self._behaviour.minimum_distance
        near = () if minimum is None else minimum.near_by_design
        return [self._model.pairs[index] for index in near]

    def of_pairs(self, q: np.ndarray) -> np.ndarray:
        """Signed distances (pairs,) of the pairs of the model and the live scene, metres."""
        own = self.of_model(q)
        if self._live is None or self._live.is_empty:
            return own
        return np.r_[own, self._live.distances(q, self._exact_within)]

    def of_model(self, q: np.ndarray) -> np.ndarray:
        """Like `of_pairs`, without the live scene."""
        if self.narrow_phase == "leaf":
            return self._model.distances(q)
        return self._model.distances(q, exact=True, within=self._exact_within)
