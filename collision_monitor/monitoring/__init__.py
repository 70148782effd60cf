# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Online monitoring: joint states in, `MonitorState` out, without ROS.

`Monitor` merges joint states (`joint_state_buffer`), computes minimum distances, lets a policy
decide about action and speed (speed_policy/), and reports invalid or missing data (`watchdogs`).
Names are imported at their first use.
"""

from collision_monitor.common.lazy_imports import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "joint_state_buffer": ("JointState",),
        "monitor": ("Level", "Monitor", "MonitorState"),
        "settings": ("SpeedSettings",),
        "speed_policy.speed_policy": ("SpeedPolicy",),
    },
)
