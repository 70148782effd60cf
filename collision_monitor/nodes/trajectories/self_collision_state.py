# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""State of the self_collision node as a DiagnosticStatus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from collision_monitor.errors import AdjustmentError
from collision_monitor.monitoring.monitor import Level, MonitorState
from collision_monitor.monitoring.watchdogs import REMARKS
from collision_monitor.self_collision.adjustment import Adjustment
from collision_monitor.self_collision.solvers import POINTS, QP_SOLVERS, RETIMING


@dataclass(frozen=True)
class Report:
    """Outcome of the last request.

    Attributes:
        level: OK done, WARN done with a remark, ERROR not done, STALE not possible yet.
        event: one word: ``waiting``, ``ready``, ``adjusting``, ``forwarded``, ``refused``,
            ``hold``, ``streaming``, ``ended`` ...
        reason: one sentence.
        values: key-values.
        serial: number of the request, so that the same outcome is published again.
    """

    level: Level
    event: str
    reason: str
    values: Mapping[str, str] = field(default_factory=dict)
    serial: int = 0

    @property
    def key(self) -> tuple:
        """It is published at once when this changes."""
        return self.level, self.event, self.serial

    def key_values(self, extra: Mapping[str, str]) -> dict[str, str]:
        """Of the state message: event, reason, ``extra``; own values take precedence."""
        return {"event": self.event, "reason": self.reason, **extra, **self.values}


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
        """The method that is used instead of ``wanted``: robust needs the solvers."""
        return "field" if self.solvers and wanted == "robust" else wanted

    @property
    def warnings(self) -> list[str]:
        """A text for each missing package: the consequence and the remedy."""
        texts = []
        if self.solvers:
            points = " Desired points are refused." if self.points else ""
            texts.append(
                f"not installed: {self.solvers}. Trajectories are adjusted by the repulsion field "
                "(method field), which is slower and only moves the arms apart from each "
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
        how = " (method field instead of robust)" if self.solvers else ""
        return Level.WARN, "ready", f"{text}; not installed: {self.names}{how}"


def adjustment_values(adjustment: Adjustment, seconds: float) -> dict[str, str]:
    """Key-values of an adjustment."""
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
    """Key-values of a failed adjustment."""
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
    """The report, or the state of the supervisor if that is worse.

    Args:
        report: of the last request or hold.
        state: of the supervisor, now.
        in_event: whether the arms are too near.
        running: whether a trajectory that was sent is being executed.
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
