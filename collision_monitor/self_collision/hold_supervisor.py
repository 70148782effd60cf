# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Monitors the distances of arms, and decides when to hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from collision_monitor.errors import ArmsError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.monitoring.watchdogs import REMARKS
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.margins import often_near, sides

# An event ends when the distance exceeds d_dan by this fraction of d_saf - d_dan. A motion that
# leads away is stopped when the distance decreases by as much.
_HYSTERESIS = 0.1
# Pairs left out: closer than d_dan in this fraction of the samples. `adjust` uses the lower
# fraction for a link of an arm and a link that no arm moves.
_BY_DESIGN, _EASED, _SAMPLES = 0.95, 0.5, 200


def names_of(model: CollisionModel, arm: Arm) -> frozenset[str]:
    """Names of an arm in pairs: its links, and the objects of the scene attached to them."""
    carried = (o.name for o in model.scene.obstacles if o.link in arm.links)
    return frozenset((*arm.links, *carried))


def pairs_between(model: CollisionModel, arms: Sequence[Arm]) -> list[tuple[str, str]]:
    """Pairs of ``model.pairs`` between two arms; for a single arm, between it and everything else.

    Raises:
        ArmsError: there is none, so the arms would not be monitored.
    """
    return [model.pairs[k] for k in np.flatnonzero(_guarded(model, arms))]


def _guarded(model: CollisionModel, arms: Sequence[Arm]) -> np.ndarray:
    """(pairs,) bool: those of `pairs_between`."""
    kinds = sides(model, arms)
    guarded = kinds.between if len(arms) > 1 else kinds.outside
    if not guarded.any():
        raise ArmsError(
            f"no pair of links {_between(arms)} is checked: all are disabled or have no collision "
            "shapes"
        )
    return guarded


def _between(arms: Sequence[Arm]) -> str:
    names = " and ".join(f"'{arm.name}'" for arm in arms)
    return f"between {names}" if len(arms) > 1 else f"of {names} and anything else"


class HoldSupervisor:
    """Measures the distance of the arms at every joint state; gives one order to hold per event.

    The distance is that between arms; for a single arm, that to the rest of the robot and the
    scene.

    An event begins when the arms are closer than d_dan and ends when they are farther apart again,
    with hysteresis. Pairs that are rarely d_dan apart (``left_out``) are ignored: two shoulders are
    close by construction, and monitoring them would hold the arms forever. Links that are often
    near each other have a smaller d_dan of their own, as in `adjust`, between meshes; they count
    with what their distance is above that. During an event, a motion that leads away may be allowed
    (`allow_leaving`): a second order stops it if the distance decreases again. Times are seconds of
    a steady clock.

    Attributes:
        distance: of the arms at the last joint state, metres; NaN if unknown.
    """

    def __init__(
        self,
        model: CollisionModel,
        arms: Sequence[Arm],
        safe_distance: float = 0.1,
        danger_distance: float = 0.05,
        joint_state_timeout: float = 0.5,
        zero_state_confirmation: float = 0.3,
    ) -> None:
        """Distances are between leaves, in metres; d_saf and d_dan are totals for both arms.

        Raises:
            ArmsError: no pair of the arms is checked, or all are structurally close.
        """
        self.arms = arms
        self.monitor = Monitor(
            self._separable(model, safe_distance, danger_distance),
            safe_distance,
            danger_distance,
            joint_state_timeout,
            zero_state_confirmation,
            behaviour=None,
        )
        self.in_event = False
        self.events = 0
        self._nearest = math.inf  # where a motion that leads away began
        self._may_lead_away = False
        self.distance = math.nan

    def _separable(
        self, model: CollisionModel, safe_distance: float, danger_distance: float
    ) -> CollisionModel:
        """A twin with the pairs to compare with d_dan; keeps those with a d_dan of their own."""
        guarded, names = _guarded(model, self.arms), np.array(model.pairs)
        twin = model.twin([model.pairs[k] for k in np.flatnonzero(guarded)])
        leaves = np.array([twin.distances(q) for q in model.random_configurations(_SAMPLES)])
        below_danger, below_safe = np.zeros((2, len(model.pairs)))
        below_danger[guarded] = np.mean(leaves < danger_distance, axis=0)
        below_safe[guarded] = np.mean(leaves < safe_distance, axis=0)
        most = _BY_DESIGN if len(self.arms) > 1 else _EASED
        kept = guarded & (below_danger < most)
        if not kept.any():
            raise ArmsError(
                f"every pair {_between(self.arms)} is nearer than {danger_distance:g} m in nearly "
                "all configurations: nothing can be monitored"
            )
        self.left_out = sorted(map(tuple, names[guarded & ~kept].tolist()))
        often = often_near(model, kept, below_safe, safe_distance, danger_distance)
        if len(often) == kept.sum():
            often = {}  # the monitor needs a pair
        self._often = model.twin([model.pairs[k] for k in often])
        self._own_danger = np.array([pair.stop for pair in often.values()])
        kept[list(often)] = False
        return model.twin([model.pairs[k] for k in np.flatnonzero(kept)])

    @property
    def model(self) -> CollisionModel:
        """The robot with the monitored pairs only."""
        return self.monitor.model

    def set_distances(self, safe_distance: float, danger_distance: float) -> None:
        """Change d_saf and d_dan, metres."""
        self.monitor.warn_distance = safe_distance
        self.monitor.stop_distance = danger_distance

    def update(self, message: JointState) -> tuple[MonitorState, bool]:
        """Process a joint state; returns the state, and whether to hold."""
        state = self.monitor.process(message)
        self.distance = state.distance
        if state.clearance is None:
            return state, False
        distance = state.clearance.distance
        if self._own_danger.size:
            danger = self.monitor.stop_distance
            q, pairs = self.monitor.buffer.q, np.arange(len(self._own_danger))
            above = self._often.surface_distances(q, pairs) - np.minimum(self._own_danger, danger)
            self.distance = min(distance, danger + float(above.min()))
        return state, self._judge(min(distance, self.distance))

    def _judge(self, distance: float) -> bool:
        danger = self.monitor.stop_distance
        slack = _HYSTERESIS * (self.monitor.warn_distance - danger)
        if not self.in_event:
            if distance >= danger:
                return False
            self.in_event, self._may_lead_away = True, False
            self.events += 1
            return True
        if distance > danger + slack:
            self.in_event = False
            return False
        if not self._may_lead_away or distance >= self._nearest - slack:
            return False
        self._may_lead_away = False
        return True

    def allow_leaving(self) -> None:
        """Report the start of a motion that leads away: hold again if the distance decreases."""
        self._may_lead_away, self._nearest = True, self.distance

    def state(self, now: float) -> MonitorState:
        """The state at ``now``, without a new joint state."""
        return self.monitor.state(now)

    def joint_state_fault(self, now: float) -> str:
        """Why the current state is not valid; empty if it is."""
        state = self.state(now)
        return state.reason if state.cause and state.cause not in REMARKS else ""

    def positions(self) -> Mapping[str, float]:
        """Last known position of every joint of the robot, radians or metres."""
        names = self.monitor.buffer.joint_names
        return dict(zip(names, self.monitor.buffer.q.tolist(), strict=True))
