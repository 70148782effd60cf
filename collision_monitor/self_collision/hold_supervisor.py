# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Monitors the distance between arms, or of one from the rest, and decides when to hold them."""

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
# A pair that is nearer than d_dan in this part of so many configurations is so by design. `adjust`
# eases a link of an arm and one that no arm moves at the lower share.
_BY_DESIGN, _EASED, _SAMPLES = 0.95, 0.5, 200


def names_of(model: CollisionModel, arm: Arm) -> frozenset[str]:
    """Names that stand for an arm in pairs: its links, and what of the scene it carries."""
    carried = (o.name for o in model.scene.obstacles if o.link in arm.links)
    return frozenset((*arm.links, *carried))


def pairs_between(model: CollisionModel, arms: Sequence[Arm]) -> list[tuple[str, str]]:
    """Pairs of ``model.pairs`` with parts of two arms; of one arm, with it and what it is not.

    Raises:
        ArmsError: there is none, so that nothing would keep the arms apart.
    """
    kinds = sides(model, arms)
    guarded = kinds.between if len(arms) > 1 else kinds.outside
    pairs = [pair for pair, used in zip(model.pairs, guarded, strict=True) if used]
    if not pairs:
        raise ArmsError(
            f"no pair of links {_between(arms)} is checked: all are disabled or have no collision "
            "shapes"
        )
    return pairs


def _between(arms: Sequence[Arm]) -> str:
    names = " and ".join(f"'{arm.name}'" for arm in arms)
    return f"between {names}" if len(arms) > 1 else f"of {names} and anything else"


def _that_can_be_apart(
    model: CollisionModel, arms: Sequence[Arm], distance: float
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs to guard, and those that are left out: often or always nearer than ``distance``.

    Two shoulders are near by design: including them would hold the arms for ever.
    """
    pairs = pairs_between(model, arms)
    twin = model.twin(pairs)
    rows = model.random_configurations(_SAMPLES)
    share = np.mean([twin.distances(row) < distance for row in rows], axis=0)
    most = _BY_DESIGN if len(arms) > 1 else _EASED
    always = {pair for pair, part in zip(twin.pairs, share, strict=True) if part >= most}
    if len(always) == len(pairs):
        raise ArmsError(
            f"every pair {_between(arms)} is nearer than {distance:g} m in nearly all "
            "configurations: nothing can be guarded"
        )
    return [pair for pair in pairs if pair not in always], sorted(always)


class HoldSupervisor:
    """The distance of the arms at every joint state, and one order to hold for each event.

    It is the distance between arms; of a single arm, that from the rest of the robot and the scene.

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
        arms: Sequence[Arm],
        safe_distance: float = 0.1,
        danger_distance: float = 0.05,
        joint_state_timeout: float = 0.5,
        zero_state_confirmation: float = 0.3,
    ) -> None:
        """Distances are metres between leaves, d_saf and d_dan of both arms together.

        Raises:
            ArmsError: no pair of the arms is checked, or none can be apart.
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
        """The robot, with the guarded pairs alone."""
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
