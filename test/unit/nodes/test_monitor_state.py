# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Log messages about the monitored robot, and what its state lists."""


import numpy as np
import pytest
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel, Monitor
from collision_monitor.model.thresholds import Rule, Thresholds

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.nodes.monitor_state import decision_values, pair_values  # noqa: E402
from collision_monitor.nodes.robot_loader import stops_at_zero  # noqa: E402


def monitor(gap, **options):
    """Of two boxes on slides that move apart by 2 m, ``gap`` metres apart at zero."""
    urdf = robot(
        link("base", ""),
        link("left", '<box size="0.1 0.1 0.1"/>'),
        joint("a", "base", "left", "prismatic", f"0 {0.05 + 0.5 * gap} 1", "0 1 0"),
        link("right", '<box size="0.1 0.1 0.1"/>'),
        joint("b", "base", "right", "prismatic", f"0 {-0.05 - 0.5 * gap} 1", "0 -1 0"),
    ).replace('lower="-2"', 'lower="-0.1"')
    return Monitor(CollisionModel.from_urdf(urdf), **options)


@pytest.mark.parametrize("narrow_phase", ["leaf", "auto"])
def test_pairs_that_stop_the_robot_at_zero_are_named(narrow_phase):
    near = monitor(0.07, narrow_phase=narrow_phase)
    assert stops_at_zero(near) == ""
    near.set_thresholds(Thresholds(0.1, 0.02, (Rule("* *", 0.1, 0.08),)))
    text = stops_at_zero(near)
    assert "left - right (" in text and "stop at 80.0 mm" in text and "thresholds" in text
    if narrow_phase == "auto":
        assert "(70.0 mm, " in text
    near.set_thresholds(Thresholds(0.1, 0.08, (Rule("left right", 0.06, 0.04),)))
    assert stops_at_zero(near) == ""


def test_a_pose_in_contact_or_without_near_pairs_is_not_named():
    assert stops_at_zero(monitor(0.2)) == ""
    assert stops_at_zero(monitor(-0.01)) == ""


def state_values(monitor, q):
    """Key-values of the state with both joints at q, as on ``~/state``."""
    for k in range(2):
        state = monitor.update(monitor.model.joint_names, np.full(2, q), now=10.0 + 0.01 * k)
    return pair_values(monitor) | decision_values(monitor, state)


def test_the_state_lists_pairs_that_are_near_by_design_with_the_reason():
    near = monitor(0.015)
    (pair,) = near.behaviour.structural_pairs.values()
    assert "15.0 mm" in pair.reason and 0.0 <= pair.stop < pair.warn < 0.015
    listed = f"left right {pair.warn:.4f} {pair.stop:.4f} ({pair.reason})"
    values = state_values(near, 0.0)
    assert values["structural_pairs"] == listed and "pair" not in values
    values = state_values(near, 0.25 * (pair.stop + pair.warn) - 0.5 * 0.015)
    assert (values["pair"], values["pair_reason"]) == ("left right", pair.reason)
    assert values["pair_thresholds"] == f"{pair.warn:.4f} {pair.stop:.4f}"
    near.set_thresholds(Thresholds(0.1, 0.02, (Rule("left right", 0.06, 0.04),)))
    values = state_values(near, 0.0)
    assert values["structural_pairs"] == "" and "pair_reason" not in values
    assert values["pair_thresholds"] == "0.0600 0.0400"
