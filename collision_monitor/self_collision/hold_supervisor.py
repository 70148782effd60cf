# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Monitors the distances of arms, and decides when to hold them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from collision_monitor.errors import ArmsError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.monitoring.settings import MonitorSettings
from collision_monitor.monitoring.standing import Standing
from collision_monitor.monitoring.watchdogs import REMARKS, Watchdogs
from collision_monitor.robot.angles import apart
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.margins import often_near, rarely_apart, sides

# An event ends when the distance exceeds d_dan by this fraction of d_saf - d_dan. A motion that
# leads away is stopped when the distance decreases by as much.
_HYSTERESIS = 0.1


def names_of(model: CollisionModel, arm: Arm) -> frozenset[str]:
    """Names of an arm in pairs: its links, and the objects of the scene attached to them."""
    return frozenset(name for name, link in model.carriers.items() if link in arm.links)


def _guarded(model: CollisionModel, arms: Sequence[Arm]) -> np.ndarray:
    """(pairs,) bool: those between two arms; for a single arm, between it and everything else.

    Raises:
        ArmsError: there is none, so the arms would not be monitored.
    """
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


class Nearest(NamedTuple):
    """The pair of links that decides whether to hold.

    Attributes:
        links: their names.
        distance: between them, metres.
        danger: below this distance the arms are held, metres.
        often_near: whether that is a danger distance of these links alone.
    """

    links: tuple[str, str]
    distance: float
    danger: float
    often_near: bool = False

    @property
    def above(self) -> float:
        """Distance above the danger distance, metres; negative below it."""
        return self.distance - self.danger

    def __str__(self) -> str:
        a, b = self.links
        limit = "the danger distance of these links, which are near by design,"
        return (
            f"{a} and {b} are {self.distance:.4f} m apart, "
            f"{limit if self.often_near else 'danger_distance'} is {self.danger:.4g} m"
        )


@dataclass(eq=False)
class Execution:
    """A motion that was sent to the controller, and whether it is being executed.

    It is until its planned end, and then until joint states show that its joints stand: the
    controller may be slower than planned, and may pass the goal on its way. If the clock is set
    back, the time that is left until its planned end stays. Times are seconds of the clock of
    stamps.

    Attributes:
        joint_names: the joints of the motion.
        begin: when it begins; -inf if it is not executed.
        planned_end: when it ends as planned; -inf if it is not executed.
        goal: last positions of its joints; without any it ends as planned.
        tolerance: rad or m from the goal.
        passes_goal: whether it comes to the goal before its end.
        endless: joints that are at the goal a whole turn away as well.
    """

    joint_names: tuple[str, ...] = ()
    begin: float = -math.inf
    planned_end: float = -math.inf
    goal: Mapping[str, float] = field(default_factory=dict)
    tolerance: float = 0.0
    passes_goal: bool = False
    endless: frozenset[str] = frozenset()
    _has_ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._clock = self.begin

    def continue_with(self, arm_joints: Sequence[str], known: Collection[str]) -> Execution:
        """The same motion with a new robot that has the joints ``known``."""
        self.joint_names = tuple(arm_joints)
        self.goal = {name: value for name, value in self.goal.items() if name in known}
        return self

    def update(self, standing: Standing, clock: float) -> None:
        """End the motion if all its joints stand after its planned end."""
        if not self.running(clock):
            return  # what moves the joints now is another motion
        if clock > self.planned_end and all(self._stands(n, standing, clock) for n in self.goal):
            self._has_ended = True

    def running(self, clock: float) -> bool:
        """Whether the motion is being executed."""
        if clock < self._clock:
            self.planned_end -= self._clock - clock
            self.begin = clock
        self._clock = clock
        return clock <= self.planned_end or bool(self.goal) and not self._has_ended

    def is_at_goal(self, name: str, position: float) -> bool:
        """Whether a joint is at its goal."""
        off = apart(position, self.goal.get(name, math.nan), name in self.endless)
        return bool(abs(off) <= self.tolerance)

    def _stands(self, name: str, standing: Standing, clock: float) -> bool:
        at_goal = not self.passes_goal and self.is_at_goal(name, standing.position(name))
        return standing.stood(name, self.begin, clock, at_goal)


