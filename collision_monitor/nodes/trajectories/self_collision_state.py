# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""State of the self_collision node as a DiagnosticStatus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from collision_monitor.errors import AdjustmentError
from collision_monitor.monitoring.data_health.watchdogs import REMARKS
from collision_monitor.monitoring.monitor import Level, MonitorState
from collision_monitor.self_collision.adjustment import Adjustment
from collision_monitor.self_collision.solvers import POINTS, QP_SOLVERS, RETIMING


@dataclass(frozen=True)
class Report:
    """What became of the last thing that was asked.

    Attributes:
        level: OK done, WARN done with a remark, ERROR not done, STALE not possible yet.
        event: one word: ``waiting``, ``ready``, ``adjusting``, ``forwarded``, ``refused``,
            ``hold``, ``streaming``, ``ended`` ...
        reason: one sentence.
        values: key-values.
        serial: counts what was asked, so that the same answer twice is news.
    """

    level: Level
    event: str
    reason: str
    values: Mapping[str, str] = field(default_factory=dict)
    serial: int = 0

    @property
    def key(self) -> tuple:
        """What makes it news."""
        return self.level, self.event, self.serial


@dataclass(frozen=True)
class Shortage:
    """What the node has to do without; ``missing`` are packages that are not installed."""

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
        """The method that is used: robust needs the solvers."""
        return "published" if self.solvers else wanted

    @property
    def warnings(self) -> list[str]:
        """One text for each thing that is missing, with what follows from it and what to do."""
        texts = []
        if self.solvers:
            points = " Desired points are refused." if self.points else ""
            texts.append(
                f"not installed: {self.solvers}. Trajectories are adjusted by the repulsion field "
                "(method published), which is slower and only moves the arms apart from each "
                "other: a trajectory that comes too near to anything else, or begins too near, is "
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
        """Why desired points are refused; empty if they are not."""
        if POINTS not in self.missing:
            return ""
        return f"{POINTS} is not installed: pip install {POINTS}"

    @property
    def ready(self) -> tuple[Level, str, str]:
        """Level, event and reason of a node that has loaded its robot."""
        text = "ready for a trajectory"
        if not self.missing:
            return Level.OK, "ready", text
        how = " (method published instead of robust)" if self.solvers else ""
        return Level.WARN, "ready", f"{text}; not installed: {self.names}{how}"


def adjustment_values(adjustment: Adjustment, seconds: float) -> dict[str, str]:
    """What an adjustment did, and how long it took."""
    worst = int(np.argmin(adjustment.clearance))
    a, b = adjustment.closest[worst]
    moved = np.abs(adjustment.joint_change)
    point, joint = np.unravel_index(int(moved.argmax()), moved.shape)
    return {
        "method": adjustment.method,
        "changed": str(bool(adjustment.changed)).lower(),
        "waypoints": str(len(adjustment.motion.times)),
        "duration": f"{adjustment.motion.duration:.3f}",
        "waypoint": str(worst),
        "link_a": a,
        "link_b": b,
        "distance": f"{adjustment.clearance[worst]:.6f}",
        "distance_before": f"{float(np.min(adjustment.clearance_before)):.6f}",
        "largest_change": f"{float(moved[point, joint]):.6f}",
        "largest_change_joint": adjustment.motion.joint_names[joint],
        "largest_change_waypoint": str(point),
        "largest_tip_displacement": f"{float(np.max(adjustment.tip_displacement)):.6f}",
        "certified_clearance": f"{adjustment.certified:.6f}",
        "certified_elsewhere": f"{adjustment.certified_elsewhere:.6f}",
        "adjusting_seconds": f"{seconds:.3f}",
    }


def refusal_values(error: Exception, method: str, seconds: float) -> dict[str, str]:
    """Why there is no adjustment, as far as it is known."""
    values = {"method": method, "adjusting_seconds": f"{seconds:.3f}"}
    if not isinstance(error, AdjustmentError):
        return values
    values["waypoint"], values["time"] = str(error.waypoint), f"{error.time:.3f}"
    if error.pair is not None:
        values["link_a"], values["link_b"] = error.pair
        values["distance"] = f"{error.distance:.6f}"
    if error.safe_prefix is not None:
        values["safe_prefix"] = f"{error.safe_prefix.duration:.3f}"
    return values


def overruled(report: Report, state: MonitorState, in_event: bool, running: bool) -> Report:
    """The report, or what the supervisor has to say where that is worse, or what has passed.

    Args:
        report: of the last thing that was asked, or of the last order to hold.
        state: of the supervisor, now.
        in_event: whether the arms are too near.
        running: whether something that was sent is under way.
    """
    of_guard = report.event in ("hold", "near")
    if in_event and state.clearance is not None:
        if of_guard:
            return report
        reason = f"{report.reason}; the arms are nearer than danger_distance"
        return replace(report, level=Level.ERROR, reason=reason)
    if report.level is Level.ERROR and not of_guard:
        return report
    if state.cause and state.cause not in REMARKS:
        blind = "distances are unknown while a trajectory is being executed: " if running else ""
        reason = f"{blind}{state.reason}"
        return replace(report, level=Level(state.level), event=state.cause, reason=reason)
    if of_guard:
        reason = "ready: the arms are apart again"
        return replace(report, level=Level.OK, event="ready", reason=reason, values={})
    return report


def report_message(
    report: Report, name: str, hardware_id: str, extra: Mapping[str, str]
) -> DiagnosticStatus:
    """The report with what is always said beside it; ``extra`` gives way to its own values."""
    values = {"event": report.event, "reason": report.reason, **extra, **report.values}
    return DiagnosticStatus(
        level=bytes([report.level]),
        name=name,
        message=report.reason,
        hardware_id=hardware_id,
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )
