# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The state of the collision_monitor node: published when it changes, and repeated at its rate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

from collision_monitor.monitoring.faults import Level
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.monitoring.watchdogs import Watchdogs
from collision_monitor.nodes.common.failures import CallbackFailures
from collision_monitor.nodes.common.messages import distances_message, key_values, status_message
from collision_monitor.nodes.common.name_watch import NameWatch
from collision_monitor.nodes.monitor_services import StopService
from collision_monitor.nodes.monitor_topics import MonitorReport, MonitorTopics
from collision_monitor.nodes.recorder import Recorder

_WATCHDOG_SECONDS = 0.05


class StatePublisher:
    """Publishes the state of the monitor with what is known of its node.

    Attributes:
        is_active: whether anything is published.
        report: counts joint states, and creates key-values.
        failures: of callbacks.
        stop_service: called when the state becomes a stop.
    """

    def __init__(
        self,
        node: Node,
        values: Mapping[str, Any],
        watchdogs: Watchdogs,
        monitor: Callable[[], Monitor | None],
        idle: Callable[[], MonitorState],
        more: Callable[[], dict[str, str]],
    ) -> None:
        """Publish nothing before `start`.

        Args:
            node: the node.
            values: its parameters.
            watchdogs: with the register of faults.
            monitor: returns the one of the robot; None without one.
            idle: returns the state without a monitor.
            more: returns further key-values of the state.
        """
        self._node, self._values, self._watchdogs = node, values, watchdogs
        self._monitor, self._idle, self._more = monitor, idle, more
        self._faults = watchdogs.faults
        self.failures = CallbackFailures(node.get_logger(), self._faults)
        self._names = NameWatch(node, self._faults)
        self.report = MonitorReport(node)
        self.stop_service = StopService(node)
        self.is_active = False
        self._topics: MonitorTopics | None = None
        self._recorder: Recorder | None = None
        self._published: tuple[Level, str, str] | None = None
        self._next_beat = -math.inf

    def start(self, topics: MonitorTopics, recorder: Recorder | None, is_active: bool) -> None:
        """Publish on these topics from now on."""
        self._topics, self._recorder, self.is_active = topics, recorder, is_active
        self._published = None

    def beat_at_once(self) -> None:
        """Repeat the state in the next `watch`."""
        self._next_beat = -math.inf

    def current(self) -> MonitorState:
        """The state now."""
        monitor = self._monitor()
        state = self._idle() if monitor is None else monitor.state(time.monotonic())
        return self.with_faults(state)

    def with_faults(self, state: MonitorState) -> MonitorState:
        """The state; an ERROR after a failure, not OK with a rejected description or a twin."""
        if not self._faults:
            return state
        now = time.monotonic()
        for source in ("description", "names"):
            if remark := self._faults.text(source, now):
                state = state.with_remark(remark)
        if fault := self._faults.text("callback", now):
            state = state.with_fault(fault)
        return state

    def refresh(self) -> None:
        """Publish the state now."""
        self.publish(self.current())

    def publish_change(self, state: MonitorState) -> None:
        """Publish a state if it differs from the last one in more than numbers."""
        if _key(state) != self._published:
            self.publish(state)

    def publish(self, state: MonitorState) -> None:
        """Publish a state, and log it if it is another one."""
        if not self.is_active:
            return
        if _key(state) != self._published:
            self._published = _key(state)
            self.stop_service.update(_is_stop(state))
            self.report.log(state)
        self._last = self._status(state), state
        self._topics.state(*self._last)
        if self._recorder is not None:
            self._recorder.state(_is_stop(state), state.message)

    def publish_stale(self, reason: str) -> None:
        """Publish that nothing is monitored now, or repeat the last state if that is STALE.

        May be called from any thread.
        """
        if not (self.is_active and self._node.context.ok()):
            return
        status, state = self._last
        if state.level is not Level.STALE:
            state = MonitorState(Level.STALE, f"{reason}; nothing is monitored", "waiting")
            status = status_message(state, self._node.get_name(), "", {})
            self._published = None  # the next state is published at once
        self._topics.state(status, state)

    def failed(self, error: Exception) -> None:
        """Publish that a callback has failed."""
        self.failures.add(error)
        try:
            self.refresh()
        except Exception:  # it may be the state that fails: publish it without any details
            if self.is_active:
                reason = self._faults.text("callback", time.monotonic())
                state = MonitorState(Level.ERROR, reason, "fault")
                with suppress(Exception):
                    name = self._node.get_name()
                    self._topics.state(status_message(state, name, "", {}), state)

    @property
    def watch_period(self) -> float:
        """Period in seconds of the common timer of watchdog and heartbeat."""
        return min(_WATCHDOG_SECONDS, 1.0 / self._values["state_rate"])

    def watch_names(self) -> None:
        """Look for another node that publishes the same state."""
        self._names.update(time.monotonic())

    def watch(self, now: float) -> None:
        """Publish ``~/safe``, and the state if it has changed or is to be repeated."""
        state = self.current()
        self._topics.safe(state)
        is_news = self.stop_service.update(_is_stop(state))
        is_news |= _key(state) != self._published
        period = 1.0 / self._values["state_rate"]
        if now >= self._next_beat - 0.5 * self.watch_period:
            # The mean rate of heartbeats does not depend on the period of the watchdog.
            self._next_beat = max(self._next_beat + period, now + 0.5 * period)
            is_news = True
            self._topics.new_pair_names(self._monitor())
        if is_news:
            self.publish(state)

    def send_diagnostics(self) -> None:
        """Publish the state with figures on /diagnostics."""
        status = self._status(self.current())
        status.values += key_values(self.report.figures(self._watchdogs))
        status.name = f"{self._node.get_fully_qualified_name().lstrip('/')}: clearance"
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._topics.diagnostics.publish(message)

    def send_distances(self) -> None:
        """Publish the distances of all pairs on ~/distances, while they are known."""
        monitor = self._monitor()
        if monitor is None or self.current().clearance is None:
            return
        self._topics.new_pair_names(monitor)
        self._topics.distances.publish(distances_message(monitor.distances().tolist()))

    def use_stop_service(self) -> None:
        """Use the parameters of the stop service."""
        v = self._values
        self.stop_service.set(
            v["stop_service"], v["stop_service_data"], v["stop_service_attempts"],
            v["stop_service_timeout"],
        )  # fmt: skip

    def _status(self, state: MonitorState) -> DiagnosticStatus:
        monitor = self._monitor()
        extra = self.report.values(self._values, monitor, state, self.stop_service.call.text)
        extra |= self.failures.values() | self._more()
        robot = "" if monitor is None else monitor.model.name
        return status_message(state, self._node.get_name(), robot, extra)


def _key(state: MonitorState) -> tuple[Level, str, str]:
    """A state is published immediately when this changes."""
    return state.level, state.cause, state.action


def _is_stop(state: MonitorState) -> bool:
    """Whether the state is a stop of a monitored robot."""
    return state.action == "stop" and state.cause != "waiting"
