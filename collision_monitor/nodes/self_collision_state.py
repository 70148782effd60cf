# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The state of the self_collision node: the last request, or what the supervisor shows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rclpy.node import Node

from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.nodes.common.node_state import Report, ReportState
from collision_monitor.nodes.trajectories.motions_under_way import ReleasedMotions
from collision_monitor.nodes.trajectories.trajectory_messages import Shortage, overruled


class RequestState(ReportState):
    """Numbers requests, and publishes the outcome of the last one unless something is worse.

    That nothing is forwarded without a robot is the fault "description".

    Attributes:
        request: number of the last request, or order to hold.
    """

    def __init__(
        self,
        node: Node,
        values: Mapping[str, Any],
        faults: FaultRegister,
        shortage: Shortage,
        motions: ReleasedMotions,
    ) -> None:
        """Start without a robot.

        Args:
            node: the node.
            values: its parameters.
            faults: its register.
            shortage: missing packages.
            motions: which were sent, with the filter of the robot.
        """
        super().__init__(node, values, faults, self._worst, self._robot_and_values)
        self._shortage, self._motions = shortage, motions
        self.request = 0
        self.no_robot = "waiting for a robot description"
        self._report = Report(Level.STALE, "waiting", self.no_robot)

    @property
    def no_robot(self) -> str:
        """Why there is no robot for new requests; empty if there is one."""
        return self._faults.text("description", time.monotonic())

    @no_robot.setter
    def no_robot(self, reason: str) -> None:
        self._faults.put("description", Level.ERROR, "no robot", reason)

    def report(
        self,
        level: Level,
        event: str,
        reason: str,
        values: Mapping[str, str] | None = None,
        serial: int | None = None,
    ) -> None:
        """Report an event; ``serial``: of its request, by default the last one."""
        serial = self.request if serial is None else serial
        self._report = Report(level, event, reason, values or {}, serial)
        self.publish_change(self.current())

    def _worst(self) -> Report:
        """The last report, or the state of the supervisor if that is worse."""
        if (trajectories := self._motions.filter) is None:
            return self._report
        supervisor = trajectories.supervisor
        state = supervisor.state(time.monotonic())
        report = overruled(self._report, state, supervisor.in_event, self._motions.are_running)
        if report.event == "ready" and (reason := self.no_robot):
            return replace(report, level=Level.ERROR, event="no robot", reason=reason)
        return report

    def _robot_and_values(self, report: Report) -> tuple[str, dict[str, str]]:
        v, robot = self._values, ""
        values = {
            "request": str(report.serial or self.request),
            "safe_distance": f"{v['safe_distance']:g}",
            "danger_distance": f"{v['danger_distance']:g}",
            "method": self._shortage.method(v["method"]),
            "yielding": v["yielding"],
        }
        if self._shortage.names:
            values["missing"] = self._shortage.names
        if (trajectories := self._motions.filter) is not None:
            supervisor, now = trajectories.supervisor, time.monotonic()
            robot = supervisor.model.name
            values["arms"] = " ".join(arm.name for arm in trajectories.arms)
            values["running"] = str(self._motions.are_running).lower()
            values["joint_states"] = supervisor.joint_state_fault(now) or "fresh"
            values["present_distance"] = f"{supervisor.distance(now):.6f}"
            values["holds"] = str(supervisor.events)
        return robot, values
