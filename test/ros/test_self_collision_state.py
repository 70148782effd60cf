# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the self_collision node says about an adjustment, or why there is none."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.ros.ros_graph import rclpy  # noqa: F401  skips where there is no rclpy

from collision_monitor.errors import AdjustmentError, MotionError
from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.monitoring.monitor import Level, MonitorState
from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.trajectory_messages import (
    Report,
    Shortage,
    adjustment_values,
    overruled,
    refusal_values,
)

TIMES = np.array([0.0, 1.0, 2.5])
ADJUSTMENT = SimpleNamespace(
    method="robust",
    changed=True,
    motion=Motion(("a", "b"), TIMES, np.zeros((3, 2))),
    joint_change=np.array([[0.0, 0.0], [0.1, -0.25], [0.0, 0.0]]),
    tip_displacement=np.array([[0.0, 0.0], [0.01, 0.03], [0.0, 0.0]]),
    clearance_before=np.array([0.3, -0.02, 0.2]),
    clearance=np.array([0.3, 0.11, 0.2]),
    closest=[("p", "q"), ("r", "s"), ("p", "q")],
    certified=0.1005,
    certified_elsewhere=np.inf,
)


def test_an_adjustment_is_told_in_numbers():
    assert adjustment_values(ADJUSTMENT, 0.1234) == {
        "method": "robust", "changed": "true", "waypoints": "3", "duration": "2.500",
        "waypoint": "1", "link_a": "r", "link_b": "s", "distance": "0.110000",
        "distance_before": "-0.020000", "largest_change": "0.250000",
        "largest_change_joint": "b", "largest_change_waypoint": "1",
        "largest_tip_displacement": "0.030000", "certified_clearance": "0.100500",
        "certified_elsewhere": "inf", "adjusting_seconds": "0.123",
    }  # fmt: skip


def test_so_is_what_stands_in_the_way():
    prefix = Motion(("a",), TIMES[:2], np.zeros((2, 1)))
    error = AdjustmentError("no", 2, 2.5, ("r", "s"), -0.01, prefix)
    assert refusal_values(error, "robust", 2.0) == {
        "method": "robust", "adjusting_seconds": "2.000", "waypoint": "2", "time": "2.500",
        "link_a": "r", "link_b": "s", "distance": "-0.010000", "safe_prefix": "1.000",
    }  # fmt: skip
    assert refusal_values(AdjustmentError("no"), "robust", 2.0).keys() == {
        "method", "adjusting_seconds", "waypoint", "time",
    }  # fmt: skip
    assert refusal_values(MotionError("no"), "robust", 2.0).keys() == {
        "method", "adjusting_seconds",
    }  # fmt: skip


def test_values_of_a_report_take_precedence():
    report = Report(Level.ERROR, "refused", "because", {"method": "published"})
    assert report.key_values({"method": "robust", "arms": "r l"}) == {
        "event": "refused", "reason": "because", "method": "published", "arms": "r l",
    }  # fmt: skip


def test_the_same_answer_to_another_question_is_news():
    first = Report(Level.OK, "forwarded", "x", serial=1)
    assert first.key == Report(Level.OK, "forwarded", "y", serial=1).key
    assert first.key != Report(Level.OK, "forwarded", "x", serial=2).key
    assert first.key != Report(Level.WARN, "forwarded", "x", serial=1).key


CLEARANCE = Clearance(0.03, ("r", "s"), [0.0] * 6, [1.0, 0.0, 0.0])
NEAR = MonitorState(Level.ERROR, clearance=CLEARANCE)
FINE = MonitorState(Level.OK, clearance=CLEARANCE)
GONE = MonitorState(Level.STALE, "too old", "stale")
SENT = Report(Level.OK, "forwarded", "sent")
REFUSED = Report(Level.ERROR, "refused", "refused: so")
HOLD = Report(Level.ERROR, "hold", "held: so")


@pytest.mark.parametrize(
    ("report", "state", "in_event", "running", "expected"),
    [
        (SENT, FINE, False, True, (Level.OK, "forwarded", "sent")),
        (SENT, NEAR, True, True, (Level.ERROR, "forwarded", "sent; the arms are nearer than ")),
        (SENT, GONE, False, False, (Level.STALE, "stale", "too old")),
        (SENT, GONE, True, True, (Level.STALE, "stale", "distances are unknown while a ")),
        (REFUSED, FINE, False, False, (Level.ERROR, "refused", "refused: so")),
        (REFUSED, GONE, False, False, (Level.ERROR, "refused", "refused: so")),
        (HOLD, NEAR, True, False, (Level.ERROR, "hold", "held: so")),
        (HOLD, FINE, False, False, (Level.OK, "ready", "ready: the arms are apart again")),
        (HOLD, GONE, True, False, (Level.STALE, "stale", "too old")),
    ],
)
def test_what_is_worse_is_said(report, state, in_event, running, expected):
    said = overruled(report, state, in_event, running)
    assert (said.level, said.event) == expected[:2]
    assert said.reason.startswith(expected[2])


def test_nothing_is_said_where_nothing_is_missing():
    shortage = Shortage()
    assert shortage.warnings == [] and shortage.names == shortage.solvers == shortage.points == ""
    assert shortage.method("robust") == "robust"
    assert shortage.ready == (Level.OK, "ready", "ready for a trajectory")


@pytest.mark.parametrize(
    ("missing", "method", "said"),
    [
        (("daqp", "piqp"), "field", ["daqp and piqp. Traj", "Desired points are refused. To"]),
        (("piqp",), "field", ["not installed: piqp. Trajectories are adjusted by"]),
        (("toppra",), "robust", ["not installed: toppra. Adjusted"]),
        (("daqp", "piqp", "toppra"), "field", ["daqp and piqp", "pip install toppra"]),
    ],
)
def test_what_is_missing_is_said_with_what_follows_and_what_to_do(missing, method, said):
    shortage = Shortage(missing)
    assert shortage.method("robust") == method and shortage.method("published") == "published"
    text = " ".join(shortage.warnings)
    assert all(part in text for part in said), text
    assert ("Desired points" in text) is bool(shortage.points) is ("daqp" in missing)
    assert len(shortage.warnings) == (method == "field") + ("toppra" in missing)
    level, event, reason = shortage.ready
    assert (level, event) == (Level.WARN, "ready")
    assert f"not installed: {', '.join(missing)}" in reason
    assert ("method field instead of robust" in reason) is (method == "field")
