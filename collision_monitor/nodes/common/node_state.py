# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The topic ``~/state`` of a node: published when the state changes, and repeated at its rate.

Faults of any node are a callback that fails, another node that publishes the state, and publishers
that are not received.
"""

from __future__ import annotations

import math
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from collision_monitor.common.text import MOST_LOGGED
from collision_monitor.errors import reason_of
from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.nodes.common.executor import StateLog
from collision_monitor.nodes.common.graph_watch import NameWatch, UnheardPublishers
from collision_monitor.nodes.common.messages import STATE, STATE_SECONDS, diagnostic

_WATCHDOG_SECONDS = 0.05

S = TypeVar("S")  # a state, with the methods `with_remark` and `with_fault`


class CallbackFailures:
    """The exceptions of callbacks, also those in which the middleware reads a message.

    The last one is the fault "callback" for a while.

    Attributes:
        count: exceptions since the start.
    """

    def __init__(self, logger: Any, faults: FaultRegister) -> None:
        """``logger``: of the node; ``faults``: its register."""
        self._logger, self._faults = logger, faults
        self.count = 0
        self._logged: set[str] = set()

    def add(self, error: Exception) -> None:
        """Count an exception, and log each different one with its traceback."""
        self.count += 1
        text = f"a callback failed: {reason_of(error)}"
        # What fails at each call of the slowest timer is a fault without a gap.
        until = time.monotonic() + STATE_SECONDS
        self._faults.put("callback", Level.ERROR, "fault", text, until)
        if text not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(text)
            trace = "".join(traceback.format_exception(error))
            self._logger.error(f"{text}; the node goes on\n{trace}")

    def values(self) -> dict[str, str]:
        """Key-values of a state: the number of exceptions, if there was one."""
        return {"callback_errors": str(self.count)} if self.count else {}


class NodeState(ABC, Generic[S]):
    """Publishes the state of a node, with the faults of any node.

    Attributes:
        is_active: whether anything is published.
        failures: of callbacks.
    """

    # Sources of faults with which a state is at least WARN.
    remarks = (
        "description", "descriptions", "names", "planning_scene", "whole_scene", "scene_waiting",
        "clouds", "unheard",
    )  # fmt: skip

    def __init__(
        self,
        node: Node,
        values: Mapping[str, Any],
        faults: FaultRegister,
        obstacles: Collection[str] = (),
    ) -> None:
        """``values``: parameters of the node; ``faults``: its register.

        ``obstacles``: topics as of `UnheardPublishers`.
        """
        self._node, self._values, self._faults = node, values, faults
        self.failures = CallbackFailures(node.get_logger(), faults)
        self._names = NameWatch(node, faults)
        self._unheard = UnheardPublishers(node, faults, obstacles)
        self.is_active = True
        self._published: Any = None  # key of the last state
        self._last: tuple[DiagnosticStatus, S] | None = None
        self._next_beat = -math.inf

    @abstractmethod
    def _own(self) -> S:
        """The state now, without faults of the node."""

    @abstractmethod
    def _key(self, state: S) -> Any:
        """A state is published immediately when this changes."""

    @abstractmethod
    def _status(self, state: S) -> DiagnosticStatus:
        """The message of a state."""

    @abstractmethod
    def _bare(self, level: Level, reason: str) -> tuple[DiagnosticStatus, S]:
        """A state without details and its message: STALE, or a fault. Called in any thread."""

    @abstractmethod
    def _changed(self, state: S) -> None:
        """Log a state that is published and differs from the last one."""

    @abstractmethod
    def _send(self, status: DiagnosticStatus, state: S) -> None:
        """Publish a message. Called in any thread."""

    def _watched(self, state: S) -> bool:
        """Called in each `watch`, before a publication; returns whether there is news."""
        return False

    def current(self) -> S:
        """The state now."""
        return self.with_faults(self._own())

    def with_faults(self, state: S) -> S:
        """The state; an ERROR after a failure, and not OK with a remark."""
        if not self._faults.raised:
            return state
        now = time.monotonic()
        for source in self.remarks:
            if remark := self._faults.text(source, now):
                state = state.with_remark(remark)
        if fault := self._faults.text("callback", now):
            state = state.with_fault(fault)
        return state

    def refresh(self) -> None:
        """Publish the state now."""
        self.publish(self.current())

    def publish_change(self, state: S) -> None:
        """Publish a state if it differs from the last one in more than numbers."""
        if self._key(state) != self._published:
            self.publish(state)

    def publish(self, state: S) -> None:
        """Publish a state, and log it if it is another one."""
        if not self.is_active:
            return
        if (key := self._key(state)) != self._published:
            self._published = key
            self._changed(state)
        self._last = self._status(state), state
        self._send(*self._last)

    def publish_stale(self, reason: str) -> None:
        """Publish that the node does nothing now, or repeat the last state if that is STALE.

        May be called from any thread.
        """
        if not (self.is_active and self._node.context.ok()):
            return
        last = self._last
        if last is None or last[0].level != bytes([Level.STALE]):
            last = self._bare(Level.STALE, reason)
            self._published = None  # the next state is published at once
        self._send(*last)

    def end(self, state: S) -> None:
        """Publish a last state, unless the middleware has ended."""
        if self._node.context.ok():
            self.publish(state)

    def failed(self, error: Exception) -> None:
        """Publish that a callback has failed."""
        self.failures.add(error)
        try:
            self.refresh()
        except Exception:  # it may be the state that fails: publish it without any details
            if self.is_active:
                reason = self._faults.text("callback", time.monotonic())
                with suppress(Exception):
                    self._send(*self._bare(Level.ERROR, reason))

    @property
    def watch_period(self) -> float:
        """Period in seconds of the common timer of watchdog and heartbeat."""
        return min(_WATCHDOG_SECONDS, 1.0 / self._values["state_rate"])

    def watch(self, now: float) -> bool:
        """Publish the state if it has changed or is to be repeated; look at the graph.

        ``now``: seconds of a steady clock. Returns whether it is to be repeated.
        """
        self._names.update(now)
        self._unheard.update(now)
        state = self.current()
        period = 1.0 / self._values["state_rate"]
        if is_beat := now >= self._next_beat - 0.5 * self.watch_period:
            # The mean rate of heartbeats does not depend on the period of the watchdog.
            self._next_beat = max(self._next_beat + period, now + 0.5 * period)
        if self._watched(state) or is_beat or self._key(state) != self._published:
            self.publish(state)
        return is_beat


# -- states of nodes that answer requests --


@dataclass(frozen=True)
class Report:
    """Outcome of the last request.

    Attributes:
        level: OK done, WARN done with a remark, ERROR not done, STALE not possible yet.
        event: ``waiting``, ``ready``, ``adjusting``, ``forwarded``, ``refused``, ``hold``,
            ``streaming``, ``ended`` ...
        reason: one sentence.
        values: key-values.
        serial: number of the request: the same outcome of another request is published again.
    """

    level: Level
    event: str
    reason: str
    values: Mapping[str, str] = field(default_factory=dict)
    serial: int = 0

    @property
    def key(self) -> tuple:
        """A report is published immediately when this changes."""
        return self.level, self.event, self.serial

    def with_remark(self, text: str) -> Report:
        """The report with a remark, and at least WARN."""
        level = max(self.level, Level.WARN)
        return replace(self, level=level, reason=f"{self.reason}; {text}")

    def with_fault(self, text: str) -> Report:
        """The fault of the node instead."""
        return replace(self, level=Level.ERROR, event="fault", reason=text)


class ReportState(NodeState[Report]):
    """The state of a node that reports the outcome of requests."""

    remarks = ("descriptions", "names", "unheard")

    def __init__(
        self,
        node: Node,
        values: Mapping[str, Any],
        faults: FaultRegister,
        now: Callable[[], Report],
        details: Callable[[Report], tuple[str, dict[str, str]]],
    ) -> None:
        """Publish nothing yet.

        Args:
            node: the node.
            values: its parameters.
            faults: its register.
            now: returns the state, without faults of the node.
            details: returns the name of the robot, and further key-values of a report.
        """
        super().__init__(node, values, faults)
        self._now, self._details = now, details
        self._log = StateLog(node)
        self._publisher = node.create_publisher(DiagnosticStatus, "~/state", STATE)

    def _own(self) -> Report:
        return self._now()

    def _key(self, state: Report) -> tuple:
        return state.key

    def _status(self, state: Report) -> DiagnosticStatus:
        values = {"event": state.event, "reason": state.reason}
        robot, details = self._details(state)
        values |= details | self.failures.values() | dict(state.values)
        return diagnostic(state.level, self._node.get_name(), state.reason, robot, values)

    def _bare(self, level: Level, reason: str) -> tuple[DiagnosticStatus, Report]:
        report = Report(level, "blocked" if level is Level.STALE else "fault", reason)
        values = {"event": report.event}
        return diagnostic(level, self._node.get_name(), reason, "", values), report

    def _changed(self, state: Report) -> None:
        self._log.add(state.level, state.event, f"{state.level.name}: {state.reason}")

    def _send(self, status: DiagnosticStatus, state: Report) -> None:
        self._publisher.publish(status)
