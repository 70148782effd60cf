# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""MonitorState: level, action and reason, the result of one update of a monitor."""

from __future__ import annotations

import math
from typing import NamedTuple

from collision_monitor.common.text import metres
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.monitoring.faults import Level
from collision_monitor.monitoring.speed_policy.decision import (
    LATCHED,
    NONE,
    SLOWDOWN,
    STOP,
    UNACKNOWLEDGED,
    Decision,
    decision_message,
    held_message,
)
from collision_monitor.monitoring.speed_policy.speed_policy import DistancePolicy
from collision_monitor.monitoring.watchdogs import REMARKS

_HELD = {
    LATCHED: "stopped until ~/reset is called",
    UNACKNOWLEDGED: "stopped until ~/acknowledge is called",
}


class MonitorState(NamedTuple):
    """The result of one update of a `Monitor`.

    Attributes:
        level: ``Level.OK`` above the warning distance, WARN at or below it, ERROR at or below the
            stop distance and for invalid data, STALE without fresh data. With a speed policy,
            WARN and ERROR also apply if the distance is reached while braking.
        reason: why the state is not clear; empty if only distances decide.
        cause: category of the reason. ``fault`` (invalid data), ``waiting`` (for first data),
            ``stale``, ``conflict`` (between publishers), ``scene`` (an object of the live scene
            is not monitored), ``latched`` and ``unacknowledged`` (a stop is held), ``disabled``.
            Remarks, with which distances still decide: ``clock`` (was set), ``late`` (stamps go
            back), ``publisher`` (one of several is gone, or several may have the same joints),
            ``overrun`` (a late cycle), ``position`` (beyond a limit, or of a mimic joint away from
            its leader). Empty if only distances decide.
        clearance: the nearest pair that is not near by design, or is within its own warning
            distance (`CollisionModel.distance` with ``by_design=False``); None if unknown.
        age: seconds since the oldest joint position in use was measured; inf before the first.
        speed_scale: from 0 (stop, or unknown) to 1 (clear).
        decision: of the policy; None if unknown.
        pair: the pair of links that decides; None if nothing is near.
        held: the pair of links that caused the action, if only hysteresis holds it now.
        fast: joints that move the pair and whose velocity is, or counts as, its limit, if the
            braking path decides.
    """

    level: Level
    reason: str = ""
    cause: str = ""
    clearance: Clearance | None = None
    age: float = math.inf
    speed_scale: float = 0.0
    decision: Decision | None = None
    pair: tuple[str, str] | None = None
    fast: tuple[str, ...] = ()
    held: tuple[str, str] | None = None

    @property
    def message(self) -> str:
        """The state in one sentence."""
        if self.reason or self.clearance is None:
            return self.reason
        return self.distance_message

    @property
    def distance_message(self) -> str:
        """The distances in one sentence; empty if unknown."""
        if self.clearance is None:
            return ""
        # Of pairs that are clear, the one with the minimum distance is named.
        distance, (a, b) = self.clearance.distance, self.clearance.links
        # If hysteresis holds the action of one pair, others are of no interest, except the nearest.
        is_of_pair = self.held is None or set(self.held) == set(self.pair or ())
        if self.pair is not None and is_of_pair and not self.decision.is_clear:
            text = decision_message(self.decision, self.pair, self.fast)
            if not distance > 0.0 and self.decision.distance > 0.0:  # it moves away
                text += f"; collision: at most {metres(-distance)} deep between {a} and {b}"
            return text
        if self.held is not None:
            return held_message(self.decision, distance, (a, b), self.held)
        if self.level is Level.OK or (self.decision is not None and self.decision.action == NONE):
            text = f"clear: {metres(distance)}"
        elif self.level is Level.WARN:
            text = f"near: {metres(distance)}"
        elif distance > 0.0:
            text = f"too close: {metres(distance)}"
        else:
            text = f"collision: at most {metres(-distance)} deep"
        return f"{text} between {a} and {b}"

    @property
    def action(self) -> str:
        """Action for the robot: ``none``, ``limit``, ``approach``, ``slowdown`` or ``stop``."""
        if self.cause == "disabled":
            return NONE
        if self.decision is not None and (not self.cause or self.cause in REMARKS):
            return self.decision.action
        return (NONE, SLOWDOWN, STOP, STOP)[self.level]

    def with_remark(self, text: str) -> MonitorState:
        """The state with a remark appended to its reason, and at least WARN."""
        reason = f"{self.message}; {text}" if self.message else text
        return self._replace(level=max(self.level, Level.WARN), reason=reason)

    def with_fault(self, text: str) -> MonitorState:
        """The state as an ERROR for this reason; one that is STALE or disabled gets a remark."""
        if self.level is Level.STALE or self.cause == "disabled":
            return self.with_remark(text)._replace(level=max(self.level, Level.ERROR))
        reason = f"{text}; {self.message}" if self.level is Level.ERROR else text
        return MonitorState(Level.ERROR, reason, "fault", self.clearance, self.age)

    @property
    def safe(self) -> bool:
        """Whether fresh data prove that no pair is too close."""
        return self.level in (Level.OK, Level.WARN)

    @property
    def distance(self) -> float:
        """Minimum signed distance of the pairs that count in metres, see ``clearance``; or NaN."""
        return math.nan if self.clearance is None else self.clearance.distance


def decided_state(policy: DistancePolicy, clearance: Clearance, age: float) -> MonitorState:
    """The state by the last decision of ``policy``; arguments as of `MonitorState`."""
    decision = policy.decision
    if decision.inside or decision.stop:
        level = Level.ERROR
    else:
        is_near = decision.near or decision.slow or decision.approach
        level = Level.WARN if is_near else Level.OK
    state = MonitorState(
        level, "", "", clearance, age, decision.scale, decision, policy.pair,
        policy.fast_joints(), policy.cause,
    )  # fmt: skip
    if not (held := policy.latch.held):
        return state
    reason = f"{_HELD[held]}; now {state.distance_message}"
    return state._replace(level=Level.ERROR, reason=reason, cause=held, speed_scale=0.0)