class HoldSupervisor:
    """Measures the distance of the arms at every joint state; gives one order to hold per event.

    The distance is that between arms; for a single arm, that to the rest of the robot and the
    scene.

    An event begins when a pair is closer than d_dan and ends when all are farther apart again,
    with hysteresis. Pairs that are rarely d_dan apart (``left_out``) are ignored: two shoulders are
    near by design, and monitoring them would hold the arms forever. Links that are often
    near each other have a smaller d_dan of their own, as in `adjust`, between meshes. During an
    event, a motion that leads away may be allowed (`allow_leaving`): a second order stops it if the
    arms come closer again. Times are seconds of a steady clock.

    Attributes:
        nearest: the pair that is least above its d_dan at the last joint state; None if unknown.
        left_out: pairs that are ignored.
    """

    def __init__(
        self,
        model: CollisionModel,
        arms: Sequence[Arm],
        safe_distance: float = 0.1,
        danger_distance: float = 0.05,
        joint_state_timeout: float = MonitorSettings.joint_state_timeout,
        zero_state_confirmation: float = MonitorSettings.zero_state_confirmation,
        watchdogs: Watchdogs | None = None,
    ) -> None:
        """``safe_distance`` is d_saf and ``danger_distance`` d_dan, metres.

        ``watchdogs``: those of a node, if it keeps them for several robots.

        Raises:
            ArmsError: no pair of the arms is checked, or all are near by design.
        """
        self.arms, self._robot = arms, model
        self._guarded, self._sides = _guarded(model, arms), sides(model, arms)
        self._waits = joint_state_timeout, zero_state_confirmation
        self.monitor = self._monitor(safe_distance, danger_distance)
        if watchdogs is not None:
            self.monitor.watchdogs = watchdogs
            self.monitor.forget()
        self.in_event = False
        self.events = 0
        self._now = 0.0
        self._leaving = math.inf  # `Nearest.above` where a motion that leads away began
        self._may_lead_away = False
        self.nearest: Nearest | None = None

    def _monitor(self, safe_distance: float, danger_distance: float) -> Monitor:
        """Select the pairs to compare with d_dan, or with one of their own; a monitor of these."""
        model, names = self._robot, self._robot.pairs
        below_danger = model.shares_within(danger_distance)
        kept = self._guarded & ~rarely_apart(self._sides, below_danger)
        if not kept.any():
            raise ArmsError(
                f"every pair {_between(self.arms)} is nearer than {danger_distance:g} m in nearly "
                "all configurations: nothing can be monitored"
            )
        often = often_near(model, kept, safe_distance, danger_distance)
        others = [names[k] for k in np.flatnonzero(kept) if k not in often]
        # The monitor needs a pair, also where each has a danger distance of its own.
        monitor = Monitor(
            model.twin(others or [names[k] for k in often]),
            safe_distance,
            danger_distance,
            *self._waits,
            behaviour=None,
        )
        self._compares = bool(others)
        self._own_danger = {k: pair.stop for k, pair in often.items()}
        self.left_out = sorted(names[k] for k in np.flatnonzero(self._guarded & ~kept))
        return monitor

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs that can hold the arms."""
        own = [self._robot.pairs[k] for k in self._own_danger]
        return (self.monitor.model.pairs if self._compares else []) + own

    @property
    def model(self) -> CollisionModel:
        """The robot with the monitored pairs only, without those with a d_dan of their own."""
        return self.monitor.model

    def set_distances(self, safe_distance: float, danger_distance: float) -> None:
        """Change d_saf and d_dan, metres.

        Raises:
            ArmsError: all pairs are near by design; nothing is changed.
        """
        if (safe_distance, danger_distance) == self._distances:
            return
        old, self.monitor = self.monitor, self._monitor(safe_distance, danger_distance)
        self.monitor.joint_state_timeout = old.joint_state_timeout
        self.monitor.take_over(old, self._now)
        if self.nearest is not None:
            self._take(self.monitor.state(self._now))
            if self._may_lead_away:
                self.allow_leaving()

    @property
    def _distances(self) -> tuple[float, float]:
        return self.monitor.warn_distance, self.monitor.stop_distance

    def update(self, message: JointState) -> tuple[MonitorState, bool]:
        """Process a joint state; returns the state, and whether to hold."""
        self._now = message.now
        state = self.monitor.process(message)
        self._take(state)
        return state, self.nearest is not None and self._judge(self.nearest.above)

    def _take(self, state: MonitorState) -> None:
        if state.clearance is None:
            self.nearest = None
            return
        found = self._measured_often()
        if self._compares:
            clearance, danger = state.clearance, self.monitor.stop_distance
            found.append(Nearest(clearance.links, clearance.distance, danger))
        self.nearest = min(found, key=lambda pair: pair.above)

    def below(self) -> dict[tuple[str, str], float]:
        """The pairs below their d_dan at the last joint state, with their distances, metres."""
        if self.nearest is None:
            return {}
        found = self._measured_often()
        if self._compares:
            distances, danger = self.monitor.distances(), self.monitor.stop_distance
            found += map(Nearest, self.model.pairs, distances.tolist(), [danger] * len(distances))
        return {pair.links: pair.distance for pair in found if pair.above < 0.0}

    def _measured_often(self) -> list[Nearest]:
        """The pairs with a d_dan of their own."""
        if not self._own_danger:
            return []
        distances = self._robot.surface_distances(self.monitor.buffer.q, list(self._own_danger))
        each = zip(self._own_danger.items(), distances.tolist(), strict=True)
        return [Nearest(self._robot.pairs[k], d, own, True) for (k, own), d in each]

    def _judge(self, above: float) -> bool:
        safe, danger = self._distances
        slack = _HYSTERESIS * (safe - danger)
        if not self.in_event:
            if above >= 0.0:
                return False
            self.in_event, self._may_lead_away = True, False
            self.events += 1
            return True
        if above > slack:
            self.in_event = False
            return False
        if not self._may_lead_away or above >= self._leaving - slack:
            return False
        self._may_lead_away = False
        return True

    def allow_leaving(self) -> None:
        """Report the start of a motion that leads away: hold again if the arms come closer."""
        self._may_lead_away = True
        self._leaving = math.inf if self.nearest is None else self.nearest.above

    def distance(self, now: float) -> float:
        """Distance of the pair that decides, metres; NaN if it is not known at ``now``."""
        known = self.nearest is not None and self.state(now).clearance is not None
        return self.nearest.distance if known else math.nan

    def state(self, now: float) -> MonitorState:
        """The state at ``now``, without a new joint state."""
        return self.monitor.state(now)

    def joint_state_fault(self, now: float) -> str:
        """Why the current state is not valid; empty if it is."""
        state = self.state(now)
        return state.reason if state.cause and state.cause not in REMARKS else ""

    def positions(self) -> Mapping[str, float]:
        """Last known position of every joint of the robot, as reported, radians or metres."""
        names = self.monitor.buffer.joint_names
        return dict(zip(names, self.monitor.buffer.reported.tolist(), strict=True))
