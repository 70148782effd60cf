# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Adjustments with round numbers, made by hand, for tests of what is said and drawn of them."""

from dataclasses import replace

import numpy as np

from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision import Adjustment, Arm
from collision_monitor.self_collision.margins import Margins

MARGINS = replace(
    Margins.plain(
        np.array([0.1, 0.03, -np.inf, 0.1, 0.08]), np.array([0.05, 0.03, -np.inf, 0.05, 0.05])
    ),
    eased=np.array([False, True, False, False, False]),
)
PAIRS = [("right_2", "left_2"), ("right_1", "right_2"), ("head", "base"), ("right_1", "left_2"),
         ("right_2", "base")]  # fmt: skip


def bent(
    desired: Motion, arms: tuple[Arm, Arm], method: str = "robust", margins: Margins = MARGINS
) -> Adjustment:
    """The third waypoint is the worst; the first joint of the right arm gives way by 0.25.

    Five waypoints; the adjusted motion takes twice as long.
    """
    n = len(desired.times)
    assert n == 5
    change = np.zeros_like(desired.positions)
    change[1:4, desired.joint_names.index(arms[0].joint_names[0])] = [0.125, -0.25, 0.125]
    tips = np.zeros((n, 2))
    tips[2] = [0.03, 0.01]
    return Adjustment(
        motion=Motion(desired.joint_names, 2.0 * desired.times, desired.positions + change),
        desired=desired,
        arms=arms,
        method=method,
        joint_change=change,
        tip_displacement=tips,
        index_before=np.array([0.0, 0.02, np.inf, 0.02, 0.0]),
        index_after=np.zeros(n),
        clearance_before=np.array([0.5, 0.08, -0.01, 0.08, 0.5]),
        clearance=np.array([0.5, 0.12, 0.1, 0.12, 0.4]),
        closest=[("right_2", "left_2")] * n,
        certified=0.0995,
        certified_elsewhere=0.08,
        margins=margins,
        pairs=PAIRS,
    )


def straight(desired: Motion, arms: tuple[Arm, Arm], method: str = "robust") -> Adjustment:
    """A motion that was safe from the start."""
    n = len(desired.times)
    clearance = np.linspace(0.4, 0.3, n)
    return Adjustment(
        motion=desired, desired=desired, arms=arms, method=method,
        joint_change=np.zeros_like(desired.positions), tip_displacement=np.zeros((n, 2)),
        index_before=np.zeros(n), index_after=np.zeros(n), clearance_before=clearance,
        clearance=clearance, closest=[("right_1", "left_1")] * n, certified=0.1,
        certified_elsewhere=np.inf, margins=MARGINS, pairs=PAIRS,
    )  # fmt: skip
