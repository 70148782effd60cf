# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The state of the collision_monitor node: published when it changes, and repeated at its rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

from collision_monitor.monitoring.faults import Level
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.monitoring.watchdogs import Watchdogs
from collision_monitor.nodes.common.messages import distances_message, key_values, status_message
from collision_monitor.nodes.common.node_state import NodeState
from collision_monitor.nodes.monitor_services import StopService
from collision_monitor.nodes.monitor_topics import MonitorReport, MonitorTopics
from collision_monitor.nodes.recorder import Recorder


class StatePublisher(NodeState[MonitorState]):
    """Publishes the state of the monitor with what is known of its node.

    Attributes:
        report: creates key-values.
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
        super().__init__(node, values, watchdogs.faults)
        self._monitor, self._idle, self._more = monitor, idle, more
        self.report = MonitorReport(node, watchdogs)
        self.stop_service = StopService(node)
        self.is_active = False
        self._topics: MonitorTopics | None = None
        self._recorder: Recorder | None = None

    def start(self, topics: MonitorTopics, recorder: Recorder | None, is_active: bool) -> None:
        """Publish on these topics from now on."""
        self._topics, self._recorder, self.is_active = topics, recorder, is_active
        self._published = None

    def _own(self) -> MonitorState:
        monitor = self._monitor()
        return self._idle() if monitor is None else monitor.state(time.monotonic())

    def _key(self, state: MonitorState) -> tuple[Level, str, str]:
        return state.level, state.cause, state.action

    def _changed(self, state: MonitorState) -> None:
        self.stop_service.update(_is_stop(state))
        self.report.log(state)

    def _send(self, status: DiagnosticStatus, state: MonitorState) -> None:
        self._topics.state(status, state)

    def publish(self, state: MonitorState) -> None:
        """See `NodeState`; a stop may be the start of a recording."""
        super().publish(state)
        if self.is_active and self._recorder is not None:
            self._recorder.state(_is_stop(state), state.message)

    def _bare(self, level: Level, reason: str) -> tuple[DiagnosticStatus, MonitorState]:
        state = MonitorState(level, reason, "fault")
        if level is Level.STALE:
            state = MonitorState(level, f"{reason}; nothing is monitored", "waiting")
        return status_message(state, self._node.get_name(), "", {}), state

    def _watched(self, state: MonitorState) -> bool:
        self._topics.safe(state)
        return self.stop_service.update(_is_stop(state))

    def send_diagnostics(self) -> None:
        """Publish the state with figures on /diagnostics."""
        status = self._status(self.current())
        status.values += key_values(self.report.figures())
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

    def _status(self, state: MonitorState) -> DiagnosticStatus:
        monitor = self._monitor()
        extra = self.report.values(self._values, monitor, state, self.stop_service.call.text)
        extra |= self.failures.values() | self._more()
        robot = "" if monitor is None else monitor.model.name
        return status_message(state, self._node.get_name(), robot, extra)


def _is_stop(state: MonitorState) -> bool:
    """Whether the state is a stop of a monitored robot."""
    return state.action == "stop" and state.cause != "waiting"
