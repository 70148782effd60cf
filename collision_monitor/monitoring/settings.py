# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The settings of a monitor; those of its speed policy are in `speed_policy/settings.py`."""

from __future__ import annotations

from dataclasses import dataclass

from collision_monitor.common.settings import setting
from collision_monitor.model.thresholds import STOP_DISTANCE, WARN_DISTANCE

# Each needs the kernels of those before it.
NARROW_PHASES = ("leaf", "auto")


@dataclass(frozen=True)
class MonitorSettings:
    """What a `Monitor` may be told, with the defaults of library and node."""

    warn_distance: float = setting(
        WARN_DISTANCE,
        "WARN and slow down when the distance of two links is at or below this, metres",
        most=10.0,
    )
    stop_distance: float = setting(
        STOP_DISTANCE,
        "ERROR and stop when the distance of two links is at or below this, metres; at most "
        "warn_distance",
        most=10.0,
    )
    narrow_phase: str = setting(
        "auto",
        "geometry for distances: 'auto': triangles where capsules and spheres are within "
        "warn_distance, in bounded time; 'leaf': capsules and spheres only, which are nearer than "
        "the meshes. A node started with 'leaf' cannot be changed to 'auto' at run time: it needs "
        "more kernels",
        choices=NARROW_PHASES,
    )
    joint_state_timeout: float = setting(
        0.5,
        "STALE when the position of any joint is older than this, seconds; 0 disables the "
        "watchdog, which is unsafe and logged as a warning",
        most=60.0,
    )
    zero_state_confirmation: float = setting(
        0.3,
        "an all-zero joint state is accepted only after it has repeated for this time, seconds, "
        "and ten times as long after a loss of data, a change of publishers or a jump, if the "
        "robot was elsewhere",
        most=60.0,
    )
