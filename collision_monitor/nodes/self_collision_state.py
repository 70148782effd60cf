# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The state of the self_collision node: the last request, or what the supervisor shows."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rclpy.node import Node

from collision_monitor.errors import AdjustmentError
from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.monitoring.monitor import MonitorState
from collision_monitor.monitoring.watchdogs import REMARKS
from collision_monitor.nodes.common.node_state import Report, ReportState
from collision_monitor.nodes.trajectories.motions_under_way import ReleasedMotions
from collision_monitor.self_collision.adjustment import Adjustment
from collision_monitor.self_collision.retiming import MovingEnd
from collision_monitor.self_collision.solvers import POINTS, QP_SOLVERS, RETIMING


@dataclass(frozen=True)
class Shortage:
    """Missing optional packages and their consequences; ``missing``: their names."""

    missing: tuple[str, ...] = ()

    @property
    def names(self) -> str:
        """The missing packages, for messages."""
        return ", ".join(self.missing)

    @property
    def solvers(self) -> str:
        """The missing solvers of quadratic programs, for messages."""
        return " and ".join(name for name in self.missing if name in QP_SOLVERS)

    def method(self, wanted: str) -> str:
        """The available method instead of ``wanted``: robust needs the solvers."""
        return "field" if self.solvers and wanted == "robust" else wanted

    @property
    def warnings(self) -> list[str]:
        """A warning for each missing package: consequence and remedy."""
        texts = []
        if self.solvers:
            points = " Desired points are refused." if self.points else ""
            texts.append(
                f"not installed: {self.solvers}. Trajectories are adjusted by the repulsion field "
                "(method field), which is slower and only moves the arms apart from each "
                "other: a trajectory that comes or begins too close to anything else is "
                f"refused.{points} To install them: pip install {' '.join(QP_SOLVERS)}"
            )
        if RETIMING in self.missing:
            texts.append(
                f"not installed: {RETIMING}. Adjusted trajectories that exceed acceleration limits "
                f"are refused instead of slowed down. To install it: pip install {RETIMING}"
            )
        return texts

    @property
    def points(self) -> str:
        """Why desired points are rejected; empty if they are accepted."""
        if POINTS not in self.missing:
            return ""
        return f"{POINTS} is not installed: pip install {POINTS}"

    @property
    def ready(self) -> tuple[Level, str, str]:
        """Level, event and reason of a node that has loaded its robot."""
        text = "ready for a trajectory"
        if not self.missing:
            return Level.OK, "ready", text
        how = " (method field instead of robust)" if self.solvers else ""
        return Level.WARN, "ready", f"{text}; not installed: {self.names}{how}"


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


def adjustment_values(
    adjustment: Adjustment, seconds: float, ends: Sequence[MovingEnd] = ()
) -> dict[str, str]:
    """Key-values of an adjustment; ``ends``: joints that start or stop at speed."""
    worst = int(np.argmin(adjustment.clearance))
    nearest, eased = {}, [f"{' - '.join(p.links)}: {p.distance:.6f}" for p in adjustment.eased()]
    if math.isfinite(adjustment.clearance[worst]):  # otherwise no pair is kept apart
        nearest = dict(zip(("link_a", "link_b"), adjustment.closest[worst], strict=True))
    point, joint = adjustment.largest_change_at
    return {
        "method": adjustment.method,
        "changed": str(bool(adjustment.changed)).lower(),
        "waypoints": str(len(adjustment.motion.times)),
        "duration": f"{adjustment.motion.duration:.3f}",
        "waypoint": str(worst),
        **nearest,
        "distance": f"{adjustment.clearance[worst]:.6f}",
        "distance_before": f"{float(np.min(adjustment.clearance_before)):.6f}",
        "largest_change": f"{adjustment.largest_change:.6f}",
        "largest_change_joint": adjustment.motion.joint_names[joint],
        "largest_change_waypoint": str(point),
        "largest_tip_displacement": f"{float(np.max(adjustment.tip_displacement)):.6f}",
        "certified_clearance": f"{adjustment.certified:.6f}",
        "certified_elsewhere": f"{adjustment.certified_elsewhere:.6f}",
        "eased": str(len(eased)),
        "eased_keep": "; ".join(eased),
        "moving_ends": "; ".join(
            f"{end.joint} {end.end}: {end.velocity:.3g}/s, {end.limit} limit" for end in ends
        ),
        "adjusting_seconds": f"{seconds:.3f}",
    }


def refusal_values(error: Exception, method: str, seconds: float) -> dict[str, str]:
    """Key-values of a failed adjustment."""
    values = {"method": method, "adjusting_seconds": f"{seconds:.3f}"}
    if not isinstance(error, AdjustmentError):
        return values
    values["waypoint"], values["time"] = str(error.waypoint), f"{error.time:.3f}"
    if error.pair is not None:
        values["link_a"], values["link_b"] = error.pair
        values["distance"] = f"{error.distance:.6f}"
    if error.possible is not None:
        for name, value in zip(("safe", "danger"), error.possible, strict=True):
            values[f"possible_{name}_distance"] = f"{value:g}"
    if error.safe_prefix is not None:
        values["safe_prefix"] = f"{error.safe_prefix.duration:.3f}"
    return values


def overruled(report: Report, state: MonitorState, in_event: bool, running: bool) -> Report:
    """The report, or the state of the supervisor if that is worse.

    Args:
        report: of the last request or hold.
        state: current state of the supervisor.
        in_event: whether the arms are too close.
        running: whether a released trajectory is being executed.
    """
    of_guard = report.event in ("hold", "near")
    if in_event and state.clearance is not None:
        if of_guard:
            return report
        reason = f"{report.reason}; the arms are closer than danger_distance"
        return replace(report, level=Level.ERROR, reason=reason)
    unknown = state.reason if state.cause and state.cause not in REMARKS else ""
    if unknown and running:
        unknown = f"distances are unknown while a trajectory is being executed: {unknown}"
    if report.level is Level.ERROR and not of_guard:
        # A refusal is the answer to its request, while an earlier trajectory may be executed.
        is_blind = bool(unknown) and running
        return replace(report, reason=f"{report.reason}; {unknown}") if is_blind else report
    if unknown:
        return replace(report, level=Level(state.level), event=state.cause, reason=unknown)
    if of_guard:
        reason = "ready: the arms are apart again"
        return replace(report, level=Level.OK, event="ready", reason=reason, values={})
    return report
