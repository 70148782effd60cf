# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""An adjustment without a solver, for tests of what is said about adjustments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.motion import Motion
from collision_monitor.repulsion.arms import Arm


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Has what `repulsion.adjustment.Adjustment` has."""

    motion: Motion
    desired: Motion
    arms: tuple[Arm, Arm]
    method: str
    joint_change: np.ndarray
    tip_displacement: np.ndarray
    index_before: np.ndarray
    index_after: np.ndarray
    clearance_before: np.ndarray
    clearance: np.ndarray
    closest: list[tuple[str, str]]
    certified: float

    @property
    def changed(self) -> bool:
        """Whether any joint is changed."""
        return bool((self.joint_change != 0.0).any())


def bent(desired: Motion, arms: tuple[Arm, Arm], method: str = "robust") -> Adjusted:
    """The third waypoint is the worst; the first joint of the right arm gives way by 0.25.

    Five waypoints; the adjusted motion takes twice as long.
    """
    n = len(desired.times)
    assert n == 5
    change = np.zeros_like(desired.positions)
    change[1:4, desired.joint_names.index(arms[0].joint_names[0])] = [0.125, -0.25, 0.125]
    tips = np.zeros((n, 2))
    tips[2] = [0.03, 0.01]
    return Adjusted(
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
    )


def straight(desired: Motion, arms: tuple[Arm, Arm], method: str = "robust") -> Adjusted:
    """A motion that was safe from the start."""
    n = len(desired.times)
    clearance = np.linspace(0.4, 0.3, n)
    return Adjusted(
        motion=desired, desired=desired, arms=arms, method=method,
        joint_change=np.zeros_like(desired.positions), tip_displacement=np.zeros((n, 2)),
        index_before=np.zeros(n), index_after=np.zeros(n), clearance_before=clearance,
        clearance=clearance, closest=[("right_1", "left_1")] * n, certified=0.1,
    )  # fmt: skip
