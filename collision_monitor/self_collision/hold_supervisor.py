# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Monitors the distance of two arms from each other, and decides when to hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from collision_monitor.errors import ArmsError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.monitoring.watchdogs import REMARKS
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.margins import sides

# An event ends when the arms are farther apart than d_dan by this part of d_saf - d_dan,
# and a motion that leads away is stopped when it leads nearer again by as much.
_HYSTERESIS = 0.1
# A pair that is nearer than d_dan in this part of so many configurations is so by design.
_BY_DESIGN, _SAMPLES = 0.95, 200


def names_of(model: CollisionModel, arm: Arm) -> frozenset[str]:
    """Names that stand for an arm in pairs: its links, and what of the scene it carries."""
    carried = (o.name for o in model.scene.obstacles if o.link in arm.links)
    return frozenset((*arm.links, *carried))


def pairs_between(model: CollisionModel, arms: tuple[Arm, Arm]) -> list[tuple[str, str]]:
    """Pairs of ``model.pairs`` with a part of each arm.

    Raises:
        ArmsError: there is none, so that nothing would keep the arms apart.
    """
    between = sides(model, arms).between
    pairs = [pair for pair, used in zip(model.pairs, between, strict=True) if used]
    if not pairs:
        raise ArmsError(
            f"no pair of links between '{arms[0].name}' and '{arms[1].name}' is checked: all are "
            "disabled or have no collision shapes"
        )
    return pairs


def _that_can_be_apart(
    model: CollisionModel, arms: tuple[Arm, Arm], distance: float
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs between the arms, and those of them that hardly ever are ``distance`` apart.

    Two shoulders are near by design: including them would hold the arms for ever.
    """
    pairs = pairs_between(model, arms)
    twin = model.twin(pairs)
    rows = model.random_configurations(_SAMPLES)
    share = np.mean([twin.distances(row) < distance for row in rows], axis=0)
    always = {pair for pair, part in zip(twin.pairs, share, strict=True) if part >= _BY_DESIGN}
    if len(always) == len(pairs):
        raise ArmsError(
            f"every pair between '{arms[0].name}' and '{arms[1].name}' is nearer than "
            f"{distance:g} m in nearly all configurations: nothing can be guarded"
        )
    return [pair for pair in pairs if pair not in always], sorted(always)


class HoldSupervisor:
    """The arms' own distance at every joint state, and one order to hold for each event.

    An event begins when the arms are nearer than d_dan and ends when they have left it
    behind, with some hysteresis. Pairs that hardly ever are d_dan apart (``left_out``) do not
    count. While it lasts, a motion may be allowed that leads away
    (`allow_leaving`): it is stopped by a second order if it leads nearer again.
    Times are seconds of a steady clock.

    Attributes:
        distance: of the arms at the last joint state, metres; NaN while it is unknown.
    """

    def __init__(
        self,
        model: CollisionModel,
        arms: tuple[Arm, Arm],
        safe_distance: float = 0.1,
        danger_distance: float = 0.05,
        joint_state_timeout: float = 0.5,
        zero_state_confirmation: float = 0.3,
    ) -> None:
        """Distances are metres between leaves, d_saf and d_dan of both arms together.

        Raises:
            ArmsError: no pair between the arms is checked, or none can be apart.
        """
        self.arms = arms
        pairs, self.left_out = _that_can_be_apart(model, arms, danger_distance)
        self.monitor = Monitor(
            model.twin(pairs),
            safe_distance,
            danger_distance,
            joint_state_timeout,
            zero_state_confirmation,
            behaviour=None,
        )
        self.in_event = False
        self.events = 0
        self._nearest = math.inf  # where a motion that leads away began
        self._may_leave = False
        self.distance = math.nan

    @property
    def model(self) -> CollisionModel:
        """The robot, with the pairs between the arms alone."""
        return self.monitor.model

    def set_distances(self, safe_distance: float, danger_distance: float) -> None:
        """Change d_saf and d_dan, metres."""
        self.monitor.warn_distance = safe_distance
        self.monitor.stop_distance = danger_distance

    def update(
        self,
        names: Sequence[str],
        positions: Sequence[float],
        now: float,
        stamp: float = 0.0,
        lag: float = 0.0,
    ) -> tuple[MonitorState, bool]:
        """The verdict after a joint state (see `Monitor.update`), and whether to hold now."""
        state = self.monitor.update(names, positions, now, stamp, lag)
        self.distance = state.distance
        if state.clearance is None:
            return state, False
        return state, self._judge(state.clearance.distance)

    def _judge(self, distance: float) -> bool:
        danger = self.monitor.stop_distance
        slack = _HYSTERESIS * (self.monitor.warn_distance - danger)
        if not self.in_event:
            if distance >= danger:
                return False
            self.in_event, self._may_leave = True, False
            self.events += 1
            return True
        if distance > danger + slack:
            self.in_event = False
            return False
        if not self._may_leave or distance >= self._nearest - slack:
            return False
        self._may_leave = False
        return True

    def allow_leaving(self) -> None:
        """A motion that leads away has begun: hold again only if it leads nearer instead."""
        self._may_leave, self._nearest = True, self.distance

    def state(self, now: float) -> MonitorState:
        """The verdict at ``now``, without news."""
        return self.monitor.state(now)

    def doubt(self, now: float) -> str:
        """Why the present state cannot be relied upon; empty when it can."""
        state = self.state(now)
        return state.reason if state.cause and state.cause not in REMARKS else ""

    def present(self) -> Mapping[str, float]:
        """Position of every joint of the robot, radians or metres, as last heard."""
        names = self.monitor.buffer.joint_names
        return dict(zip(names, self.monitor.buffer.q.tolist(), strict=True))
