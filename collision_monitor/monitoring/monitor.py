# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Monitor: joint states in, a state with level, action and reason out, without ROS."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from collision_monitor.errors import (
    CollisionMonitorError,
    ConfigurationError,
    JointStateError,
    reason_of,
)
from collision_monitor.hierarchy.query import Clearance, warm_up_for_states
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.cell_buffer import CellBuffer, buffer_of
from collision_monitor.monitoring.faults import MOMENT, Level
from collision_monitor.monitoring.joint_history import JointHistory
from collision_monitor.monitoring.joint_state_buffer import JointState, JointStateBuffer
from collision_monitor.monitoring.monitor_state import MonitorState, decided_state
from collision_monitor.monitoring.monitored_distances import MonitoredDistances
from collision_monitor.monitoring.position_limits import PositionWatch
from collision_monitor.monitoring.settings import MonitorSettings
from collision_monitor.monitoring.speed_policy.speed_policy import DistancePolicy, SpeedPolicy
from collision_monitor.monitoring.watchdogs import Watchdogs

logger = logging.getLogger(__name__)

# Sources of faults in the register. The first ERROR is the state, without a distance that decides;
# remarks are added to it. Those of the robot's data end with the robot. "robot", "objects", "cloud"
# and "unheard_obstacles" are raised by who loads robots and scenes.
_ERRORS = ("clocks", "conflict", "position", "robot", "objects", "cloud", "unheard_obstacles")
_REMARKS = ("clock", "late", "publisher", "overrun")
_POSITIONS = ("position", "mimic")
_OF_DATA = ("message", "conflict", "position", "mimic")

# The default speed policy is made for the model; None stands for `DistancePolicy`.
_BY_DEFAULT: Any = object()


