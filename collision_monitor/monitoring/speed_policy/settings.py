# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the speed policy."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from collision_monitor.errors import BehaviourError
from collision_monitor.monitoring.speed_policy.decision_kernels import MOST_CYCLES


@dataclass(frozen=True)
class Settings:
    """What decides about actions beside distances and thresholds.

    Attributes:
        prediction: look along the braking path; without it only at the present pose.
        reaction_time: seconds from a joint state until the robot begins to brake.
        parting_speed: a pair moves away if its distance grows faster than this, m/s.
        escape_scale: speed scale while a pair within its stop distance moves away.
        release_distance: metres beyond a threshold at which what it raised may fall.
        release_cycles: joint states in a row after which it does.
        rise_time: seconds in which the scale may rise from 0 to 1.
        velocity_window: seconds of joint states out of which velocities are estimated.
        resolution: metres to which the clearance on the braking path is certified.
    """

    prediction: bool = True
    reaction_time: float = 0.05
    parting_speed: float = 0.005
    escape_scale: float = 0.25
    release_distance: float = 0.005
    release_cycles: int = 5
    rise_time: float = 1.0
    velocity_window: float = 0.05
    resolution: float = 0.001

    def __post_init__(self) -> None:
        """Refuse what means nothing.

        Raises:
            BehaviourError: a value that is not finite or out of its range.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0.0:
                raise BehaviourError(f"{field.name}: {value!r} is not a number of 0 or more")
        if self.escape_scale > 1.0:
            raise BehaviourError(f"escape_scale: {self.escape_scale!r} is above 1")
        if not 1 <= self.release_cycles <= MOST_CYCLES:
            raise BehaviourError(
                f"release_cycles: {self.release_cycles!r} is not from 1 to {MOST_CYCLES}"
            )
        for name in ("velocity_window", "resolution"):
            if getattr(self, name) == 0.0:
                raise BehaviourError(f"{name}: must be above 0")
