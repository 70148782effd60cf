# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Base of the nodes ``self_collision`` and ``simulation``: parameters, robot, heartbeat."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from std_msgs.msg import String

from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.errors import CollisionMonitorError, reason_of
from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.nodes.common.executor import bridge_logs
from collision_monitor.nodes.common.failures import CallbackFailures, left_if_interrupted
from collision_monitor.nodes.common.messages import LATCHED, STATE, diagnostic
from collision_monitor.nodes.common.name_watch import NameWatch
from collision_monitor.nodes.common.sentinel import repeated
from collision_monitor.nodes.parameters.parameter import (
    Check,
    Parameter,
    changed_values,
    declare_parameters,
    package_dirs_of,
)

_WATCHDOG_SECONDS = 0.05


class RobotNode(Node):
    """A node with one robot, from the parameter or the topic ``robot_description``.

    A subclass calls `_start` after it has created its publishers. It implements
    ``_load(description)``, which may raise CollisionMonitorError and then keeps the previous robot,
    ``_refuse_description(reason)``, ``_use_values(changed)`` after parameters were set, which may
    raise CollisionMonitorError before it has used any of them, ``_publish_state()``, with the fault
    "callback" of ``_faults`` if there is one, by `_publish_status`, and ``_watch()`` for the
    watchdog.
    ``_steady`` is a clock for timers: simulated time may be paused.
    """

    def __init__(
        self, name: str, parameters: Sequence[Parameter], check: Check, **options: Any
    ) -> None:
        """Declare parameters.

        Raises:
            CollisionMonitorError: inconsistent parameters.
        """
        super().__init__(name, **options)
        bridge_logs(self)
        self._table, self._check = parameters, check
        self._faults = FaultRegister()
        self._failures = CallbackFailures(self.get_logger(), self._faults)
        self._values = declare_parameters(self, parameters, check)
        self._description: str | ReceivedText = ""
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._next_beat = -math.inf
        self._state = self.create_publisher(DiagnosticStatus, "~/state", STATE)
        self._names = NameWatch(self, self._faults)
        self._last_status: DiagnosticStatus | None = None
        self._published: tuple | None = None  # what identifies the last state

    def _start(self) -> None:
        """Load the robot given by parameter, or wait for one; start the watchdog.

        Raises:
            CollisionMonitorError: the robot given by parameter cannot be used.
        """
        self.add_on_set_parameters_callback(self._on_parameters)
        if self._values["robot_description"]:
            with left_if_interrupted(self):
                self._load_repeating(self._values["robot_description"])
        else:
            self.create_subscription(String, "robot_description", self._on_description, LATCHED)
        self.create_timer(_WATCHDOG_SECONDS, self._watch, clock=self._steady)

    def failed(self, error: Exception) -> None:
        """Publish that a callback has failed."""
        self._failures.add(error)
        with suppress(Exception):  # publishing may be what fails
            self._publish_state()

    def publish_stale(self, reason: str) -> None:
        """Publish that the node does nothing now, or repeat the last state if that is STALE.

        May be called from any thread.
        """
        last = self._last_status
        if last is None or last.level != bytes([Level.STALE]):
            values = {"event": "blocked"}
            last = diagnostic(Level.STALE, self.get_name(), reason, "", values)
            self._published = None  # the next state is published at once
        self._state.publish(last)

    def _publish_status(self, status: DiagnosticStatus) -> None:
        """Publish a state; not OK while another node publishes it as well."""
        self._names.update(now := time.monotonic())
        if remark := self._faults.text("names", now):
            status.level = max(status.level, bytes([Level.WARN]))
            status.message += f"; {remark}"
        self._last_status = status
        self._state.publish(status)

    def _sources(self) -> dict[str, Any]:
        """SRDF, packages and scene, as arguments of ``from_urdf``."""
        return {
            "srdf": self._values["robot_description_semantic"] or None,
            "package_dirs": package_dirs_of(self._values),
            "scene": self._values["scene"] or None,
        }

    def _on_description(self, message: String) -> None:
        description = ReceivedText(message.data)
        if description == self._description:
            return
        try:
            self._load_repeating(description)
        except Exception as error:
            if not isinstance(error, CollisionMonitorError):
                self._failures.add(error)
            self._refuse_description(f"robot_description cannot be used: {reason_of(error)}")

    def _load_repeating(self, description: str | ReceivedText) -> None:
        with repeated(lambda: self.publish_stale("loading a robot description")):
            self._load(description)

    def _on_parameters(self, parameters: list[RosParameter]) -> SetParametersResult:
        try:
            changed = changed_values(self._values, parameters, self._table, self._check)
        except CollisionMonitorError as error:
            return SetParametersResult(successful=False, reason=str(error))
        before = {name: self._values[name] for name in changed}
        self._values.update(changed)
        try:
            self._use_values(changed)
        except CollisionMonitorError as error:
            self._values.update(before)
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _beat_is_due(self, now: float) -> bool:
        """Whether to repeat the state at ``now`` (s, steady clock), to keep its mean rate."""
        if now < self._next_beat:
            return False
        self._next_beat = max(self._next_beat, now - 0.1) + 1.0 / self._values["state_rate"]
        return True
