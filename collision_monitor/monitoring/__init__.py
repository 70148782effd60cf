# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Online monitoring: joint states in, `MonitorState` out, without ROS.

`Monitor` merges joint states (`joint_state_buffer`), computes minimum distances, lets a policy
decide about action and speed (speed_policy/), and reports invalid or missing data (`watchdogs`).
Names are imported at their first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collision_monitor.monitoring.joint_state_buffer import JointState
    from collision_monitor.monitoring.monitor import Level, Monitor, MonitorState
    from collision_monitor.monitoring.speed_policy.settings import SpeedSettings
    from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

__all__ = [
    "JointState",
    "Level",
    "Monitor",
    "MonitorState",
    "SpeedPolicy",
    "SpeedSettings",
]

_MODULES = {
    "JointState": "joint_state_buffer",
    "Level": "monitor",
    "Monitor": "monitor",
    "MonitorState": "monitor",
    "SpeedPolicy": "speed_policy.speed_policy",
    "SpeedSettings": "speed_policy.settings",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, also those not imported yet."""
    return sorted({*globals(), *__all__})