class Monitor:
    """Monitors joint states: each update gives a `MonitorState`. Times are seconds, steady clock.

    ``warn_distance``, ``stop_distance``, ``joint_state_timeout`` and ``narrow_phase`` may be
    changed at any time.

    Args:
        model: the robot and its scene.
        warn_distance: WARN at or below this distance, metres.
        stop_distance: ERROR at or below this distance, metres.
        joint_state_timeout: STALE if a joint position is older than this, seconds; 0 disables it.
        zero_state_confirmation: seconds for which a joint state of only zeros must repeat before
            it is accepted; ten times as long after a loss, a change of publishers or a jump, if
            the robot was elsewhere.
        narrow_phase: ``leaf`` for distances of leaves, ``auto`` for exact distances where leaves
            are as near as ``warn_distance``, or hold a level, in bounded time. In contact the
            distance is that of the leaves.
        behaviour: the speed policy, by default one with the settings of the node. It considers
            whether pairs approach and whether the robot can brake in time, allows thresholds for
            single pairs (`set_thresholds`), and holds levels for some cycles. With None only
            distances decide (`DistancePolicy`).
        robots: joint names of each robot by its name, if the model contains several. Their data
            are checked separately; one robot with invalid or stale data decides the state.
        live: obstacles that change at run time. Why an object of it is not monitored is raised
            in ``watchdogs.faults`` as "objects", which makes the state ERROR.

    Raises:
        ConfigurationError: narrow_phase is unknown, behaviour has another live scene, or a time is
            negative or not finite.
        ThresholdsError: a distance is negative or not finite, or ``stop_distance`` above
            ``warn_distance``.
    """

    def __init__(
        self,
        model: CollisionModel,
        warn_distance: float = MonitorSettings.warn_distance,
        stop_distance: float = MonitorSettings.stop_distance,
        joint_state_timeout: float = MonitorSettings.joint_state_timeout,
        zero_state_confirmation: float = MonitorSettings.zero_state_confirmation,
        narrow_phase: str = MonitorSettings.narrow_phase,
        behaviour: SpeedPolicy | None = _BY_DEFAULT,
        robots: Mapping[str, Collection[str]] | None = None,
        live: LiveScene | None = None,
    ) -> None:
        """The constructor compiles the update, and prepares exact distances if they are used."""
        self.behaviour: DistancePolicy
        if behaviour is _BY_DEFAULT:
            self.behaviour = SpeedPolicy(model, live=live)
        else:
            self.behaviour = DistancePolicy(live) if behaviour is None else behaviour
        if self.behaviour.live is not live:
            raise ConfigurationError("the behaviour and the monitor have different live scenes")
        self.model, self.live = model, live
        self._distances = MonitoredDistances(model, live, self.behaviour)
        warm_up_for_states()
        self._distances.use(narrow_phase)
        self._use_thresholds(Thresholds(warn_distance, stop_distance))
        self.joint_state_timeout = joint_state_timeout
        self._zero_state_confirmation = _seconds("zero_state_confirmation", zero_state_confirmation)
        self._robots = dict(robots or {})
        self.updates = 0
        self.watchdogs = Watchdogs()
        self.forget()

    def forget(self) -> None:
        """Discard all joint states and wait for new ones."""
        zeros = self._zero_state_confirmation
        self.buffer: JointStateBuffer | CellBuffer = buffer_of(self.model, self._robots, zeros)
        self.history = JointHistory()
        self._positions = PositionWatch(self.model.robot, self.model.bodies.joints)
        self._clearance: Clearance | None = None
        self._is_merged = False  # joint states since the last distance
        self.watchdogs.faults.clear("clocks", *_OF_DATA)
        self._distances.forget()

    @property
    def joint_state_timeout(self) -> float:
        """STALE if a joint position is older than this, seconds; 0 disables it."""
        return self._joint_state_timeout

    @joint_state_timeout.setter
    def joint_state_timeout(self, seconds: float) -> None:
        self._joint_state_timeout = _seconds("joint_state_timeout", seconds)

    @property
    def narrow_phase(self) -> str:
        """How distances are measured: ``leaf`` or ``auto``."""
        return self._distances.narrow_phase

    @narrow_phase.setter
    def narrow_phase(self, narrow_phase: str) -> None:
        if narrow_phase != self.narrow_phase:
            self._distances.use(narrow_phase)
            self._use_thresholds(self._thresholds)

    @property
    def warn_distance(self) -> float:
        """WARN at or below, metres; for pairs without a rule in `set_thresholds`."""
        return self._thresholds.warn

    @warn_distance.setter
    def warn_distance(self, metres: float) -> None:
        self._use_thresholds(replace(self._thresholds, warn=metres))

    @property
    def stop_distance(self) -> float:
        """ERROR at or below, metres; for pairs without a rule in `set_thresholds`."""
        return self._thresholds.stop

    @stop_distance.setter
    def stop_distance(self, metres: float) -> None:
        self._use_thresholds(replace(self._thresholds, stop=metres))

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Set the warning and stop distances together, with rules for single pairs.

        A rule for a pair that the model leaves out because of its SRDF or its scene, or because its
        links are rigidly joined, has no effect, which is logged.

        Raises:
            ThresholdsError: a rule matches no pair, or only pairs that overlap by design or are
                neighbours over one joint, and were not ``checked`` when the model was loaded, or a
                distance is invalid; nothing is changed.
            ConfigurationError: there are rules, but the monitor has no behaviour.
        """
        is_new = thresholds.rules != self._thresholds.rules
        self._use_thresholds(thresholds)
        if is_new:
            model = self.model
            for text in thresholds.without_effect(model.pairs, model.unmonitored_pairs):
                logger.warning("%s", text)

    def update(
        self,
        names: Sequence[str],
        positions: Sequence[float] | np.ndarray,
        now: float,
        stamp: float = 0.0,
        lag: float = 0.0,
        velocities: Sequence[float] = (),
    ) -> MonitorState:
        """Process a joint state and return the new state. Invalid data never raise an error.

        Args:
            names: joint names of the message, unchanged.
            positions: positions of the message, unchanged, radians or metres.
            now: time of the steady clock, seconds.
            stamp: stamp of the message, seconds; 0 without one.
            lag: age of the message by its stamp, seconds.
            velocities: velocities of the message, unchanged, rad/s or m/s; ignored if their number
                differs from that of the positions.

        Returns:
            The state; ERROR with the reason if the message cannot be used.
        """
        return self.process(JointState(names, positions, now, stamp, lag, velocities))

    def process(self, message: JointState) -> MonitorState:
        """Like `update`, for a `JointState`."""
        try:
            if self._merge(message):
                self._is_merged, self._clearance = False, None
                if not self.buffer.missing():
                    measured = self._distances.measured(self.buffer.q, message.now)
                    self.behaviour.update(self.buffer, message, measured)
                    self._clearance = self._distances.counted(self.buffer.q, measured.nearest)
                    self.updates += 1
            elif self._is_merged:
                self._is_merged = False
                self._reevaluate(message.now)
                self.updates += 1
        except Exception as error:  # an internal error must not end monitoring
            self._reject(error, message.now)
        return self.state(message.now)

    def merge(self, message: JointState) -> None:
        """Process a joint state without a query, because a newer one is waiting.

        Faults are reported with the next state.
        """
        self.watchdogs.cycles.skipped += 1
        try:
            if self._merge(message):
                self._is_merged, self._clearance = True, None
                if not self.buffer.missing():
                    self.behaviour.merge(self.buffer, message)
        except Exception as error:
            self._reject(error, message.now)

    def reject(self, error: JointStateError, now: float) -> MonitorState:
        """Return the state after an unreadable joint state, at time ``now`` as in `update`."""
        self._reject(error, now)
        return self.state(now)

    def report_other_publishers(self, now: float) -> None:
        """Report that a publisher of joint states came or is gone, at time ``now``."""
        self.buffer.report_other_publishers(now)

    def take_over(self, old: Monitor, now: float) -> None:
        """Continue from ``old``, a monitor with another model of the same robot, at time ``now``.

        Positions of joints with the same names are kept with their age. If all are known, so is
        the state; otherwise the monitor waits for data. The watchdogs of ``old`` are kept.
        """
        self.watchdogs = old.watchdogs
        self._distances.take_over(old._distances)
        self.watchdogs.faults.clear("message", "position", "mimic")
        if self.model.joint_names != old.model.joint_names:
            self.watchdogs.faults.clear("conflict")
        self.buffer.take_over(old.buffer)
        if self.model.joint_names == old.model.joint_names:
            self.history = old.history
        self.behaviour.take_over(old.behaviour)
        if old._clearance is not None and not self.buffer.missing():
            self._reevaluate(now)

    def _reevaluate(self, now: float) -> None:
        """Decide at the present positions, without a new joint state."""
        try:
            measured = self._distances.measured(self.buffer.q, now)
            self.behaviour.reevaluate(self.buffer, now, measured)
            self._clearance = self._distances.counted(self.buffer.q, measured.nearest)
        except Exception as error:
            self._reject(error, now)

    def _use_thresholds(self, thresholds: Thresholds) -> None:
        self.behaviour.set_thresholds(thresholds, exact=self.narrow_phase != "leaf")
        self._thresholds = thresholds

    def _merge(self, message: JointState) -> bool:
        """Take over a joint state; return False for one of another device, which is ignored.

        That is one of none of the joints of the robot, as of a gripper or a base, or of no
        positions, while other publishers provide all positions.
        """
        buffer, now = self.buffer, message.now
        if not math.isfinite(now):  # the velocities after it would stay unknown
            raise JointStateError(f"joint state at {now} s, which is not a finite time", "stamp")
        self._distances.report_joint_state(now)
        if self._is_stale(buffer.age(now)):
            buffer.report_loss(self.joint_state_timeout, now)
        try:
            buffer.update(message)
        except JointStateError as error:
            is_known = bool(self.joint_state_timeout) and not buffer.missing()
            is_of_none = error.kind == "unknown" or not len(message.positions)
            is_ignored = is_of_none and is_known and self.watchdogs.publishers.are_several
            if not is_ignored or self._is_stale(buffer.age(now)):
                raise
            self.watchdogs.refused[error.kind] += 1
            return False
        self._positions.hear(message.names)
        if not buffer.missing():
            self._positions.update(message.positions, buffer.q, now, self.watchdogs.faults)
            if message.stamp > 0.0:
                self.history.add(message.stamp, buffer.q, buffer.joints)
        if buffer.conflict_until > now:
            self.watchdogs.report_conflict(buffer.conflict(now), buffer.conflict_until)
        if buffer.behind > 0.0:
            self.watchdogs.report_late(buffer.behind, now)
        if buffer.set_back > 0.0:
            self.watchdogs.report_set_back(buffer.set_back, now)
        return True

    def _reject(self, error: Exception, now: float) -> None:
        """Store a fault: a joint state is invalid, or no distance can be computed."""
        self._is_merged, self._clearance = False, None
        kind = "no_distance"
        if isinstance(error, JointStateError):
            kind, text = error.kind, str(error)
            if kind == "future":
                text += f": {self.watchdogs.clock.explain(now)}"
        else:
            text = f"no distance: {reason_of(error)}"
            last = self.watchdogs.faults.raised.get("message")
            is_new = last is None or text != last.text
            if is_new and not isinstance(error, CollisionMonitorError):
                logger.error("%s", text, exc_info=error)
        self.watchdogs.refused[kind] += 1
        self.watchdogs.faults.put("message", Level.ERROR, "fault", text, now + MOMENT)

    @property
    def mesh_seconds(self) -> tuple[float, float]:
        """As of `MonitoredDistances`."""
        return self._distances.mesh_seconds

    @property
    def not_counted(self) -> list[tuple[str, str]]:
        """Pairs that count for `MonitorState.distance` only within their warning distances."""
        return self._distances.not_counted

    def distances(self) -> np.ndarray:
        """Signed distances (len(pairs),) of all pairs at the last joint positions, metres.

        They are measured as ``narrow_phase`` says.
        """
        return self._distances.of_pairs(self.buffer.q)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of the model, followed by those with objects of the live scene."""
        return self.model.pairs if self.live is None else self.model.pairs + self.live.pairs

    def model_distances(self) -> np.ndarray:
        """Like `distances`, without the live scene."""
        return self._distances.of_model(self.buffer.q)

    def state(self, now: float) -> MonitorState:
        """The state at time ``now``, without a new joint state."""
        state = self._state(now)
        if self.behaviour.enabled:
            return state
        # All data are reported, but there is no action.
        reason = f"disabled by ~/enable: the robot is neither slowed nor stopped; {state.message}"
        level = max(state.level, Level.WARN)
        return state._replace(level=level, reason=reason, cause="disabled", speed_scale=1.0)

    def _state(self, now: float) -> MonitorState:
        age, clearance, faults = self.buffer.age(now), self._clearance, self.watchdogs.faults
        stale = self._is_stale(age)
        if faults.raised and (fault := self._message_fault(now, stale)):
            return MonitorState(Level.ERROR, fault, "fault", None if stale else clearance, age)
        if missing := self.buffer.missing():
            if why := self.watchdogs.publishers.no_publisher() or self._positions.missing():
                missing += f": {why}"
            is_again = not self._distances.is_first and bool(self.buffer.unconfirmed())
            cause = "stale" if is_again else "waiting"
            return MonitorState(Level.STALE, missing, cause, None, age)
        # With the watchdog off nothing is stale; the node warns of that.
        if faults.raised and self.joint_state_timeout > 0.0 and (gone := faults.text("gone", now)):
            return MonitorState(Level.STALE, gone, "stale", None, age)
        if stale:
            return MonitorState(Level.STALE, self._stale_reason(now), "stale", None, age)
        if clearance is None:  # the last message was rejected
            text = "no usable joint state since the last fault"
            cause = "waiting" if self._distances.is_first else "stale"
            return MonitorState(Level.STALE, text, cause, None, age)
        if not faults.raised:
            return decided_state(self.behaviour, clearance, age)
        faults.expire(now)
        if (error := faults.first(_ERRORS, now, Level.ERROR)) is not None:
            return MonitorState(Level.ERROR, error.text, error.cause, clearance, age)
        state = decided_state(self.behaviour, clearance, age)
        if state.cause or state.level is Level.ERROR:
            return state
        found = faults.first(_POSITIONS, now), faults.first(_REMARKS, now)
        remarks = list(filter(None, found))
        if not remarks:
            return state
        reason = "; ".join([*(each.text for each in remarks), state.distance_message])
        return state._replace(level=Level.WARN, reason=reason, cause=remarks[0].cause)

    def _message_fault(self, now: float, stale: bool) -> str:
        """Why the last message was rejected: for a moment, or until there are fresh data."""
        faults = self.watchdogs.faults
        fault = faults.raised.get("message")
        if fault is None:
            return ""
        if not (stale or now < fault.until):
            faults.clear("message")
            return ""
        jump = faults.text("clock", now)
        return f"{fault.text}; {jump}" if jump else fault.text

    def _is_stale(self, age: float) -> bool:
        # Written so that an age of NaN is stale.
        timeout = self._joint_state_timeout
        return timeout > 0.0 and not age <= timeout

    def _stale_reason(self, now: float) -> str:
        old = self.buffer.too_old(self.joint_state_timeout, now)
        return f"{old}; {self.joint_state_timeout:g} s is allowed"


def _seconds(name: str, value: float) -> float:
    if not 0.0 <= value < math.inf:
        raise ConfigurationError(f"{name}: {value!r} is not a finite number of seconds from 0 on")
    return value
