# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""From joint states to a verdict: clear, near, too close, or not known. No ROS here."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from collision_monitor.clearance import Clearance
from collision_monitor.collision_model import CollisionModel
from collision_monitor.errors import (
    CollisionMonitorError,
    ConfigurationError,
    JointStateError,
)
from collision_monitor.joint_state_buffer import JointStateBuffer, name_some

logger = logging.getLogger(__name__)

# After a message that cannot be used the verdict stays an error for this long: a good
# message of another publisher between two bad ones does not make the bad ones good.
_FAULT_SECONDS = 0.5


NARROW_PHASES = ("leaf", "mesh", "auto")


class Level(IntEnum):
    """How it stands; the values are those of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


class MonitorState(NamedTuple):
    """One verdict; one is made for every joint state, so it costs little.

    Attributes:
        level: OK above the warning distance, WARN at or below it, ERROR at or below
            the stop distance and for data that cannot be used, STALE without fresh data.
        reason: why the state is not clear; empty when the distance alone decides.
        cause: what an unclear state is about: ``fault`` (data that cannot be used),
            ``waiting`` (for first data), ``stale``, ``conflict`` (of two publishers);
            empty when the distance alone decides.
        clearance: the nearest pair; None when it is not known.
        age: seconds since the oldest joint position used was measured; inf before any.
        speed_scale: 0 (stop, or not known) to 1 (clear).
    """

    level: Level
    reason: str = ""
    cause: str = ""
    clearance: Clearance | None = None
    age: float = math.inf
    speed_scale: float = 0.0

    @property
    def message(self) -> str:
        """One sentence for people."""
        if self.reason or self.clearance is None:
            return self.reason
        distance, (a, b) = self.clearance.distance, self.clearance.links
        if self.level is Level.OK:
            text = f"clear: {distance:.3f} m"
        elif self.level is Level.WARN:
            text = f"near: {distance:.3f} m"
        elif distance > 0.0:
            text = f"too close: {distance:.3f} m"
        else:
            text = f"collision: {-distance:.3f} m deep"
        return f"{text} between {a} and {b}"

    @property
    def action(self) -> str:
        """``none``, ``slowdown`` or ``stop``: what the robot should do."""
        return ("none", "slowdown", "stop", "stop")[self.level]

    @property
    def safe(self) -> bool:
        """Whether fresh data prove that nothing is too close."""
        return self.level in (Level.OK, Level.WARN)

    @property
    def distance(self) -> float:
        """Metres; NaN when it is not known."""
        return math.nan if self.clearance is None else self.clearance.distance


class Monitor:
    """Watches one robot. Times are seconds of a steady clock.

    ``warn_distance``, ``stop_distance`` (metres) and ``joint_state_timeout`` (seconds;
    0 switches the watchdog off) may be changed at any time, and so may ``narrow_phase``:
    ``leaf`` distances, exact ones on the triangles (``mesh``), or exact ones only where leaves are
    as near as ``warn_distance`` (``auto``).
    """

    def __init__(
        self,
        model: CollisionModel,
        warn_distance: float = 0.1,
        stop_distance: float = 0.02,
        joint_state_timeout: float = 0.5,
        zero_state_confirmation: float = 0.3,
        narrow_phase: str = "leaf",
    ) -> None:
        """See the class; what exact distances need is made and compiled here."""
        if narrow_phase not in NARROW_PHASES:
            raise ConfigurationError(
                f"narrow_phase: {narrow_phase!r} is none of {', '.join(NARROW_PHASES)}"
            )
        self.model = model
        self.narrow_phase = narrow_phase
        if narrow_phase != "leaf":
            model.prepare_exact()
        self.warn_distance = warn_distance
        self.stop_distance = stop_distance
        self.joint_state_timeout = joint_state_timeout
        self.buffer = JointStateBuffer(
            model.joint_names,
            model.velocity_limits,
            known_names=[joint.name for joint in model.robot.joints],
            zero_confirmation=zero_state_confirmation,
        )
        self.updates = 0
        self._clearance: Clearance | None = None
        self._fault = ""
        self._fault_time = -math.inf

    def update(
        self,
        names: Sequence[str],
        positions: Sequence[float] | np.ndarray,
        now: float,
        stamp: float = 0.0,
        lag: float = 0.0,
    ) -> MonitorState:
        """The verdict after a joint state; never raises for what a message may hold.

        Args:
            names: of the message, as they are.
            positions: of the message, as they are; radians or metres.
            now: steady clock.
            stamp: of the message's header, 0 without one.
            lag: how old the message is by its stamp.
        """
        self._clearance = None
        try:
            self.buffer.update(names, positions, now, stamp, lag)
            if not self.buffer.doubt():
                self._clearance = self._measure()
                self.updates += 1
        except JointStateError as error:
            self._fault, self._fault_time = str(error), now
        except CollisionMonitorError as error:
            self._fault, self._fault_time = f"no distance: {error}", now
        except Exception as error:  # a fault of ours must not end the watch over the robot
            text = f"no distance: internal error, {type(error).__name__}: {error}"
            if text != self._fault:
                logger.exception("%s", text)
            self._fault, self._fault_time = text, now
        return self.state(now)

    def _measure(self) -> Clearance:
        q = self.buffer.q
        clearance = self.model.distance(q, exact=self.narrow_phase == "mesh")
        # Written so that a distance that is not a number is not taken for a far one.
        if self.narrow_phase == "auto" and not clearance.distance > self.warn_distance:
            clearance = self.model.distance(q, exact=True)
        if not math.isfinite(clearance.distance):
            raise CollisionMonitorError(f"it came out as {clearance.distance}")
        return clearance

    def distances(self) -> np.ndarray:
        """Signed distance (len(pairs),) of every pair at the last pose, as the verdict measures.

        With ``auto`` those of leaves as near as ``warn_distance`` are exact.
        """
        if self.narrow_phase == "leaf":
            return self.model.distances(self.buffer.q)
        within = self.warn_distance if self.narrow_phase == "auto" else math.inf
        return self.model.distances(self.buffer.q, exact=True, within=within)

    def state(self, now: float) -> MonitorState:
        """The verdict at ``now``, without news."""
        age = self.buffer.age(now)
        doubt = self.buffer.doubt()
        stale = 0.0 < self.joint_state_timeout < age
        if now - self._fault_time < _FAULT_SECONDS or (self._fault and stale):
            clearance = None if stale else self._clearance
            return MonitorState(Level.ERROR, self._fault, "fault", clearance, age)
        self._fault = ""
        if doubt:
            return MonitorState(Level.STALE, doubt, "waiting", None, age)
        if stale:
            return MonitorState(Level.STALE, self._stale_reason(now), "stale", None, age)
        clearance = self._clearance
        if clearance is None:  # the last message was refused, and none has come since
            text = "no usable joint state since the last fault"
            return MonitorState(Level.STALE, text, "waiting", None, age)
        conflict = self.buffer.conflict(now)
        if conflict:
            return MonitorState(Level.ERROR, conflict, "conflict", clearance, age)
        return self._judge(clearance, age)

    def _stale_reason(self, now: float) -> str:
        old = self.buffer.older_than(self.joint_state_timeout, now)
        every = len(old) == len(self.buffer.joint_names)
        return (
            f"joint states are {self.buffer.age(now):.2f} s old "
            f"({'all joints' if every else name_some(old)}); "
            f"{self.joint_state_timeout:g} s is allowed"
        )

    def _judge(self, clearance: Clearance, age: float) -> MonitorState:
        distance = clearance.distance
        if distance > self.warn_distance:
            return MonitorState(Level.OK, "", "", clearance, age, 1.0)
        if distance > self.stop_distance:
            scale = (distance - self.stop_distance) / (self.warn_distance - self.stop_distance)
            return MonitorState(Level.WARN, "", "", clearance, age, scale)
        return MonitorState(Level.ERROR, "", "", clearance, age, 0.0)
